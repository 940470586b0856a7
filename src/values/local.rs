//! The results of a source that stays on the caller's thread.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use super::engine::{Intake, Payload, Shared};
use super::gather::Group;
use super::results::Outlet;
use crate::order::Ticket;
use crate::pool::with_pool;

/// Results in the source's order, pulled on the caller's thread: see [`Ordered::map_local`](super::Ordered::map_local).
#[must_use = "nothing happens before a result is asked for"]
pub struct LocalMap<I: Iterator, F, R> {
    source: Option<I>,
    shared: Arc<Shared<I::Item, R, F>>,
    /// Carries groups to the thread that owns the pool.
    hand_over: Option<Sender<(Ticket, Group<I::Item>)>>,
    thread: Option<JoinHandle<Result<(), std::io::Error>>>,
    source_panic: Option<Payload>,
    /// An item for whose weight there was no room yet.
    heavy: Option<I::Item>,
    /// Results given to the caller since items were pulled.
    returned: usize,
    outlet: Outlet<R>,
    ended: bool,
}

impl<I: Iterator, F, R> LocalMap<I, F, R> {
    pub(super) fn new(source: I, shared: Arc<Shared<I::Item, R, F>>) -> LocalMap<I, F, R> {
        LocalMap {
            source: Some(source),
            shared,
            hand_over: None,
            thread: None,
            source_panic: None,
            heavy: None,
            returned: 0,
            outlet: Outlet::new(),
            ended: false,
        }
    }
}

impl<I, F, R> LocalMap<I, F, R>
where
    I: Iterator,
    I::Item: Send + 'static,
    F: Fn(I::Item) -> R + Send + Sync + 'static,
    R: Send + 'static,
{
    fn start(&mut self) {
        let shared = Arc::clone(&self.shared);
        let (sender, groups) = channel::<(Ticket, Group<I::Item>)>();
        let thread = std::thread::Builder::new()
            .name("inorder-pool".to_owned())
            .spawn(move || {
                let shared = &*shared;
                let ran = with_pool(shared.threads(), |pool| {
                    for (ticket, group) in groups {
                        shared.employ(pool, ticket, group);
                    }
                });
                if ran.is_err() {
                    shared.stop();
                }
                ran
            });
        match thread {
            Ok(thread) => {
                self.thread = Some(thread);
                self.hand_over = Some(sender);
            }
            Err(error) => {
                self.ended = true;
                panic!("threads cannot be started: {error}");
            }
        }
    }

    /// Pulls one item, if there is room. `false`: there is none, or the source has ended.
    fn pull(&mut self) -> bool {
        let Some(source) = &mut self.source else {
            return false;
        };
        let mut intake = Intake::new(&*self.shared);
        if self.heavy.is_none() {
            if !intake.has_room() {
                return false;
            }
            let pulled = catch_unwind(AssertUnwindSafe(|| source.next()));
            self.heavy = pulled.unwrap_or_else(|payload| {
                self.source_panic = Some(payload);
                None
            });
        }
        let Some(item) = self.heavy.take() else {
            intake.flush();
            self.source = None;
            self.shared.order.close();
            return false;
        };
        if !intake.has_room_for(&item) {
            // Only results that are taken make room, and only the caller can take them.
            intake.flush();
            self.heavy = Some(item);
            return false;
        }
        let hand_over = &self.hand_over;
        intake.add(item, |ticket, group| {
            if let Some(sender) = hand_over {
                // The receiver lives as long as its thread, which ends early only if it could not start the pool.
                let _ = sender.send((ticket, group));
            }
        });
        true
    }

    fn finish(&mut self) {
        self.hand_over = None;
        let ran = self.thread.take().map(JoinHandle::join);
        if let Some(payload) = self.source_panic.take() {
            resume_unwind(payload);
        }
        match ran {
            None | Some(Ok(Ok(()))) => {}
            Some(Ok(Err(error))) => panic!("threads cannot be started: {error}"),
            Some(Err(payload)) => resume_unwind(payload),
        }
    }
}

impl<I, F, R> Iterator for LocalMap<I, F, R>
where
    I: Iterator,
    I::Item: Send + 'static,
    F: Fn(I::Item) -> R + Send + Sync + 'static,
    R: Send + 'static,
{
    type Item = R;

    fn next(&mut self) -> Option<R> {
        if let Some(result) = self.outlet.at_hand() {
            self.returned += 1;
            return Some(result);
        }
        if self.ended {
            return None;
        }
        if self.thread.is_none() {
            self.start();
        }
        // A panic on the way out ends the iterator too.
        self.ended = true;
        self.outlet.give_back(&self.shared.order);
        // As many as were returned keep the workers as busy as they were; more fill the time until the next result is there.
        let mut due = std::mem::take(&mut self.returned);
        while (due > 0 || !self.shared.order.is_head_settled()) && self.pull() {
            due = due.saturating_sub(1);
        }
        let result = self.outlet.next(&self.shared.order);
        if result.is_some() {
            self.ended = false;
            self.returned += 1;
        } else {
            self.finish();
        }
        result
    }
}

impl<I: Iterator, F, R> Drop for LocalMap<I, F, R> {
    fn drop(&mut self) {
        self.shared.stop();
        self.hand_over = None;
        // What went wrong after the last result that was asked for is nobody's business any more.
        if let Some(Err(payload)) = self.thread.take().map(JoinHandle::join) {
            crate::error::drop_quietly(payload);
        }
    }
}

impl<I: Iterator, F, R> std::fmt::Debug for LocalMap<I, F, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalMap")
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
