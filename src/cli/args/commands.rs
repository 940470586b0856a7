//! The options of `cat`, `check` and `bench`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{FailureArgs, FormatArg, InputArgs, OutputArgs, PaceArgs, RunArgs, ShowArgs};
use crate::cli::dialect::Dialect;
use crate::cli::units;
use crate::cli::work::Work;

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
    #[command(flatten)]
    pub dialect: Dialect,
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
