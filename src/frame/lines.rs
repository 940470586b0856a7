//! Record ends of one byte: lines, NUL-terminated records, and NDJSON, where a line of white space is no record.

use memchr::{memchr, memchr_iter, memrchr};

use super::scan::{Front, State};

/// Scans to `limit`: every `end` byte ends a record.
pub(super) fn bulk(state: &mut State, front: Front<'_>, limit: usize, end: u8) {
    let stretch = &front.bytes[state.pos..limit];
    if let Some(last) = memrchr(end, stretch) {
        state.records += memchr_iter(end, &stretch[..=last]).count() as u64;
        state.cut = state.pos + last + 1;
    }
    state.pos = limit;
}

/// Scans to the next record end, or to `limit` if there is none before it.
pub(super) fn next_end(state: &mut State, front: Front<'_>, limit: usize, end: u8) {
    match memchr(end, &front.bytes[state.pos..limit]) {
        Some(i) => {
            state.pos += i + 1;
            state.cut = state.pos;
            state.records += 1;
        }
        None => state.pos = limit,
    }
}

/// As `bulk` for NDJSON.
pub(super) fn bulk_ndjson(state: &mut State, front: Front<'_>, limit: usize) {
    if let Some(last) = memrchr(b'\n', &front.bytes[state.pos..limit]) {
        let end = state.pos + last + 1;
        state.records += count_json_lines(front.bytes, state.pos, end);
        state.cut = end;
    }
    state.pos = limit;
}

/// As `next_end` for NDJSON; the end of a blank line is one, though no record's.
pub(super) fn next_end_ndjson(state: &mut State, front: Front<'_>, limit: usize) {
    let Some(i) = memchr(b'\n', &front.bytes[state.pos..limit]) else {
        state.pos = limit;
        return;
    };
    let end = state.pos + i;
    state.records += u64::from(!ends_blank(&front.bytes[..end]));
    state.pos = end + 1;
    state.cut = end + 1;
}

/// A line of only this (and of nothing) is no NDJSON record.
pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|b| is_space(*b))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// The last line of `bytes`, which may be the rest of one, is blank. Looks back no further than that line.
fn ends_blank(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .rev()
        .find(|b| !is_space(**b))
        .is_none_or(|b| *b == b'\n')
}

/// The lines that end in `bytes[from..to]` and are not blank.
fn count_json_lines(bytes: &[u8], from: usize, to: usize) -> u64 {
    // Few enough for counting in bytes, which lets the compiler use vectors.
    const PIECE: usize = 192;
    let mut count = 0;
    let mut at = from;
    while at < to {
        let end = to.min(at + PIECE);
        count +=
            count_plain_lines(bytes, at, end).unwrap_or_else(|| count_one_by_one(bytes, at, end));
        at = end;
    }
    count
}

/// The lines, if it is plain at a glance that none is blank: before each end stands a byte that is no white space, but
/// for one CR. Lines that are blank or end in other white space are rare.
fn count_plain_lines(bytes: &[u8], from: usize, to: usize) -> Option<u64> {
    let ends = &bytes[from..to];
    let before = &bytes[from.checked_sub(1)?..to - 1];
    let before_cr = &bytes[from.checked_sub(2)?..to - 2];
    let (mut plain, mut other) = (0u8, 0u8);
    for ((end, before), before_cr) in ends.iter().zip(before).zip(before_cr) {
        let is_plain = (*before > b' ') | ((*before == b'\r') & (*before_cr > b' '));
        plain += u8::from((*end == b'\n') & is_plain);
        other |= u8::from((*end == b'\n') & !is_plain);
    }
    (other == 0).then_some(u64::from(plain))
}

fn count_one_by_one(bytes: &[u8], from: usize, to: usize) -> u64 {
    memchr_iter(b'\n', &bytes[from..to])
        .filter(|i| !ends_blank(&bytes[..from + i]))
        .count() as u64
}
