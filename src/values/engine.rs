//! Source, workers and results around the order.
//!
//! Pulled items wait in the [`Gather`]. A worker takes as many of them as should keep it busy for a while, a group, and with it the next
//! slot of the order; one that finds nothing rests, and the source's side gives a resting worker the next item at once. Both decide under the
//! lock of the gather, so that free workers and working ones are always all workers, no item waits while a worker is free, and slots are
//! reserved in the order of the items.

use std::any::Any;
use std::cell::Cell;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::bounds::Bounds;
use super::gather::{Gather, Group};
use super::intake::Intake;
use super::worked::{Last, Worked, work_through};
use crate::error::drop_quietly;
use crate::frame::ChunkSize;
use crate::order::{Limits, Order, Ticket};
use crate::pool::{Pool, with_pool};
use crate::sync::{Mutex, MutexGuard, lock};

/// A caught panic, to be resumed where it belongs.
pub(super) type Payload = Box<dyn Any + Send>;

/// A group and its place in the order.
pub(super) type Assigned<T> = (Ticket, Group<T>);

/// A group should take about this long: long beside what handing it over costs (some µs), short for whoever waits for it.
pub(super) const GOAL: Duration = Duration::from_micros(200);

/// How often a worker that finds nothing looks again before it rests: to wake it costs more.
const PATIENCE: usize = 16;

/// What source, workers and results share.
pub(super) struct Shared<T, R, F> {
    pub order: Apart<Order<Group<T>, Worked<R>>>,
    gather: Apart<Mutex<Gather<T>>>,
    pub size: Apart<ChunkSize>,
    bounds: Bounds<T>,
    pub work: F,
    pub last: Option<Last<R>>,
    /// Groups from this sequence number on are not worked on any more.
    wanted: AtomicU64,
    source_panic: Mutex<Option<Payload>>,
}

/// On cache lines of its own: what one thread writes for each item must not slow down what others read for each item.
#[repr(align(128))]
pub(super) struct Apart<T>(T);

impl<T> Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T, R, F> Shared<T, R, F> {
    /// With `last`, nothing is wanted behind the first result for which it is true.
    pub fn new(bounds: Bounds<T>, work: F, last: Option<Last<R>>) -> Shared<T, R, F> {
        let most = (bounds.group() / bounds.share).max(1);
        Shared {
            order: Apart(Order::new(Limits {
                bytes: bounds.limit,
                slots: usize::MAX,
                started: usize::MAX,
            })),
            gather: Apart(Mutex::new(Gather::new(&bounds))),
            size: Apart(ChunkSize::adaptive(most, u64::MAX, GOAL)),
            bounds,
            work,
            last,
            wanted: AtomicU64::new(u64::MAX),
            source_panic: Mutex::new(None),
        }
    }

    pub fn bounds(&self) -> &Bounds<T> {
        &self.bounds
    }

    pub fn gather(&self) -> MutexGuard<'_, Gather<T>> {
        lock(&self.gather)
    }

    /// Ends the run: workers stop after the item at hand, nothing more is pulled.
    pub fn stop(&self) {
        self.wanted.store(0, Ordering::Relaxed);
        self.order.stop();
    }

    /// Nothing behind this group is wanted any more.
    pub fn end_after(&self, seq: u64) {
        self.wanted.fetch_min(seq + 1, Ordering::Relaxed);
    }

    #[inline]
    pub fn is_wanted(&self, seq: u64) -> bool {
        seq < self.wanted.load(Ordering::Relaxed)
    }

    /// Whether more items are wanted.
    #[inline]
    pub fn wants_more(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) == u64::MAX
    }

    /// No more items will come.
    pub fn end(&self) {
        let mut gather = self.gather();
        gather.end();
        if gather.is_done() {
            self.order.close();
        }
    }

    /// What the source panicked with, once all results before are taken.
    pub fn take_source_panic(&self) -> Option<Payload> {
        lock(&self.source_panic).take()
    }

    /// Takes a group for a worker, if there are items.
    pub fn take(&self, gather: &mut Gather<T>) -> Option<Assigned<T>> {
        let group = gather.take(self.size.want().bytes)?;
        // Not if it is stopped: nobody wants them.
        let ticket = self.order.begin(group.charge)?;
        if gather.is_done() {
            self.order.close();
        }
        Some((ticket, group))
    }

    /// What a worker does next, if there is anything.
    fn next_or_rest(&self) -> Option<Assigned<T>> {
        // If there is little, more may be about to come, and one large group is cheaper than two small ones.
        if self.gather().len() < self.size.want().bytes.div_ceil(2) {
            std::thread::yield_now();
        }
        for patience in (0..PATIENCE).rev() {
            let mut gather = self.gather();
            if let Some(taken) = self.take(&mut gather) {
                return Some(taken);
            }
            if patience == 0 {
                gather.rest();
                break;
            }
            drop(gather);
            std::thread::yield_now();
        }
        None
    }
}

impl<T, R, F> Shared<T, R, F>
where
    T: Send,
    R: Send,
    F: Fn(T) -> R + Sync,
{
    /// Pulls the source on this thread, with a pool, until it ends or the run is stopped.
    pub fn run<I: Iterator<Item = T> + Send>(&self, source: I) -> Result<(), std::io::Error> {
        let result = with_pool(self.bounds.threads, None, |pool| {
            let (mut source, mut intake) = (source, Intake::new());
            // Out here, so that nothing is dropped while a panic of source or weight unwinds.
            let mut pulled = None;
            let ended = catch_unwind(AssertUnwindSafe(|| {
                while intake.wait_for_room(self) {
                    pulled = source.next();
                    let wanted = |item| intake.wait_for_weight(self, item);
                    if !pulled.as_ref().is_some_and(wanted) {
                        break;
                    }
                    if let Some(item) = pulled.take() {
                        intake.add(self, item, |assigned| self.employ(pool, assigned));
                    }
                }
            }));
            if let Err(payload) = ended {
                *lock(&self.source_panic) = Some(payload);
            }
            self.end();
            drop_quietly(pulled);
            drop_quietly(source);
        });
        if result.is_err() {
            self.stop();
        }
        result
    }

    /// Gives a worker a group; then it sees to the next by itself.
    pub fn employ<'s>(&'s self, pool: &Pool<'_, 's>, mut assigned: Assigned<T>) {
        pool.spawn(move |pool| {
            let outer = Outer::enter();
            loop {
                let (ticket, group) = assigned;
                work_through(self, ticket, group);
                match self.next_or_rest() {
                    Some(next) => assigned = next,
                    None => return,
                }
                // Inside of work that waits for other work, and must not wait for all of it.
                if !outer.0 {
                    return self.employ(pool, assigned);
                }
            }
        });
    }
}

thread_local! {
    static WORKING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this is a worker's outermost job. There can be one inside another: work that uses rayon waits by doing what is to do.
struct Outer(bool);

impl Outer {
    fn enter() -> Outer {
        Outer(!WORKING.replace(true))
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        if self.0 {
            WORKING.set(false);
        }
    }
}
