//! Values that are dropped one by one, each on its own.

use std::vec::IntoIter;

use crate::error::drop_quietly;

/// What is left of some values. A `drop` that panics takes neither the others nor the thread with it: that may be one of the pool's,
/// or be unwinding already.
pub(super) struct Quiet<T>(IntoIter<T>);

impl<T> Quiet<T> {
    pub fn new(values: Vec<T>) -> Quiet<T> {
        Quiet(values.into_iter())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<T> Default for Quiet<T> {
    fn default() -> Self {
        Quiet::new(Vec::new())
    }
}

impl<T> Iterator for Quiet<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.next()
    }
}

impl<T> Drop for Quiet<T> {
    fn drop(&mut self) {
        for value in self.0.by_ref() {
            drop_quietly(value);
        }
    }
}
