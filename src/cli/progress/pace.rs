//! How fast it goes, and whether it goes at all.

use std::collections::VecDeque;
use std::time::Duration;

/// The time over which the rate is measured.
const RATE: Duration = Duration::from_secs(5);

/// Bytes a second over the last few seconds.
#[derive(Debug, Default)]
pub struct Rate {
    samples: VecDeque<(Duration, u64)>,
}

impl Rate {
    pub fn add(&mut self, now: Duration, bytes: u64) {
        self.samples.push_back((now, bytes));
        while self.samples.len() > 2 && now - self.samples[1].0 >= RATE {
            self.samples.pop_front();
        }
    }

    /// `None` while nothing moves.
    pub fn per_second(&self) -> Option<f64> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let seconds = (last.0 - first.0).as_secs_f64();
        (seconds > 0.0 && last.1 > first.1).then(|| (last.1 - first.1) as f64 / seconds)
    }
}

/// Decides when to say that the head of the order does not move: after a while, and then again after a longer one.
#[derive(Debug)]
pub struct Stall {
    first: Duration,
    again: Duration,
    next: Duration,
}

impl Stall {
    pub fn new(first: Duration, again: Duration) -> Stall {
        Stall {
            first,
            again,
            next: first,
        }
    }

    pub fn due(&mut self, still_for: Duration) -> bool {
        if still_for < self.first {
            self.next = self.first;
            return false;
        }
        if still_for < self.next {
            return false;
        }
        self.next = still_for + self.again;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let mut rate = Rate::default();
        assert_eq!(rate.per_second(), None);
        for second in 0..100 {
            let bytes = if second < 50 {
                second
            } else {
                50 + (second - 50) * 1000
            };
            rate.add(Duration::from_secs(second), bytes);
        }
        assert_eq!(rate.per_second(), Some(1000.0));
        assert!(rate.samples.len() < 10);
        for second in 100..110 {
            rate.add(Duration::from_secs(second), 1_000_000);
        }
        assert_eq!(rate.per_second(), None);
    }

    #[test]
    fn a_stall_is_said_once_and_then_seldom() {
        let mut stall = Stall::new(Duration::from_secs(60), Duration::from_secs(600));
        let said: Vec<u64> = (0..2000)
            .filter(|&second| stall.due(Duration::from_secs(second)))
            .collect();
        assert_eq!(said, [60, 660, 1260, 1860]);
        assert!(!stall.due(Duration::ZERO));
        assert!(stall.due(Duration::from_secs(60)));
    }
}
