//! The results of a source that is pulled on a thread of its own.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::engine::Shared;
use super::outlet::Outlet;

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

    /// No more results are wanted.
    fn stop(&mut self) {
        self.ended = true;
        self.shared.stop();
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
        let result = self.outlet.next(&self.shared);
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
