//! Joins the stages into a run.
//!
//! A run has three kinds of threads. The reader's thread frames chunks, reserves a slot in the order for each, and waits when there is no
//! room: that is the back-pressure. The pool's workers take chunks that the order lets start, fill their slots, and never wait for another
//! part of the run. The writer's thread takes the results strictly in order, and only when one is written does its room go back
//! to the reader. Whoever makes room hands over the next chunk: the reader after it pushed one, a worker as its last act, the
//! writer after it wrote one.
//!
//! Reader and writer are plain threads in no pool, so the caller may be a worker of any pool and hold any lock.
//!
//! What fails is tried again, set aside or left out by the worker that meets it; where a delay comes first the chunk goes back to the ready
//! list with what is done of it, so that no worker sleeps. Failures are told, written and held against the limits in the ordered stage, so
//! which one ends a run is the same for any number of threads.
//!
//! A run begins as a plain loop on the writer's thread, and becomes parallel only when a millisecond has passed (of
//! work alone, where there is one worker) and input is left: small files never pay for a pool. A sequential run is that same loop to its
//! end, which makes it the reference.

mod builder;
#[cfg(unix)]
mod closed;
mod failures;
mod inputs;
mod messages;
mod options;
mod ordered;
mod packing;
mod parallel;
mod records;
#[cfg_attr(not(unix), path = "pipeline/no_resuming.rs")]
mod resuming;
mod settings;
mod stage;
mod stages;
mod times;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use builder::Builder;
pub use options::{OnError, Preamble};
pub use records::{RecordMap, Records};

use crate::buffer::Buffer;
use crate::control::StopHandle;
use crate::error::{BoxError, Error, ErrorKind, panic_text};
use crate::frame::{ChunkSize, FrameError, Framer, Reason};
use crate::input::Source;
use crate::output::Sink;
use crate::pool::{Pending, Worked};
use crate::process::{Each, Outcome, Process};
use crate::record::Record;
use crate::summary::{Summary, WorkerSummary};
use ordered::Verdict;
use resuming::Found;
use settings::Settings;
use stages::{Outputs, Stages, check_origins};
use times::Times;

/// The plain loop goes on for so long before threads are started. Reading and writing count where there are threads for them, waits
/// included: to do them at the same time makes a copy without any work a third faster.
const WARM_UP: Duration = Duration::from_millis(1);

/// A run's settings, ready to be used, any number of times.
///
/// ```
/// use inorder::{Format, Pipeline, Sink, Source};
///
/// let pipeline = Pipeline::builder().format(Format::csv()).threads(2).build()?;
/// let mut out = Vec::new();
/// let input = b"name,born\nAda,1815\nAlan,1912\n";
/// let summary = pipeline.run_each(Source::bytes(input), Sink::writer(&mut out), |record, out| {
///     out.row([record.fields().next().unwrap_or_default().to_ascii_uppercase()])
/// })?;
/// assert_eq!(out, b"name,born\nADA\nALAN\n");
/// assert_eq!(summary.records, 2);
/// # Ok::<(), inorder::Error>(())
/// ```
#[derive(Debug)]
pub struct Pipeline {
    settings: Settings,
    stop: StopHandle,
}

impl Pipeline {
    /// Begins the settings of a pipeline.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Works on each record with a closure, which may return nothing or a `Result`.
    ///
    /// # Errors
    /// As [`run`](Pipeline::run).
    pub fn run_each<F, R>(
        &self,
        source: Source<'_>,
        sink: Sink<'_>,
        work: F,
    ) -> Result<Summary, Error>
    where
        F: Fn(&Record<'_>, &mut Buffer) -> R + Sync,
        R: Outcome,
    {
        self.run(source, sink, &Each(work))
    }

    /// Reads the source, works on its records on the workers' threads, and writes the results in input order.
    ///
    /// May be called inside any thread pool, under any lock: it only waits, and neither runs nor steals other work.
    ///
    /// # Errors
    /// The first failure in input order, after everything before it is written; a failing sink, a changed input and an
    /// [`abort`](StopHandle::abort) end the run at once. A file sink is published only if there is no error.
    pub fn run<P: Process>(
        &self,
        source: Source<'_>,
        sink: Sink<'_>,
        process: &P,
    ) -> Result<Summary, Error> {
        std::thread::scope(|scope| {
            let mut thread = std::thread::Builder::new().name("inorder-writer".to_owned());
            // It works on the first chunks, and in a sequential run on all.
            if let Some(bytes) = self.settings.stack_size {
                thread = thread.stack_size(bytes);
            }
            let run = thread
                .spawn_scoped(scope, || {
                    catch_unwind(AssertUnwindSafe(|| self.run_here(source, sink, process)))
                })
                .map_err(|error| cannot_start(error.into()))?;
            match run.join().and_then(|caught| caught) {
                Ok(result) => result,
                Err(payload) => Err(panicked("the run panicked", payload)),
            }
        })
    }

    /// Ends runs of this pipeline from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// The records of a source, to be made values in order: see [`Records::map`].
    ///
    /// # Errors
    /// An input that is not there, is a directory or may not be opened.
    pub fn records(&self, source: Source<'static>) -> Result<Records, Error> {
        Records::new(self.settings.clone(), self.stop.clone(), source)
    }

    /// The run, on the thread that becomes the writer's.
    fn run_here<P: Process>(
        &self,
        source: Source<'_>,
        sink: Sink<'_>,
        process: &P,
    ) -> Result<Summary, Error> {
        let begun = Instant::now();
        let settings = &self.settings.for_source(&source);
        let origins = source.inputs();
        check_origins(&origins)?;
        // Before anything is read that a stop has to end.
        let control = self.stop.enroll();
        let outputs = match &settings.resume {
            None => Outputs::open(settings, sink)?,
            Some(resume) => match resuming::open(settings, resume, &origins, &sink, &control)? {
                Found::Run(outputs) => *outputs,
                Found::Published(mut summary) => {
                    summary.elapsed = begun.elapsed();
                    return Ok(*summary);
                }
            },
        };
        let (mut stages, framer) = Stages::open(settings, control, origins, outputs, process)?;
        let mut run = Run {
            settings,
            size: Arc::new(settings.chunk_size()),
            peak: 0,
            times: Times::default(),
        };
        let result = run.all(&mut stages, framer);
        let result = result.and_then(|()| stages.control.stopped_early());
        let result = result.and_then(|()| stages.ordered.finish(&stages.buffers));
        let result = result.map_err(|error| stages.ordered.told_of_close(error));
        stages.ordered.end(result, |summary| {
            summary.threads = if settings.sequential {
                1
            } else {
                settings.threads
            };
            // Those that no chunk came to are listed too.
            let workers = summary.threads.max(summary.workers.len());
            summary.workers.resize(workers, WorkerSummary::default());
            summary.peak_in_flight = run.peak;
            summary.reader_time = run.times.reader;
            summary.writer_time = run.times.writer;
            summary.elapsed = begun.elapsed();
        })
    }
}

/// One run.
struct Run<'r> {
    settings: &'r Settings,
    size: Arc<ChunkSize>,
    peak: u64,
    times: Times,
}

impl Run<'_> {
    fn all<P: Process + Clone + Send>(
        &mut self,
        stages: &mut Stages<'_, P>,
        mut framer: Framer<'_>,
    ) -> Result<(), Error> {
        stages.begin(self.settings, &mut framer)?;
        match self.inline(stages, &mut framer)? {
            Inline::End => Ok(()),
            Inline::Rest(first) => self.parallel(stages, framer, first),
        }
    }

    /// The plain loop.
    fn inline<P: Process>(
        &mut self,
        stages: &mut Stages<'_, P>,
        framer: &mut Framer<'_>,
    ) -> Result<Inline, Error> {
        let ordered = &mut stages.ordered;
        let begun = Instant::now();
        let mut busy = Duration::ZERO;
        // On one thread nothing is gained but where the work is long enough to be overlapped by reading and writing.
        let several = self.settings.threads > 1;
        let is_small = |busy| if several { begun.elapsed() } else { busy } < WARM_UP;
        // A chunk of fixed size can be long: the first one is not to be worked on alone.
        let adaptive = self.settings.chunk_bytes.is_none();
        while self.settings.sequential || (adaptive && is_small(busy)) {
            let next = reading(|| framer.next(self.size.want()));
            let Some(framed) = next.map_err(|error| ordered.reader_failed(error))? else {
                return Ok(Inline::End);
            };
            let mut pending = Pending::from(framed);
            loop {
                let bytes = pending.framed.bytes.len();
                let held = pending.framed.held();
                let done = match stages.work.run(pending, 0, |_, ()| ()) {
                    Worked::Done(done, ()) => done,
                    Worked::Later(later) if self.settings.sequential => {
                        if let Some(due) = later.due() {
                            stages.control.sleep_until(due);
                        }
                        pending = later;
                        continue;
                    }
                    Worked::Later(later) => return Ok(Inline::Rest(Some(later))),
                };
                busy += done.tally.busy;
                self.size
                    .observe(bytes, done.tally.output.own_bytes(), done.tally.busy);
                let in_flight = held + done.held();
                self.peak = self.peak.max(in_flight as u64);
                match ordered.commit(done, 0)? {
                    Verdict::Written => break,
                    Verdict::Again(again) => pending = again.into(),
                }
            }
        }
        Ok(Inline::Rest(None))
    }
}

/// How the plain loop ended.
enum Inline {
    /// With the input.
    End,
    /// The rest is for all threads: perhaps a chunk that was begun and has to wait for its next attempt, and what is not read.
    Rest(Option<Pending<()>>),
}

fn cannot_start(error: BoxError) -> Error {
    Error::new(ErrorKind::Internal, "threads cannot be started").because(error)
}

fn panicked(what: &'static str, payload: Box<dyn std::any::Any + Send>) -> Error {
    Error::new(ErrorKind::Panic, what).because(panic_text(payload))
}

/// Threads that cannot be started, as the reader's error.
fn no_threads(error: std::io::Error) -> FrameError {
    FrameError {
        reason: Reason::NoThreads(error),
        input: std::path::Path::new("").into(),
        index: 0,
        offset: 0,
        records: 0,
    }
}

/// Reads; a panic of the reader is its error.
fn reading<T>(read: impl FnOnce() -> Result<T, FrameError>) -> Result<T, FrameError> {
    let read = catch_unwind(AssertUnwindSafe(read));
    read.unwrap_or_else(|payload| Err(reader_panicked(payload)))
}

/// A reader's panic, as the error that ends the run after what was read before.
fn reader_panicked(payload: Box<dyn std::any::Any + Send>) -> FrameError {
    FrameError {
        reason: Reason::Panicked(panic_text(payload).into()),
        input: std::path::Path::new("<input>").into(),
        index: usize::MAX,
        offset: 0,
        records: 0,
    }
}

/// Works on each record of `input` with a closure and writes the results to `output` in input order: lines, all cores, default settings.
///
/// The output appears under its name only when it is whole; a file that stood there before is untouched until then.
///
/// ```no_run
/// # fn main() -> Result<(), inorder::Error> {
/// inorder::process_file("in.txt", "out.txt", |record, out| {
///     out.line(&record.bytes().to_ascii_uppercase());
/// })?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`Pipeline::run`].
pub fn process_file<R: Outcome>(
    input: impl AsRef<std::path::Path>,
    output: impl AsRef<std::path::Path>,
    work: impl Fn(&Record<'_>, &mut Buffer) -> R + Sync,
) -> Result<Summary, Error> {
    Pipeline::builder().build()?.run_each(
        Source::file(input.as_ref()),
        Sink::file(output.as_ref()),
        work,
    )
}
