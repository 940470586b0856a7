//! What is done of a chunk, and what is left: a chunk that waits for its next attempt keeps it.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::failure::RecordFailure;
use super::runs::FailingRuns;
use crate::buffer::Buffer;
use crate::frame::Framed;
use crate::input::Malformed;

/// A chunk for the workers. `X` is what is taken out of the states that work on it.
pub(crate) struct Pending<X> {
    pub framed: Framed,
    /// What was done before a delay.
    pub begun: Option<Box<Begun<X>>>,
}

/// What was done of a chunk before a delay.
pub(crate) struct Begun<X> {
    pub(super) so_far: SoFar,
    pub(super) taken: X,
    /// When to go on with it.
    pub due: Instant,
}

impl<X> From<Framed> for Pending<X> {
    fn from(framed: Framed) -> Pending<X> {
        Pending {
            framed,
            begun: None,
        }
    }
}

impl<X> Pending<X> {
    /// Memory that the chunk holds.
    pub fn held(&self) -> usize {
        let begun = self.begun.as_ref();
        self.framed.held() + begun.map_or(0, |begun| begun.so_far.held())
    }

    /// When to go on with it, if not at once.
    pub fn due(&self) -> Option<Instant> {
        self.begun.as_ref().map(|begun| begun.due)
    }
}

/// What is done of a chunk, and what is left.
pub(super) struct SoFar {
    pub begun: bool,
    /// What the process is to be called for, the next part last.
    pub left: Vec<Part>,
    pub tally: Tally,
    /// How many records had failed when it was first not known which one is at fault.
    pub suspected: Option<usize>,
    /// A place in the chunk and the LF bytes before it, to count on from.
    pub counted: (usize, u64),
}

/// What came of the records that were worked on.
pub(crate) struct Tally {
    pub output: Buffer,
    pub processed: u64,
    /// Records that failed for good, in order.
    pub failures: Vec<RecordFailure>,
    /// Their bytes, one after another, if they are to be set aside.
    pub rejected: Vec<u8>,
    /// Records and parts that failed and were tried again with another result, in order; the last failing attempt of each.
    pub retried: Vec<RecordFailure>,
    /// Attempts beyond the first.
    pub retries: u64,
    pub runs: FailingRuns,
    /// Time spent on them.
    pub busy: Duration,
}

impl Tally {
    /// Memory that they hold.
    pub fn held(&self) -> usize {
        let failures = self.failures.iter().chain(&self.retried);
        let failures: usize = failures.map(RecordFailure::held).sum();
        self.output.held() + self.rejected.capacity() + failures
    }
}

impl SoFar {
    pub fn new(output: Buffer) -> SoFar {
        SoFar {
            begun: false,
            left: Vec::new(),
            tally: Tally {
                output,
                processed: 0,
                failures: Vec::new(),
                rejected: Vec::new(),
                retried: Vec::new(),
                retries: 0,
                runs: FailingRuns::default(),
                busy: Duration::ZERO,
            },
            suspected: None,
            counted: (0, 0),
        }
    }

    /// Notes a failed attempt down that is followed by another.
    pub fn retry(&mut self, failure: RecordFailure) {
        self.tally.retries += 1;
        self.forget_retry(&failure);
        self.tally.retried.push(failure);
    }

    /// A later attempt of the same part tells more.
    pub fn forget_retry(&mut self, failure: &RecordFailure) {
        self.tally.retried.pop_if(|last| {
            (last.place.index, last.records) == (failure.place.index, failure.records)
        });
    }

    /// The chunk, or a part of it, failed, and it is not known which record is at fault.
    pub fn suspect(&mut self) {
        self.suspected.get_or_insert(self.tally.failures.len());
    }

    /// It failed, but none of its records failed alone.
    pub fn is_flaky(&self) -> bool {
        self.suspected == Some(self.tally.failures.len())
    }

    fn held(&self) -> usize {
        self.tally.held() + self.left.capacity() * size_of::<Part>()
    }
}

/// A run of records of a chunk that the process is called for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// Where it stands in the chunk.
    pub range: Range<usize>,
    /// Records of the chunk before it.
    pub index: u64,
    pub records: u64,
    /// How often it, or its first record alone, was tried.
    pub tries: u32,
    /// It gets one attempt: which of its records are at fault is being found out.
    pub once: bool,
    /// It is one record, with bytes that mean nothing.
    pub malformed: Option<Malformed>,
}

impl Part {
    pub fn new(range: Range<usize>, index: u64, records: u64) -> Part {
        Part {
            range,
            index,
            records,
            tries: 0,
            once: false,
            malformed: None,
        }
    }

    /// What follows so many of its records, from there on.
    pub fn from(&self, start: usize, records: u64) -> Part {
        let range = start..self.range.end;
        let left = self.records.saturating_sub(records);
        Part {
            once: self.once,
            ..Part::new(range, self.index + records, left)
        }
    }

    /// So many of its first records, up to there.
    pub fn until(&self, end: usize, records: u64) -> Part {
        Part::new(self.range.start..end, self.index, records)
    }

    /// As a half of one that failed.
    pub fn half(self) -> Part {
        Part {
            once: self.records > 1,
            ..self
        }
    }
}
