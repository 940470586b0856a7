//! Options of how the work is done, what becomes of what fails, and what is shown.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::ArgPredicate;
use clap::{Args, ValueHint};

use super::values::{OnErrorArg, ProgressArg};
use crate::cli::units::{self, Rate};

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
