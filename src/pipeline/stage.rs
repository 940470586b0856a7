//! Reader and workers around the order: what a run to a sink and ordered values have in common.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::packing::Packing;
use super::reading;
use super::settings::Settings;
use crate::control::{Control, Stop};
use crate::error::drop_quietly;
use crate::frame::{ChunkSize, FrameError, Framer};
use crate::order::{Limits, Order, Ticket};
use crate::pool::{Done, Pending, Pool, Work, Worked};
use crate::process::Process;

/// A chunk is charged so much for itself, beside its bytes.
pub(super) const CHUNK_OVERHEAD: usize = 1024;

/// Results in their order, each with what was taken out of the state that worked on it.
pub(super) type Results<X> = Order<Pending<X>, (Done, X)>;

/// What reader and workers share.
pub(super) struct Stage<P: Process, X> {
    pub order: Arc<Results<X>>,
    work: Arc<Work<P>>,
    size: Arc<ChunkSize>,
    take: Take<P, X>,
    pub packing: Option<Arc<Packing>>,
}

/// Takes something out of the state that worked on a chunk, and adds it to what was taken before a delay.
pub(super) type Take<P, X> = fn(Option<&mut <P as Process>::State>, &mut X);

impl<X: Send + 'static> Stop for Results<X> {
    fn stop(&self) {
        Order::stop(self);
    }
}

impl<P: Process + Send, X: Default + Send + 'static> Stage<P, X> {
    pub fn new(
        settings: &Settings,
        control: &Control,
        work: Arc<Work<P>>,
        size: Arc<ChunkSize>,
        take: Take<P, X>,
        packing: Option<Arc<Packing>>,
    ) -> Stage<P, X> {
        let order = Arc::new(Order::new(Limits {
            bytes: settings.memory - packing.as_ref().map_or(0, |_| Packing::share(settings)),
            slots: slots(settings.threads),
            started: settings.threads,
        }));
        control.stops_too(Arc::clone(&order) as Arc<dyn Stop>);
        Stage {
            order,
            work,
            size,
            take,
            packing,
        }
    }

    /// Most bytes that were in flight.
    pub fn peak(&self) -> usize {
        self.order.peak() + self.packing.as_ref().map_or(0, |packing| packing.peak())
    }

    /// The reader's thread: the pull, and the back-pressure.
    ///
    /// `first`: a chunk that is not done comes before those that are read.
    pub fn read<'s>(
        &'s self,
        pool: &Pool<'_, 's>,
        framer: Framer<'_>,
        first: Option<Pending<X>>,
    ) -> Result<(), FrameError> {
        let result = reading(|| self.read_all(pool, framer, first));
        self.order.close();
        result
    }

    fn read_all<'s>(
        &'s self,
        pool: &Pool<'_, 's>,
        mut framer: Framer<'_>,
        mut first: Option<Pending<X>>,
    ) -> Result<(), FrameError> {
        while self.order.wait_for_room() {
            let next = match first.take() {
                Some(first) => Some(first),
                None => framer.next(self.size.want())?.map(Pending::from),
            };
            let Some(pending) = next else {
                break;
            };
            let bytes = pending.held() + CHUNK_OVERHEAD;
            if self.order.push(pending, bytes).is_err() {
                break;
            }
            self.hand_over(pool);
        }
        Ok(())
    }

    /// Gives the pool the chunks that may start.
    pub fn hand_over<'s>(&'s self, pool: &Pool<'_, 's>) {
        while let Some((ticket, pending)) = self.order.start_next() {
            self.start(pool, ticket, pending);
        }
    }

    /// Gives the pool a chunk.
    pub fn start<'s>(&'s self, pool: &Pool<'_, 's>, ticket: Ticket, pending: Pending<X>) {
        pool.spawn(move |pool| self.work_on(pool, ticket, pending));
    }

    /// A worker's job.
    fn work_on<'s>(&'s self, pool: &Pool<'_, 's>, ticket: Ticket, pending: Pending<X>) {
        let claim = self.order.claim(ticket);
        let bytes = pending.framed.bytes.len();
        // The work catches what the process panics with; this is for what should not happen, and leaves the claim unfilled.
        let worked = catch_unwind(AssertUnwindSafe(|| {
            let worker = pool.worker_index();
            self.work.run(pending, worker, self.take)
        }));
        match worked {
            Ok(Worked::Done(done, taken)) => {
                self.size
                    .observe(bytes, done.tally.output.own_bytes(), done.tally.busy);
                // What is taken weighs about as much as the input that it comes from.
                let values = if size_of::<X>() == 0 { 0 } else { bytes };
                let held = charge(&done).max(values);
                claim.fill((done, taken), held);
            }
            Ok(Worked::Later(pending)) => {
                let held = pending.held() + CHUNK_OVERHEAD;
                let due = pending.due().unwrap_or_else(Instant::now);
                claim.put_back(pending, held, due);
            }
            Err(payload) => {
                drop_quietly(payload);
                drop(claim);
            }
        }
        if let Some(packing) = &self.packing {
            packing.pack_ready();
        }
        self.hand_over(pool);
    }
}

/// The most chunks in flight. Each may be of another input, which stays open until its last chunk is written, so they are fewer where few
/// files may be open.
fn slots(threads: usize) -> usize {
    let most = threads.saturating_mul(16).max(64);
    match open_files() {
        Some(files) => most.min((files / 2).max(threads.saturating_mul(2))),
        None => most,
    }
}

/// How many files may be open. `None`: there is no limit, or it is not known.
#[cfg(unix)]
fn open_files() -> Option<usize> {
    use rustix::process::{Resource, getrlimit};
    usize::try_from(getrlimit(Resource::Nofile).current?).ok()
}

#[cfg(not(unix))]
fn open_files() -> Option<usize> {
    None
}

/// What a result is charged until it is written.
pub(super) fn charge(done: &Done) -> usize {
    done.held() + CHUNK_OVERHEAD
}

/// Stops the run when it is dropped.
pub(super) struct StopOnDrop<'r>(pub &'r Control);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
