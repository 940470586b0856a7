//! What the scanner must find, found byte by byte and by the `csv` crate.

use super::super::*;
use crate::format::Dialect;
use crate::frame::spans::Span;

/// What a loop over the bytes finds.
#[derive(Debug, Default)]
pub struct Naive {
    /// Behind each end at which a chunk may end, and whether it ends a record.
    pub ends: Vec<(usize, bool)>,
    pub spans: Vec<Span>,
    pub unclosed: Option<usize>,
}

pub fn naive(input: &[u8], framing: Framing) -> Naive {
    match framing {
        Framing::Csv(dialect) => naive_csv(input, dialect),
        _ => naive_lines(input, framing),
    }
}

pub fn naive_lines(input: &[u8], framing: Framing) -> Naive {
    let mut found = Naive::default();
    let end = if framing == Framing::Nul { 0 } else { b'\n' };
    let mut start = 0;
    while start < input.len() {
        let stop = input[start..]
            .iter()
            .position(|b| *b == end)
            .map_or(input.len(), |i| start + i);
        let next = input.len().min(stop + 1);
        let cr = framing != Framing::Nul && stop < next && stop > start && input[stop - 1] == b'\r';
        let span = Span {
            start,
            content_end: stop - usize::from(cr),
            end: next,
        };
        let blank =
            framing == Framing::Ndjson && input[start..stop].iter().all(|b| b" \t\r".contains(b));
        found.ends.push((next, !blank));
        if !blank {
            found.spans.push(span);
        }
        start = next;
    }
    found
}

#[derive(PartialEq)]
enum In {
    RecordStart,
    FieldStart,
    Field,
    Quotes,
    QuoteInQuotes,
}

pub fn naive_csv(input: &[u8], dialect: Dialect) -> Naive {
    let mut found = Naive::default();
    let (mut state, mut start, mut opened) = (In::RecordStart, 0, 0);
    let mut i = 0;
    while i < input.len() {
        let b = input[i];
        let quote = dialect.quote == Some(b);
        i += 1;
        if state == In::Quotes {
            if quote {
                state = In::QuoteInQuotes;
            }
        } else if state == In::QuoteInQuotes && quote && dialect.doubling {
            state = In::Quotes;
        } else if b == b'\r' || b == b'\n' {
            let content_end = i - 1;
            if b == b'\r' && input.get(i) == Some(&b'\n') {
                i += 1;
            }
            found.ends.push((i, state != In::RecordStart));
            if state != In::RecordStart {
                found.spans.push(Span {
                    start,
                    content_end,
                    end: i,
                });
            }
            (state, start) = (In::RecordStart, i);
        } else if b == dialect.delimiter {
            state = In::FieldStart;
        } else if quote && (state == In::RecordStart || state == In::FieldStart) {
            (state, opened) = (In::Quotes, i - 1);
        } else {
            state = In::Field;
        }
    }
    if state != In::RecordStart {
        found.ends.push((i, true));
        found.spans.push(Span {
            start,
            content_end: i,
            end: i,
        });
    }
    found.unclosed = (state == In::Quotes).then_some(opened);
    found
}

/// The chunks by the rule: last end at or before the size, or the end of the last record wanted, else the first end.
pub fn naive_chunks(input: &[u8], found: &Naive, want: &Want) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let (mut start, mut next) = (0, 0);
    while next < found.ends.len() {
        let (mut end, mut records, mut taken) = (start, 0, 0);
        for (stop, record) in &found.ends[next..] {
            let fits = stop - start <= want.bytes.max(1);
            if taken > 0 && (!fits || records >= want.records.max(1)) {
                break;
            }
            (end, records, taken) = (*stop, records + u64::from(*record), taken + 1);
        }
        next += taken;
        let unclosed = found
            .unclosed
            .filter(|_| next == found.ends.len())
            .map(|quote| quote - start);
        cuts.push(Cut {
            len: end - start,
            records,
            lines: input[start..end].iter().filter(|b| **b == b'\n').count() as u64,
            unclosed,
        });
        start = end;
    }
    cuts
}

/// Contents and fields of each record, by the `csv` crate.
pub fn by_csv_crate(input: &[u8], dialect: Dialect) -> Vec<(usize, Vec<Vec<u8>>)> {
    let mut builder = csv_core::ReaderBuilder::new();
    builder
        .delimiter(dialect.delimiter)
        .double_quote(dialect.doubling)
        .quoting(dialect.quote.is_some());
    let mut core = builder.quote(dialect.quote.unwrap_or(b'"')).build();
    let mut builder = ::csv::ReaderBuilder::new();
    builder
        .has_headers(false)
        .flexible(true)
        .delimiter(dialect.delimiter)
        .double_quote(dialect.doubling);
    builder
        .quoting(dialect.quote.is_some())
        .quote(dialect.quote.unwrap_or(b'"'));
    let mut reader = builder.from_reader(input);
    let mut at = 0;
    let (mut out, mut ends) = (vec![0; input.len() + 1], vec![0; input.len() + 2]);
    let mut records = Vec::new();
    for record in reader.byte_records() {
        let fields = record
            .expect("flexible")
            .iter()
            .map(<[u8]>::to_vec)
            .collect();
        let (mut result, read, ..) = core.read_record(&input[at..], &mut out, &mut ends);
        at += read;
        let mut end = at.saturating_sub(1);
        if result != csv_core::ReadRecordResult::Record {
            assert_eq!(at, input.len());
            (result, ..) = core.read_record(&[], &mut out, &mut ends);
            end = at;
        }
        assert_eq!(result, csv_core::ReadRecordResult::Record);
        records.push((end, fields));
    }
    records
}
