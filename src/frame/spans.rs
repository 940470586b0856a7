//! The records of a finished chunk, one after the other.

use memchr::memchr;

use super::csv::Quotes;
use super::lines::is_blank;
use super::scan::masks::{BLOCK, equal, masks};
use crate::format::{Dialect, Framing};

/// The next quote is looked for so far ahead: what was looked at is in the nearest cache still when its turn comes, and whoever wants the first
/// record alone does not pay for the chunk.
const NEAR: usize = 4096;

/// Where a record lies in its chunk: its bytes are `start..content_end`, its end (0 to 2 bytes) is `content_end..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: usize,
    pub content_end: usize,
    pub end: usize,
}

/// Iterates over the records of a chunk that starts and ends at record ends, or where the input ends. The blank lines of
/// CSV and NDJSON are gaps between spans.
#[derive(Debug, Clone)]
pub(crate) struct Spans<'a> {
    bytes: &'a [u8],
    framing: Framing,
    /// Where the next record or blank line starts.
    pos: usize,
    /// The ends not yet given in the block of at most 64 bytes from `block` on.
    ends: u64,
    block: usize,
    /// Where the next block starts.
    next_block: usize,
    quotes: Quotes,
    /// Outside quotes, none stands between the block and here: blocks without quotes are scanned for ends alone.
    quote: usize,
    /// The block before had quotes: a search for the next one would find it soon.
    had_quotes: bool,
}

impl<'a> Spans<'a> {
    pub fn new(bytes: &'a [u8], framing: Framing) -> Spans<'a> {
        Spans {
            bytes,
            framing,
            pos: 0,
            ends: 0,
            block: 0,
            next_block: 0,
            quotes: Quotes::default(),
            quote: 0,
            had_quotes: false,
        }
    }

    /// The next byte that ends a record or a blank line, or the chunk's length.
    #[inline]
    fn next_end(&mut self) -> usize {
        while self.ends == 0 {
            if self.next_block == self.bytes.len() {
                return self.bytes.len();
            }
            self.block = self.next_block;
            self.next_block = self.bytes.len().min(self.block + BLOCK);
            self.ends = self.block_ends();
        }
        let i = self.ends.trailing_zeros() as usize;
        self.ends &= self.ends - 1;
        self.block + i
    }

    #[inline]
    fn block_ends(&mut self) -> u64 {
        let end = match self.framing {
            Framing::Lines | Framing::Ndjson => b'\n',
            Framing::Nul => 0,
            Framing::Csv(dialect) => return self.row_ends(dialect),
        };
        let [ends] = masks(self.bytes, self.block, self.next_block, |block| {
            [equal(block, end)]
        });
        ends
    }

    #[inline]
    fn row_ends(&mut self, mut dialect: Dialect) -> u64 {
        if let Some(quote) = dialect.quote
            && !self.had_quotes
            && self.quotes.are_plain()
        {
            if self.quote <= self.block {
                let near = self.bytes.len().min(self.block + NEAR);
                let found = memchr(quote, &self.bytes[self.block..near]);
                self.quote = found.map_or(near, |i| self.block + i);
            }
            if self.quote >= self.next_block {
                dialect.quote = None;
            }
        }
        let block = self
            .quotes
            .scan(self.bytes, self.block, self.next_block, dialect);
        self.had_quotes = block.has_quotes;
        block.ends
    }
}

impl Iterator for Spans<'_> {
    type Item = Span;

    #[inline]
    fn next(&mut self) -> Option<Span> {
        let bytes = self.bytes;
        while self.pos < bytes.len() {
            let start = self.pos;
            let stop = self.next_end();
            let end = bytes.len().min(stop + 1);
            self.pos = end;
            let (content_end, blank) = match self.framing {
                Framing::Nul => (stop, false),
                // An LF after a CR makes one end of both, and here looks like a blank line.
                Framing::Csv(_) if stop == start => continue,
                Framing::Csv(_) => {
                    let two = bytes[stop..].starts_with(b"\r\n");
                    return Some(Span {
                        start,
                        content_end: stop,
                        end: end + usize::from(two),
                    });
                }
                Framing::Lines | Framing::Ndjson => {
                    let cr = stop < end && bytes[start..stop].last() == Some(&b'\r');
                    (
                        stop - usize::from(cr),
                        self.framing == Framing::Ndjson && is_blank(&bytes[start..stop]),
                    )
                }
            };
            if !blank {
                return Some(Span {
                    start,
                    content_end,
                    end,
                });
            }
        }
        None
    }
}

impl std::iter::FusedIterator for Spans<'_> {}

#[cfg(test)]
mod tests;
