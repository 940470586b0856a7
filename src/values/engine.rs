//! Source, workers and results around the order.
//!
//! A worker takes the oldest group that is ready, else what is being gathered, else it rests; the source's side employs a resting
//! worker with whatever is gathered at once. Both decide under the lock of the [`Gather`], so that free workers and working ones are
//! always all workers, and no item is left behind.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::gather::{Gather, Group};
use super::{Weigh, Weight};
use crate::error::drop_quietly;
use crate::frame::ChunkSize;
use crate::order::{Limits, Order, Ticket};
use crate::pool::{Pool, with_pool};
use crate::sync::{Mutex, MutexGuard};

/// A caught panic, to be resumed where it belongs.
pub(super) type Payload = Box<dyn Any + Send>;

/// A group should take about this long: long beside what handing it over costs (some µs), short for whoever waits for it.
const GOAL: Duration = Duration::from_micros(100);

/// What is in flight at most.
pub(super) struct Bounds<T> {
    pub threads: usize,
    window: usize,
    /// An item is charged the larger of its share of the window and of the weight, so that one sum bounds both.
    limit: usize,
    share: usize,
    weigh: Option<Weigh<T>>,
}

impl<T> Bounds<T> {
    pub fn new(threads: usize, window: usize, weight: Option<Weight<T>>) -> Bounds<T> {
        match weight {
            None => Bounds {
                threads,
                window,
                limit: window,
                share: 1,
                weigh: None,
            },
            Some(Weight { weigh, limit }) => Bounds {
                threads,
                window,
                limit: window.saturating_mul(limit.max(1)),
                share: limit.max(1),
                weigh: Some(weigh),
            },
        }
    }

    fn charge(&self, item: &T) -> usize {
        match &self.weigh {
            // More than the limit goes through alone, however much more.
            Some(weigh) => weigh(item)
                .saturating_mul(self.window)
                .clamp(self.share, self.limit),
            None => self.share,
        }
    }
}

/// What source, workers and results share.
pub(super) struct Shared<T, R, F> {
    pub order: Order<Group<T>, Worked<R>>,
    bounds: Bounds<T>,
    gather: Mutex<Gather<T>>,
    size: ChunkSize,
    work: F,
    stopped: AtomicBool,
    source_panic: Mutex<Option<Payload>>,
}

/// The results of a group.
pub(super) struct Worked<R> {
    pub results: Vec<R>,
    /// What the work on the next item panicked with.
    pub panic: Option<Payload>,
}

impl<T, R, F> Shared<T, R, F> {
    pub fn new(bounds: Bounds<T>, work: F) -> Shared<T, R, F> {
        // A group is at most the window's share of a worker, twice over: one at work, one to follow.
        let most = (bounds.window / bounds.threads.saturating_mul(2)).max(1);
        Shared {
            order: Order::new(Limits {
                bytes: bounds.limit,
                slots: usize::MAX,
                started: bounds.threads,
            }),
            gather: Mutex::new(Gather::new(bounds.threads)),
            size: ChunkSize::adaptive(most, u64::MAX, GOAL),
            bounds,
            work,
            stopped: AtomicBool::new(false),
            source_panic: Mutex::new(None),
        }
    }

    pub fn threads(&self) -> usize {
        self.bounds.threads
    }

    /// Ends the run: workers stop after the item at hand, nothing more is pulled.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.order.stop();
    }

    /// What the source panicked with, once all results before are taken.
    pub fn take_source_panic(&self) -> Option<Payload> {
        lock(&self.source_panic).take()
    }

    fn gather(&self) -> MutexGuard<'_, Gather<T>> {
        lock(&self.gather)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that can panic runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T, R, F> Shared<T, R, F>
where
    T: Send,
    R: Send,
    F: Fn(T) -> R + Sync,
{
    /// Pulls the source on this thread, with a pool, until it ends or the run is stopped.
    pub fn run<I: Iterator<Item = T> + Send>(&self, source: I) -> Result<(), std::io::Error> {
        let result = with_pool(self.threads(), |pool| {
            let mut intake = Intake::new(self);
            let mut source = source;
            let pulled = catch_unwind(AssertUnwindSafe(|| {
                while intake.wait_for_room()
                    && let Some(item) = source.next()
                    && intake.wait_for_weight(&item)
                {
                    intake.add(item, |ticket, group| self.employ(pool, ticket, group));
                }
            }));
            if let Err(payload) = pulled {
                *lock(&self.source_panic) = Some(payload);
            }
            intake.flush();
            self.order.close();
            drop_quietly(source);
        });
        if result.is_err() {
            self.stop();
        }
        result
    }

    /// Gives a worker a group.
    pub fn employ<'s>(&'s self, pool: &Pool<'_, 's>, ticket: Ticket, group: Group<T>) {
        pool.spawn(move |pool| {
            self.work_on(ticket, group);
            if let Some((ticket, group)) = self.next_or_rest() {
                self.employ(pool, ticket, group);
            }
        });
    }

    fn work_on(&self, ticket: Ticket, group: Group<T>) {
        let claim = self.order.claim(ticket);
        let begun = Instant::now();
        let count = group.items.len();
        let mut results = Vec::with_capacity(count);
        let worked = catch_unwind(AssertUnwindSafe(|| {
            for item in group.items {
                if self.stopped.load(Ordering::Relaxed) {
                    break;
                }
                results.push((self.work)(item));
            }
        }));
        self.size.observe(count, 0, begun.elapsed());
        let worked = Worked {
            results,
            panic: worked.err(),
        };
        claim.fill(worked, group.charge);
    }

    /// The oldest group that is ready, else what is gathered.
    fn next_or_rest(&self) -> Option<(Ticket, Group<T>)> {
        let mut gather = self.gather();
        if let Some(started) = self.order.start_next() {
            return Some(started);
        }
        if let Some(group) = gather.take() {
            self.push(group);
            if let Some(started) = self.order.start_next() {
                return Some(started);
            }
        }
        gather.rest();
        None
    }

    /// Puts a group on the ready list. There is room: the intake has seen to that.
    fn push(&self, group: Group<T>) {
        let charge = group.charge;
        if let Err(group) = self.order.push(group, charge) {
            // Stopped: nobody wants them.
            drop_quietly(group.items);
        }
    }
}

/// The source's side: sees to it that there is room before an item is pulled.
pub(super) struct Intake<'s, T, R, F> {
    shared: &'s Shared<T, R, F>,
    /// Known to be left of the limit; others only ever make it more.
    left: usize,
    /// Charged for the item that is about to come.
    charge: usize,
}

impl<'s, T, R, F> Intake<'s, T, R, F>
where
    T: Send,
    R: Send,
    F: Fn(T) -> R + Sync,
{
    pub fn new(shared: &'s Shared<T, R, F>) -> Self {
        Intake {
            shared,
            left: 0,
            charge: 0,
        }
    }

    /// Whether there is room for one more item now.
    pub fn has_room(&mut self) -> bool {
        let share = self.shared.bounds.share;
        if self.charge == 0 && self.grab(share) {
            self.charge = share;
        }
        self.charge > 0
    }

    /// Whether there is room for this item now, or nothing else is in flight.
    pub fn has_room_for(&mut self, item: &T) -> bool {
        self.left += std::mem::take(&mut self.charge);
        let shared = self.shared;
        let charge = shared.bounds.charge(item);
        let alone = shared.order.in_flight() == 0 && shared.gather().charge() == 0;
        self.charge = charge;
        self.grab(charge) || alone
    }

    /// Waits until there is room for one more item; `false`: stopped.
    pub fn wait_for_room(&mut self) -> bool {
        let share = self.shared.bounds.share;
        self.wait_for(share) && {
            self.charge = share;
            !self.shared.stopped.load(Ordering::Relaxed)
        }
    }

    /// Waits until this item's weight fits; `false`: stopped.
    pub fn wait_for_weight(&mut self, item: &T) -> bool {
        let charge = self.shared.bounds.charge(item);
        if charge == self.charge {
            return true;
        }
        // Given back and taken anew, so that an item as heavy as the limit can go alone.
        self.left += std::mem::replace(&mut self.charge, charge);
        self.wait_for(charge)
    }

    fn wait_for(&mut self, charge: usize) -> bool {
        if self.grab(charge) {
            return true;
        }
        self.flush();
        if !self.shared.order.wait_for_room_of(charge) {
            return false;
        }
        let used = self.shared.order.in_flight();
        self.left = self
            .shared
            .bounds
            .limit
            .saturating_sub(used)
            .saturating_sub(charge);
        true
    }

    fn grab(&mut self, charge: usize) -> bool {
        if self.left < charge {
            let gather = self.shared.gather();
            let used = self.shared.order.in_flight() + gather.charge();
            self.left = self.shared.bounds.limit.saturating_sub(used);
        }
        let fits = self.left >= charge;
        if fits {
            self.left -= charge;
        }
        fits
    }

    /// Adds an item, for which there is room; gives a group to `employ` if a worker is free.
    pub fn add(&mut self, item: T, employ: impl FnOnce(Ticket, Group<T>)) {
        let charge = std::mem::take(&mut self.charge);
        let shared = self.shared;
        let mut gather = shared.gather();
        gather.add(item, charge);
        let started = if gather.employ() {
            if let Some(group) = gather.take() {
                shared.push(group);
            }
            let started = shared.order.start_next();
            if started.is_none() {
                gather.rest();
            }
            started
        } else {
            if gather.len() >= shared.size.want().bytes
                && let Some(group) = gather.take()
            {
                shared.push(group);
            }
            None
        };
        drop(gather);
        if let Some((ticket, group)) = started {
            employ(ticket, group);
        }
    }

    /// Makes what is gathered a group.
    pub fn flush(&mut self) {
        let mut gather = self.shared.gather();
        if let Some(group) = gather.take() {
            self.shared.push(group);
        }
    }
}
