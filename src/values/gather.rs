//! The group that is being gathered, and how many workers are free to take it.

use std::mem;

/// Items that wait to become a group. Under one lock with the number of free workers, so that no item waits while a
/// worker is free.
pub(super) struct Gather<T> {
    items: Vec<T>,
    charge: usize,
    free: usize,
}

/// Items that are worked on together, and what they are charged.
pub(super) struct Group<T> {
    pub items: Vec<T>,
    pub charge: usize,
}

impl<T> Gather<T> {
    pub fn new(workers: usize) -> Gather<T> {
        Gather {
            items: Vec::new(),
            charge: 0,
            free: workers,
        }
    }

    pub fn add(&mut self, item: T, charge: usize) {
        self.items.push(item);
        self.charge += charge;
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn charge(&self) -> usize {
        self.charge
    }

    /// Takes what is gathered, if anything.
    pub fn take(&mut self) -> Option<Group<T>> {
        (!self.items.is_empty()).then(|| Group {
            items: mem::take(&mut self.items),
            charge: mem::take(&mut self.charge),
        })
    }

    /// Takes a free worker, if there is one.
    pub fn employ(&mut self) -> bool {
        let free = self.free > 0;
        self.free -= usize::from(free);
        free
    }

    /// A worker has nothing to do.
    pub fn rest(&mut self) {
        self.free += 1;
    }
}
