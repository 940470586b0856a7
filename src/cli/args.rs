//! What was typed. Parsing does nothing else; what follows from it is in `plan`.

#[cfg(unix)]
mod exec;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::ArgPredicate;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use inorder::{Encoding, Format};

use super::help;
use super::map::MapArgs;
use super::units::{self, Rate};
use super::work::Work;
#[cfg(unix)]
pub use exec::{ExecArgs, HeaderArg};

/// Work on a file record by record on every core: output in input order, memory constant however large the file is.
#[derive(Debug, Parser)]
#[command(
    name = "inorder",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Run `inorder COMMAND --help` for all options and examples.",
    after_long_help = help::PROGRAM
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a jq filter on every record (NDJSON, CSV, TSV, lines)
    ///
    /// The filter is run on each record by itself, on all cores; results come in input order. One output or several are
    /// written for a record, none drops it. A record that the filter hands back unchanged keeps its bytes.
    ///
    /// A record of CSV or TSV is an object keyed by the header (columns of one name become a, a_2), or an array with
    /// --no-header; a field that is a JSON number is a number, any other a string. A line is a string. NDJSON is
    /// JSON as RFC 8259 has it. Blank lines and skipped lines are dropped.
    #[command(after_long_help = help::MAP)]
    Map(Box<MapArgs>),
    /// Join the inputs, unchanged, with one header; with --work spend time on every record first
    ///
    /// No byte changes: line ends, blank lines, odd quoting and invalid UTF-8 stay. The header of the first input is
    /// written, later inputs must have the same and lose theirs. --work is the proof of order (the output compares equal
    /// to the input) and a load to try threads and memory with.
    #[command(alias = "simulate", after_long_help = help::CAT)]
    Cat(CatArgs),
    /// Count and validate: records, fields, lines, bytes, and the first faults with their position
    ///
    /// Faults are CSV and TSV rows whose number of fields is not the header's (without a header: the first record's),
    /// quotes that are never closed, and NDJSON lines that are not JSON as RFC 8259 has it. Status 3 if there are any.
    /// What is no fault is told too: encoding, line ends, byte order mark, blank lines, NUL bytes, the longest record;
    /// and options that may fit the input better.
    #[command(after_long_help = help::CHECK)]
    Check(CheckArgs),
    /// Measure the plain sequential loop against one thread and several: speed-up, efficiency, memory, equality
    ///
    /// Every way runs as a process of its own, in turn, --runs times, after a first round that is not counted. They are
    /// compared by their fewest seconds; what each wrote (to a temporary file in TMPDIR) is compared with what the
    /// plain loop wrote. The plain loop reads a record, works, and writes it. A difference is status 1.
    #[command(after_long_help = help::BENCH)]
    Bench(BenchArgs),
    /// The plain loop that `bench` compares with
    #[command(hide = true)]
    PlainLoop(CatArgs),
    /// Run any command as a filter over chunks of records, several at a time, its output in input order
    ///
    /// The command gets a chunk of whole records on standard input; what it prints is that chunk's result. It is started
    /// once for every chunk, or once for every worker with --persistent.
    #[cfg(unix)]
    #[command(after_long_help = help::EXEC)]
    Exec(ExecArgs),
    /// Print the completion script of a shell
    #[command(after_long_help = help::COMPLETIONS)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page of the program, or of one command, in roff
    #[command(after_long_help = help::MAN)]
    Man {
        /// The command; without it the page is the whole program's
        command: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct CatArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub failures: FailureArgs,
    /// Time to spend on every record: none, fib:N, fib:N..M, sleep:D, sleep:D..E, fail:RATE, several by commas
    ///
    /// What falls to a record of a range or a rate is drawn from its number: the same every run. `fail:RATE` is the share
    /// of records that fail, such as 1%. For work that waits (sleep) use more threads than cores: -j 64.
    #[arg(
        long,
        value_name = "WORK",
        default_value = "none",
        help_heading = "Work"
    )]
    pub work: Work,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub pace: PaceArgs,
    #[command(flatten)]
    pub show: ShowArgs,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Show the first N faults (all are counted)
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Output")]
    pub faults: u64,
    /// Print the report as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub show: ShowArgs,
}

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// The file to read
    #[arg(value_name = "INPUT", value_hint = ValueHint::FilePath)]
    pub input: PathBuf,
    /// Time to spend on every record, as in `cat`: none, fib:N, fib:N..M, sleep:D, sleep:D..E
    #[arg(long, value_name = "WORK")]
    pub work: Work,
    /// How many workers to try [default: 1, 2, 4 and so on, up to the cores]
    #[arg(short = 'j', long, value_name = "N,N", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<Vec<u16>>,
    /// Counted rounds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub runs: u16,
    /// Print the figures as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Draw the speed-up, with the line of an ideal one
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub plot: Option<PathBuf>,
    /// No word about the rounds
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// The format [default: by the input's name, as in `cat`]
    #[arg(long, value_name = "FORMAT", help_heading = "Input")]
    pub from: Option<FormatArg>,
    /// The byte between two fields
    #[arg(short, long, value_name = "CHAR", value_parser = units::character, allow_hyphen_values = true)]
    #[arg(help_heading = "Input")]
    pub delimiter: Option<u8>,
    /// The byte that quotes a field
    #[arg(long, value_name = "CHAR", value_parser = units::character, allow_hyphen_values = true)]
    #[arg(help_heading = "Input")]
    pub quote: Option<u8>,
    /// Quotes are plain data
    #[arg(long, conflicts_with = "quote", help_heading = "Input")]
    pub no_quoting: bool,
    /// The first record of CSV or TSV is no header
    #[arg(long, alias = "no-headers", help_heading = "Input")]
    pub no_header: bool,
    /// Read the input instead of mapping it
    #[arg(long, help_heading = "Input")]
    pub no_mmap: bool,
    /// Bytes in flight, as in `cat`
    #[arg(long, value_name = "SIZE", value_parser = units::size, help_heading = "Memory")]
    pub memory: Option<usize>,
    /// At most N records in a chunk
    #[arg(short = 'N', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(help_heading = "Memory")]
    pub records: Option<u64>,
    /// A fixed chunk size
    #[arg(long, value_name = "SIZE", value_parser = units::size, help_heading = "Memory")]
    pub chunk_size: Option<usize>,
}

#[derive(Debug, Args)]
pub struct InputArgs {
    /// Files to read, one after another as one sequence; `-`, or none, is standard input
    #[arg(value_name = "INPUT", value_hint = ValueHint::FilePath)]
    pub inputs: Vec<PathBuf>,
    /// Take the names of the inputs from FILE (`-` is standard input), each ended by a NUL byte
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "inputs")]
    #[arg(help_heading = "Input")]
    pub files0_from: Option<PathBuf>,
    /// The format [default: by the first input's name: .csv, .tsv .tab, .ndjson .jsonl .json; else ndjson for map, lines for the rest]
    #[arg(
        long,
        value_name = "FORMAT",
        help_heading = "Input",
        hide_possible_values = false
    )]
    pub from: Option<FormatArg>,
    /// The byte between two fields; `tab`, `\t` and `\x01` are understood [default: comma for csv, tab for tsv]
    #[arg(short, long, value_name = "CHAR", value_parser = units::character, allow_hyphen_values = true)]
    #[arg(help_heading = "Input")]
    pub delimiter: Option<u8>,
    /// The byte that quotes a field [default: " for csv, none for tsv]
    #[arg(long, value_name = "CHAR", value_parser = units::character, allow_hyphen_values = true)]
    #[arg(help_heading = "Input")]
    pub quote: Option<u8>,
    /// Quotes are plain data
    #[arg(long, conflicts_with = "quote", help_heading = "Input")]
    pub no_quoting: bool,
    /// The first record of CSV or TSV is no header
    #[arg(long, alias = "no-headers", help_heading = "Input")]
    pub no_header: bool,
    /// Lines at the top of each input that are no records (cat passes on those of the first input)
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = "Input")]
    pub skip_lines: u64,
    /// Only the first N records; the output is whole
    #[arg(long, value_name = "N", help_heading = "Input")]
    pub limit: Option<u64>,
    /// Read the inputs instead of mapping them
    #[arg(long, help_heading = "Input")]
    pub no_mmap: bool,
    /// The encoding of the inputs' text, by its WHATWG label: utf-16le, windows-1252 [default: bytes are left alone]
    ///
    /// The text is decoded before it is cut into records; commands and filters see UTF-8, offsets are of the decoded text.
    /// A byte order mark is taken off, and written again if the output has the same encoding. A record with bytes that
    /// mean nothing fails.
    #[arg(long, value_name = "NAME", value_parser = units::encoding, help_heading = "Input")]
    pub encoding: Option<Encoding>,
    /// Unpack compressed inputs: gzip, zstd, bzip2 and xz, told by their first bytes, whatever the name says
    ///
    /// All members, frames and streams of a file are read, zero bytes after the last are padding. Input that is cut
    /// short, damaged or followed by anything else ends the run. An input whose name promises a compression, such as
    /// x.csv.gz, must have one or be text.
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Input"
    )]
    pub decompress: DecompressArg,
    /// The most memory that a decoder's window may take [default: 128MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::size, help_heading = "Input")]
    pub decoder_memory: Option<usize>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Where the result goes; `-` is standard output
    ///
    /// A file appears under its name only when it is whole. It may be one of the inputs. Devices and FIFOs are written
    /// directly.
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::FilePath, default_value = "-", hide_default_value = true)]
    pub output: PathBuf,
    /// Write no header
    #[arg(long)]
    pub no_output_header: bool,
    /// How the output is compressed; auto goes by its name: .gz, .zst
    ///
    /// Each MiB of the output is a gzip member or zstd frame of its own, compressed on all cores; the compressed bytes
    /// depend on the output and the level alone. The output of a live stream comes a MiB at a time.
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub compress: CompressArg,
    /// The encoding of the output [default: that of the inputs]
    ///
    /// A record with a character that it lacks fails.
    #[arg(long, value_name = "NAME", value_parser = units::encoding)]
    pub output_encoding: Option<Encoding>,
    /// The level of compression: 0 to 12 for gzip, 1 to 22 for zstd [default: 6, 3]
    #[arg(long, value_name = "N")]
    pub level: Option<i32>,
    #[command(flatten)]
    pub resume: ResumeArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Interruptions")]
pub struct ResumeArgs {
    /// Make the run resumable, and continue one that was cut short
    ///
    /// While it goes on the output is OUTPUT.part, and OUTPUT.checkpoint says what the same command needs to go on, after a
    /// kill at any moment, a failure or a signal. Threads, memory, chunk sizes, what becomes of failing records, retries and
    /// limits of failures may be other ones then; what changes bytes is refused by name, with status 4.
    #[arg(long)]
    pub resume: bool,
    /// As --resume, but throw away first what an earlier run left
    #[arg(long)]
    pub restart: bool,
    /// How often a resumable run saves its state, at most
    #[arg(long, value_name = "D", value_parser = units::duration, default_value = "2s")]
    pub checkpoint_every: Duration,
    /// With --resume, or on standard output: how long what is in flight may take to finish after a first INT, TERM or HUP
    ///
    /// No new chunk is read then. A second signal ends the run at once.
    #[arg(long, value_name = "D", value_parser = units::duration, default_value = "5s")]
    pub grace: Duration,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Failures")]
pub struct FailureArgs {
    /// What becomes of a record that fails [default: stop; reject with --rejects]
    ///
    /// When records were left out or set aside the status is 3.
    #[arg(long, value_name = "WHAT")]
    pub on_error: Option<OnErrorArg>,
    /// Set failing records aside in PATH, as they were, and what is wrong with each in PATH.errors.ndjson
    ///
    /// With the header, so that they can be mended and run again. Both files are written anew by each run, are empty when
    /// nothing failed, and are kept when the run fails. The records are compressed by the name: .gz, .zst.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub rejects: Option<PathBuf>,
    /// Stop once more than N records have failed [default: no limit]
    #[arg(long, value_name = "N")]
    pub max_errors: Option<u64>,
    /// Try what fails again, up to N times
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// How long to wait before the first retry; it doubles up to 30 s, and between half and all of it is waited
    #[arg(long, value_name = "D", value_parser = units::duration, default_value = "100ms")]
    pub retry_delay: Duration,
    /// Stop when N chunks or parts of chunks have failed in a row, each after its retries: it fails on everything; 0 is no limit
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub max_failing_runs: u64,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Threads and memory")]
pub struct RunArgs {
    /// Workers; 0 is one a core. May exceed the cores for work that waits
    #[arg(short = 'j', long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Bytes in flight, input and output together [default: 64 MiB, or 4 MiB a worker if that is more]
    ///
    /// Resident memory is about this, plus the output of the chunks in work, plus 32 MiB.
    /// Sizes: 64k, 10M, 2G, KiB, MiB, GiB are powers of 1024; kB, MB, GB of 1000; a bare number is bytes.
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub memory: Option<usize>,
    /// At most N records in a chunk
    #[arg(short = 'N', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub records: Option<u64>,
    /// A fixed chunk size [default: chunks grow while they finish quickly, to at most 1 MiB]
    ///
    /// The output never depends on it.
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub chunk_size: Option<usize>,
    /// A longer record ends the run [default: 16MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub max_record_size: Option<usize>,
    /// The plain loop on one thread: the same result, as a reference
    #[arg(long)]
    pub sequential: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Threads and memory")]
pub struct PaceArgs {
    /// Give out at most N records a second (or a minute: N/m)
    #[arg(long, value_name = "N/s", value_parser = units::rate)]
    pub rate: Option<Rate>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What is shown")]
pub struct ShowArgs {
    /// The progress bar on standard error; auto draws on a terminal only, always writes plain lines elsewhere
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    #[arg(default_value_if("quiet", ArgPredicate::IsPresent, "never"))]
    pub progress: ProgressArg,
    /// No progress, notes or summary; errors are shown all the same
    #[arg(short, long)]
    pub quiet: bool,
    /// Write the run's figures there as JSON, also when it fails; `-` is standard output
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub stats: Option<PathBuf>,
}

/// `--from`, `--to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Lines that end with LF
    Lines,
    /// Comma-separated values, quoted with "
    Csv,
    /// Tab-separated values, no quoting
    Tsv,
    /// One JSON value a line
    #[value(alias = "jsonl")]
    Ndjson,
    /// Records that end with a NUL byte
    Nul,
}

impl FormatArg {
    /// The library's format of this name.
    pub fn format(self) -> Format {
        match self {
            FormatArg::Lines => Format::lines(),
            FormatArg::Csv => Format::csv(),
            FormatArg::Tsv => Format::tsv(),
            FormatArg::Ndjson => Format::ndjson(),
            FormatArg::Nul => Format::nul(),
        }
    }

    /// Whether records have fields, separated by a delimiter.
    pub fn is_separated(self) -> bool {
        matches!(self, FormatArg::Csv | FormatArg::Tsv)
    }
}

/// `--decompress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DecompressArg {
    /// What is compressed
    Auto,
    /// Nothing: compressed bytes are records like any others
    None,
}

/// `--compress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompressArg {
    /// As the output's name says
    Auto,
    /// Not at all
    None,
    /// gzip members
    Gzip,
    /// zstd frames
    Zstd,
}

/// `--on-error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnErrorArg {
    /// It ends the run
    Stop,
    /// It is left out
    Skip,
    /// It is set aside (see --rejects)
    Reject,
}

/// `--progress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProgressArg {
    /// A bar on a terminal, nothing elsewhere
    Auto,
    /// Plain lines where there is no terminal
    Always,
    /// Nothing
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    fn parse(line: &str) -> Result<Command, clap::Error> {
        Cli::try_parse_from(line.split(' ')).map(|cli| cli.command)
    }

    fn cat(line: &str) -> CatArgs {
        match parse(line) {
            Ok(Command::Cat(args)) => args,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn defaults() {
        let args = cat("inorder cat");
        assert!(args.input.inputs.is_empty());
        assert_eq!(args.output.output, PathBuf::from("-"));
        assert_eq!(args.failures.on_error, None);
        assert_eq!(
            (args.failures.retries, args.failures.max_failing_runs),
            (0, 64)
        );
        assert_eq!(args.work, Work::default());
        assert_eq!(
            (args.run.threads, args.run.memory, args.run.records),
            (0, None, None)
        );
        assert_eq!(args.show.progress, ProgressArg::Auto);
    }

    #[test]
    fn all_options_of_cat() {
        let args = cat(
            "inorder simulate a.csv - b.csv -o out --from tsv -d \\t --quote ' --no-headers --skip-lines 2 --limit 9 \
             --no-mmap --decompress none --decoder-memory 1G --encoding utf-16 --output-encoding latin1 --no-output-header --compress gzip --level 9 --on-error skip --max-errors 7 --retries 3 --retry-delay 2s --max-failing-runs 0 --work fib:1..5,sleep:1ms -j 64 --memory 16MiB -N 5 \
             --chunk-size 64k --max-record-size 1M --sequential --progress always --stats s.json",
        );
        assert_eq!(
            args.input.inputs,
            ["a.csv", "-", "b.csv"].map(PathBuf::from)
        );
        assert_eq!(args.input.from, Some(FormatArg::Tsv));
        assert_eq!(
            (args.input.delimiter, args.input.quote),
            (Some(b'\t'), Some(b'\''))
        );
        assert!(args.input.no_header && args.input.no_mmap && args.output.no_output_header);
        assert_eq!((args.input.skip_lines, args.input.limit), (2, Some(9)));
        assert_eq!(args.input.decompress, DecompressArg::None);
        assert_eq!(args.input.encoding, Encoding::for_label("UTF-16LE"));
        assert_eq!(
            args.output.output_encoding,
            Encoding::for_label("windows-1252")
        );
        assert_eq!(args.input.decoder_memory, Some(1 << 30));
        assert_eq!(args.failures.on_error, Some(OnErrorArg::Skip));
        assert_eq!(args.failures.max_errors, Some(7));
        assert_eq!(args.failures.retries, 3);
        assert_eq!(args.failures.retry_delay, Duration::from_secs(2));
        assert_eq!(args.run.threads, 64);
        assert_eq!(args.run.memory, Some(16 << 20));
        assert_eq!(
            (args.run.records, args.run.chunk_size),
            (Some(5), Some(64 << 10))
        );
        assert_eq!(args.run.max_record_size, Some(1 << 20));
        assert!(args.run.sequential);
        assert_eq!(
            (args.output.compress, args.output.level),
            (CompressArg::Gzip, Some(9))
        );
        assert_eq!(args.show.progress, ProgressArg::Always);
    }

    #[test]
    fn odd_but_right() {
        assert_eq!(cat("inorder cat -d - x").input.delimiter, Some(b'-'));
        assert_eq!(cat("inorder cat -d, x").input.delimiter, Some(b','));
        assert_eq!(cat("inorder cat -- -f").input.inputs, [PathBuf::from("-f")]);
        assert_eq!(cat("inorder cat -q").show.progress, ProgressArg::Never);
        assert_eq!(
            cat("inorder cat -q --progress always").show.progress,
            ProgressArg::Always
        );
    }

    #[test]
    fn what_is_refused() {
        for line in [
            "inorder cat --from xml",
            "inorder cat -d ab",
            "inorder cat --quote \" --no-quoting",
            "inorder cat -N 0",
            "inorder cat --memory lots",
            "inorder cat --work fib:x",
            "inorder cat --on-error reject,skip",
            "inorder cat --retry-delay x",
            "inorder cat --files0-from names x.csv",
            "inorder cat --encoding utf-99",
            "inorder cat --encoding replacement",
            "inorder cat --nonsense",
            "inorder check -o out",
            "inorder nonsense",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
        assert_eq!(
            parse("inorder --help").unwrap_err().kind(),
            ErrorKind::DisplayHelp
        );
    }
}
