//! What becomes of what fails.

use crate::retry::Retry;

/// What becomes of what fails, as far as the workers decide.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    /// The first failing record ends the run.
    pub stops: bool,
    /// The bytes of failing records are set aside.
    pub rejects: bool,
    pub retry: Retry,
    /// As many chunks, or parts of them, in a row that fail whole end the run.
    pub max_failing_runs: u64,
}
