//! Record ends of CSV, exactly where the `csv` crate has them: LF, CR, and CR LF as one, but not inside quotes.
//!
//! A quote opens only at the start of a field. A quote inside one is data if it is doubled; any other closes it, and what
//! follows is plain text. A line end at the start of a record is a blank line: a chunk may end there, but no record does.

mod quotes;

use memchr::{memchr, memchr2, memrchr2};

use super::scan::masks::BLOCK;
use super::scan::words::find_near;
use super::scan::{Front, State};
use crate::format::Dialect;
pub(super) use quotes::Quotes;

/// Quotes that are at least this far from each other are worth a search for each of them.
const QUIET: usize = 256;

/// Scans to `limit`, or to the byte before it if that is a CR which a LF follows or might follow.
pub(super) fn bulk(state: &mut State, front: Front<'_>, limit: usize, dialect: Dialect) {
    let bytes = front.bytes;
    let limit = if ends_in_open_cr(front, limit) {
        limit - 1
    } else {
        limit
    };
    while state.pos < limit {
        let quiet = if state.quotes.are_plain() {
            quiet_end(bytes, state.pos, limit, dialect)
        } else {
            state.pos
        };
        if quiet - state.pos >= QUIET || quiet == limit {
            count_quiet(state, bytes, quiet);
            continue;
        }
        loop {
            let to = limit.min(state.pos + BLOCK);
            let block = state.quotes.scan(bytes, state.pos, to, dialect);
            let starts = block.ends & !(block.ends << 1 | u64::from(follows_end(bytes, state.pos)));
            state.records += u64::from(starts.count_ones());
            if let Some(last) = block.ends.checked_ilog2() {
                state.cut = state.pos + last as usize + 1;
            }
            state.pos = to;
            if to == limit || !block.has_quotes && state.quotes.are_plain() {
                break;
            }
        }
    }
}

/// Scans to the next end of a record or a blank line, or like `bulk` to `limit` if there is none before it.
pub(super) fn next_end(state: &mut State, front: Front<'_>, limit: usize, dialect: Dialect) {
    let bytes = front.bytes;
    while state.pos < limit {
        let to = limit.min(state.pos + BLOCK);
        let block = state.quotes.scan(bytes, state.pos, to, dialect);
        if block.ends == 0 {
            state.pos = to;
            continue;
        }
        // What is known of the bytes behind the end is given up.
        state.quotes = Quotes::default();
        let i = state.pos + block.ends.trailing_zeros() as usize;
        let end = if ends_in_open_cr(front, i + 1) {
            if i + 2 > limit {
                state.pos = i;
                return;
            }
            i + 2
        } else {
            i + 1
        };
        state.records += u64::from(!follows_end(bytes, i));
        state.pos = end;
        state.cut = end;
        return;
    }
}

/// Where the stretch from `from` on ends in which no line end lies inside quotes, and quotes are far from each other.
fn quiet_end(bytes: &[u8], from: usize, to: usize, dialect: Dialect) -> usize {
    let Some(quote) = dialect.quote else {
        return to;
    };
    let mut at = from;
    while let Some(i) = memchr(quote, &bytes[at..to]) {
        let open = at + i;
        let opens = follows_end(bytes, open) || bytes[open - 1] == dialect.delimiter;
        let close = if opens {
            closing(&bytes[..to], open + 1, quote, dialect.doubling)
        } else {
            Some(open)
        };
        // Only the next byte can tell whether the last one closes.
        let Some(close) = close.filter(|close| i >= QUIET && close + 1 < to) else {
            return open;
        };
        if memchr2(b'\r', b'\n', &bytes[open..close]).is_some() {
            return open;
        }
        at = close + 1;
    }
    to
}

/// Counts the records that end before `to`, with no line end inside quotes on the way: the ends whose predecessor is no end.
fn count_quiet(state: &mut State, bytes: &[u8], to: usize) {
    // Few enough for counting in bytes, which lets the compiler use vectors.
    const PIECE: usize = 192;
    let from = std::mem::replace(&mut state.pos, to);
    if from == to {
        return;
    }
    let starts = |end: &u8, before: &u8| u8::from(is_end(*end) & !is_end(*before));
    let count = |ends: &[u8], before: &[u8]| {
        u64::from(
            ends.iter()
                .zip(before)
                .map(|(end, before)| starts(end, before))
                .sum::<u8>(),
        )
    };
    let (ends, last_ends) = bytes[from + 1..to].as_chunks::<PIECE>();
    let (before, before_last) = bytes[from..to - 1].as_chunks::<PIECE>();
    let first = is_end(bytes[from]);
    let mut records = u64::from(first & !follows_end(bytes, from));
    records += ends
        .iter()
        .zip(before)
        .map(|(ends, before)| count(ends, before))
        .sum::<u64>();
    records += count(last_ends, before_last);
    state.records += records;
    // An end that ends no record and follows none that does can only be the first byte.
    if (records > 0 || first)
        && let Some(last) = memrchr2(b'\r', b'\n', &bytes[from..to])
    {
        state.cut = from + last + 1;
    }
}

/// The quote that closes the quotes in which `from` lies, if there is one.
#[inline]
pub(super) fn closing(bytes: &[u8], from: usize, quote: u8, doubling: bool) -> Option<usize> {
    let mut from = from;
    loop {
        let i = from + find_near(quote, &bytes[from..])?;
        if !(doubling && bytes.get(i + 1) == Some(&quote)) {
            return Some(i);
        }
        from = i + 2;
    }
}

/// The byte at `i`, outside quotes, stands at the start of a record.
fn follows_end(bytes: &[u8], i: usize) -> bool {
    i == 0 || is_end(bytes[i - 1])
}

#[inline(always)]
pub(super) fn is_end(byte: u8) -> bool {
    (byte == b'\n') | (byte == b'\r')
}

/// The last byte before `limit` is a CR, and a LF follows or might follow.
fn ends_in_open_cr(front: Front<'_>, limit: usize) -> bool {
    let cr = front.bytes[..limit].last() == Some(&b'\r');
    cr && front
        .bytes
        .get(limit)
        .map_or(!front.at_end, |next| *next == b'\n')
}
