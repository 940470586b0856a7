//! The arguments of `exec`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::cli::units;

use super::{FailureArgs, FormatArg, InputArgs, OutputArgs, PaceArgs, RunArgs, ShowArgs};

#[derive(Debug, Args)]
#[command(
    override_usage = "inorder exec [OPTIONS] [INPUT]... -- COMMAND [ARG]...\n       inorder exec [OPTIONS] [INPUT]... --shell SCRIPT"
)]
#[command(mut_arg("chunk_size", |arg| arg.help(CHUNK_SIZE).long_help(CHUNK_SIZE)))]
#[command(mut_arg("memory", |arg| arg.help(MEMORY).long_help(format!("{MEMORY}\n\n{ROOM}"))))]
#[command(mut_arg("records", |arg| arg.help(RECORDS).long_help(RECORDS)))]
pub struct ExecArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// The format of what the command prints [default: by the output's name, else that of the input]
    ///
    /// Where a result lacks its last record end and another follows, one is added; with --persistent each record of this
    /// format is one answer.
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    #[arg(hide_possible_values = true)]
    pub to: Option<FormatArg>,
    /// Who sees the header of CSV and TSV [default: both]
    #[arg(long, value_name = "WHO", help_heading = "Command")]
    pub header: Option<HeaderArg>,
    /// Exit statuses of the command that are no failure, such as 0,1 for grep
    #[arg(
        long,
        value_name = "N,N...",
        value_delimiter = ',',
        default_value = "0"
    )]
    #[arg(help_heading = "Command")]
    pub ok_status: Vec<u8>,
    /// Start the command once for each worker: it answers each record with one, at once
    ///
    /// The records are sent as they stand, several ahead. A process that dies is started again, and gets the records that
    /// have no answer.
    #[arg(long, help_heading = "Command")]
    pub persistent: bool,
    /// With --persistent: a new process after N records
    #[arg(
        long,
        value_name = "N",
        requires = "persistent",
        help_heading = "Command"
    )]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub recycle: Option<u64>,
    /// First compare what the command makes of the start of the input [8MiB] whole and in small chunks
    ///
    /// Other bytes end the run and show the first difference. The command sees that part of the input four times more.
    #[arg(long, value_name = "SIZE", value_parser = units::size, help_heading = "Command")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "8MiB")]
    pub verify: Option<usize>,
    /// Run SCRIPT by `sh -c` instead of a command after `--`
    #[arg(long, value_name = "SCRIPT", help_heading = "Command")]
    #[arg(conflicts_with = "command", allow_hyphen_values = true)]
    pub shell: Option<OsString>,
    /// The command and its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND", help_heading = "Command")]
    pub command: Vec<OsString>,
    #[command(flatten)]
    pub failures: FailureArgs,
    /// The longest time for one attempt (with --persistent: for one record, for the first one with the process's start)
    ///
    /// Then the command and all that it started get a TERM, 2 s later a KILL, and the attempt has failed.
    #[arg(long, value_name = "D", value_parser = units::duration, help_heading = "Failures")]
    pub timeout: Option<Duration>,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub pace: PaceArgs,
    #[command(flatten)]
    pub show: ShowArgs,
}

const CHUNK_SIZE: &str =
    "A fixed chunk size [default: a 64th of a regular file, 64KiB to 8MiB; 1MiB of a stream]";
const MEMORY: &str = "Bytes in flight, input and output together [default: 64 MiB, or 4 MiB or two default chunks a worker if that is more]";
const ROOM: &str = "\
Resident memory is about this, plus the output of the chunks in work, plus 32 MiB. Every worker needs room for a chunk and \
its result: with a large --chunk-size set more, with a small --memory set a small --chunk-size.";
const RECORDS: &str = "At most N records in a chunk; then its size is no more than 16MiB [default: the size alone decides]";

/// `--header`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HeaderArg {
    /// The command sees it before each chunk and prints it each time; the output gets it once (mlr, xan, a script)
    Both,
    /// The command sees it and prints none, and the output gets none (a count, a report)
    In,
    /// The command never sees it, and the output gets the input's (grep, sed, tr)
    Keep,
    /// The command never sees it, and the output gets none
    None,
}
