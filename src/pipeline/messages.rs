//! What the errors of a run say.

use std::io;
use std::path::Path;

use crate::error::{Error, ErrorKind, FailureKind, Position, escaped};
use crate::frame::{FrameError, Reason, TooLong};
use crate::input::InputError;
use crate::output::OutputError;
use crate::pool::RecordFailure;

/// A record, or one of several, failed and ends the run.
pub(super) fn failed(failure: RecordFailure, position: Position) -> Error {
    let mut what = match (failure.kind, failure.records) {
        (FailureKind::Parse, _) => "malformed".to_owned(),
        (FailureKind::Encoding, 1) => "wrongly encoded".to_owned(),
        (_, 1) => "failed".to_owned(),
        (_, records) => format!("failed, one of {records} records or more"),
    };
    if failure.attempts > 1 {
        what.push_str(&format!(" after {} attempts", failure.attempts));
    }
    ended_by(failure, position, what)
}

/// This record is one more than may fail.
pub(super) fn too_many(failure: RecordFailure, position: Position, most: u64) -> Error {
    let what = match most {
        0 => return failed(failure, position),
        1 => "failed, and more than 1 record has".to_owned(),
        most => format!("failed, and more than {most} records have"),
    };
    ended_by(failure, position, what)
}

/// So many attempts failed in a row.
pub(super) fn all_fail(failure: RecordFailure, position: Position, attempts: u64) -> Error {
    let what = format!("failed, as did all of {attempts} runs in a row");
    ended_by(failure, position, what)
}

/// What should not happen.
#[cfg(unix)]
pub(super) fn internal(what: &'static str) -> Error {
    Error::new(ErrorKind::Internal, what)
}

fn ended_by(failure: RecordFailure, position: Position, what: String) -> Error {
    Error::new(ErrorKind::Record(failure.kind), what)
        .at(position)
        .because(failure.error.take())
}

/// The reader met an error, at this position if a record is at fault.
pub(super) fn reader_failed(error: FrameError, position: Position) -> Error {
    let name: &Path = &error.input;
    match error.reason {
        Reason::Open(source) => Error::new(ErrorKind::Input, "cannot be opened")
            .path(name)
            .because(source),
        Reason::Read(source) => {
            let what = format!("cannot be read at byte {}", error.offset);
            Error::new(ErrorKind::Input, what)
                .path(name)
                .because(source)
        }
        Reason::Shrank { from, to } => changed(name, InputError::Shrank { from, to }),
        Reason::Modified => changed(name, InputError::Modified),
        Reason::Woken => Error::stopped(),
        Reason::TooLong(error) => too_long(position, &error),
        Reason::HeaderUnclosed => {
            let what = format!(
                "the header's quote, opened at byte {}, is never closed",
                error.offset
            );
            Error::new(ErrorKind::Header, what).path(name)
        }
        Reason::HeaderMalformed(malformed) => {
            Error::new(ErrorKind::Header, "wrongly encoded before the first record")
                .path(name)
                .because(malformed)
        }
        Reason::HeaderDiffers { first } => {
            let what = format!("the header differs from that of {}", escaped(&first));
            Error::new(ErrorKind::Header, what).path(name)
        }
        Reason::NoThreads(source) => super::cannot_start(source.into()),
        Reason::Panicked(source) => Error::new(ErrorKind::Panic, "the reader panicked")
            .path(name)
            .because(source),
    }
}

/// The sink failed.
pub(super) fn output_error(error: OutputError) -> Error {
    Error::new(ErrorKind::Output, format!("cannot {}", error.what))
        .path(&error.path)
        .because(error.source)
}

/// The reader of the output went away while the input was waited for.
pub(super) fn output_closed(name: &Path) -> Error {
    Error::new(ErrorKind::Output, "cannot write")
        .path(name)
        .because(io::Error::from(io::ErrorKind::BrokenPipe))
}

/// An input is not what it was.
pub(super) fn changed(name: &Path, error: InputError) -> Error {
    let (kind, what) = match error {
        InputError::Shrank { from, to } => (
            ErrorKind::Changed,
            format!("input shrank from {from} to {to} bytes while it was read"),
        ),
        InputError::Modified => (
            ErrorKind::Changed,
            "input was modified while it was read".to_owned(),
        ),
        InputError::Stopped => return Error::stopped(),
        InputError::Io(source) => {
            return Error::new(ErrorKind::Input, "cannot be looked at")
                .path(name)
                .because(source);
        }
    };
    Error::new(kind, what).path(name)
}

/// A record is too long.
pub(super) fn too_long(position: Position, error: &TooLong) -> Error {
    let mut what = error.to_string();
    if let Some(quote) = error.quote {
        let opened = position.offset + quote as u64;
        what.push_str(&format!(" (a quote opened at byte {opened})"));
    }
    Error::new(ErrorKind::TooLong, what).at(position)
}
