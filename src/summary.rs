//! The figures of a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a run did. `records = processed + skipped + rejected`, always.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Records read (headers and blank lines are none).
    pub records: u64,
    /// Records whose result is in the output.
    pub processed: u64,
    /// Records that failed and were left out.
    pub skipped: u64,
    /// Records that failed and were set aside.
    pub rejected: u64,
    /// Lines read: LF bytes, headers included.
    pub lines: u64,
    /// Bytes read from the inputs, headers included.
    pub bytes_in: u64,
    /// Bytes written to the output.
    pub bytes_out: u64,
    /// Chunks written.
    pub chunks: u64,
    /// Attempts beyond the first.
    pub retries: u64,
    /// Chunks that failed [whole](crate::ChunkError::Whole), though none of their records failed alone: what their parts gave is in the
    /// output, and whether it is what the whole would have given is not known.
    pub flaky_chunks: u64,
    /// Records that were done when this run went on from an earlier one's state. `None`: it began anew.
    pub resumed_from: Option<u64>,
    /// Wall clock time of the run.
    pub elapsed: Duration,
    /// Processor time of the thread that reads and frames, and of the one that writes, while the pool was at work: more workers
    /// don't make them less. Zero in a sequential run, and where the system can't tell.
    pub reader_time: Duration,
    /// See [`reader_time`](Summary::reader_time).
    pub writer_time: Duration,
    /// Worker threads.
    pub threads: usize,
    /// Most bytes in flight at one moment.
    pub peak_in_flight: u64,
    /// One entry a worker. Work done before the pool starts, and that of a sequential run, counts for the first.
    pub workers: Vec<WorkerSummary>,
    /// How long chunks were worked on.
    pub chunk_times: ChunkTimes,
    /// Things worth knowing that were no failure, e.g. an input that grew meanwhile.
    pub notes: Vec<String>,
}

/// The counts that a later run goes on with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counters {
    pub records: u64,
    processed: u64,
    skipped: u64,
    rejected: u64,
    lines: u64,
    bytes_in: u64,
    bytes_out: u64,
    pub chunks: u64,
    retries: u64,
    flaky_chunks: u64,
}

/// What one worker did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerSummary {
    /// Time spent on chunks.
    pub busy: Duration,
    /// Chunks worked on.
    pub chunks: u64,
}

/// The working times of chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkTimes {
    /// The shortest.
    pub min: Duration,
    /// The mean.
    pub mean: Duration,
    /// The longest.
    pub max: Duration,
}

impl Summary {
    #[cfg_attr(not(unix), allow(dead_code))]
    pub(crate) fn counters(&self) -> Counters {
        Counters {
            records: self.records,
            processed: self.processed,
            skipped: self.skipped,
            rejected: self.rejected,
            lines: self.lines,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            chunks: self.chunks,
            retries: self.retries,
            flaky_chunks: self.flaky_chunks,
        }
    }

    /// Of a run that goes on behind these.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub(crate) fn resumed(counters: &Counters) -> Summary {
        Summary {
            records: counters.records,
            processed: counters.processed,
            skipped: counters.skipped,
            rejected: counters.rejected,
            lines: counters.lines,
            bytes_in: counters.bytes_in,
            bytes_out: counters.bytes_out,
            chunks: counters.chunks,
            retries: counters.retries,
            flaky_chunks: counters.flaky_chunks,
            resumed_from: Some(counters.records),
            ..Summary::default()
        }
    }

    /// Counts a chunk that `worker` worked on for `busy`.
    pub(crate) fn add_chunk(&mut self, worker: usize, busy: Duration) {
        if self.workers.len() <= worker {
            self.workers.resize(worker + 1, WorkerSummary::default());
        }
        let entry = &mut self.workers[worker];
        entry.busy += busy;
        entry.chunks += 1;
        let times = &mut self.chunk_times;
        times.min = match times.max {
            Duration::ZERO => busy,
            _ => times.min.min(busy),
        };
        times.max = times.max.max(busy);
        self.chunks += 1;
    }

    /// Fills in what is derived from the counted rest.
    pub(crate) fn complete(&mut self) {
        let busy: Duration = self.workers.iter().map(|worker| worker.busy).sum();
        // Not those of the run that this one goes on from.
        let chunks = self.workers.iter().map(|worker| worker.chunks).sum::<u64>();
        let chunks = u32::try_from(chunks).unwrap_or(u32::MAX);
        self.chunk_times.mean = busy.checked_div(chunks).unwrap_or_default();
    }
}
