//! Options of what is read and what is written.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use inorder::Encoding;

use super::values::{CompressArg, DecompressArg, FormatArg};
use crate::cli::dialect::Dialect;
use crate::cli::units;

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
    #[command(flatten)]
    pub dialect: Dialect,
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
