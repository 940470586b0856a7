//! How fast records are given out.

use std::time::{Duration, Instant};

/// At most so many records in so much time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    pub records: u64,
    pub per: Duration,
}

impl Rate {
    /// The records of one second, at least one: no chunk holds more.
    pub fn a_second(&self) -> u64 {
        let records = self.records as f64 / self.per.as_secs_f64();
        (records as u64).max(1)
    }
}

/// When the next records are due.
#[derive(Debug)]
pub(crate) struct Pace {
    rate: Rate,
    due: Option<Instant>,
}

/// What is made up for after a delay: the reader's own lateness, not a wait for room, which would end in a burst.
const LATENESS: Duration = Duration::from_millis(100);

impl Pace {
    pub fn new(rate: Rate) -> Pace {
        Pace { rate, due: None }
    }

    /// How long to wait before more records are given out.
    pub fn time_left(&self) -> Duration {
        self.due.map_or(Duration::ZERO, |due| {
            due.saturating_duration_since(Instant::now())
        })
    }

    /// So many records were given out.
    pub fn given(&mut self, records: u64) {
        self.given_at(records, Instant::now());
    }

    fn given_at(&mut self, records: u64, now: Instant) {
        let earliest = now.checked_sub(LATENESS).unwrap_or(now);
        let from = self.due.map_or(now, |due| due.max(earliest));
        let seconds = self.rate.per.as_secs_f64() * (records as f64 / self.rate.records as f64);
        let pause = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        self.due = Some(from.checked_add(pause).unwrap_or(from + FOR_LONG));
    }
}

/// Longer than any run.
const FOR_LONG: Duration = Duration::from_secs(1 << 32);

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(records: u64, seconds: u64) -> Pace {
        Pace::new(Rate {
            records,
            per: Duration::from_secs(seconds),
        })
    }

    #[test]
    fn the_first_records_are_due_at_once_and_the_next_in_their_time() {
        let mut pace = pace(500, 1);
        assert_eq!(pace.time_left(), Duration::ZERO);
        let start = Instant::now();
        pace.given_at(1, start);
        assert_eq!(pace.due, Some(start + Duration::from_millis(2)));
        pace.given_at(10, start + Duration::from_millis(3));
        assert_eq!(pace.due, Some(start + Duration::from_millis(22)));
    }

    #[test]
    fn what_was_held_up_for_long_is_not_made_up_for() {
        let mut pace = pace(60, 60);
        let start = Instant::now();
        pace.given_at(1, start);
        let later = start + Duration::from_secs(100);
        pace.given_at(1, later);
        assert_eq!(pace.due, Some(later + Duration::from_millis(900)));
    }

    #[test]
    fn a_second_holds_one_record_at_least() {
        assert_eq!(pace(500, 1).rate.a_second(), 500);
        assert_eq!(pace(30, 60).rate.a_second(), 1);
    }
}
