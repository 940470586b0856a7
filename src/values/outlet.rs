//! The results' side.

use std::panic::resume_unwind;

use super::engine::{Payload, Shared};
use super::quiet::Quiet;
use super::worked::Rest;
use crate::order::Next;

/// Takes results out of the order, one at a time.
pub(super) struct Outlet<R> {
    results: Quiet<R>,
    rest: Option<Rest<R>>,
    panic: Quiet<Payload>,
    /// A group was taken and not yet given back.
    taken: bool,
    ended: bool,
}

/// How often the processor is offered to the workers before this thread goes to sleep, which costs more.
const YIELDS: usize = 2;

impl<R> Outlet<R> {
    pub fn new() -> Outlet<R> {
        Outlet {
            results: Quiet::default(),
            rest: None,
            panic: Quiet::default(),
            taken: false,
            ended: false,
        }
    }

    /// Whether no more results come.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// No more results are wanted, but for those at hand.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// The next result that is at hand without looking into the order.
    #[inline]
    pub fn at_hand(&mut self) -> Option<R> {
        self.results.next()
    }

    /// The next result of the order; waits for it. `None` at the end, or when it is stopped.
    ///
    /// # Panics
    /// With the panic of the work, if its turn has come.
    pub fn next<T, F>(&mut self, shared: &Shared<T, R, F>) -> Option<R> {
        // A panic on the way out ends it too.
        self.ended = true;
        let result = self.wait(shared);
        self.ended = result.is_none();
        result
    }

    fn wait<T, F>(&mut self, shared: &Shared<T, R, F>) -> Option<R> {
        loop {
            if let Some(result) = self.results.next() {
                return Some(result);
            }
            if let Some(rest) = &self.rest {
                match rest.next() {
                    Some(Ok(result)) => return Some(result),
                    Some(Err(payload)) => self.panic = Quiet::new(vec![payload]),
                    None => {}
                }
                self.rest = None;
            }
            if let Some(payload) = self.panic.next() {
                shared.stop();
                resume_unwind(payload);
            }
            self.give_back(shared);
            for _ in 0..YIELDS {
                if shared.order.is_head_settled() {
                    break;
                }
                std::thread::yield_now();
            }
            match shared.order.next() {
                Next::Result(_, worked) => {
                    self.taken = true;
                    self.results = worked.results;
                    self.rest = worked.rest;
                    self.panic = worked.panic;
                }
                Next::Lost(seq) => {
                    shared.stop();
                    panic!("the results of group {seq} were lost");
                }
                // Groups are never put back.
                Next::Due => {}
                Next::End | Next::Stopped => return None,
            }
        }
    }

    /// The last group's items are all with the caller.
    pub fn give_back<T, F>(&mut self, shared: &Shared<T, R, F>) {
        if std::mem::take(&mut self.taken) {
            shared.order.release();
        }
    }
}
