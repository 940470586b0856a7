//! The settings of a run.

use std::sync::Arc;
use std::time::Duration;

use super::Pipeline;
use crate::control::StopHandle;
use crate::error::{Error, ErrorKind};
use crate::format::{Dialect, Format};
use crate::frame::Rate;
use crate::output::Rejects;
use crate::pool::Policy;
use crate::progress::Observer;
use crate::resume::Resume;
use crate::retry::Retry;
use crate::text::Encoding;

/// What happens when a record fails.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum OnError {
    /// The run ends with that record's error; everything before it is written.
    #[default]
    Stop,
    /// The record is left out of the output, counted, and told to the [`Observer`].
    Skip,
    /// As [`Skip`](OnError::Skip), and the record is set aside, with a row that says why.
    Reject(Rejects),
}

impl OnError {
    pub(crate) fn rejects(&self) -> Option<&Rejects> {
        match self {
            OnError::Reject(rejects) => Some(rejects),
            OnError::Stop | OnError::Skip => None,
        }
    }
}

/// What is passed on of that which stands before the first record, and the header, of the first input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preamble {
    /// All of it: skipped lines, a byte order mark, blank lines.
    #[default]
    Keep,
    /// A UTF-8 byte order mark, if the input begins with one.
    Mark,
    /// Nothing.
    Drop,
}

impl Preamble {
    /// What is left of the preamble.
    pub(super) fn of(self, preamble: &[u8]) -> &[u8] {
        match self {
            Preamble::Keep => preamble,
            Preamble::Mark if preamble.starts_with(MARK) => MARK,
            Preamble::Mark | Preamble::Drop => &[],
        }
    }
}

/// A UTF-8 byte order mark.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Settings of a [`Pipeline`], each with a default.
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    settings: Settings,
}

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

impl Default for Builder {
    fn default() -> Builder {
        Builder {
            settings: Settings {
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
            },
        }
    }
}

impl Builder {
    /// How the input is cut into records. Default: [`Format::lines`].
    pub fn format(mut self, format: Format) -> Builder {
        self.settings.format = format;
        self
    }

    /// How [`Buffer::row`](crate::Buffer::row) and [`serialize`](crate::Buffer::serialize) write, and how what they and
    /// [`line`](crate::Buffer::line) write ends: as the input's record where that is an end in this format too, else with LF (NUL for
    /// [`Format::nul`]). Default: the input's [`format`](Builder::format).
    pub fn output_format(mut self, format: Format) -> Builder {
        self.settings.output_format = Some(format);
        self
    }

    /// Worker threads. More than there are cores help work that waits. Default, and 0: one a core, as far as affinity and
    /// cgroup quota allow.
    pub fn threads(mut self, threads: usize) -> Builder {
        self.settings.threads = threads;
        self
    }

    /// The stack of each thread that works, in bytes; only what work uses of it takes memory. Default: that of Rust's threads, 2 MiB.
    pub fn stack_size(mut self, bytes: usize) -> Builder {
        self.settings.stack_size = Some(bytes);
        self
    }

    /// Most bytes in flight, input and output together; a record that is larger goes through alone. Resident memory is about this, the
    /// output of the chunks at work, and a constant of some 32 MiB. Default, and 0: the larger of 64 MiB and 4 MiB a thread.
    pub fn memory(mut self, bytes: usize) -> Builder {
        self.settings.memory = bytes;
        self
    }

    /// A fixed chunk size in bytes: a chunk ends at the last record end at or before it, else at the first after it. Default:
    /// adaptive, from one record to 1 MiB. The output does not depend on it.
    pub fn chunk_size(mut self, bytes: usize) -> Builder {
        self.settings.chunk_bytes = Some(bytes);
        self
    }

    /// Most records in a chunk. Default: no bound.
    pub fn chunk_records(mut self, records: u64) -> Builder {
        self.settings.chunk_records = records;
        self
    }

    /// The longest record in bytes, its end included; a longer one ends the run, whatever [`on_error`](Builder::on_error) says.
    /// Default: 16 MiB.
    pub fn max_record_size(mut self, bytes: usize) -> Builder {
        self.settings.max_record_size = bytes;
        self
    }

    /// Only so many records are read, of all inputs together. Default: all.
    pub fn limit(mut self, records: u64) -> Builder {
        self.settings.limit = records;
        self
    }

    /// At most `records` records are given out in the time `per`, evenly: a chunk follows the one before when that one's records are
    /// accounted for, and holds no more of them than a second's. Default: as fast as there is room.
    ///
    /// ```
    /// use std::time::Duration;
    /// let builder = inorder::Pipeline::builder().chunk_records(1).rate(500, Duration::from_secs(1));
    /// # builder.build()?;
    /// # Ok::<(), inorder::Error>(())
    /// ```
    pub fn rate(mut self, records: u64, per: Duration) -> Builder {
        self.settings.rate = Some(Rate { records, per });
        self
    }

    /// So many lines (LF) at the top of each input are no records; those of the first input are passed on. Default: 0.
    pub fn skip_lines(mut self, lines: u64) -> Builder {
        self.settings.skip_lines = lines;
        self
    }

    /// Whether the output gets a header, where the input has one, and with it what stands before it: a byte order mark, skipped and
    /// blank lines. [`Process::header`](crate::Process::header) is called in any case. Default: yes.
    pub fn output_header(mut self, output_header: bool) -> Builder {
        self.settings.output_header = output_header;
        self
    }

    /// Whether blank lines, which are no records in CSV, TSV and NDJSON, are passed on in their place; those before the header go
    /// with it. Default: yes.
    pub fn blank_lines(mut self, blank_lines: bool) -> Builder {
        self.settings.blank_lines = blank_lines;
        self
    }

    /// What is passed on of that which stands before the first record; nothing of it where there is a header and
    /// [`output_header`](Builder::output_header) is off. Default: [`Preamble::Keep`].
    pub fn preamble(mut self, preamble: Preamble) -> Builder {
        self.settings.preamble = preamble;
        self
    }

    /// What happens when a record fails. Default: [`OnError::Stop`].
    pub fn on_error(mut self, on_error: OnError) -> Builder {
        self.settings.on_error = on_error;
        self
    }

    /// The encoding of the inputs' text, which is decoded before it is cut into records: the work sees UTF-8, and offsets are those
    /// of the decoded text. Default: none; bytes are left alone.
    ///
    /// A byte order mark of this encoding is taken off an input; the first one's is written again if the output has the same
    /// encoding. No mark of another encoding overrides it. A record with bytes that mean nothing in the encoding fails, of kind
    /// [`Encoding`](crate::FailureKind::Encoding), and the error names their place in the source; in a header they end the run.
    #[cfg(feature = "encoding")]
    pub fn encoding(mut self, encoding: Encoding) -> Builder {
        self.settings.encoding = Some(encoding);
        self
    }

    /// The encoding of the output. The work writes UTF-8; a record that it writes anything else for, or a character that the
    /// encoding lacks, fails, of kind [`Encoding`](crate::FailureKind::Encoding). Default: that of the inputs.
    #[cfg(feature = "encoding")]
    pub fn output_encoding(mut self, encoding: Encoding) -> Builder {
        self.settings.output_encoding = Some(encoding);
        self
    }

    /// Whether inputs that begin as gzip, zstd, bzip2 or xz files do are unpacked, all their members, frames and streams. Default:
    /// no; bytes are left alone. Each format is a feature of the crate; input in one whose feature is off is an error, and so is
    /// input that is cut short, damaged or followed by anything but zero bytes, an input whose name promises a compression and
    /// that has neither that nor text in it, and one that is empty under such a name. Offsets are those of the unpacked bytes.
    /// Of several files the next ones are unpacked ahead of their turn, on threads of their own, in an eighth of the memory.
    pub fn decompress(mut self, decompress: bool) -> Builder {
        self.settings.decompress = decompress;
        self
    }

    /// Most bytes that the window of a decoder may take, for zstd rounded down to a power of two; input that needs more is an
    /// error. Default: 128 MiB, which is the most that `zstd` and `xz` ask for unless they are told to.
    pub fn decoder_memory(mut self, bytes: usize) -> Builder {
        self.settings.decoder_memory = bytes;
        self
    }

    /// So many records may fail and be left out or set aside; one more ends the run as with [`OnError::Stop`]. Which one that is depends on
    /// the input alone. Default: any number.
    pub fn max_errors(mut self, records: u64) -> Builder {
        self.settings.max_errors = records;
        self
    }

    /// Whether, and when, what failed is tried again. Default: it is not.
    pub fn retry(mut self, retry: Retry) -> Builder {
        self.settings.retry = retry;
        self
    }

    /// So many chunks, or parts of chunks, in a row that failed [whole](crate::ChunkError::Whole), without one in between that did not, end the run: the
    /// work fails on everything. However often each was [tried](Builder::retry), it counts once. Which one is the last depends on how the input is cut, so only with a
    /// [fixed chunk size](Builder::chunk_size) on the input alone. Default: 64; 0 is no limit.
    pub fn max_failing_runs(mut self, runs: u64) -> Builder {
        self.settings.max_failing_runs = runs;
        self
    }

    /// A plain loop on one thread: the same result, the reference. Default: no.
    pub fn sequential(mut self, sequential: bool) -> Builder {
        self.settings.sequential = sequential;
        self
    }

    /// Makes the run one that can be continued. While it goes on, its output is `OUTPUT.part`, and `OUTPUT.checkpoint` beside it says what
    /// the next run needs to know. A run of the same settings with the same key goes on from there, after a kill at any moment, a power cut,
    /// a failure or a stop, and gives the same bytes as one that was never interrupted. Threads, memory, chunk sizes, what becomes of failing
    /// records, retries and limits of failures may be other ones. Default: no.
    ///
    /// ```no_run
    /// use inorder::{Pipeline, Sink, Source};
    ///
    /// let pipeline = Pipeline::builder().resume("upper case, version 1").build()?;
    /// pipeline.run_each(Source::file("in.txt"), Sink::file("out.txt"), |record, out| {
    ///     out.line(&record.bytes().to_ascii_uppercase());
    /// })?;
    /// # Ok::<(), inorder::Error>(())
    /// ```
    ///
    /// The [key](Resume) stands for the work, which must give the same for the same record; what else it depends on is a
    /// [setting](Resume::setting) of the key, the chunk size too, where a [`Process`](crate::Process) gives other bytes for other
    /// [chunks](crate::Process::chunk). What [`commit`](crate::Process::commit) remembers in its [`RunState`](crate::RunState) is kept.
    /// The state stands at a chunk's border: records of a chunk that was not done are worked on again.
    ///
    /// An input whose device, inode, length or time of change differs from what it was is read again as far as it was processed, and
    /// compared; the length must be the same.
    ///
    /// Inputs and output must be regular files; of another kind they are refused (kind [`Config`](ErrorKind::Config)). Kind
    /// [`Refused`](ErrorKind::Refused) says that an input, a setting or what was left has changed in a way that changes bytes, or that another run
    /// writes the output. Nothing is touched then. The files of [rejects](OnError::Reject) go the same way.
    ///
    /// Only on Unix; elsewhere [`build`](Builder::build) refuses it.
    pub fn resume(mut self, resume: impl Into<Resume>) -> Builder {
        self.settings.resume = Some(resume.into());
        self
    }

    /// Who is told of the progress. Default: nobody.
    pub fn observe(mut self, observer: Arc<dyn Observer>) -> Builder {
        self.settings.observer = Some(observer);
        self
    }

    /// What ends the runs, for several pipelines that are to end together, or for work that waits (see
    /// [`StopHandle::interrupts`](crate::StopHandle::interrupts)). Default: a handle of its own, which
    /// [`Pipeline::stop_handle`] gives.
    pub fn stop_handle(mut self, stop: StopHandle) -> Builder {
        self.settings.stop = Some(stop);
        self
    }

    /// Maps regular files instead of reading them, where the result can be taken back until the end: a file that is not
    /// published yet, or [`discard`](crate::Sink::discard). For other sinks files are read all the same. Default: no. Both
    /// ways give the same bytes; mapped windows save a copy.
    ///
    /// # Safety
    /// Nobody may change an input file while a run reads it. A file that is cut short can end the process with SIGBUS (see
    /// [`guard_mapped_reads`](crate::guard_mapped_reads)), and bytes that change under a `&[u8]` are undefined behaviour.
    #[allow(
        unsafe_code,
        reason = "the promise can only be the caller's; nothing unsafe happens here"
    )]
    pub unsafe fn memory_map(mut self, memory_map: bool) -> Builder {
        self.settings.memory_map = memory_map;
        self
    }

    /// Checks the settings and fills in the defaults.
    ///
    /// # Errors
    /// Of kind [`Config`](ErrorKind::Config): a dialect whose delimiter and quote are equal, CR, LF or above 0x7F; a size,
    /// number of records in a chunk, longest record or rate of 0; more than 65,535 threads.
    pub fn build(self) -> Result<Pipeline, Error> {
        let mut settings = self.settings;
        let refuse = |what: String| Err(Error::new(ErrorKind::Config, what));
        for format in [Some(&settings.format), settings.output_format.as_ref()] {
            if let Some(reason) = format.and_then(Format::refuse) {
                return refuse(reason);
            }
        }
        for (size, name) in [
            (settings.chunk_bytes.unwrap_or(1), "chunk size"),
            (
                settings.chunk_records.min(1) as usize,
                "number of records in a chunk",
            ),
            (settings.max_record_size, "longest record"),
        ] {
            if size == 0 {
                return refuse(format!("the {name} must be at least 1"));
            }
        }
        if cfg!(not(unix)) && settings.resume.is_some() {
            return refuse("runs can be resumed on Unix only".to_owned());
        }
        if let Some(rate) = settings.rate
            && (rate.records == 0 || rate.per.is_zero())
        {
            return refuse("the rate must be at least one record in some time".into());
        }
        if settings.threads > MOST_THREADS {
            return refuse(format!(
                "{} threads are too many: {MOST_THREADS} are the most",
                settings.threads
            ));
        }
        if settings.threads == 0 {
            settings.threads =
                std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        }
        if settings.memory == 0 {
            settings.memory = settings.threads.saturating_mul(4 << 20).max(64 << 20);
        }
        let stop = settings.stop.take().unwrap_or_default();
        Ok(Pipeline { settings, stop })
    }
}

/// As many workers as a pool may have.
const MOST_THREADS: usize = 65_535;

impl Settings {
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
