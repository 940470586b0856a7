//! Processor time of the threads that every run has once: it is what more workers don't make less.

use std::time::Duration;

/// Of one run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Times {
    pub reader: Duration,
    pub writer: Duration,
}

/// Processor time of the calling thread so far; nothing where the system can't tell.
#[cfg(unix)]
pub(super) fn of_this_thread() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(not(unix))]
pub(super) fn of_this_thread() -> Duration {
    Duration::ZERO
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time_and_sleep_does_not() {
        let begun = of_this_thread();
        std::thread::sleep(Duration::from_millis(30));
        let slept = of_this_thread() - begun;
        assert!(slept < Duration::from_millis(20), "{slept:?}");
        while of_this_thread() - begun < Duration::from_millis(30) {
            std::hint::spin_loop();
        }
    }
}
