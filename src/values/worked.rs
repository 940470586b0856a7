//! What a worker does with a group.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use super::engine::{GOAL, Payload, Shared};
use super::gather::Group;
use super::quiet::Quiet;
use crate::error::drop_quietly;
use crate::order::Ticket;

/// Whether a result is the last one that is wanted.
pub(super) type Last<R> = fn(&R) -> bool;

/// The results of a group.
pub(super) struct Worked<R> {
    pub results: Quiet<R>,
    /// The group takes much longer than it should: the rest comes one by one.
    pub rest: Option<Rest<R>>,
    /// What the work on the next item panicked with, if it did.
    pub panic: Quiet<Payload>,
}

/// Results that come one by one, from a worker that is still at their group.
pub(super) struct Rest<R>(Receiver<Result<R, Payload>>);

impl<R> Rest<R> {
    /// Waits for the next; `None` at the end of the group.
    pub fn next(&self) -> Option<Result<R, Payload>> {
        self.0.recv().ok()
    }
}

impl<R> Drop for Rest<R> {
    fn drop(&mut self) {
        while let Ok(result) = self.0.try_recv() {
            drop_quietly(result);
        }
    }
}

/// So many items are worked on between two looks at the clock, which costs as much as a very quick one.
const UNTIMED: usize = 16;

/// Works on a group, and fills its slot.
pub(super) fn work_through<T, R, F>(shared: &Shared<T, R, F>, ticket: Ticket, group: Group<T>)
where
    F: Fn(T) -> R,
{
    let claim = shared.order.claim(ticket);
    let Group { mut items, charge } = group;
    let mut results = Vec::with_capacity(items.len());
    let begun = Instant::now();
    let mut late = false;
    let worked = catch_unwind(AssertUnwindSafe(|| {
        while !late && work_on_next(shared, ticket, &mut items, |result| results.push(result)) {
            late = results.len().is_multiple_of(UNTIMED) && begun.elapsed() > GOAL * 4;
        }
    }));
    shared.size.observe(results.len(), 0, begun.elapsed());
    if worked.is_err() {
        shared.end_after(ticket.seq);
    }
    let (sender, rest) = if late {
        let (sender, receiver) = channel();
        (Some(sender), Some(Rest(receiver)))
    } else {
        // Before the results are out, so that when the last one is taken, no item is left.
        drop(std::mem::take(&mut items));
        (None, None)
    };
    let done = Worked {
        results: Quiet::new(results),
        rest,
        panic: Quiet::new(worked.err().into_iter().collect()),
    };
    claim.fill(done, charge);
    if let Some(sender) = sender {
        one_by_one(shared, ticket, items, &sender);
    }
}

/// Works on the rest of a group that takes too long.
fn one_by_one<T, R, F>(
    shared: &Shared<T, R, F>,
    ticket: Ticket,
    mut items: Quiet<T>,
    sender: &Sender<Result<R, Payload>>,
) where
    F: Fn(T) -> R,
{
    loop {
        let begun = Instant::now();
        let worked = catch_unwind(AssertUnwindSafe(|| {
            work_on_next(shared, ticket, &mut items, |result| {
                send(sender, Ok(result))
            })
        }));
        shared.size.observe(1, 0, begun.elapsed());
        match worked {
            Ok(true) => {}
            Ok(false) => return,
            Err(payload) => {
                shared.end_after(ticket.seq);
                drop(items);
                return send(sender, Err(payload));
            }
        }
    }
}

fn send<R>(sender: &Sender<Result<R, Payload>>, result: Result<R, Payload>) {
    if let Err(unsent) = sender.send(result) {
        // The run was stopped.
        drop_quietly(unsent);
    }
}

/// Works on one item. `false`: it was the last one, or there is none.
#[inline]
fn work_on_next<T, R, F>(
    shared: &Shared<T, R, F>,
    ticket: Ticket,
    items: &mut Quiet<T>,
    give: impl FnOnce(R),
) -> bool
where
    F: Fn(T) -> R,
{
    if !shared.is_wanted(ticket.seq) {
        return false;
    }
    let Some(item) = items.next() else {
        return false;
    };
    let result = (shared.work)(item);
    let is_last = shared.last.is_some_and(|last| last(&result));
    give(result);
    if is_last {
        shared.end_after(ticket.seq);
    }
    !is_last
}
