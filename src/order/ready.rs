//! The chunks that are framed and reserved, but not started.

use std::collections::VecDeque;

use super::Ticket;

/// The ready list, oldest first. The oldest chunk is the one that gates the output, so nothing ever overtakes it.
#[derive(Debug)]
pub(super) struct Ready<C> {
    entries: VecDeque<Entry<C>>,
}

#[derive(Debug)]
struct Entry<C> {
    ticket: Ticket,
    chunk: C,
}

impl<C> Ready<C> {
    pub(super) fn new() -> Self {
        Self {
            entries: VecDeque::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Appends a chunk that was just reserved.
    pub(super) fn push(&mut self, ticket: Ticket, chunk: C) {
        self.entries.push_back(Entry { ticket, chunk });
    }

    /// Puts the head of the order back: every other chunk is younger.
    pub(super) fn push_first(&mut self, ticket: Ticket, chunk: C) {
        self.entries.push_front(Entry { ticket, chunk });
    }

    /// The ticket of the chunk that starts next.
    pub(super) fn first(&self) -> Option<Ticket> {
        self.entries.front().map(|entry| entry.ticket)
    }

    pub(super) fn pop(&mut self) -> Option<(Ticket, C)> {
        self.entries
            .pop_front()
            .map(|entry| (entry.ticket, entry.chunk))
    }
}
