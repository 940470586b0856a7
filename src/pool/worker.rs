//! What a worker does with a chunk: work on its records, set failing ones aside, take back what they wrote.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use memchr::memchr_iter;

use crate::OnError;
use crate::buffer::{Buffer, BufferSettings, Mark};
use crate::control::Control;
use crate::error::{BoxError, FailureKind, drop_quietly, panic_text};
use crate::format::Framing;
use crate::frame::lines::is_blank;
use crate::frame::{Chunk, Framed, InputInfo, TooLong};
use crate::output::OutputError;
use crate::process::{ChunkError, Process};
use crate::sync::Mutex;

/// As many bytes of a chunk's end are kept to recognise a grown input by.
const TAIL: usize = 4096;

/// The work of a run, shared by its workers.
pub(crate) struct Work<P: Process> {
    process: P,
    on_error: OnError,
    max_record_size: usize,
    buffers: Arc<BufferSettings>,
    control: Arc<Control>,
    states: Mutex<Vec<P::State>>,
}

/// The result of a chunk.
pub(crate) struct Done {
    pub output: Buffer,
    pub processed: u64,
    pub failures: Vec<RecordFailure>,
    /// Why the work ended before the chunk did.
    pub ended: Option<Ended>,
    pub input: Arc<InputInfo>,
    pub attempt: u32,
    pub offset: u64,
    pub first: u64,
    pub records: u64,
    pub bytes: u64,
    /// See [`Framed::added`].
    pub added: usize,
    /// LF bytes in the chunk.
    pub lines: u64,
    /// The chunk's last bytes, where the input is watched.
    pub tail: Vec<u8>,
    pub unclosed: Option<usize>,
    pub busy: Duration,
    pub worker: usize,
}

/// Why the work on a chunk ended early.
pub(crate) enum Ended {
    /// A record failed and the run stops at failures.
    Failed(RecordFailure),
    /// A record is longer than allowed.
    TooLong(RecordFailure, TooLong),
    /// A state could not be made.
    Start(Held),
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
pub(crate) struct Held(BoxError);

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
struct Taken;

impl std::fmt::Display for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the error was taken")
    }
}

impl std::error::Error for Taken {}

impl<P: Process> Work<P> {
    pub fn new(
        process: P,
        on_error: OnError,
        max_record_size: usize,
        buffers: Arc<BufferSettings>,
        control: Arc<Control>,
    ) -> Work<P> {
        Work {
            process,
            on_error,
            max_record_size,
            buffers,
            control,
            states: Mutex::new(Vec::new()),
        }
    }

    /// Works on a chunk. Never panics, whatever the process does.
    pub fn run(&self, framed: Framed, worker: usize) -> Done {
        self.run_and_take(framed, worker, |_| ()).0
    }

    /// As [`run`](Work::run); takes something out of the state that worked on the chunk last.
    pub fn run_and_take<X>(
        &self,
        framed: Framed,
        worker: usize,
        take: impl FnOnce(Option<&mut P::State>) -> X,
    ) -> (Done, X) {
        let begun = Instant::now();
        let mut output = Buffer::new(Some(framed.bytes.clone()), Arc::clone(&self.buffers));
        let mut attempt = Attempt {
            work: self,
            framed: &framed,
            state: None,
            output: &mut output,
            processed: 0,
            failures: Vec::new(),
            counted: Cell::new((0, 0)),
        };
        let mut ended = attempt.whole_chunk().err();
        let (processed, failures) = (attempt.processed, std::mem::take(&mut attempt.failures));
        let taken = take(attempt.state.as_mut());
        if let Some(state) = attempt.state.take() {
            self.states().push(state);
        }
        if let Err(error) = output.close() {
            ended = Some(Ended::Spill(self.buffers.spill_error(error)));
        }
        let bytes = framed.own_bytes();
        let tail = match framed.input.watch {
            Some(_) => bytes[bytes.len().saturating_sub(TAIL)..].to_vec(),
            None => Vec::new(),
        };
        let done = Done {
            output,
            processed,
            failures,
            ended,
            attempt: framed.attempt,
            offset: framed.offset,
            first: framed.first,
            records: framed.records,
            bytes: bytes.len() as u64,
            lines: count_lines(bytes),
            added: framed.added,
            tail,
            unclosed: framed.unclosed,
            input: framed.input,
            busy: begun.elapsed(),
            worker,
        };
        (done, taken)
    }

    fn states(&self) -> crate::sync::MutexGuard<'_, Vec<P::State>> {
        // The lock is never held across user code, so a poisoned one is whole.
        self.states
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl<P: Process> Drop for Work<P> {
    fn drop(&mut self) {
        for state in std::mem::take(&mut *self.states()) {
            drop_quietly(state);
        }
    }
}

/// One go at a chunk.
struct Attempt<'w, P: Process> {
    work: &'w Work<P>,
    framed: &'w Framed,
    state: Option<P::State>,
    output: &'w mut Buffer,
    processed: u64,
    failures: Vec<RecordFailure>,
    /// A place in the chunk and the LF bytes before it, to count on from.
    counted: Cell<(usize, u64)>,
}

/// How one call of the process ended.
enum Outcome {
    Done,
    /// This record failed; what it wrote is taken back.
    Record(Mark, FailureKind, BoxError),
    /// It is not known which record failed.
    Whole(FailureKind, BoxError),
}

impl<P: Process> Attempt<'_, P> {
    fn whole_chunk(&mut self) -> Result<(), Ended> {
        let chunk = self.framed.view(&self.work.control);
        let too_long = self.find_too_long(&chunk);
        let unclosed = self
            .framed
            .unclosed
            .and_then(|_| self.framed.records.checked_sub(1));
        // A record that can't be worked on stands alone at the end of what can.
        let bad = too_long.as_ref().map(|bad| bad.index).or(unclosed);
        let Some(bad) = bad else {
            return self.part(&chunk, self.framed.records);
        };
        let start = match &too_long {
            Some(bad) => bad.start,
            None => chunk
                .spans()
                .nth(usize::try_from(bad).unwrap_or(usize::MAX))
                .map_or(chunk.range().end, |span| span.start),
        };
        if start > 0 {
            self.part(&chunk.part(0..start, 0), bad)?;
        }
        if let Some(failure) = too_long {
            let record = &self.framed.bytes[start..];
            let framing = self.framed.input.framing;
            let error = TooLong::new(record, framing, self.work.max_record_size);
            return Err(Ended::TooLong(failure, error));
        }
        let quote = self.framed.unclosed.unwrap_or_default();
        let opened = Unclosed {
            offset: self.framed.offset + quote as u64,
        };
        let failure = self.failure(bad, 1, start, FailureKind::Parse, Box::new(opened));
        self.fail(failure)
    }

    fn find_too_long(&self, chunk: &Chunk<'_>) -> Option<RecordFailure> {
        let most = self.work.max_record_size;
        // An end that was added is not of the input.
        let len = self.framed.own_bytes().len();
        if len <= most {
            return None;
        }
        let framing = self.framed.input.framing;
        let mut index = 0;
        // Of NDJSON all lines are looked at: the reader, too, takes no blank one that is longer.
        for span in chunk.lines() {
            if span.end.min(len) - span.start > most {
                let error = Box::new(Taken);
                return Some(self.failure(index, 1, span.start, FailureKind::Parse, error));
            }
            let content = &self.framed.bytes[span.start..span.content_end];
            index += u64::from(framing != Framing::Ndjson || !is_blank(content));
        }
        None
    }

    /// Works on a part of the chunk with this many records; failing ones are set aside.
    fn part(&mut self, chunk: &Chunk<'_>, records: u64) -> Result<(), Ended> {
        let mut rest = chunk.clone();
        let mut left = records;
        loop {
            let point = self.output.point();
            let first = rest.first_number() - 1 - self.framed.first;
            match self.call(&rest)? {
                Outcome::Done => {
                    self.processed += left;
                    return Ok(());
                }
                Outcome::Record(mark, kind, error) => {
                    self.processed += mark.index;
                    let failure = self.failure(first + mark.index, 1, mark.span.start, kind, error);
                    self.fail(failure)?;
                    rest = rest.rest(mark.span.end, mark.index + 1);
                    left = left.saturating_sub(mark.index + 1);
                }
                Outcome::Whole(kind, error) => {
                    self.output.return_to(point);
                    if left > 1 && self.work.on_error != OnError::Stop {
                        drop_quietly(error);
                        return self.halves(&rest, left);
                    }
                    let range = rest.range();
                    let record = rest.spans().next().map_or(range.clone(), |span| {
                        range.start + span.start..range.start + span.end
                    });
                    let alone = left == 1;
                    if alone {
                        self.output.gap(range.start..record.start);
                    }
                    let failure = self.failure(first, left, record.start, kind, error);
                    self.fail(failure)?;
                    if alone {
                        self.output.gap(record.end..range.end);
                    }
                    return Ok(());
                }
            }
            if left == 0 {
                // Blank lines at the end.
                self.output.gap(rest.range());
                return Ok(());
            }
        }
    }

    fn halves(&mut self, chunk: &Chunk<'_>, records: u64) -> Result<(), Ended> {
        let half = records / 2;
        let range = chunk.range();
        let middle = chunk
            .spans()
            .nth(usize::try_from(half).unwrap_or(usize::MAX))
            .map_or(range.end, |span| range.start + span.start);
        self.part(&chunk.part(range.start..middle, 0), half)?;
        self.part(&chunk.part(middle..range.end, half), records - half)
    }

    /// Calls the process once, with a state.
    fn call(&mut self, chunk: &Chunk<'_>) -> Result<Outcome, Ended> {
        let process = &self.work.process;
        if self.work.control.is_stopped() {
            return Err(Ended::Stopped);
        }
        let mut state = match self.state.take().or_else(|| self.work.states().pop()) {
            Some(state) => state,
            None => match catch_unwind(AssertUnwindSafe(|| process.start())) {
                Ok(state) => state.map_err(|error| Ended::Start(Held(error)))?,
                Err(payload) => return Err(Ended::Start(Held(panicked(payload)))),
            },
        };
        let output = &mut *self.output;
        let called = catch_unwind(AssertUnwindSafe(|| {
            process.chunk(&mut state, chunk, output)
        }));
        let (kind, error) = match called {
            Ok(result) => {
                self.state = Some(state);
                match result {
                    Ok(()) => {
                        self.output.end();
                        return Ok(Outcome::Done);
                    }
                    Err(ChunkError::Stopped) => {
                        self.processed += self.output.end().map_or(0, |last| last + 1);
                        return Err(Ended::Stopped);
                    }
                    Err(ChunkError::Record(_, error)) | Err(ChunkError::Whole(error)) => {
                        (FailureKind::Work, error)
                    }
                }
            }
            Err(payload) => {
                // What a panic left behind is not used again.
                drop_quietly(state);
                (FailureKind::Panic, panicked(payload))
            }
        };
        let kind = if error.is::<Panicked>() {
            FailureKind::Panic
        } else {
            kind
        };
        Ok(match self.output.take_back() {
            Some(mark) => Outcome::Record(mark, kind, error),
            None => Outcome::Whole(kind, error),
        })
    }

    fn fail(&mut self, failure: RecordFailure) -> Result<(), Ended> {
        match self.work.on_error {
            OnError::Stop => Err(Ended::Failed(failure)),
            OnError::Skip => {
                self.failures.push(failure);
                Ok(())
            }
        }
    }

    /// LF bytes of the chunk before this place.
    fn lines_before(&self, start: usize) -> u64 {
        let (place, lines) = match self.counted.get() {
            counted if counted.0 <= start => counted,
            _ => (0, 0),
        };
        let lines = lines + count_lines(&self.framed.bytes[place..start]);
        self.counted.set((start, lines));
        lines
    }

    fn failure(
        &self,
        index: u64,
        records: u64,
        start: usize,
        kind: FailureKind,
        error: BoxError,
    ) -> RecordFailure {
        RecordFailure {
            index,
            records,
            start,
            lines: self.lines_before(start),
            kind,
            error: Held(error),
        }
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

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
    let text = panic_text(&*payload);
    drop_quietly(payload);
    Box::new(Panicked(text))
}

/// The input ended inside quotes.
#[derive(Debug)]
struct Unclosed {
    offset: u64,
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
