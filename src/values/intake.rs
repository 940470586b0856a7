//! The source's side.

use super::engine::{Assigned, Shared};

/// Sees to it that there is room before an item is pulled.
pub(super) struct Intake {
    /// Room taken, and not used yet.
    left: usize,
    /// Charged for the item that is about to come.
    charge: usize,
}

impl Intake {
    pub fn new() -> Intake {
        Intake { left: 0, charge: 0 }
    }

    /// Waits until there is room for one more item; `false`: no more are wanted.
    #[inline]
    pub fn wait_for_room<T, R, F>(&mut self, shared: &Shared<T, R, F>) -> bool {
        let bounds = shared.bounds();
        // Woken for each item, the source's thread would do little else: it waits for an eighth of the window.
        let some = (bounds.limit / 8).max(bounds.share);
        self.charge = bounds.share;
        self.grab(|left| shared.order.take_room(left, some)) && shared.wants_more()
    }

    /// Waits until this item's weight fits; `false`: stopped.
    #[inline]
    pub fn wait_for_weight<T, R, F>(&mut self, shared: &Shared<T, R, F>, item: &T) -> bool {
        let charge = shared.bounds().charge(item);
        if charge == self.charge {
            return true;
        }
        self.give_back();
        self.charge = charge;
        self.grab(|left| shared.order.take_room(left, charge))
    }

    /// Whether there is room for one more item now.
    pub fn has_room<T, R, F>(&mut self, shared: &Shared<T, R, F>) -> bool {
        self.give_back();
        self.charge = shared.bounds().share;
        self.grab(|left| Some(shared.order.take_room_now(left)))
    }

    /// Whether there is room for this item's weight now. There always is when nothing else is in flight.
    pub fn has_room_for<T, R, F>(&mut self, shared: &Shared<T, R, F>, item: &T) -> bool {
        let charge = shared.bounds().charge(item);
        if charge == self.charge {
            return true;
        }
        self.give_back();
        self.charge = charge;
        self.grab(|left| Some(shared.order.take_room_now(left)))
    }

    /// Takes the charge out of what is left, with `more` if that is not enough.
    #[inline]
    fn grab(&mut self, more: impl FnOnce(usize) -> Option<usize>) -> bool {
        if self.left < self.charge {
            match more(self.left) {
                Some(left) => self.left = left,
                None => self.left = 0,
            }
        }
        let fits = self.left >= self.charge;
        if fits {
            self.left -= self.charge;
        } else {
            self.charge = 0;
        }
        fits
    }

    /// No item has come for what was charged, or another weight.
    fn give_back(&mut self) {
        self.left += std::mem::take(&mut self.charge);
    }

    /// Adds an item, for which there is room; gives it to `employ` if a worker is free.
    #[inline]
    pub fn add<T, R, F>(
        &mut self,
        shared: &Shared<T, R, F>,
        item: T,
        employ: impl FnOnce(Assigned<T>),
    ) {
        let charge = std::mem::take(&mut self.charge);
        let mut gather = shared.gather();
        gather.add(item, charge);
        if gather.employ() {
            let taken = shared.take(&mut gather);
            if taken.is_none() {
                gather.rest();
            }
            drop(gather);
            if let Some(assigned) = taken {
                employ(assigned);
            }
        }
    }
}
