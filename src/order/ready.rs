//! The chunks that are framed and reserved, but not started.

use std::collections::VecDeque;

use super::Ticket;
use crate::sync::Instant;

/// The ready list, oldest first. The oldest chunk is the one that gates the output, so nothing ever overtakes it, but for chunks
/// that may not start before a time: they come back to their place when it is there.
#[derive(Debug)]
pub(super) struct Ready<C> {
    entries: VecDeque<Entry<C>>,
    /// Those that are not due, in no order: there are few.
    later: Vec<(Instant, Entry<C>)>,
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
            later: Vec::new(),
        }
    }

    /// How many may start as far as time is concerned.
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

    /// Puts a chunk aside until `due`.
    pub(super) fn put_off(&mut self, ticket: Ticket, chunk: C, due: Instant) {
        self.later.push((due, Entry { ticket, chunk }));
    }

    /// Brings the chunks that are due back to their places.
    pub(super) fn bring_back(&mut self) {
        if self.later.is_empty() {
            return;
        }
        let now = Instant::now();
        for (_, entry) in self.later.extract_if(.., |(due, _)| *due <= now) {
            let seq = entry.ticket.seq;
            let place = self.entries.partition_point(|other| other.ticket.seq < seq);
            self.entries.insert(place, entry);
        }
    }

    /// When the first of the chunks put off is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.later.iter().map(|(due, _)| *due).min()
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
