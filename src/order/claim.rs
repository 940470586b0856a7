//! The guard that makes sure a started slot is settled.

use std::mem::ManuallyDrop;

use super::{Order, Ticket};
use crate::sync::Instant;

/// A worker's hold on a started chunk. Dropped without a fill, by a panic say, it reports the chunk as lost, so that the writer never waits
/// for a result that nobody will bring.
pub(crate) struct Claim<'o, C, R> {
    order: &'o Order<C, R>,
    ticket: Ticket,
}

impl<'o, C, R> Claim<'o, C, R> {
    pub(super) fn new(order: &'o Order<C, R>, ticket: Ticket) -> Self {
        Self { order, ticket }
    }

    #[cfg(test)]
    pub(crate) fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// [`Order::fill`] with the ticket held.
    pub(crate) fn fill(self, result: R, bytes: usize) -> bool {
        let claim = ManuallyDrop::new(self);
        claim.order.fill(claim.ticket, result, bytes)
    }

    /// [`Order::put_back`] with the ticket held.
    pub(crate) fn put_back(self, chunk: C, bytes: usize, due: Instant) -> bool {
        let claim = ManuallyDrop::new(self);
        claim.order.put_back(claim.ticket, chunk, bytes, due)
    }
}

impl<C, R> Drop for Claim<'_, C, R> {
    fn drop(&mut self) {
        self.order.lose(self.ticket);
    }
}
