//! The state of a worker: its number, and what its processes died of.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What is kept from chunk to chunk.
pub struct Worker {
    pub number: Number,
    /// Processes that died since the last answer.
    pub deaths: u32,
    /// Those of them that died of the header.
    pub header_deaths: u32,
    /// Records that were charged with a death since the last answer, whatever the number of attempts at each.
    pub charged: u32,
    last_charged: Option<(u64, u64)>,
}

impl Worker {
    pub fn new(number: Number) -> Worker {
        Worker {
            number,
            deaths: 0,
            header_deaths: 0,
            charged: 0,
            last_charged: None,
        }
    }

    /// A process has answered a record.
    pub fn answered(&mut self) {
        self.deaths = 0;
        self.header_deaths = 0;
        self.charged = 0;
        self.last_charged = None;
    }

    /// A record of this chunk is charged with a death.
    pub fn charge(&mut self, chunk: u64, record: u64) {
        if self.last_charged.replace((chunk, record)) != Some((chunk, record)) {
            self.charged += 1;
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
