//! Which bytes lie inside quotes, for 64 bytes at once.

use super::follows_end;
use crate::format::Dialect;
use crate::frame::scan::masks::{equal, line_ends, masks, parity};

/// What the bytes before a position say about the quotes there.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::frame) struct Quotes {
    /// The position lies inside quotes.
    inside: bool,
    /// The byte before closed the quotes; where quotes are doubled, one that follows opens them again.
    closed: bool,
    /// Where the quotes opened, if one of the above.
    open: usize,
}

/// What a block of at most 64 bytes holds.
pub(in crate::frame) struct Block {
    /// The line ends outside quotes, one bit each, the first byte lowest.
    pub ends: u64,
    pub has_quotes: bool,
}

/// One bit for each byte.
#[derive(Default)]
struct Turns {
    /// The bytes inside quotes, the opening one included.
    inside: u64,
    opening: u64,
    closing: u64,
}

impl Quotes {
    /// Where the quotes opened in which the position lies.
    pub fn open(&self) -> Option<usize> {
        self.inside.then_some(self.open)
    }

    /// The position lies outside quotes, whatever follows.
    pub fn are_plain(&self) -> bool {
        !self.inside && !self.closed
    }

    /// Positions count from `len` bytes later on.
    pub fn after(self, len: usize) -> Quotes {
        Quotes {
            open: self.open.saturating_sub(len),
            ..self
        }
    }

    /// Goes from `at` to `to`, at least one byte and at most 64. The bytes before `at` back to the record's start are there.
    #[inline(always)]
    pub fn scan(&mut self, bytes: &[u8], at: usize, to: usize, dialect: Dialect) -> Block {
        let Some(quote) = dialect.quote else {
            let [ends] = masks(bytes, at, to, |block| [line_ends(block)]);
            return Block {
                ends,
                has_quotes: false,
            };
        };
        let [quotes, ends, delimiters] = masks(bytes, at, to, |block| {
            [
                equal(block, quote),
                line_ends(block),
                equal(block, dialect.delimiter),
            ]
        });
        let starts_field = follows_end(bytes, at) || bytes[at - 1] == dialect.delimiter;
        let field_starts = (ends | delimiters) << 1 | u64::from(starts_field);
        let turns = self.turns(quotes, field_starts, dialect.doubling);
        let last = 1 << (to - at - 1);
        self.inside = turns.inside & last != 0;
        self.closed = turns.closing & last != 0;
        // A quote that opens again what the one before it closed is the second of a doubled one.
        let opened = turns.opening & field_starts;
        if let Some(i) = opened.checked_ilog2() {
            self.open = at + i as usize;
        }
        Block {
            ends: ends & !turns.inside,
            has_quotes: quotes != 0,
        }
    }

    /// Where quotes open and close. `field_starts` holds for the bytes outside quotes.
    #[inline(always)]
    fn turns(&self, quotes: u64, field_starts: u64, doubling: bool) -> Turns {
        // As if every quote opened or closed; a doubled one does both.
        let inside = parity(quotes) ^ if self.inside { u64::MAX } else { 0 };
        let (opening, closing) = (quotes & inside, quotes & !inside);
        let again = if doubling {
            closing << 1 | u64::from(self.closed)
        } else {
            0
        };
        if opening & !(field_starts | again) == 0 {
            return Turns {
                inside,
                opening,
                closing,
            };
        }
        self.turns_one_by_one(quotes, field_starts, doubling)
    }

    /// As `turns`, where some quotes are plain text.
    #[cold]
    fn turns_one_by_one(&self, quotes: u64, field_starts: u64, doubling: bool) -> Turns {
        let mut turns = Turns {
            inside: if self.inside { u64::MAX } else { 0 },
            ..Turns::default()
        };
        let mut rest = quotes;
        while rest != 0 {
            let quote = 1 << rest.trailing_zeros();
            rest &= rest - 1;
            let again = if doubling {
                turns.closing << 1 | u64::from(self.closed)
            } else {
                0
            };
            if turns.inside & quote != 0 {
                turns.closing |= quote;
            } else if quote & (field_starts | again) != 0 {
                turns.opening |= quote;
            } else {
                continue;
            }
            turns.inside ^= u64::MAX << quote.trailing_zeros();
        }
        turns
    }
}
