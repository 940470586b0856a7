//! Why a record fails.

use std::fmt;

use inorder::{BoxError, FailureKind};

use crate::cli::escape::shorten;

/// What is wrong with a record, or with what the filter makes of it.
#[derive(Debug)]
pub enum Fault {
    /// The record is not what its format says.
    Parse(String),
    /// The filter raised an error that nothing caught, or gave a value that the output's format has no place for.
    Filter(String),
    /// The record has another number of fields than the header, or a value does not fit the columns of the output.
    Columns(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Fault::Parse(what) | Fault::Filter(what) | Fault::Columns(what)) = self;
        f.write_str(what)
    }
}

impl std::error::Error for Fault {}

impl Fault {
    /// As an error of the library, of the kind that stands in the rows of rejects. Its text may have been as long as the record.
    pub fn told(mut self) -> BoxError {
        let (kind, text) = match &mut self {
            Fault::Parse(text) => (FailureKind::Parse, text),
            Fault::Filter(text) => (FailureKind::Filter, text),
            Fault::Columns(text) => (FailureKind::Columns, text),
        };
        shorten(text);
        inorder::Fault::new(kind, self).into()
    }
}
