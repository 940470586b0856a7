//! The results of a source that stays on the caller's thread.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use super::engine::{Assigned, Payload, Shared};
use super::intake::Intake;
use super::outlet::Outlet;
use super::thread::{self, Thread};
use crate::error::drop_quietly;
use crate::pool::with_pool;

/// Results in the source's order, pulled on the caller's thread: see [`Ordered::map_local`](super::Ordered::map_local).
#[must_use = "nothing happens before a result is asked for"]
pub struct LocalMap<I: Iterator, F, R> {
    source: Option<I>,
    shared: Arc<Shared<I::Item, R, F>>,
    /// Carries groups to the thread that owns the pool.
    hand_over: Option<Sender<Assigned<I::Item>>>,
    thread: Option<Thread>,
    source_panic: Option<Payload>,
    intake: Intake,
    /// An item for whose weight there was no room yet.
    heavy: Option<I::Item>,
    /// Results given to the caller since items were pulled.
    returned: usize,
    outlet: Outlet<R>,
}

/// What came of pulling an item.
enum Pulled {
    Item,
    NoRoom,
    End,
}

impl<I: Iterator, F, R> LocalMap<I, F, R> {
    pub(super) fn new(source: I, shared: Arc<Shared<I::Item, R, F>>) -> LocalMap<I, F, R> {
        LocalMap {
            source: Some(source),
            shared,
            hand_over: None,
            thread: None,
            source_panic: None,
            intake: Intake::new(),
            heavy: None,
            returned: 0,
            outlet: Outlet::new(),
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
        let (sender, groups) = channel::<Assigned<I::Item>>();
        self.thread = Some(Thread::start("inorder-pool", move || {
            let shared = &*shared;
            let ran = with_pool(shared.bounds().threads, None, |pool| {
                for assigned in groups {
                    shared.employ(pool, assigned);
                }
            });
            if ran.is_err() {
                shared.stop();
            }
            ran
        }));
        self.hand_over = Some(sender);
    }

    /// Pulls one item, if there is room. `false`: there is none, or no more items are to come.
    fn pull(&mut self) -> bool {
        let Some(source) = &mut self.source else {
            return false;
        };
        let (shared, intake, heavy) = (&*self.shared, &mut self.intake, &mut self.heavy);
        let pulled = catch_unwind(AssertUnwindSafe(|| {
            if heavy.is_none() {
                if !intake.has_room(shared) {
                    return Pulled::NoRoom;
                }
                *heavy = source.next();
            }
            match heavy {
                None => Pulled::End,
                Some(item) if intake.has_room_for(shared, item) => Pulled::Item,
                // Only results that are taken make room, and only the caller can take them.
                Some(_) => Pulled::NoRoom,
            }
        }));
        match pulled {
            Ok(Pulled::NoRoom) => return false,
            Ok(Pulled::End) => {}
            Ok(Pulled::Item) => {
                let hand_over = &self.hand_over;
                if let Some(item) = heavy.take() {
                    intake.add(shared, item, |assigned| {
                        if let Some(sender) = hand_over {
                            // The receiver lives as long as its thread, which ends early only if it could not start the pool.
                            let _ = sender.send(assigned);
                        }
                    });
                }
                if shared.wants_more() {
                    return true;
                }
            }
            Err(payload) => self.source_panic = Some(payload),
        }
        drop_quietly(self.heavy.take());
        drop_quietly(self.source.take());
        self.shared.end();
        false
    }

    fn finish(&mut self) {
        self.hand_over = None;
        let joined = self.thread.take().map(Thread::join);
        if let Some(payload) = self.source_panic.take() {
            resume_unwind(payload);
        }
        joined.into_iter().for_each(thread::expect);
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
        if self.outlet.is_ended() {
            return None;
        }
        if self.thread.is_none() {
            self.outlet.end();
            self.start();
        }
        self.outlet.give_back(&self.shared);
        // As many as were returned keep the workers as busy as they were; more fill the time until the next result is there.
        let mut due = std::mem::take(&mut self.returned);
        while (due > 0 || !self.shared.order.is_head_settled()) && self.pull() {
            due = due.saturating_sub(1);
        }
        let result = self.outlet.next(&self.shared);
        match result {
            Some(_) => self.returned += 1,
            None => self.finish(),
        }
        result
    }
}

impl<I, F, R> std::iter::FusedIterator for LocalMap<I, F, R>
where
    I: Iterator,
    I::Item: Send + 'static,
    F: Fn(I::Item) -> R + Send + Sync + 'static,
    R: Send + 'static,
{
}

impl<I: Iterator, F, R> Drop for LocalMap<I, F, R> {
    fn drop(&mut self) {
        self.shared.stop();
        self.hand_over = None;
        drop_quietly(self.heavy.take());
        drop_quietly(self.source.take());
        if let Some(thread) = self.thread.take() {
            thread.join_quietly();
        }
    }
}

impl<I: Iterator, F, R> std::fmt::Debug for LocalMap<I, F, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalMap")
            .field("ended", &self.outlet.is_ended())
            .finish_non_exhaustive()
    }
}
