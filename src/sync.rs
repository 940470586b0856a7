//! The locks that [`order`](crate::order) uses, named in one place: the model checks under `tests/` compile the same source with loom's and
//! shuttle's types in their stead.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

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
