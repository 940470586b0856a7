//! Rows that can't be written.

/// A row that the dialect can't express: a field has a delimiter, a line end or a quote and could not be told apart, or the row
/// would be a blank line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    field: usize,
}

impl RowError {
    /// It is this field, from 0, that can't be written.
    pub(crate) fn at(field: usize) -> RowError {
        RowError { field }
    }
}

impl std::fmt::Display for RowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the format's dialect cannot express field {} of the row",
            self.field + 1
        )
    }
}

impl std::error::Error for RowError {}
