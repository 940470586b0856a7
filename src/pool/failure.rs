//! Why records, and chunks, fail.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{BoxError, FailureKind, Fault, drop_quietly, panic_text};
use crate::escape::shorten;
use crate::frame::TooLong;
use crate::output::OutputError;
use crate::text::Unencodable;

/// Why the work on a chunk ended early.
pub(crate) enum Ended {
    /// A record failed and the run stops at failures.
    Failed(RecordFailure),
    /// One record more failed than may fail; added by the ordered stage.
    TooMany(RecordFailure),
    /// So many chunks, or parts of them, failed in a row, this one last.
    AllFail(RecordFailure),
    /// A record is longer than allowed.
    TooLong(RecordPlace, TooLong),
    /// A state could not be made.
    Start(Held),
    /// The process gave the run up.
    Fatal(Held),
    /// The observer panicked.
    Observer(Held),
    /// The output outgrew its memory and could not be spilled.
    Spill(OutputError),
    /// The run is stopping.
    Stopped,
}

impl Ended {
    /// The record before which the work ended, if it is one that did it.
    pub fn place(&self) -> Option<RecordPlace> {
        match self {
            Ended::Failed(failure) | Ended::TooMany(failure) | Ended::AllFail(failure) => {
                Some(failure.place)
            }
            Ended::TooLong(place, _) => Some(*place),
            Ended::Start(_)
            | Ended::Fatal(_)
            | Ended::Observer(_)
            | Ended::Spill(_)
            | Ended::Stopped => None,
        }
    }
}

/// Where a record stands in its chunk.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RecordPlace {
    /// Records of the chunk before it.
    pub index: u64,
    /// Where it begins, in bytes.
    pub start: usize,
    /// LF bytes of the chunk before it.
    pub lines: u64,
}

/// A record, or a range of them, that failed.
pub(crate) struct RecordFailure {
    pub place: RecordPlace,
    /// How many records; more than one where it is not known which is at fault.
    pub records: u64,
    /// How often it was tried.
    pub attempts: u32,
    pub kind: FailureKind,
    pub error: Held,
    /// What the chunk had written before it.
    pub written: u64,
    /// Where its bytes end in those that the chunk sets aside.
    pub rejected: usize,
    /// How long the error's text is, in bytes.
    pub text: usize,
}

/// A failing record is charged so much for its place and what is around an error's text.
const FAILURE_SIZE: usize = 256;

impl RecordFailure {
    /// Memory that it holds: an error is about as large as what it says.
    pub fn held(&self) -> usize {
        self.text.saturating_add(FAILURE_SIZE)
    }
}

/// How long the text of an error is. Its `Display` is the user's, and may panic.
pub(super) fn length_of_text(error: &BoxError) -> usize {
    let mut length = Length(0);
    let said = catch_unwind(AssertUnwindSafe(|| {
        let _ = write!(length, "{error}");
    }));
    if let Err(payload) = said {
        drop_quietly(payload);
    }
    length.0
}

/// Counts what is written.
struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0 += text.len();
        Ok(())
    }
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

/// The kind of an error of the process, and the error without what it was wrapped in to tell its kind.
pub(super) fn sort_out(error: BoxError) -> (FailureKind, BoxError) {
    match error.downcast::<Fault>() {
        Ok(fault) => fault.into_parts(),
        Err(error) if error.is::<Panicked>() => (FailureKind::Panic, error),
        Err(error) if error.is::<Unencodable>() => (FailureKind::Encoding, error),
        Err(error) => (FailureKind::Work, error),
    }
}

/// A caught panic as an error.
pub(crate) fn panicked(payload: Box<dyn std::any::Any + Send>) -> BoxError {
    let mut text = panic_text(payload);
    shorten(&mut text);
    Box::new(Panicked(text))
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
