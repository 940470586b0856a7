//! The time of a model: it stands still until somebody waits for a moment of it, and then is there.

use std::cell::Cell;

thread_local! {
    /// All threads of a model are run by one.
    static NOW: Cell<u64> = const { Cell::new(0) };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(u64);

impl Instant {
    pub fn now() -> Instant {
        Instant(NOW.get())
    }

    pub fn after(ticks: u64) -> Instant {
        Instant(NOW.get() + ticks)
    }

    /// A model begins.
    pub fn reset() {
        NOW.set(0);
    }

    /// Time passes until then.
    pub fn pass(until: Instant) {
        NOW.set(NOW.get().max(until.0));
    }
}
