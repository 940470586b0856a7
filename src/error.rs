//! What can go wrong in a run, with the place where it did.

mod fault;
mod untrusted;

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

pub use fault::{FailureKind, Fault};
pub use untrusted::Untrusted;

use crate::escape;
use crate::summary::Summary;

/// What a closure or a [`Process`](crate::Process) may fail with.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Where a record stands in its input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// The input's name: its path, or `<stdin>`, `<reader>`, `<bytes>`.
    pub input: PathBuf,
    /// The record's number in its input, from 1. A header is not counted.
    pub record: u64,
    /// The line on which the record begins, from 1: LF bytes before it, plus one. 0 where it is not known.
    pub line: u64,
    /// The byte offset at which the record begins, from 0.
    pub offset: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}", self.record)?;
        match self.line {
            0 => write!(f, " (byte {})", self.offset),
            line => write!(f, " (line {line}, byte {})", self.offset),
        }
    }
}

/// What kind of thing ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting can't be used; nothing was opened.
    Config,
    /// An input could not be opened or read.
    Input,
    /// An input shrank or was modified while it was read.
    Changed,
    /// The header of an input is missing an end or differs from the first input's.
    Header,
    /// A run can't go on from what an earlier one left, or another run is at it: see [`Builder::resume`](crate::Builder::resume).
    Refused,
    /// The output could not be made, written or published.
    Output,
    /// A record failed and [`OnError::Stop`](crate::OnError::Stop) was in force, or one more than
    /// [`Builder::max_errors`](crate::Builder::max_errors) allows, or [too many attempts](crate::Builder::max_failing_runs) failed in a row;
    /// [`Error::position`] says which.
    Record(FailureKind),
    /// A record is longer than [`Builder::max_record_size`](crate::Builder::max_record_size).
    TooLong,
    /// [`Process::start`](crate::Process::start), [`header`](crate::Process::header) or
    /// [`commit`](crate::Process::commit) refused: no record is at fault.
    Process,
    /// Something other than the work on a record panicked: a reader, a sink, an observer.
    Panic,
    /// A [`StopHandle`](crate::StopHandle) ended the run.
    Stopped,
    /// The run could not start its threads, or lost the result of a chunk.
    Internal,
}

/// Why a run ended without a result: `PATH: what happened, record N (line L, byte B): cause`, one line unless the cause has more.
///
/// The text ends with that of [`source`](std::error::Error::source), so a reporter that prints the chain of sources need not print it.
/// [`source`](std::error::Error::source) is the error that the work, the reader or the sink gave, and can be downcast to
/// its type. (An `anyhow::Error` that a closure returns is not itself an error type: it arrives as its boxed form.)
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    path: Option<PathBuf>,
    what: Cow<'static, str>,
    position: Option<Position>,
    source: Option<BoxError>,
    summary: Option<Summary>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, what: impl Into<Cow<'static, str>>) -> Error {
        Error(Box::new(Inner {
            kind,
            path: None,
            what: what.into(),
            position: None,
            source: None,
            summary: None,
        }))
    }

    /// A stop handle ended the run.
    pub(crate) fn stopped() -> Error {
        Error::new(ErrorKind::Stopped, "stopped")
    }

    pub(crate) fn path(mut self, path: &Path) -> Error {
        self.0.path = Some(path.to_owned());
        self
    }

    pub(crate) fn at(mut self, position: Position) -> Error {
        self.0.path = Some(position.input.clone());
        self.0.position = Some(position);
        self
    }

    pub(crate) fn because(mut self, source: impl Into<BoxError>) -> Error {
        self.0.source = Some(source.into());
        self
    }

    pub(crate) fn after(mut self, summary: Summary) -> Error {
        self.0.summary = Some(summary);
        self
    }

    /// What kind of thing ended the run.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The record at which the run ended, where one is at fault.
    pub fn position(&self) -> Option<&Position> {
        self.0.position.as_ref()
    }

    /// What was done until then; `None` if the run ended before its inputs and its output were open, and for the values of
    /// [`Pipeline::records`](crate::Pipeline::records).
    pub fn summary(&self) -> Option<&Summary> {
        self.0.summary.as_ref()
    }
}

/// The text of [`Display`](fmt::Display), so that a `main` that returns the error says it as it is meant to be read.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        if let Some(path) = &inner.path {
            write!(f, "{}: ", escaped(path))?;
        }
        f.write_str(&inner.what)?;
        if let Some(position) = &inner.position {
            write!(f, ", {position}")?;
        }
        if let Some(source) = &inner.source {
            write!(f, ": {source}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn std::error::Error + 'static))
    }
}

/// A path for a message.
pub(crate) fn escaped(path: &Path) -> String {
    escape::escaped(path.as_os_str().as_encoded_bytes())
}

/// The text of a caught panic.
pub(crate) fn panic_text(payload: Box<dyn std::any::Any + Send>) -> String {
    let text = payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a value that is no text").to_owned();
    drop_quietly(payload);
    text
}

/// Drops what user code made: a panic in its `drop` must not end a worker or the writer.
pub(crate) fn drop_quietly<T>(value: T) {
    let dropped =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || std::mem::drop(value)));
    if let Err(payload) = dropped {
        // Dropping this payload could panic again.
        std::mem::forget(payload);
    }
}
