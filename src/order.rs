//! The order of the chunks: slots, ready list and budget under one lock.
//!
//! Three parties meet here. The reader reserves a slot for each chunk it frames and waits while there is no room. The workers fill the
//! slots, in any order, and never wait. The writer takes the results strictly by sequence number, waits for the head, and gives its slot and
//! bytes back once it is written: so whatever is slow holds the reader up, and memory stays bounded.
//!
//! A reserved chunk is not started. It waits in the ready list until [`start_next`](Order::start_next) lets it go, and whoever makes room
//! calls that, until it returns `None`, and hands over what it gets: the reader after a push, a worker as its last act, the writer after a
//! release or a `run_again`. The head of the order is always let through, so the run goes on whatever the limits are.
//!
//! The reader waits while as many chunks are ready as can be started at once. It would else fill the whole budget with them; then any result
//! that is bigger than its chunk exceeds it, and the workers wait for the head one after the other although there is work (in a simulation
//! of 8 workers and 64 chunks they lost a seventh of their time if results grew by 30 %, a quarter if they grew fivefold; like this, nothing).
//! [`wait_for_room`](Order::wait_for_room) alone looks at that: who is sure that slot and bytes are free can push without ever waiting.
//!
//! A chunk whose next attempt has to wait is put back by its worker, with the time when it is due. The writer, which waits for the head
//! anyway, waits no longer than that and hands it over; so does any other hand-over that comes after the time. Until then it counts as
//! in flight, but not as ready.
//!
//! The lock is held for a few steps of bookkeeping; nothing that a user wrote runs under it, not even a `drop`. One reader and one writer
//! are meant, each on a thread of its own, outside any pool: only theirs are calls that wait.

mod budget;
mod claim;
mod ready;
mod slots;

use std::mem;
use std::sync::PoisonError;

use crate::sync::{Condvar, Instant, Mutex, MutexGuard, wait_until};
use budget::Budget;
use ready::Ready;
use slots::{Outcome, Slots};

pub(crate) use claim::Claim;

/// What an [`Order`] keeps within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes in flight; a chunk that is bigger goes through alone.
    pub bytes: usize,
    /// Reserved slots, at least 1.
    pub slots: usize,
    /// Chunks that are with the workers at once; the head of the order may come on top when it runs again.
    pub started: usize,
}

impl Limits {
    /// So many ready chunks are enough: the reader frames the next when one of them starts.
    fn ready(&self) -> usize {
        self.started.max(1)
    }
}

/// The right to fill one slot, once. A ticket may come back late, twice or never: only the first fill of the attempt under way counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub seq: u64,
    pub attempt: u32,
}

/// What the writer finds at the head of the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next<R> {
    /// The result of the chunk with this sequence number.
    Result(u64, R),
    /// The worker of the chunk with this sequence number vanished.
    Lost(u64),
    /// The head is not there yet, but a chunk that was put back is due: it is to be handed over.
    Due,
    /// The order is closed, and everything in it is written.
    End,
    /// The run was stopped.
    Stopped,
}

/// See the [module](self).
pub(crate) struct Order<C, R> {
    limits: Limits,
    state: Mutex<State<C, R>>,
    /// The reader waits here for room.
    room: Condvar,
    /// The writer waits here for the head to be settled.
    head: Condvar,
}

struct State<C, R> {
    budget: Budget,
    ready: Ready<C>,
    slots: Slots<R>,
    closed: bool,
    stopped: bool,
    /// What the reader waits for.
    reader_waits: Option<Room>,
    writer_waits: bool,
}

/// What is asked for to reserve a slot.
#[derive(Debug, Clone, Copy)]
struct Room {
    bytes: usize,
    /// Fewer chunks than this are ready.
    ready: usize,
}

impl<C, R> State<C, R> {
    fn has_room(&self, limits: &Limits, room: Room) -> bool {
        let alone = self.slots.is_empty() && self.budget.in_flight() == 0;
        let free = self.slots.len() < limits.slots && self.ready.len() < room.ready;
        alone || (free && self.budget.fits(room.bytes))
    }

    /// Whether a chunk that is not the head may start.
    fn has_start(&self, limits: &Limits) -> bool {
        self.slots.started() < limits.started && !self.budget.is_exceeded()
    }

    /// Whether what the reader waits for is there, so that it is to be woken. A wake-up for nothing costs more than this.
    fn wakes_reader(&mut self, limits: &Limits) -> bool {
        let wakes = self
            .reader_waits
            .is_some_and(|room| self.has_room(limits, room));
        if wakes {
            self.reader_waits = None;
        }
        wakes
    }
}

impl<C, R> Order<C, R> {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: Mutex::new(State {
                budget: Budget::new(limits.bytes),
                ready: Ready::new(),
                slots: Slots::new(),
                closed: false,
                stopped: false,
                reader_waits: None,
                writer_waits: false,
            }),
            room: Condvar::new(),
            head: Condvar::new(),
        }
    }

    // The reader's part.

    /// Waits until another chunk is wanted: a slot is free, the budget is not used up, and fewer chunks are ready than can be started; or
    /// nothing is in flight. `false`: stopped or closed.
    pub(crate) fn wait_for_room(&self) -> bool {
        self.wait_to_reserve(1, self.limits.ready()).is_some()
    }

    /// Reserves the next slot, charges it with `bytes`, and puts the chunk on the ready list; waits until a slot is free and so
    /// many bytes more may be in flight, or nothing is. Returns the sequence number, or the chunk when the order is stopped or closed.
    pub(crate) fn push(&self, chunk: C, bytes: usize) -> Result<u64, C> {
        let Some(mut state) = self.wait_to_reserve(bytes, usize::MAX) else {
            return Err(chunk);
        };
        state.budget.charge(bytes);
        let ticket = state.slots.reserve(bytes);
        state.ready.push(ticket, chunk);
        Ok(ticket.seq)
    }

    /// Takes all bytes that are left, ahead of the chunks that will be charged with them, and adds them to the `have` bytes that were taken
    /// before; waits until that is `least` together. `None`: stopped or closed.
    pub(crate) fn take_room(&self, have: usize, least: usize) -> Option<usize> {
        let mut state = self.wait_to_reserve(least.saturating_sub(have), usize::MAX)?;
        Some(have.saturating_add(state.budget.charge_rest()))
    }

    /// As [`take_room`](Order::take_room), but what there is now.
    pub(crate) fn take_room_now(&self, have: usize) -> usize {
        have.saturating_add(self.lock().budget.charge_rest())
    }

    /// Reserves the next slot for a chunk that starts at once, with so many of the bytes that were taken before. `None`: stopped or closed.
    pub(crate) fn begin(&self, bytes: usize) -> Option<Ticket> {
        let mut state = self.lock();
        if state.stopped || state.closed {
            return None;
        }
        let ticket = state.slots.reserve(bytes);
        state.slots.start(ticket);
        Some(ticket)
    }

    /// No more chunks will come.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.head.notify_all();
    }

    fn wait_to_reserve(&self, bytes: usize, ready: usize) -> Option<MutexGuard<'_, State<C, R>>> {
        let room = Room { bytes, ready };
        let mut state = self.lock();
        loop {
            if state.stopped || state.closed {
                return None;
            }
            if state.has_room(&self.limits, room) {
                return Some(state);
            }
            state.reader_waits = Some(room);
            state = wait(&self.room, state);
        }
    }

    // The hand-over, for whoever made room.

    /// Starts the oldest ready chunk, if it may: it is the head of the order, or fewer than `limits.started` are with the workers and the
    /// budget is not exceeded.
    pub(crate) fn start_next(&self) -> Option<(Ticket, C)> {
        let mut state = self.lock();
        if state.stopped {
            return None;
        }
        state.ready.bring_back();
        let is_head = state.ready.first()?.seq == state.slots.head();
        if !is_head && !state.has_start(&self.limits) {
            return None;
        }
        let (ticket, chunk) = state.ready.pop()?;
        state.slots.start(ticket);
        self.unlock(state, false);
        Some((ticket, chunk))
    }

    // The workers' part.

    /// Guards a started ticket until it is filled.
    pub(crate) fn claim(&self, ticket: Ticket) -> Claim<'_, C, R> {
        Claim::new(self, ticket)
    }

    /// Fills the ticket's slot, which holds `bytes` from now on, whatever it held before. Only the first fill of the attempt under way
    /// counts, and none once the attempt is lost; the others return `false`.
    pub(crate) fn fill(&self, ticket: Ticket, result: R, bytes: usize) -> bool {
        self.settle(ticket, Outcome::Filled(result), Some(bytes))
    }

    /// Reports that the worker of this ticket vanished; ignored unless its attempt is under way.
    pub(crate) fn lose(&self, ticket: Ticket) {
        self.settle(ticket, Outcome::Lost, None);
    }

    /// Puts a started chunk back on the ready list, as its next attempt, which may not start before `due`; it is charged with `bytes` instead
    /// of what it held. `false`: the ticket is not that of the attempt under way, or the run was stopped.
    pub(crate) fn put_back(&self, ticket: Ticket, chunk: C, bytes: usize, due: Instant) -> bool {
        let mut state = self.lock();
        let renewed = match state.stopped {
            true => None,
            false => state.slots.put_back(ticket, bytes),
        };
        let Some((ticket, old)) = renewed else {
            drop(state);
            // The chunk goes here, for a user's `drop` may panic.
            return false;
        };
        state.budget.replace(old, bytes);
        state.ready.put_off(ticket, chunk, due);
        // It has another time to look at.
        let wakes_writer = mem::take(&mut state.writer_waits);
        self.unlock(state, wakes_writer);
        true
    }

    /// Gives the lock back, then wakes who has something to do.
    fn unlock(&self, mut state: MutexGuard<'_, State<C, R>>, wakes_writer: bool) {
        let wakes_reader = state.wakes_reader(&self.limits);
        drop(state);
        if wakes_writer {
            self.head.notify_all();
        }
        if wakes_reader {
            self.room.notify_all();
        }
    }

    fn settle(&self, ticket: Ticket, outcome: Outcome<R>, bytes: Option<usize>) -> bool {
        let mut state = self.lock();
        let settled = state.slots.settle(ticket, outcome, bytes);
        let Ok((old, new)) = settled else {
            drop(state);
            return false;
        };
        state.budget.replace(old, new);
        let is_head = ticket.seq == state.slots.head();
        let wakes_writer = is_head && mem::take(&mut state.writer_waits);
        self.unlock(state, wakes_writer);
        true
    }

    // The writer's part.

    /// Waits for the head of the order, or until a chunk that was put back is due, and takes the head's result. The slot stays reserved until
    /// it is released or run again, one of which must come before the next call; what is due must be handed over before it.
    pub(crate) fn next(&self) -> Next<R> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return Next::Stopped;
            }
            let seq = state.slots.head();
            match state.slots.take() {
                Some(Outcome::Filled(result)) => return Next::Result(seq, result),
                Some(Outcome::Lost) => return Next::Lost(seq),
                None if state.closed && state.slots.is_empty() => return Next::End,
                None => {
                    // Whether or not it may start now: what changes that need not be seen here.
                    let due = state.ready.next_due();
                    if due.is_some_and(|due| due <= Instant::now()) {
                        return Next::Due;
                    }
                    state.writer_waits = true;
                    state = match due {
                        Some(due) => wait_until(&self.head, &self.state, state, due),
                        None => wait(&self.head, state),
                    };
                }
            }
        }
    }

    /// Whether [`next`](Order::next) would not wait now.
    pub(crate) fn is_head_settled(&self) -> bool {
        let state = self.lock();
        state.stopped || state.slots.is_head_settled() || (state.closed && state.slots.is_empty())
    }

    /// The head, taken by [`next`](Order::next), is written: gives its slot and its bytes back.
    pub(crate) fn release(&self) {
        let mut state = self.lock();
        let charge = state.slots.release();
        debug_assert!(charge.is_some(), "the head was not taken");
        state.budget.give_back(charge.unwrap_or(0));
        self.unlock(state, false);
    }

    /// The head, taken by [`next`](Order::next), is to be worked on again: puts it back at the front of the ready list, as its next attempt,
    /// charged with `bytes` instead of what it held.
    pub(crate) fn run_again(&self, chunk: C, bytes: usize) {
        let mut state = self.lock();
        let renewed = state.slots.renew(bytes);
        debug_assert!(renewed.is_some(), "the head was not taken");
        let Some((ticket, old)) = renewed else {
            drop(state);
            return;
        };
        state.budget.replace(old, bytes);
        state.ready.push_first(ticket, chunk);
        self.unlock(state, false);
    }

    // For everyone.

    /// Ends the run at once: every call that waits returns, nothing starts any more, and the ready chunks are dropped.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        let ready = mem::replace(&mut state.ready, Ready::new());
        drop(state);
        self.room.notify_all();
        self.head.notify_all();
        // Last, for a user's `drop` may panic.
        drop(ready);
    }

    #[cfg(test)]
    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// The bytes that the reserved slots hold.
    pub(crate) fn in_flight(&self) -> usize {
        self.lock().budget.in_flight()
    }

    /// The most bytes that were in flight so far.
    pub(crate) fn peak(&self) -> usize {
        self.lock().budget.peak()
    }

    fn lock(&self) -> MutexGuard<'_, State<C, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
