//! The settings of a run.

use std::sync::Arc;
use std::time::Duration;

use super::Pipeline;
use super::options::{OnError, Preamble};
use super::settings::Settings;
use crate::control::StopHandle;
use crate::error::{Error, ErrorKind};
use crate::format::Format;
use crate::frame::Rate;
use crate::progress::Observer;
use crate::resume::Resume;
use crate::retry::Retry;
#[cfg(feature = "encoding")]
use crate::text::Encoding;

/// Settings of a [`Pipeline`], each with a default.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Builder {
    settings: Settings,
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

    /// A fixed chunk size in bytes: a chunk ends at the last record end at or before a multiple of it, counted from the input's start (one
    /// at least half a size away), else at the first after it. With a bound on its [records](Builder::chunk_records) it is counted from
    /// the chunk's start. Default: adaptive, from one record to 1 MiB. The output does not depend on it.
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
