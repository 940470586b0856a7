//! Why a record fails.

use inorder::{BoxError, FailureKind};

/// What is wrong with a record, or with what the filter makes of it.
#[derive(Debug)]
pub enum Fault {
    /// The record is not what its format says.
    Parse(String),
    /// The record has another number of fields than the header, or a value does not fit the columns of the output.
    Columns(String),
    /// The filter raised an error that nothing caught, or gave a value that the output's format has no place for.
    Filter(String),
}

impl From<Fault> for BoxError {
    fn from(fault: Fault) -> BoxError {
        let (kind, what) = match fault {
            Fault::Parse(what) => (FailureKind::Parse, what),
            Fault::Columns(what) => (FailureKind::Columns, what),
            Fault::Filter(what) => (FailureKind::Filter, what),
        };
        inorder::Fault::new(kind, what).into()
    }
}
