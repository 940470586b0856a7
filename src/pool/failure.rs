//! Why records, and chunks, fail.

use crate::error::{BoxError, FailureKind, drop_quietly, panic_text};
use crate::frame::TooLong;
use crate::output::OutputError;

/// Why the work on a chunk ended early.
pub(crate) enum Ended {
    /// A record failed and the run stops at failures.
    Failed(RecordFailure),
    /// A record is longer than allowed.
    TooLong(RecordFailure, TooLong),
    /// A state could not be made.
    Start(Held),
    /// The process gave the run up.
    Fatal(Held),
    /// The output outgrew its memory and could not be spilled.
    Spill(OutputError),
    /// The run is stopping.
    Stopped,
}

/// A record, or a range of them, that failed.
pub(crate) struct RecordFailure {
    /// Records of the chunk before it.
    pub index: u64,
    /// How many records; more than one where it is not known which is at fault.
    pub records: u64,
    /// Where it begins in the chunk, in bytes.
    pub start: usize,
    /// LF bytes of the chunk before it.
    pub lines: u64,
    pub kind: FailureKind,
    pub error: Held,
}

/// An error of the process, whose `drop` may panic.
pub(crate) struct Held(pub(super) BoxError);

impl Held {
    /// Takes the error out, to hand it on.
    pub fn take(mut self) -> BoxError {
        std::mem::replace(&mut self.0, Box::new(Taken))
    }
}

impl std::ops::Deref for Held {
    type Target = dyn std::error::Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop_quietly(std::mem::replace(&mut self.0, Box::new(Taken)));
    }
}

/// Stands where an error was.
#[derive(Debug)]
pub(super) struct Taken;

impl std::fmt::Display for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the error was taken")
    }
}

impl std::error::Error for Taken {}

/// The work panicked.
#[derive(Debug)]
pub(crate) struct Panicked(String);

impl std::fmt::Display for Panicked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "panicked: {}", self.0)
    }
}

impl std::error::Error for Panicked {}

/// A caught panic as an error.
pub(crate) fn panicked(payload: Box<dyn std::any::Any + Send>) -> BoxError {
    Box::new(Panicked(panic_text(payload)))
}

/// The input ended inside quotes.
#[derive(Debug)]
pub(super) struct Unclosed {
    pub offset: u64,
}

impl std::fmt::Display for Unclosed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let offset = self.offset;
        write!(
            f,
            "the input ends inside quotes: the one that opens at byte {offset} is never closed"
        )
    }
}

impl std::error::Error for Unclosed {}
