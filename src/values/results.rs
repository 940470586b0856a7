//! The results of a source that is pulled on a thread of its own.

use std::panic::resume_unwind;
use std::sync::Arc;

use super::engine::Shared;
use super::outlet::Outlet;
use super::thread::{self, Thread};

/// Results in the source's order: see [`Ordered::map`](super::Ordered::map).
#[must_use = "nothing happens before a result is asked for"]
pub struct Map<I: Iterator, F, R> {
    /// Until the first result is asked for.
    source: Option<I>,
    shared: Arc<Shared<I::Item, R, F>>,
    thread: Option<Thread>,
    outlet: Outlet<R>,
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
        }
    }

    /// No more results are wanted.
    fn stop(&mut self) {
        self.outlet.end();
        self.shared.stop();
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
        self.thread = Some(Thread::start("inorder-reader", move || shared.run(source)));
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
        if self.outlet.is_ended() {
            return None;
        }
        if let Some(source) = self.source.take() {
            self.outlet.end();
            self.start(source);
        }
        let result = self.outlet.next(&self.shared);
        if result.is_none() {
            let joined = self.thread.take().map(Thread::join);
            if let Some(payload) = self.shared.take_source_panic() {
                resume_unwind(payload);
            }
            joined.into_iter().for_each(thread::expect);
        }
        result
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
        if let Some(thread) = self.thread.take() {
            thread.join_quietly();
        }
    }
}

impl<I: Iterator, F, R> std::fmt::Debug for Map<I, F, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Map")
            .field("ended", &self.outlet.is_ended())
            .finish_non_exhaustive()
    }
}

/// Results up to the first error: see [`Ordered::try_map`](super::Ordered::try_map).
#[must_use = "nothing happens before a result is asked for"]
#[derive(Debug)]
pub struct TryMap<I: Iterator, F, R, E>(Map<I, F, Result<R, E>>);

impl<I: Iterator, F, R, E> TryMap<I, F, R, E> {
    /// Of results that end with the first error.
    pub(super) fn new(map: Map<I, F, Result<R, E>>) -> TryMap<I, F, R, E> {
        TryMap(map)
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
        let result = self.0.next();
        if let Some(Err(_)) = result {
            // Not joined here: the source may take its time.
            self.0.stop();
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
