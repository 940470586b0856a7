//! What a run reports while it goes on: the library reports, the program draws.

use std::path::Path;

use crate::error::{FailureKind, Position};

/// Is told of a run's progress. All calls but those of [`working`](Observer::working) come from the ordered stage, one at a time, in input
/// order; a slow observer slows the run, and a panicking one ends it.
pub trait Observer: Send + Sync {
    /// The inputs and the output are open.
    fn started(&self, run: &Started) {
        let _ = run;
    }

    /// A chunk was written.
    fn progress(&self, progress: &Progress) {
        let _ = progress;
    }

    /// A record failed and was left out ([`OnError::Skip`](crate::OnError::Skip)) or set aside ([`OnError::Reject`](crate::OnError::Reject)).
    fn failed(&self, failure: &Failure<'_>) {
        let _ = failure;
    }

    /// A record, or a whole chunk, failed and was tried again, with more luck or in parts: told once, with the number of failed attempts and the
    /// error of the last of them. The position is that of the record, or of the first of the chunk.
    fn retried(&self, failure: &Failure<'_>) {
        let _ = failure;
    }

    /// A worker begins to work on a chunk, or is done with it (`None`) for now. Called on the worker's thread, twice a chunk, so it must be
    /// quick and may come from several threads at once.
    fn working(&self, worker: usize, on: Option<&Working<'_>>) {
        let _ = (worker, on);
    }

    /// Something worth knowing that is no failure.
    fn note(&self, note: &str) {
        let _ = note;
    }
}

/// What is known when a run starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Started {
    /// The inputs' size in bytes, as they lie in their files, if all are regular files with something in them.
    pub total_bytes: Option<u64>,
    /// Worker threads.
    pub threads: usize,
    /// Most bytes in flight.
    pub memory: u64,
}

/// How far a run is: everything up to here is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Records done, failed ones included.
    pub records: u64,
    /// Bytes of input done, as the work sees them.
    pub bytes_in: u64,
    /// The same as the inputs lie in their files, to be held against [`Started::total_bytes`]. Of a compressed input, or one in another
    /// encoding, that is what was read so far, which is somewhat more than what is done.
    pub bytes_of_files: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Records that failed.
    pub failed: u64,
    /// Attempts beyond the first.
    pub retries: u64,
    /// Bytes in flight now.
    pub in_flight: u64,
    /// Which input this is, from 0.
    pub input: usize,
}

/// What a worker works on: see [`Observer::working`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Working<'a> {
    /// The input's name: its path, or `<stdin>`, `<reader>`, `<bytes>`.
    pub input: &'a Path,
    /// The number of the chunk's first record in its input, from 1.
    pub first: u64,
    /// How many records the chunk has.
    pub records: u64,
}

/// A record that failed.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Failure<'a> {
    /// The record's place.
    pub position: &'a Position,
    /// How many records there are: more than one where it is not known which of them is at fault.
    pub records: u64,
    /// Why it failed.
    pub kind: FailureKind,
    /// The error itself.
    pub error: &'a (dyn std::error::Error + Send + Sync + 'static),
    /// How many times it was tried.
    pub attempts: u32,
}
