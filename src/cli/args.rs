//! What was typed. Parsing does nothing else; what follows from it is in `plan`.

mod commands;
#[cfg(unix)]
mod exec;
mod files;
mod run;
mod values;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use super::help;
use super::map::MapArgs;
pub use commands::{BenchArgs, CatArgs, CheckArgs};
#[cfg(unix)]
pub use exec::{ExecArgs, HeaderArg};
pub use files::{InputArgs, OutputArgs};
pub use run::{FailureArgs, PaceArgs, RunArgs, ShowArgs};
pub use values::{CompressArg, DecompressArg, FormatArg, OnErrorArg, ProgressArg};

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

#[cfg(test)]
mod tests;
