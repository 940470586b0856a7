//! One test at a time, and no thread left behind.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::support::Watchdog;

static TURN: Mutex<()> = Mutex::new(());

/// A test's turn, under a watchdog. When it is over, no thread of the crate is left.
pub struct Turn {
    pub watchdog: Watchdog,
    _turn: MutexGuard<'static, ()>,
}

impl Turn {
    pub fn new() -> Turn {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        crate::support::quiet_panics();
        Turn {
            watchdog: Watchdog::new(),
            _turn: turn,
        }
    }

    /// A run is over: its threads are gone, or about to be.
    pub fn run_is_over(&self) {
        self.watchdog.feed();
        assert_none_left();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_none_left();
        }
    }
}

/// A thread that was joined may still be listed for a moment.
fn assert_none_left() {
    let begun = Instant::now();
    loop {
        let left = ours();
        if left.is_empty() {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "left: {left:?}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// The names of the crate's threads in this process.
#[cfg(target_os = "linux")]
fn ours() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("inorder-")).collect()
}

#[cfg(not(target_os = "linux"))]
fn ours() -> Vec<String> {
    Vec::new()
}
