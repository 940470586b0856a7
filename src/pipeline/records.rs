//! Ordered values from a file's records, instead of bytes in an output.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::settings::Settings;
use super::stage::{Results, Stage, charge};
use super::stages::{Outputs, Stages, check_origins};
use super::{cannot_start, panicked as run_panicked};
use crate::buffer::Buffer;
use crate::control::StopHandle;
use crate::error::{BoxError, Error, ErrorKind, drop_quietly};
use crate::frame::{FrameError, Framer};
use crate::input::Source;
use crate::order::{Next, Ticket};
use crate::output::Sink;
use crate::pool::{Done, Pending, Pool, panicked, with_pool};
use crate::process::Process;
use crate::record::Record;

/// The records of a source: made by [`Pipeline::records`](crate::Pipeline::records).
#[must_use = "nothing is read before a value is asked for"]
pub struct Records {
    settings: Settings,
    stop: StopHandle,
    source: Source<'static>,
}

impl Records {
    pub(super) fn new(
        settings: Settings,
        stop: StopHandle,
        source: Source<'static>,
    ) -> Result<Records, Error> {
        let origins = source.inputs();
        check_origins(&origins)?;
        let source = Source::of_inputs(origins);
        Ok(Records {
            settings,
            stop,
            source,
        })
    }

    /// The values that `work` makes of the records, in input order, made on the workers' threads; nothing is read before the first is
    /// asked for. A pipeline that is [`sequential`](crate::Builder::sequential) makes them on its threads all the same. The memory of the pipeline bounds the input that is ahead of the values taken.
    ///
    /// The iterator ends after the first error in order: that of the first failing record with
    /// [`OnError::Stop`](crate::OnError::Stop), its position in it, or what else would end a run. With
    /// [`OnError::Skip`](crate::OnError::Skip) failing records are left out and told to the observer. Dropping the iterator stops the work
    /// after the records at hand and joins its threads.
    ///
    /// ```
    /// use inorder::{Format, Pipeline, Source};
    ///
    /// let pipeline = Pipeline::builder().format(Format::csv()).build()?;
    /// let input = Source::bytes(b"name,born\nAda,1815\nAlan,1912\n");
    /// let years = pipeline.records(input)?.map(|record| {
    ///     let born = record.get("born").unwrap_or_default();
    ///     std::str::from_utf8(&born)?.parse::<u32>().map_err(inorder::BoxError::from)
    /// });
    /// assert_eq!(years.collect::<Result<Vec<_>, _>>()?, [1815, 1912]);
    /// # Ok::<(), inorder::Error>(())
    /// ```
    pub fn map<T, E, F>(self, work: F) -> RecordMap<T>
    where
        F: Fn(&Record<'_>) -> Result<T, E> + Send + Sync + 'static,
        T: Send + 'static,
        E: Into<BoxError>,
    {
        RecordMap {
            waiting: Some(self),
            work: Collect(Arc::new(move |record| work(record).map_err(Into::into))),
            run: None,
            values: Vec::new().into_iter(),
            error: None,
        }
    }
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

/// Values in input order: see [`Records::map`].
#[must_use = "nothing is read before a value is asked for"]
pub struct RecordMap<T: Send + 'static> {
    /// Until the first value is asked for.
    waiting: Option<Records>,
    work: Collect<T>,
    run: Option<Values<T>>,
    /// Of the chunk that was taken last.
    values: std::vec::IntoIter<T>,
    /// Comes after these values.
    error: Option<Error>,
}

/// A chunk for the pool.
type Started<T> = (Ticket, Pending<Vec<T>>);

fn take_values<T>(values: Option<&mut Vec<T>>, taken: &mut Vec<T>) {
    match values {
        Some(values) if taken.is_empty() => std::mem::swap(values, taken),
        Some(values) => taken.append(values),
        None => {}
    }
}

/// A run whose results are values.
struct Values<T: Send + 'static> {
    order: Arc<Results<Vec<T>>>,
    /// Completes positions and counts; what it writes goes nowhere.
    stages: Stages<'static, Collect<T>>,
    /// Carries chunks to the thread that owns the pool.
    hand_over: Option<Sender<Started<T>>>,
    thread: Option<JoinHandle<Result<(), FrameError>>>,
    /// A chunk was taken whose values are not all with the caller.
    taken: bool,
}

/// The values of a chunk, and the error that comes after them.
struct ChunkValues<T> {
    values: Vec<T>,
    error: Option<Error>,
}

impl<T: Send + 'static> RecordMap<T> {
    /// Goes on to the next chunk. `false`: there is none.
    fn advance(&mut self) -> Result<bool, Error> {
        if let Some(records) = self.waiting.take() {
            self.run = Some(Values::start(records, &self.work)?);
        }
        let Some(run) = &mut self.run else {
            return Ok(false);
        };
        match run.next()? {
            Some(chunk) => {
                self.values = chunk.values.into_iter();
                self.error = chunk.error;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

impl<T: Send + 'static> Values<T> {
    fn start(records: Records, work: &Collect<T>) -> Result<Values<T>, Error> {
        let settings = records.settings;
        let (stop, source) = (records.stop, records.source);
        if settings.resume.is_some() {
            let what = "values can't be resumed: only what is in a file can";
            return Err(Error::new(ErrorKind::Config, what));
        }
        let origins = source.inputs();
        check_origins(&origins)?;
        let outputs = Outputs::open(&settings, Sink::discard())?;
        let (mut stages, mut framer) =
            Stages::open(&settings, stop.enroll(), origins, outputs, work.clone())?;
        stages.begin(&settings, &mut framer)?;
        let size = Arc::new(settings.chunk_size());
        let work = Arc::clone(&stages.work);
        let stage = Stage::new(&settings, &stages.control, work, size, take_values, None);
        let order = Arc::clone(&stage.order);
        let control = Arc::clone(&stages.control);
        let (hand_over, startable) = channel();
        let thread = std::thread::Builder::new()
            .name("inorder-pool".to_owned())
            .spawn(move || {
                let stage = &stage;
                let read = with_pool(settings.threads, settings.stack_size, |pool| {
                    stage.read_beside(pool, framer, startable)
                });
                read.unwrap_or_else(|error| {
                    control.stop();
                    Err(super::no_threads(error))
                })
            })
            .map_err(|error| cannot_start(error.into()))?;
        Ok(Values {
            order,
            stages,
            hand_over: Some(hand_over),
            thread: Some(thread),
            taken: false,
        })
    }

    /// The next chunk's.
    fn next(&mut self) -> Result<Option<ChunkValues<T>>, Error> {
        if std::mem::take(&mut self.taken) {
            self.order.release();
            self.start_all();
        }
        match self.next_in_order() {
            Next::Result(_, (done, mut values)) => {
                self.taken = true;
                let others = self.order.in_flight().saturating_sub(charge(&done));
                let before = self.stages.ordered.processed();
                let committed = self.stages.ordered.commit(done, others);
                // The values behind a failing record that is one too many are not wanted.
                let processed = self.stages.ordered.processed() - before;
                values.truncate(usize::try_from(processed).unwrap_or(usize::MAX));
                match committed {
                    // Made of bytes that are not the input's any more.
                    Err(error) if error.kind() == ErrorKind::Changed => Err(error),
                    committed => Ok(Some(ChunkValues {
                        values,
                        error: committed.err(),
                    })),
                }
            }
            Next::Lost(seq) => {
                let what = format!("the result of chunk {seq} was lost");
                Err(Error::new(ErrorKind::Internal, what))
            }
            Next::Due | Next::End | Next::Stopped => self.finish().map(|()| None),
        }
    }

    fn next_in_order(&self) -> Next<(Done, Vec<T>)> {
        loop {
            match self.order.next() {
                Next::Due => self.start_all(),
                next => return next,
            }
        }
    }

    /// Hands over what may start. The pool is another thread's.
    fn start_all(&self) {
        while let Some(started) = self.order.start_next() {
            if let Some(hand_over) = &self.hand_over {
                // The receiver lives until the sender is dropped, unless the threads could not be started.
                let _ = hand_over.send(started);
            }
        }
    }

    /// All chunks are taken.
    fn finish(&mut self) -> Result<(), Error> {
        self.hand_over = None;
        match self.thread.take().map(JoinHandle::join) {
            None => {}
            Some(Ok(read)) => read.map_err(|error| self.stages.ordered.reader_failed(error))?,
            Some(Err(payload)) => return Err(run_panicked("the reader panicked", payload)),
        }
        self.stages.control.stopped_early()?;
        self.stages.ordered.complete()
    }
}

impl<T: Send + 'static> Stage<Collect<T>, Vec<T>> {
    /// Reads on a thread of its own, while this one, which owns the pool, takes chunks that the values' side made room for.
    fn read_beside<'s>(
        &'s self,
        pool: &Pool<'_, 's>,
        framer: Framer<'_>,
        startable: Receiver<Started<T>>,
    ) -> Result<(), FrameError> {
        std::thread::scope(|scope| {
            let reader = std::thread::Builder::new()
                .name("inorder-reader".to_owned())
                .spawn_scoped(scope, || self.read(pool, framer, None));
            let reader = reader.map_err(|error| {
                self.order.stop();
                super::no_threads(error)
            })?;
            for (ticket, pending) in startable {
                self.start(pool, ticket, pending);
            }
            match reader.join() {
                Ok(read) => read,
                Err(payload) => Err(super::reader_panicked(payload)),
            }
        })
    }
}

impl<T: Send + 'static> Drop for Values<T> {
    fn drop(&mut self) {
        self.stages.control.stop();
        self.hand_over = None;
        if let Some(read) = self.thread.take().map(JoinHandle::join) {
            // What went wrong after the last value that was asked for is nobody's business any more.
            drop_quietly(read);
        }
    }
}

impl<T: Send + 'static> Iterator for RecordMap<T> {
    type Item = Result<T, Error>;

    #[inline]
    fn next(&mut self) -> Option<Result<T, Error>> {
        loop {
            if let Some(value) = self.values.next() {
                return Some(Ok(value));
            }
            if let Some(error) = self.error.take() {
                self.run = None;
                return Some(Err(error));
            }
            match self.advance() {
                Ok(true) => {}
                Ok(false) => {
                    self.run = None;
                    return None;
                }
                Err(error) => {
                    self.run = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

impl<T: Send + 'static> std::iter::FusedIterator for RecordMap<T> {}

impl<T: Send + 'static> std::fmt::Debug for RecordMap<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordMap").finish_non_exhaustive()
    }
}

/// What makes a value of a record.
type MakeValue<T> = dyn Fn(&Record<'_>) -> Result<T, BoxError> + Send + Sync;

/// Work that collects values in its state.
struct Collect<T>(Arc<MakeValue<T>>);

impl<T> Clone for Collect<T> {
    fn clone(&self) -> Self {
        Collect(Arc::clone(&self.0))
    }
}

impl<T: Send> Process for Collect<T> {
    type State = Vec<T>;

    fn start(&self) -> Result<Vec<T>, BoxError> {
        Ok(Vec::new())
    }

    fn record(
        &self,
        values: &mut Vec<T>,
        record: &Record<'_>,
        _out: &mut Buffer,
    ) -> Result<(), BoxError> {
        // Caught here, so that the values before it are not lost with the state.
        let made = catch_unwind(AssertUnwindSafe(|| (self.0)(record)));
        values.push(made.map_err(panicked)??);
        Ok(())
    }
}
