//! What fails whole, in a row: a command that fails on everything is not tried on everything. A chunk, or a part of one, is counted once it has
//! failed for good: how often it was tried says nothing about what comes after it.

use super::RecordFailure;

/// The chunk and its parts that failed whole. Those before its first success continue the row of the chunks before it, those after its last
/// one may be continued by the next.
#[derive(Default)]
pub(crate) struct FailingRuns {
    /// Before the first success, or all.
    pub lead: u64,
    /// Since the last success, or all.
    pub trail: u64,
    pub succeeded: bool,
    /// The first of them whose records were then worked on in parts.
    pub first: Option<RecordFailure>,
}

impl FailingRuns {
    pub fn success(&mut self) {
        self.succeeded = true;
        self.trail = 0;
    }

    pub fn failure(&mut self) {
        self.trail += 1;
        if !self.succeeded {
            self.lead += 1;
        }
    }

    /// The row that ends with this chunk, where so many failed in a row before it.
    pub fn row_after(&self, before: u64) -> u64 {
        match self.succeeded {
            true => self.trail,
            false => before + self.lead,
        }
    }
}
