//! The locks that [`order`](crate::order) uses, named in one place: the model checks under `tests/` compile the same source with loom's and
//! shuttle's types in their stead.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use std::time::Instant;

/// Waits to be notified, but no longer than until then. `mutex` is the guard's.
pub(crate) fn wait_until<'a, T>(
    condvar: &Condvar,
    _mutex: &'a Mutex<T>,
    guard: MutexGuard<'a, T>,
    until: Instant,
) -> MutexGuard<'a, T> {
    let left = until.saturating_duration_since(Instant::now());
    let waited = condvar.wait_timeout(guard, left);
    waited.map_or_else(|poisoned| poisoned.into_inner().0, |(guard, _)| guard)
}

/// Locks. No lock of this crate is held across a user's code, so what a poisoned one guards is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Runs a single-threaded unit test; loom's and shuttle's types work only inside their own runners, which take this one's place.
#[cfg(test)]
pub(crate) fn run(test: impl Fn() + Send + Sync + 'static) {
    test();
}
