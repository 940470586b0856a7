//! The CSV records that the work sees are those of the `csv` crate: as many, the same fields, contents that end at the
//! same byte. Only input that ends inside quotes is something else: a failing record that says where the quote opened.

use std::sync::{Arc, Mutex};

use inorder::{OnError, Pipeline, Record, Sink, Source};
use proptest::prelude::*;

use crate::generate::{Dialect, Way, bytes, chunk_size, csv, dialect, way};
use crate::support::{ShortReads, WarmUp, cases, check};
use crate::work::Recorder;

/// Where a record's content ends, and its fields.
type Seen = (u64, Vec<Vec<u8>>);

fn by_csv_crate(input: &[u8], (delimiter, quote, doubling): Dialect) -> Vec<Seen> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .quote(quote.unwrap_or(b'"'))
        .quoting(quote.is_some())
        .double_quote(doubling)
        .from_reader(input);
    let mut record = csv::ByteRecord::new();
    let mut seen = Vec::new();
    while reader.read_byte_record(&mut record).unwrap() {
        // The reader stands behind the first byte of the record's end, or at the end of the input.
        let at = reader.position().byte();
        let end = match input[..at as usize].last() {
            Some(b'\r' | b'\n') => at - 1,
            _ => at,
        };
        seen.push((end, record.iter().map(<[u8]>::to_vec).collect()));
    }
    seen
}

/// Where the quote opened in which the input ends.
fn open_quote(input: &[u8], (delimiter, quote, doubling): Dialect) -> Option<usize> {
    let quote = quote?;
    let start = if input.starts_with(b"\xEF\xBB\xBF") {
        3
    } else {
        0
    };
    let (mut opened, mut field_start, mut at) = (None, true, start);
    while at < input.len() {
        let byte = input[at];
        if opened.is_some() {
            if byte == quote {
                if doubling && input.get(at + 1) == Some(&quote) {
                    at += 1;
                } else {
                    opened = None;
                }
            }
            field_start = false;
        } else if byte == quote && field_start {
            opened = Some(at);
        } else {
            field_start = byte == delimiter || byte == b'\r' || byte == b'\n';
        }
        at += 1;
    }
    opened
}

#[derive(Debug, Clone)]
struct Case {
    input: Vec<u8>,
    dialect: Dialect,
    way: Way,
    chunk_size: Option<usize>,
    parallel: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let parallel = prop_oneof![9 => Just(false), 1 => Just(true)];
    (bytes(100), dialect(), way(), chunk_size(), parallel).prop_map(
        |(input, dialect, way, chunk_size, parallel)| Case {
            input,
            dialect,
            way,
            chunk_size,
            parallel,
        },
    )
}

fn same_records(case: Case) {
    let Case {
        input,
        dialect,
        way,
        chunk_size,
        parallel,
    } = case;
    let recorder = Recorder::new();
    let builder = Pipeline::builder()
        .format(csv(dialect).header(false))
        .on_error(OnError::Skip)
        .observe(Arc::clone(&recorder) as _)
        .threads(3)
        .sequential(!parallel);
    let builder = match chunk_size {
        Some(bytes) => builder.chunk_size(bytes),
        None => builder,
    };
    let source = match way {
        Way::Reader(lengths) => Source::reader(ShortReads {
            bytes: &input,
            lengths,
            reads: 0,
        }),
        _ => Source::bytes(&input),
    };
    let warm_up = WarmUp::default();
    let seen = Mutex::new(Vec::new());
    let see = |record: &Record<'_>| {
        let end = record.offset() + record.bytes().len() as u64;
        let fields: Vec<Vec<u8>> = record.fields().map(Into::into).collect();
        assert_eq!(record.field_count(), fields.len());
        seen.lock().unwrap().push((record.number(), (end, fields)));
    };
    let pipeline = builder.build().unwrap();
    pipeline
        .run_each(source, Sink::discard(), |record, _| {
            if parallel {
                warm_up.once();
            }
            see(record);
        })
        .unwrap();

    let mut seen = seen.into_inner().unwrap();
    seen.sort();
    let (numbers, seen): (Vec<u64>, Vec<Seen>) = seen.into_iter().unzip();
    assert!(numbers.into_iter().eq(1..=seen.len() as u64), "numbers");
    let mut expected = by_csv_crate(&input, dialect);
    let failures = recorder.failures();
    if let Some(quote) = open_quote(&input, dialect) {
        expected.pop();
        assert_eq!(failures.len(), 1);
        let place = format!("inside quotes: the one that opens at byte {quote} ");
        assert!(failures[0].contains(&place), "{failures:?}: {place}");
    } else {
        assert_eq!(failures, [""; 0]);
    }
    assert_eq!(seen, expected);
}

#[test]
fn records_are_those_of_the_csv_crate() {
    check(2000, &case(), same_records);
}

#[test]
#[ignore = "long: INORDER_CASES (1,000,000) random inputs, some minutes in release"]
fn records_are_those_of_the_csv_crate_long() {
    check(cases().unwrap_or(1_000_000), &case(), same_records);
}
