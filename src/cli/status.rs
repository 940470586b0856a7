//! Exit statuses.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::process::ExitCode;

use inorder::{ErrorKind, Summary};

/// How the program ends. The numbers are part of its interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// All is done; also when the reader of the output went away.
    Done = 0,
    /// The run failed.
    Failed = 1,
    /// What was typed can't be done.
    Usage = 2,
    /// Done, but records were left out or set aside, or `check` found faults.
    Faults = 3,
    /// The command of `exec` is there but can't be run.
    NotExecutable = 126,
    /// The command of `exec` is not there.
    NotFound = 127,
}

impl Status {
    /// The status of a run that ended with this error.
    pub fn of(error: &anyhow::Error) -> Status {
        if error.is::<UsageError>() {
            return Status::Usage;
        }
        if let Some(CannotRun { status, .. }) = error.chain().find_map(<dyn StdError>::downcast_ref)
        {
            return *status;
        }
        match error.downcast_ref::<inorder::Error>() {
            Some(error) if matches!(error.kind(), ErrorKind::Config) => Status::Usage,
            Some(error) if matches!(error.kind(), ErrorKind::Output) && is_broken_pipe(error) => {
                Status::Done
            }
            Some(_) => Status::Failed,
            None if error
                .downcast_ref::<StdoutError>()
                .is_some_and(|error| is_broken_pipe(error)) =>
            {
                Status::Done
            }
            None => Status::Failed,
        }
    }

    /// The status of a run that went to its end.
    pub fn of_done(summary: &Summary) -> Status {
        match summary.skipped + summary.rejected + summary.flaky_chunks {
            0 => Status::Done,
            _ => Status::Faults,
        }
    }

    /// The number that the caller of the program sees.
    pub fn number(self) -> u8 {
        self as u8
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status.number())
    }
}

fn is_broken_pipe(error: &(dyn StdError + 'static)) -> bool {
    std::iter::successors(Some(error), |error| (*error).source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The error with its causes; those of the library tell theirs themselves.
pub fn message(error: &anyhow::Error) -> String {
    if error.is::<inorder::Error>() {
        error.to_string()
    } else {
        format!("{error:#}")
    }
}

/// What was typed can't be done: status 2.
#[derive(Debug)]
pub struct UsageError(pub String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for UsageError {}

/// A usage error, ready to be returned.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    UsageError(message.into()).into()
}

/// The command of `exec` can't be run.
#[derive(Debug)]
pub struct CannotRun {
    pub status: Status,
    pub message: String,
}

impl fmt::Display for CannotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for CannotRun {}

/// The program's own text could not be written to standard output.
#[derive(Debug)]
pub struct StdoutError(pub io::Error);

impl fmt::Display for StdoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<stdout>: cannot write")
    }
}

impl StdError for StdoutError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let numbers = [
            Status::Done,
            Status::Failed,
            Status::Usage,
            Status::Faults,
            Status::NotExecutable,
            Status::NotFound,
        ]
        .map(Status::number);
        assert_eq!(numbers, [0, 1, 2, 3, 126, 127]);
    }

    #[test]
    fn of_what_went_wrong() {
        let pipe = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(Status::of(&usage("no")), Status::Usage);
        assert_eq!(Status::of(&usage("no").context("more")), Status::Usage);
        assert_eq!(Status::of(&anyhow::anyhow!("no")), Status::Failed);
        assert_eq!(Status::of(&StdoutError(pipe()).into()), Status::Done);
        assert_eq!(
            Status::of(&StdoutError(io::Error::other("full")).into()),
            Status::Failed
        );
        // A broken pipe that is not the output's is a failure.
        assert_eq!(Status::of(&pipe().into()), Status::Failed);
    }

    #[test]
    fn of_a_finished_run() {
        assert_eq!(Status::of_done(&Summary::default()), Status::Done);
        for change in [
            |summary: &mut Summary| summary.skipped = 7,
            |summary: &mut Summary| summary.rejected = 7,
            |summary: &mut Summary| summary.flaky_chunks = 1,
        ] {
            let mut summary = Summary::default();
            change(&mut summary);
            assert_eq!(Status::of_done(&summary), Status::Faults);
        }
    }
}
