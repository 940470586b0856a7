//! Why a record fails.

use std::fmt;

/// What is wrong with a record, or with what the filter makes of it.
#[derive(Debug)]
pub enum Fault {
    /// The record is not what its format says.
    Parse(String),
    /// The filter raised an error that nothing caught.
    Filter(String),
    /// The output's format has no place for a value that the filter gave.
    Output(String),
    /// The value does not fit the columns of the output.
    Columns(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Fault::Parse(what) | Fault::Filter(what) | Fault::Output(what) | Fault::Columns(what)) =
            self;
        f.write_str(what)
    }
}

impl std::error::Error for Fault {}
