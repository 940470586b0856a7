//! The items that wait for a worker, and how many workers are free.

use std::collections::VecDeque;

use super::bounds::Bounds;
use super::quiet::Quiet;

/// Pulled items that no worker has taken yet. Under one lock with the number of free workers, so that no item waits
/// while a worker is free.
pub(super) struct Gather<T> {
    items: VecDeque<T>,
    /// What each is charged, unless all are charged the same.
    charges: Option<VecDeque<usize>>,
    share: usize,
    /// Most that a group is charged, unless it is one item.
    most: usize,
    workers: usize,
    free: usize,
    ended: bool,
}

/// Items that are worked on together, and what they are charged.
pub(super) struct Group<T> {
    pub items: Quiet<T>,
    pub charge: usize,
}

impl<T> Gather<T> {
    pub fn new(bounds: &Bounds<T>) -> Gather<T> {
        Gather {
            items: VecDeque::new(),
            charges: bounds.differ().then(VecDeque::new),
            share: bounds.share,
            most: bounds.group(),
            workers: bounds.threads,
            free: bounds.threads,
            ended: false,
        }
    }

    pub fn add(&mut self, item: T, charge: usize) {
        self.items.push_back(item);
        if let Some(charges) = &mut self.charges {
            charges.push_back(charge);
        }
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Takes the oldest items, up to `want`, if there are any.
    pub fn take(&mut self, want: usize) -> Option<Group<T>> {
        let len = self.items.len();
        if len == 0 {
            return None;
        }
        let want = if self.ended {
            // The last ones are shared out, in smaller and smaller groups.
            want.min(len.div_ceil(self.workers.saturating_mul(2)))
        } else {
            want.min(len)
        };
        let (count, charge) = self.count(want.max(1));
        Some(Group {
            items: Quiet::new(self.items.drain(..count).collect()),
            charge,
        })
    }

    /// How many of the oldest items, at most `want`, make a group, and what they are charged.
    fn count(&mut self, want: usize) -> (usize, usize) {
        let Some(charges) = &mut self.charges else {
            let count = want.min(self.most / self.share).max(1);
            return (count, count * self.share);
        };
        let (mut count, mut sum) = (0, 0);
        for charge in charges.iter().take(want) {
            if count > 0 && charge.saturating_add(sum) > self.most {
                break;
            }
            count += 1;
            sum += charge;
        }
        charges.drain(..count);
        (count, sum)
    }

    /// No more items will come.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether all items that will ever come are taken.
    pub fn is_done(&self) -> bool {
        self.ended && self.items.is_empty()
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

impl<T> Drop for Gather<T> {
    fn drop(&mut self) {
        drop(Quiet::new(std::mem::take(&mut self.items).into()));
    }
}
