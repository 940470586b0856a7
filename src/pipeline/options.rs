//! Settings that are one of several ways.

use crate::output::Rejects;
use crate::text::MARK;

/// What happens when a record fails.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum OnError {
    /// The run ends with that record's error; everything before it is written.
    #[default]
    Stop,
    /// The record is left out of the output, counted, and told to the [`Observer`](crate::Observer).
    Skip,
    /// As [`Skip`](OnError::Skip), and the record is set aside, with a row that says why.
    Reject(Rejects),
}

impl OnError {
    pub(crate) fn rejects(&self) -> Option<&Rejects> {
        match self {
            OnError::Reject(rejects) => Some(rejects),
            OnError::Stop | OnError::Skip => None,
        }
    }
}

/// What is passed on of that which stands before the first record, and the header, of the first input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preamble {
    /// All of it: skipped lines, a byte order mark, blank lines.
    #[default]
    Keep,
    /// A UTF-8 byte order mark, if the input begins with one.
    Mark,
    /// Nothing.
    Drop,
}

impl Preamble {
    /// What is left of the preamble.
    pub(super) fn of(self, preamble: &[u8]) -> &[u8] {
        match self {
            Preamble::Keep => preamble,
            Preamble::Mark if preamble.starts_with(MARK) => MARK,
            Preamble::Mark | Preamble::Drop => &[],
        }
    }
}
