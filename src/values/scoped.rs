//! Results of a source and work that borrow.

use std::panic::resume_unwind;

use super::engine::Shared;
use super::outlet::Outlet;
use super::thread;
use crate::error::drop_quietly;

/// Runs `body` with the results; joins all threads before it returns.
pub(super) fn scope<I, R, F, B, T>(source: I, shared: &Shared<I::Item, R, F>, body: B) -> T
where
    I: Iterator + Send,
    I::Item: Send,
    F: Fn(I::Item) -> R + Send + Sync,
    R: Send,
    B: FnOnce(ScopedMap<'_, I::Item, R, F>) -> T,
{
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().name("inorder-reader".to_owned());
        // Before the thread starts: if that fails, or `body` panics, everything else still ends.
        let guard = StopOnDrop(shared);
        let started = reader.spawn_scoped(scope, || shared.run(source));
        let thread = started.unwrap_or_else(|error| thread::cannot_start(error));
        let value = body(ScopedMap {
            shared,
            outlet: Outlet::new(),
        });
        drop(guard);
        thread::expect(thread.join());
        value
    })
}

struct StopOnDrop<'s, T, R, F>(&'s Shared<T, R, F>);

impl<T, R, F> Drop for StopOnDrop<'_, T, R, F> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Results in the source's order: see [`Ordered::scope`](super::Ordered::scope).
#[must_use = "results are to be taken"]
pub struct ScopedMap<'s, T, R, F> {
    shared: &'s Shared<T, R, F>,
    outlet: Outlet<R>,
}

impl<T, R, F> Iterator for ScopedMap<'_, T, R, F> {
    type Item = R;

    #[inline]
    fn next(&mut self) -> Option<R> {
        if let Some(result) = self.outlet.at_hand() {
            return Some(result);
        }
        if self.outlet.is_ended() {
            return None;
        }
        let result = self.outlet.next(self.shared);
        if result.is_none()
            && let Some(payload) = self.shared.take_source_panic()
        {
            resume_unwind(payload);
        }
        result
    }
}

impl<T, R, F> std::iter::FusedIterator for ScopedMap<'_, T, R, F> {}

impl<T, R, F> Drop for ScopedMap<'_, T, R, F> {
    fn drop(&mut self) {
        if let Some(payload) = self.shared.take_source_panic() {
            drop_quietly(payload);
        }
    }
}

impl<T, R, F> std::fmt::Debug for ScopedMap<'_, T, R, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScopedMap")
            .field("ended", &self.outlet.is_ended())
            .finish_non_exhaustive()
    }
}
