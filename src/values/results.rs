//! The results of a source that is pulled on a thread of its own.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::engine::{Shared, Worked};
use crate::order::{Next, Order};

/// Takes results out of the order, one at a time.
pub(super) struct Outlet<R> {
    group: std::vec::IntoIter<R>,
    panic: Option<super::engine::Payload>,
    /// A group was taken and not yet given back.
    taken: bool,
}

impl<R> Outlet<R> {
    pub fn new() -> Outlet<R> {
        Outlet {
            group: Vec::new().into_iter(),
            panic: None,
            taken: false,
        }
    }

    /// The next result that is at hand without looking into the order.
    #[inline]
    pub fn at_hand(&mut self) -> Option<R> {
        self.group.next()
    }

    /// The next result of the order; waits for it. `None` at the end, or when it is stopped.
    ///
    /// # Panics
    /// With the panic of the work, if its turn has come.
    pub fn next<T>(&mut self, order: &Order<T, Worked<R>>) -> Option<R> {
        loop {
            if let Some(result) = self.group.next() {
                return Some(result);
            }
            if let Some(payload) = self.panic.take() {
                resume_unwind(payload);
            }
            self.give_back(order);
            match order.next() {
                Next::Result(_, worked) => {
                    self.taken = true;
                    self.group = worked.results.into_iter();
                    self.panic = worked.panic;
                }
                Next::Lost(seq) => panic!("the results of group {seq} were lost"),
                Next::End | Next::Stopped => return None,
            }
        }
    }

    /// The last group's items are all with the caller.
    pub fn give_back<T>(&mut self, order: &Order<T, Worked<R>>) {
        if std::mem::take(&mut self.taken) {
            order.release();
        }
    }
}

/// Results in the source's order: see [`Ordered::map`](super::Ordered::map).
#[must_use = "nothing happens before a result is asked for"]
pub struct Map<I: Iterator, F, R> {
    /// Until the first result is asked for.
    source: Option<I>,
    shared: Arc<Shared<I::Item, R, F>>,
    thread: Option<JoinHandle<Result<(), std::io::Error>>>,
    outlet: Outlet<R>,
    ended: bool,
}

impl<I, F, R> Map<I, F, R>
where
    I: Iterator,
{
    pub(super) fn new(source: I, shared: Arc<Shared<I::Item, R, F>>) -> Map<I, F, R> {
        Map {
            source: Some(source),
            shared,
            thread: None,
            outlet: Outlet::new(),
            ended: false,
        }
    }

    /// Waits for the threads. Whether they could be started.
    fn join(&mut self) -> Result<(), std::io::Error> {
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(ran)) => ran,
            Some(Err(payload)) => resume_unwind(payload),
        }
    }
}

impl<I, F, R> Map<I, F, R>
where
    I: Iterator + Send + 'static,
    I::Item: Send + 'static,
    F: Fn(I::Item) -> R + Send + Sync + 'static,
    R: Send + 'static,
{
    fn start(&mut self, source: I) {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new()
            .name("inorder-reader".to_owned())
            .spawn(move || shared.run(source));
        match thread {
            Ok(thread) => self.thread = Some(thread),
            Err(error) => {
                self.ended = true;
                panic!("threads cannot be started: {error}");
            }
        }
    }
}

impl<I, F, R> Iterator for Map<I, F, R>
where
    I: Iterator + Send + 'static,
    I::Item: Send + 'static,
    F: Fn(I::Item) -> R + Send + Sync + 'static,
    R: Send + 'static,
{
    type Item = R;

    #[inline]
    fn next(&mut self) -> Option<R> {
        if let Some(result) = self.outlet.at_hand() {
            return Some(result);
        }
        if self.ended {
            return None;
        }
        if let Some(source) = self.source.take() {
            self.start(source);
        }
        // A panic on the way out ends the iterator too.
        self.ended = true;
        let result = self.outlet.next(&self.shared.order);
        if result.is_some() {
            self.ended = false;
            return result;
        }
        let ran = self.join();
        if let Some(payload) = self.shared.take_source_panic() {
            resume_unwind(payload);
        }
        if let Err(error) = ran {
            panic!("threads cannot be started: {error}");
        }
        None
    }
}

impl<I, F, R> std::iter::FusedIterator for Map<I, F, R>
where
    I: Iterator + Send + 'static,
    I::Item: Send + 'static,
    F: Fn(I::Item) -> R + Send + Sync + 'static,
    R: Send + 'static,
{
}

impl<I: Iterator, F, R> Drop for Map<I, F, R> {
    fn drop(&mut self) {
        self.shared.stop();
        // What went wrong after the last result that was asked for is nobody's business any more.
        if let Some(Err(payload)) = self.thread.take().map(JoinHandle::join) {
            crate::error::drop_quietly(payload);
        }
    }
}

impl<I: Iterator, F, R> std::fmt::Debug for Map<I, F, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Map")
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

/// Results up to the first error: see [`Ordered::try_map`](super::Ordered::try_map).
#[must_use = "nothing happens before a result is asked for"]
#[derive(Debug)]
pub struct TryMap<I: Iterator, F, R, E> {
    map: Option<Map<I, F, Result<R, E>>>,
}

impl<I: Iterator, F, R, E> TryMap<I, F, R, E> {
    pub(super) fn new(map: Map<I, F, Result<R, E>>) -> TryMap<I, F, R, E> {
        TryMap { map: Some(map) }
    }
}

impl<I, F, R, E> Iterator for TryMap<I, F, R, E>
where
    I: Iterator + Send + 'static,
    I::Item: Send + 'static,
    F: Fn(I::Item) -> Result<R, E> + Send + Sync + 'static,
    R: Send + 'static,
    E: Send + 'static,
{
    type Item = Result<R, E>;

    #[inline]
    fn next(&mut self) -> Option<Result<R, E>> {
        let result = self.map.as_mut()?.next();
        if !matches!(result, Some(Ok(_))) {
            // Stops the work on the rest, and waits for it.
            self.map = None;
        }
        result
    }
}

impl<I, F, R, E> std::iter::FusedIterator for TryMap<I, F, R, E>
where
    I: Iterator + Send + 'static,
    I::Item: Send + 'static,
    F: Fn(I::Item) -> Result<R, E> + Send + Sync + 'static,
    R: Send + 'static,
    E: Send + 'static,
{
}
