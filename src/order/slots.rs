//! The reserved places of the results, from the head of the order to the chunk framed last.

use std::collections::VecDeque;
use std::mem;

use super::Ticket;

/// A ring of slots by sequence number. A slot's stages are ready, started (from where it may be put back), settled (filled or lost), taken
/// by the writer; from there it is released, or renewed for its next attempt.
#[derive(Debug)]
pub(super) struct Slots<R> {
    head: u64,
    slots: VecDeque<Slot<R>>,
    started: usize,
}

#[derive(Debug)]
struct Slot<R> {
    attempt: u32,
    charge: usize,
    stage: Stage<R>,
}

#[derive(Debug)]
enum Stage<R> {
    Ready,
    Started,
    Settled(Outcome<R>),
    Taken,
}

/// How an attempt came out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome<R> {
    Filled(R),
    /// The worker vanished without a result.
    Lost,
}

impl<R> Slots<R> {
    pub(super) fn new() -> Self {
        Self {
            head: 0,
            slots: VecDeque::new(),
            started: 0,
        }
    }

    /// The sequence number that is written next.
    pub(super) fn head(&self) -> u64 {
        self.head
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many chunks are with the workers.
    pub(super) fn started(&self) -> usize {
        self.started
    }

    /// Reserves the slot behind the last one, ready to start.
    pub(super) fn reserve(&mut self, charge: usize) -> Ticket {
        let ticket = Ticket {
            seq: self.head + self.slots.len() as u64,
            attempt: 0,
        };
        self.slots.push_back(Slot {
            attempt: ticket.attempt,
            charge,
            stage: Stage::Ready,
        });
        ticket
    }

    /// Notes that the chunk of a ready slot is with a worker.
    pub(super) fn start(&mut self, ticket: Ticket) {
        if let Some(slot) = self.current(ticket)
            && matches!(slot.stage, Stage::Ready)
        {
            slot.stage = Stage::Started;
            self.started += 1;
        }
    }

    /// Settles a started slot; `charge` replaces what it held, if given. Returns the charges before and after, or the outcome when the
    /// ticket is not that of the attempt under way: it came too late, or twice.
    pub(super) fn settle(
        &mut self,
        ticket: Ticket,
        outcome: Outcome<R>,
        charge: Option<usize>,
    ) -> Result<(usize, usize), Outcome<R>> {
        let Some(slot) = self
            .current(ticket)
            .filter(|slot| matches!(slot.stage, Stage::Started))
        else {
            return Err(outcome);
        };
        slot.stage = Stage::Settled(outcome);
        let old = slot.charge;
        slot.charge = charge.unwrap_or(old);
        let new = slot.charge;
        self.started -= 1;
        Ok((old, new))
    }

    /// Makes a started slot ready for its next attempt. Returns the new ticket and the old charge, or `None` when the ticket is not that
    /// of the attempt under way.
    pub(super) fn put_back(&mut self, ticket: Ticket, charge: usize) -> Option<(Ticket, usize)> {
        let slot = self
            .current(ticket)
            .filter(|slot| matches!(slot.stage, Stage::Started))?;
        slot.attempt = slot.attempt.wrapping_add(1);
        slot.stage = Stage::Ready;
        let old = mem::replace(&mut slot.charge, charge);
        let attempt = slot.attempt;
        self.started -= 1;
        Some((Ticket { attempt, ..ticket }, old))
    }

    pub(super) fn is_head_settled(&self) -> bool {
        let head = self.slots.front();
        head.is_some_and(|slot| matches!(slot.stage, Stage::Settled(_)))
    }

    /// Takes the outcome out of the head, if it is settled. The slot stays reserved.
    pub(super) fn take(&mut self) -> Option<Outcome<R>> {
        let head = self.slots.front_mut()?;
        if !matches!(head.stage, Stage::Settled(_)) {
            return None;
        }
        match mem::replace(&mut head.stage, Stage::Taken) {
            Stage::Settled(outcome) => Some(outcome),
            Stage::Ready | Stage::Started | Stage::Taken => None,
        }
    }

    /// Frees the slot of the head, which must be taken, and returns its charge.
    pub(super) fn release(&mut self) -> Option<usize> {
        self.taken()?;
        self.head += 1;
        self.slots.pop_front().map(|slot| slot.charge)
    }

    /// Makes the head, which must be taken, ready for its next attempt. Returns the new ticket and the old charge.
    pub(super) fn renew(&mut self, charge: usize) -> Option<(Ticket, usize)> {
        let seq = self.head;
        let slot = self.taken()?;
        slot.attempt = slot.attempt.wrapping_add(1);
        slot.stage = Stage::Ready;
        let old = mem::replace(&mut slot.charge, charge);
        let attempt = slot.attempt;
        Some((Ticket { seq, attempt }, old))
    }

    fn taken(&mut self) -> Option<&mut Slot<R>> {
        self.slots
            .front_mut()
            .filter(|slot| matches!(slot.stage, Stage::Taken))
    }

    /// The ticket's slot, if it is still reserved and at this attempt.
    fn current(&mut self, ticket: Ticket) -> Option<&mut Slot<R>> {
        let place = usize::try_from(ticket.seq.checked_sub(self.head)?).ok()?;
        self.slots
            .get_mut(place)
            .filter(|slot| slot.attempt == ticket.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Slots};

    #[test]
    fn a_slot_goes_through_its_stages() {
        let mut slots = Slots::new();
        let first = slots.reserve(5);
        let second = slots.reserve(7);
        assert_eq!((first.seq, second.seq), (0, 1));
        assert_eq!(
            slots.settle(first, Outcome::Filled('x'), None),
            Err(Outcome::Filled('x'))
        );
        slots.start(first);
        slots.start(first);
        assert_eq!(slots.started(), 1);
        assert_eq!(slots.take(), None);
        assert_eq!(slots.release(), None);
        assert_eq!(
            slots.settle(first, Outcome::Filled('a'), Some(9)),
            Ok((5, 9))
        );
        assert_eq!(slots.started(), 0);
        assert_eq!(slots.take(), Some(Outcome::Filled('a')));
        assert_eq!(slots.take(), None);
        assert_eq!(slots.release(), Some(9));
        assert_eq!((slots.head(), slots.len()), (1, 1));
    }

    #[test]
    fn a_renewed_slot_ignores_the_tickets_of_its_earlier_attempts() {
        let mut slots = Slots::new();
        let first = slots.reserve(5);
        slots.start(first);
        assert_eq!(slots.settle(first, Outcome::Lost, None), Ok((5, 5)));
        assert_eq!(
            slots.settle(first, Outcome::Filled('a'), None),
            Err(Outcome::Filled('a'))
        );
        assert_eq!(slots.take(), Some(Outcome::Lost));
        let (again, old) = slots.renew(6).unwrap();
        assert_eq!((again.seq, again.attempt, old), (0, 1, 5));
        slots.start(again);
        assert_eq!(
            slots.settle(first, Outcome::Filled('b'), None),
            Err(Outcome::Filled('b'))
        );
        assert_eq!(slots.settle(again, Outcome::Filled('c'), None), Ok((6, 6)));
        assert_eq!(slots.take(), Some(Outcome::Filled('c')));
        assert_eq!(slots.release(), Some(6));
        assert_eq!(
            slots.settle(again, Outcome::Filled('d'), None),
            Err(Outcome::Filled('d'))
        );
    }
}
