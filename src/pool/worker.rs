//! What a worker does with a chunk: the work on its records, the figures, and the memory it needs no longer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::attempt::Attempt;
use super::failure::{Ended, Held, panicked};
use super::policy::Policy;
use super::so_far::{Begun, Pending, SoFar, Tally};
use crate::buffer::{Buffer, BufferSettings};
use crate::checksum::crc;
use crate::control::Control;
use crate::error::drop_quietly;
use crate::frame::{Framed, Place};
use crate::process::Process;
use crate::progress::{Observer, Working};
use crate::sync::{Mutex, MutexGuard, lock};

/// As many bytes of a chunk's end are kept to recognise a grown input by.
const TAIL: usize = 4096;

/// The work of a run, shared by its workers.
pub(crate) struct Work<P: Process> {
    pub process: P,
    pub policy: Policy,
    pub max_record_size: usize,
    pub buffers: Arc<BufferSettings>,
    pub control: Arc<Control>,
    pub observer: Option<Arc<dyn Observer>>,
    states: Mutex<Vec<P::State>>,
    /// Whether the input is summed.
    sums: bool,
}

/// What became of a chunk that a worker took.
#[allow(
    clippy::large_enum_variant,
    reason = "moved once a chunk, where a box would be an allocation"
)]
pub(crate) enum Worked<X> {
    Done(Done, X),
    /// A delay comes before it is gone on with.
    Later(Pending<X>),
}

/// The result of a chunk.
pub(crate) struct Done {
    pub tally: Tally,
    /// The chunk failed, but none of its records failed alone.
    pub is_flaky: bool,
    /// Why the work ended before the chunk did.
    pub ended: Option<Ended>,
    pub place: Place,
    /// Bytes of the input in the chunk.
    pub bytes: u64,
    /// Where the run can be gone on from.
    pub sums: Option<Sums>,
    /// The chunk's last bytes, where the input is watched.
    pub tail: Vec<u8>,
    pub worker: usize,
}

/// The checksums of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sums {
    /// Of its bytes of the input.
    pub input: u32,
    /// Of what is written for it, if all of that is in memory.
    pub output: Option<u32>,
}

impl Done {
    /// What the result holds until it is written.
    pub fn held(&self) -> usize {
        self.tally.held() + self.place.held()
    }
}

impl<P: Process> Work<P> {
    pub fn new(
        process: P,
        policy: Policy,
        max_record_size: usize,
        buffers: Arc<BufferSettings>,
        control: Arc<Control>,
        observer: Option<Arc<dyn Observer>>,
        sums: bool,
    ) -> Work<P> {
        Work {
            process,
            policy,
            max_record_size,
            buffers,
            control,
            observer,
            states: Mutex::new(Vec::new()),
            sums,
        }
    }

    /// Works on a chunk. Never panics, whatever the process does. `take` adds what it takes out of a state to what was taken before.
    pub fn run<X: Default>(
        &self,
        pending: Pending<X>,
        worker: usize,
        take: impl FnOnce(Option<&mut P::State>, &mut X),
    ) -> Worked<X> {
        let start = Instant::now();
        // What a plain loop began before there were workers can come too early.
        if !self.control.is_stopped() && pending.due().is_some_and(|due| due > start) {
            return Worked::Later(pending);
        }
        let Pending { framed, begun } = pending;
        let (mut so_far, mut taken) = match begun {
            Some(begun) => (begun.so_far, begun.taken),
            None => (self.begin(&framed), X::default()),
        };
        let mut attempt = Attempt {
            work: self,
            framed: &framed,
            state: None,
            so_far: &mut so_far,
        };
        let went = self.tell(worker, &framed, || attempt.go_on());
        take(attempt.state.as_mut(), &mut taken);
        if let Some(state) = attempt.state.take() {
            self.states().push(state);
        }
        so_far.tally.busy += start.elapsed();
        let ended = match went {
            Ok(Some(delay)) => {
                let due = Instant::now() + delay;
                return Worked::Later(Pending {
                    framed,
                    begun: Some(Box::new(Begun { so_far, taken, due })),
                });
            }
            Ok(None) => None,
            Err(ended) => Some(ended),
        };
        Worked::Done(self.done(framed, so_far, ended, worker), taken)
    }

    fn begin(&self, framed: &Framed) -> SoFar {
        let input = framed.bytes.clone();
        SoFar::new(Buffer::new(Some(input), Arc::clone(&self.buffers)))
    }

    /// Tells the observer what is worked on meanwhile.
    fn tell<T>(
        &self,
        worker: usize,
        framed: &Framed,
        work: impl FnOnce() -> Result<T, Ended>,
    ) -> Result<T, Ended> {
        let Some(observer) = &self.observer else {
            return work();
        };
        let tell = |working: Option<&Working<'_>>| {
            let told = catch_unwind(AssertUnwindSafe(|| observer.working(worker, working)));
            told.map_err(|payload| Ended::Observer(Held(panicked(payload))))
        };
        tell(Some(&Working {
            input: &framed.place.input.name,
            first: framed.place.first + 1,
            records: framed.place.records,
        }))?;
        let worked = work();
        tell(None)?;
        worked
    }

    fn done(
        &self,
        framed: Framed,
        mut so_far: SoFar,
        mut ended: Option<Ended>,
        worker: usize,
    ) -> Done {
        let closed = so_far.tally.output.close();
        // What could not be spilled is gone: such output is neither summed nor written.
        let is_whole = closed.is_ok();
        if let Err(error) = closed {
            ended = Some(Ended::Spill(self.buffers.spill_error(error)));
        }
        let bytes = framed.own_bytes();
        let tail = if framed.place.input.is_watched() {
            bytes[bytes.len().saturating_sub(TAIL)..].to_vec()
        } else {
            Vec::new()
        };
        let sums = self.sums.then(|| {
            let input = crc(bytes);
            let whole = match framed.place.added {
                0 => input,
                _ => crc(&framed.bytes),
            };
            let output = is_whole.then(|| so_far.tally.output.sum(whole)).flatten();
            Sums { input, output }
        });
        Done {
            is_flaky: so_far.is_flaky(),
            tally: so_far.tally,
            ended,
            bytes: bytes.len() as u64,
            sums,
            tail,
            place: framed.place,
            worker,
        }
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
