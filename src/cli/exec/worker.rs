//! The state of a worker: its number, and the process that it keeps.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::failure::Why;
use super::persistent::FAREWELL;
use super::session::Session;
use crate::cli::voice::Speaker;

/// What is kept from chunk to chunk.
pub struct Worker {
    pub number: Number,
    /// With `--persistent`.
    pub session: Option<Session>,
    /// Processes so far.
    pub started: u64,
    /// Processes that died since the last answer.
    pub deaths: u32,
    farewells: Farewells,
}

impl Worker {
    pub fn new(number: Number, farewells: Farewells) -> Worker {
        Worker {
            number,
            session: None,
            started: 0,
            deaths: 0,
            farewells,
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            self.farewells.say(session);
        }
    }
}

/// The ends of processes that live on: together, those that do not end by themselves are waited for as long as one.
#[derive(Debug, Clone)]
pub struct Farewells {
    spent: Arc<AtomicU64>,
    speaker: Option<Speaker>,
}

impl Farewells {
    pub fn new(speaker: Option<Speaker>) -> Farewells {
        Farewells {
            spent: Arc::default(),
            speaker,
        }
    }

    fn say(&self, mut session: Session) {
        let spent = Duration::from_millis(self.spent.load(Ordering::Relaxed));
        let patience = FAREWELL.saturating_sub(spent);
        let begun = Instant::now();
        let status = session.end(patience);
        let took = begun.elapsed();
        if took >= patience {
            let spent = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            self.spent.fetch_add(spent, Ordering::Relaxed);
        }
        let Some(speaker) = &self.speaker else { return };
        if session.says_more(Duration::ZERO).is_ok_and(|more| more) {
            speaker.line(
                "the command printed something after its last answer, which is not in the output",
            );
        }
        if let Ok(status) = status
            && !status.success()
        {
            speaker.line(&format!(
                "after its last answer the command {}",
                Why::Ended(status)
            ));
        }
    }
}

/// Numbers for workers: of those at work at the same time each has another, from 0.
#[derive(Debug, Clone, Default)]
pub struct Numbers(Arc<Mutex<BTreeSet<usize>>>);

/// A number, free again when it is dropped.
#[derive(Debug)]
pub struct Number {
    pub number: usize,
    taken: Numbers,
}

impl Numbers {
    /// The least that is free.
    pub fn take(&self) -> Number {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = (0..)
            .find(|number| !taken.contains(number))
            .unwrap_or_default();
        taken.insert(number);
        Number {
            number,
            taken: self.clone(),
        }
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        let mut taken = self.taken.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again() {
        let numbers = Numbers::default();
        let (zero, one) = (numbers.take(), numbers.take());
        assert_eq!((zero.number, one.number), (0, 1));
        drop(zero);
        assert_eq!(numbers.take().number, 0);
        assert_eq!(numbers.take().number, 0);
    }
}
