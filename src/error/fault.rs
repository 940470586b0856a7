//! Why records fail.

use std::fmt;

use super::BoxError;

/// Why a record failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// The record itself is malformed, e.g. a quote that is never closed.
    Parse,
    /// The work returned an error that says no more about its kind.
    Work,
    /// A filter, such as a jq program, failed on the record.
    Filter,
    /// A command failed: it ended with another status than it should, or by a signal.
    Command,
    /// The work took longer than it may.
    Timeout,
    /// The work panicked.
    Panic,
    /// The record's bytes are no text of its encoding.
    Encoding,
    /// The record has other columns than it should.
    Columns,
    /// The record, or what came of it, is larger than allowed.
    Size,
}

impl FailureKind {
    /// The kind in one word, as the rows of [`Rejects`](crate::Rejects) give it: `parse`, `work`, `filter`, `command`, `timeout`, `panic`,
    /// `encoding`, `columns` or `size`.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Parse => "parse",
            FailureKind::Work => "work",
            FailureKind::Filter => "filter",
            FailureKind::Command => "command",
            FailureKind::Timeout => "timeout",
            FailureKind::Panic => "panic",
            FailureKind::Encoding => "encoding",
            FailureKind::Columns => "columns",
            FailureKind::Size => "size",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FailureKind::Parse => "malformed",
            FailureKind::Panic => "panicked",
            FailureKind::Timeout => "timed out",
            _ => "failed",
        })
    }
}

/// An error of the work together with its kind. A plain error is of kind [`Work`](FailureKind::Work); wrapped in this it is of the kind given.
/// What the run returns or tells is the error inside.
///
/// ```
/// use inorder::{ErrorKind, FailureKind, Fault, Pipeline, Sink, Source};
///
/// let pipeline = Pipeline::builder().build()?;
/// let error = pipeline.run_each(Source::bytes(b"x\n"), Sink::discard(), |record, _| {
///     match std::str::from_utf8(record.bytes())?.parse::<u64>() {
///         Ok(_) => Ok(()),
///         Err(error) => Err(inorder::BoxError::from(Fault::new(FailureKind::Parse, error))),
///     }
/// });
/// assert_eq!(error.unwrap_err().kind(), ErrorKind::Record(FailureKind::Parse));
/// # Ok::<(), inorder::Error>(())
/// ```
#[derive(Debug)]
pub struct Fault {
    kind: FailureKind,
    error: BoxError,
}

impl Fault {
    /// An error of this kind.
    pub fn new(kind: FailureKind, error: impl Into<BoxError>) -> Fault {
        Fault {
            kind,
            error: error.into(),
        }
    }

    /// The error's kind.
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    pub(crate) fn into_parts(self) -> (FailureKind, BoxError) {
        (self.kind, self.error)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Fault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}
