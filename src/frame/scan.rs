//! Where to cut a chunk: a scan that keeps its state while the unframed bytes (the front) grow.

use memchr::memchr_iter;

use super::{csv, lines};
use crate::format::Framing;

pub(super) mod masks;
pub(super) mod words;

/// Finds the record end at which the next chunk ends. It goes over each byte once, however the front grows; but for the
/// rest of a block of 64 bytes, where it stops at a single record's end.
#[derive(Debug, Clone)]
pub(crate) struct Scanner {
    framing: Framing,
    state: State,
}

/// What the next chunk should hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Want {
    /// The size of the chunk; 0 is taken as 1.
    pub bytes: usize,
    /// The most records of the chunk; 0 is taken as 1, `u64::MAX` is no bound.
    pub records: u64,
    /// No more bytes are at hand for now: the whole records that are shall become a chunk.
    pub flush: bool,
}

/// A chunk that the caller is to take off the front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The chunk's length in bytes, never 0.
    pub len: usize,
    /// The records in it: 0 if it holds blank lines only.
    pub records: u64,
    /// The LF bytes in it.
    pub lines: u64,
    /// Where in the chunk the quote stands that is still open at the end of the input.
    pub unclosed: Option<usize>,
}

/// The unframed bytes at hand.
#[derive(Clone, Copy)]
pub(super) struct Front<'a> {
    pub bytes: &'a [u8],
    /// The input ends where the bytes end.
    pub at_end: bool,
}

/// What is known of the front. No record ends between `cut` and `pos`.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// The bytes before it are scanned.
    pub pos: usize,
    /// Behind the last record end before `pos`; 0 if there is none.
    pub cut: usize,
    /// The records that end at or before `cut`.
    pub records: u64,
    /// The LF bytes before `counted`, which is no further than `cut`.
    lines: u64,
    counted: usize,
    /// Whether `pos` lies inside the quotes of CSV.
    pub quotes: csv::Quotes,
}

/// What is scanned at once, so that a second look finds in the nearest cache what the first has seen.
/// (A test's inputs are to have several, that end anywhere in a block.)
const STRETCH: usize = if cfg!(test) { 700 } else { 16 << 10 };

/// With fewer records than this left to find, they are counted one by one.
const FEW_RECORDS: u64 = 64;

impl Scanner {
    pub fn new(framing: Framing) -> Scanner {
        Scanner {
            framing,
            state: State::default(),
        }
    }

    /// The chunk from the front's first byte to the last record end at or before `want.bytes`, or behind record number
    /// `want.records` if that comes first; if there is no such end, to the first one after `want.bytes`.
    /// The end of the input is a record end. So but for `flush` the cut is a function of the input alone, and the byte
    /// behind the chunk's wanted size must be known: `None` asks for more bytes than the front has.
    ///
    /// The caller takes `Cut::len` bytes off the front before the next call, and with `None` leaves them there.
    /// `at_end` says that the front ends where the input ends; an empty front gives no chunk.
    pub fn cut(&mut self, front: &[u8], at_end: bool, want: &Want) -> Option<Cut> {
        let size = want.bytes.max(1);
        let most = want.records.max(1);
        let front = Front {
            bytes: front,
            at_end,
        };
        let len = front.bytes.len();
        self.advance(front, size.min(len), most);
        if self.state.records >= most {
            return Some(self.take_whole_records());
        }
        if len > size {
            if self.state.cut == 0 {
                self.next_end(front, len);
                self.state.count_lines(front.bytes, self.framing);
            }
            if self.state.cut > 0 {
                return Some(self.take_whole_records());
            }
        }
        if at_end && len > 0 {
            return Some(self.take_rest(front.bytes));
        }
        if self.state.cut > 0 && (want.flush || self.state.cut >= size) {
            return Some(self.take_whole_records());
        }
        None
    }

    /// Where the quote that is open at the scan position stands, relative to the front.
    pub fn open_quote(&self) -> Option<usize> {
        self.state.quotes.open()
    }

    /// Scans up to `limit` or to the end of record number `most`.
    fn advance(&mut self, front: Front<'_>, limit: usize, most: u64) {
        while self.state.pos < limit && self.state.records < most {
            let from = self.state.pos;
            let left = most - self.state.records;
            if left < FEW_RECORDS {
                self.next_end(front, limit);
            } else {
                // A stretch of n bytes holds at most n record ends, so this one can't go past the wanted record.
                let stretch = usize::try_from(left).unwrap_or(usize::MAX);
                self.bulk(front, limit.min(from.saturating_add(stretch.min(STRETCH))));
            }
            self.state.count_lines(front.bytes, self.framing);
            // Only the next byte can tell what the last one means.
            if self.state.pos == from {
                break;
            }
        }
    }

    fn bulk(&mut self, front: Front<'_>, limit: usize) {
        match self.framing {
            Framing::Lines => lines::bulk(&mut self.state, front, limit, b'\n'),
            Framing::Nul => lines::bulk(&mut self.state, front, limit, 0),
            Framing::Ndjson => lines::bulk_ndjson(&mut self.state, front, limit),
            Framing::Csv(dialect) => csv::bulk(&mut self.state, front, limit, dialect),
        }
    }

    fn next_end(&mut self, front: Front<'_>, limit: usize) {
        match self.framing {
            Framing::Lines => lines::next_end(&mut self.state, front, limit, b'\n'),
            Framing::Nul => lines::next_end(&mut self.state, front, limit, 0),
            Framing::Ndjson => lines::next_end_ndjson(&mut self.state, front, limit),
            Framing::Csv(dialect) => csv::next_end(&mut self.state, front, limit, dialect),
        }
    }

    fn take_whole_records(&mut self) -> Cut {
        let State {
            pos,
            cut,
            records,
            lines,
            quotes,
            ..
        } = self.state;
        self.state = State {
            pos: pos - cut,
            cut: 0,
            records: 0,
            lines: 0,
            counted: 0,
            quotes: quotes.after(cut),
        };
        Cut {
            len: cut,
            records,
            lines,
            unclosed: None,
        }
    }

    /// The whole front, at the end of the input: what follows the last record end is a record, unless it is blank.
    fn take_rest(&mut self, front: &[u8]) -> Cut {
        let State {
            cut,
            records,
            lines,
            quotes,
            ..
        } = std::mem::take(&mut self.state);
        let rest = &front[cut..];
        let blank = match self.framing {
            Framing::Ndjson => lines::is_blank(rest),
            _ => rest.is_empty(),
        };
        Cut {
            len: front.len(),
            records: records + u64::from(!blank),
            lines: lines + count_lines(rest),
            unclosed: quotes.open(),
        }
    }
}

impl State {
    /// Counts the lines up to `cut`.
    fn count_lines(&mut self, bytes: &[u8], framing: Framing) {
        self.lines = match framing {
            Framing::Lines => self.records,
            _ => self.lines + count_lines(&bytes[self.counted..self.cut]),
        };
        self.counted = self.cut;
    }
}

/// LF bytes.
pub(crate) fn count_lines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests;
