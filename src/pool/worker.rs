//! What a worker does with a chunk: work on its records, set failing ones aside, take back what they wrote.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memchr::memchr_iter;

use super::attempt::Attempt;
use super::failure::{Ended, RecordFailure};
use crate::OnError;
use crate::buffer::{Buffer, BufferSettings};
use crate::control::Control;
use crate::error::drop_quietly;
use crate::frame::{Framed, InputInfo};
use crate::input::Malformed;
use crate::process::Process;
use crate::sync::{Mutex, MutexGuard, lock};

/// As many bytes of a chunk's end are kept to recognise a grown input by.
const TAIL: usize = 4096;

/// The work of a run, shared by its workers.
pub(crate) struct Work<P: Process> {
    pub(super) process: P,
    pub(super) on_error: OnError,
    pub(super) max_record_size: usize,
    buffers: Arc<BufferSettings>,
    pub(super) control: Arc<Control>,
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
    /// See [`Framed::malformed`].
    pub malformed: Vec<Malformed>,
    /// The chunk's last bytes, where the input is watched.
    pub tail: Vec<u8>,
    pub unclosed: Option<usize>,
    pub busy: Duration,
    pub worker: usize,
}

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
        let tail = if framed.input.is_watched() {
            bytes[bytes.len().saturating_sub(TAIL)..].to_vec()
        } else {
            Vec::new()
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
            malformed: framed.malformed,
            input: framed.input,
            busy: begun.elapsed(),
            worker,
        };
        (done, taken)
    }

    pub(super) fn states(&self) -> MutexGuard<'_, Vec<P::State>> {
        lock(&self.states)
    }
}

impl<P: Process> Drop for Work<P> {
    fn drop(&mut self) {
        for state in std::mem::take(&mut *self.states()) {
            drop_quietly(state);
        }
    }
}

/// LF bytes.
pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}
