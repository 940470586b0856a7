//! The settings of a run.

use std::sync::Arc;
use std::time::Duration;

use super::options::{OnError, Preamble};
use crate::control::StopHandle;
use crate::format::{Dialect, Format};
use crate::frame::{ChunkSize, FrameOptions, Rate};
use crate::input::{OpenOptions, Source};
use crate::pool::Policy;
use crate::progress::Observer;
use crate::resume::Resume;
use crate::retry::Retry;
use crate::text::Encoding;

/// A chunk should take about this long: long beside what handing it over costs (some 10 µs), short beside what a person or a last
/// worker waits for.
const CHUNK_GOAL: Duration = Duration::from_millis(2);

/// Most inputs that are unpacked ahead of their turn.
const MOST_AHEAD: usize = 8;

/// Less room ahead of one input is not worth a thread.
const LEAST_AHEAD: usize = 1 << 20;

#[derive(Clone)]
pub(crate) struct Settings {
    pub format: Format,
    pub output_format: Option<Format>,
    /// 0 until built: one a core.
    pub threads: usize,
    pub stack_size: Option<usize>,
    /// 0 until built: the default for the threads.
    pub memory: usize,
    pub chunk_bytes: Option<usize>,
    pub chunk_records: u64,
    pub max_record_size: usize,
    pub limit: u64,
    pub rate: Option<Rate>,
    pub skip_lines: u64,
    pub output_header: bool,
    pub blank_lines: bool,
    pub preamble: Preamble,
    pub on_error: OnError,
    pub max_errors: u64,
    pub max_failing_runs: u64,
    pub retry: Retry,
    pub sequential: bool,
    pub memory_map: bool,
    pub encoding: Option<Encoding>,
    pub output_encoding: Option<Encoding>,
    pub decompress: bool,
    pub decoder_memory: usize,
    /// Inputs that are unpacked ahead of their turn, and the bytes of each: known when a run begins.
    pub ahead: usize,
    pub ahead_room: usize,
    pub observer: Option<Arc<dyn Observer>>,
    pub resume: Option<Resume>,
    /// Of its own, if none.
    pub stop: Option<StopHandle>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            format: Format::lines(),
            output_format: None,
            threads: 0,
            stack_size: None,
            memory: 0,
            chunk_bytes: None,
            chunk_records: u64::MAX,
            max_record_size: 16 << 20,
            limit: u64::MAX,
            rate: None,
            skip_lines: 0,
            output_header: true,
            blank_lines: true,
            preamble: Preamble::Keep,
            on_error: OnError::Stop,
            max_errors: u64::MAX,
            max_failing_runs: 64,
            retry: Retry::default(),
            sequential: false,
            memory_map: false,
            encoding: None,
            output_encoding: None,
            decompress: false,
            decoder_memory: 128 << 20,
            ahead: 0,
            ahead_room: 0,
            observer: None,
            resume: None,
            stop: None,
        }
    }
}

impl Settings {
    /// Where inputs are compressed, those whose turn comes soon are unpacked ahead, in a part of the memory.
    pub fn for_source(&self, source: &Source<'_>) -> Settings {
        let mut settings = self.clone();
        let room = self.memory / 8;
        let inputs = self.threads.min(MOST_AHEAD).min(room / LEAST_AHEAD);
        let compressed = || source.are_compressed(1..inputs + 1);
        if self.decompress && !self.sequential && inputs > 0 && compressed() {
            settings.memory -= room;
            settings.ahead = inputs;
            settings.ahead_room = room / inputs;
        }
        settings
    }

    pub fn frame_options(&self, map: bool) -> FrameOptions {
        FrameOptions {
            format: self.format.clone(),
            open: OpenOptions {
                map,
                window: self.window(),
                block: self.block(),
                decoder: self.decompress.then_some(self.decoder_memory),
                encoding: self.encoding,
            },
            max_record_size: self.max_record_size,
            limit: self.limit,
            skip_lines: self.skip_lines,
            fixed: self.chunk_bytes.is_some(),
            multiples: self.chunk_bytes.is_some() && self.chunk_records == u64::MAX,
            ahead: self.ahead,
            ahead_room: self.ahead_room,
            rate: self.rate,
            keeps_mark: self.encoding.is_some() && self.output_text() == self.encoding,
        }
    }

    pub fn chunk_size(&self) -> ChunkSize {
        match self.chunk_bytes {
            Some(bytes) => ChunkSize::fixed(bytes, self.record_limit()),
            None => ChunkSize::adaptive(self.chunk_limit(), self.record_limit(), CHUNK_GOAL),
        }
    }

    /// What the work's UTF-8 is to become.
    pub fn output_text(&self) -> Option<Encoding> {
        self.output_encoding.or(self.encoding)
    }

    /// The dialect in which rows are written.
    pub fn dialect(&self) -> Dialect {
        self.output().dialect().unwrap_or(Dialect::CSV)
    }

    /// The format of what is written.
    pub fn output(&self) -> &Format {
        self.output_format.as_ref().unwrap_or(&self.format)
    }

    /// The most records in a chunk.
    pub fn record_limit(&self) -> u64 {
        let paced = self.rate.map_or(u64::MAX, |rate| rate.a_second());
        self.chunk_records.min(paced)
    }

    /// As many chunks, or parts of them, in a row that fail whole end the run.
    pub fn max_failing_runs(&self) -> u64 {
        match self.max_failing_runs {
            0 => u64::MAX,
            runs => runs,
        }
    }

    /// What the workers do with what fails.
    pub fn policy(&self) -> Policy {
        Policy {
            stops: matches!(self.on_error, OnError::Stop),
            rejects: self.on_error.rejects().is_some(),
            retry: self.retry.clone(),
            max_failing_runs: self.max_failing_runs(),
        }
    }

    /// The largest chunk: each worker should have several in flight.
    pub fn chunk_limit(&self) -> usize {
        let fair = self.memory / self.threads.saturating_mul(4).max(1);
        self.chunk_bytes.unwrap_or(fair.clamp(4 << 10, 1 << 20))
    }

    /// Own output of one chunk in memory.
    pub fn spill_at(&self) -> usize {
        (self.memory / self.threads.saturating_mul(2).max(1)).max(1 << 20)
    }

    /// The size of a mapped window: several chunks, and a fraction of the memory, because a window stays as long as one of
    /// its chunks does.
    pub fn window(&self) -> usize {
        (self.memory / 16).clamp(1 << 20, 4 << 20)
    }

    /// The size of a stream's buffer: one chunk, and what it takes to see that chunk's end.
    pub fn block(&self) -> usize {
        self.chunk_limit().clamp(64 << 10, 16 << 20) + (64 << 10)
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("format", &self.format)
            .field("output_format", &self.output_format)
            .field("threads", &self.threads)
            .field("stack_size", &self.stack_size)
            .field("memory", &self.memory)
            .field("chunk_bytes", &self.chunk_bytes)
            .field("chunk_records", &self.chunk_records)
            .field("max_record_size", &self.max_record_size)
            .field("limit", &self.limit)
            .field("rate", &self.rate)
            .field("skip_lines", &self.skip_lines)
            .field("output_header", &self.output_header)
            .field("blank_lines", &self.blank_lines)
            .field("preamble", &self.preamble)
            .field("on_error", &self.on_error)
            .field("max_errors", &self.max_errors)
            .field("max_failing_runs", &self.max_failing_runs)
            .field("retry", &self.retry)
            .field("sequential", &self.sequential)
            .field("memory_map", &self.memory_map)
            .field("encoding", &self.encoding)
            .field("output_encoding", &self.output_encoding)
            .field("decompress", &self.decompress)
            .field("decoder_memory", &self.decoder_memory)
            .finish_non_exhaustive()
    }
}
