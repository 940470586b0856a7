//! Random inputs, dialects and wants.

use proptest::prelude::*;

use super::super::*;
use crate::format::Dialect;

fn dialect() -> impl Strategy<Value = Dialect> {
    let delimiter = prop_oneof![4 => Just(b','), 1 => Just(b'\t'), 1 => Just(b';'), 1 => Just(b' '), 1 => Just(0)];
    let quote = prop_oneof![4 => Just(Some(b'"')), 1 => Just(None), 1 => Just(Some(b'\''))];
    (
        delimiter,
        quote,
        prop_oneof![3 => Just(true), 1 => Just(false)],
    )
        .prop_map(|(delimiter, quote, doubling)| Dialect {
            delimiter,
            quote,
            doubling,
        })
}

pub fn framing() -> impl Strategy<Value = Framing> {
    prop_oneof![6 => dialect().prop_map(Framing::Csv), 1 => Just(Framing::Lines), 1 => Just(Framing::Nul), 3 => Just(Framing::Ndjson)]
}

/// Bytes that mean something, in single ones and in runs; long runs reach the wide parts of the scans.
pub fn input(longest_run: usize) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => Just(b'"'), 4 => Just(b','), 3 => Just(b'\n'), 3 => Just(b'\r'), 2 => Just(b'\''), 1 => Just(b'\t'), 1 => Just(b';'),
        1 => Just(b' '), 1 => Just(0), 1 => Just(0x80), 1 => Just(1), 4 => Just(b'a'), 1 => Just(0xef), 1 => Just(b'\\')
    ];
    let run = prop_oneof![8 => Just(1), 1 => 1..longest_run];
    proptest::collection::vec((byte, run), 0..60).prop_map(|runs| {
        runs.into_iter()
            .flat_map(|(byte, n)| std::iter::repeat_n(byte, n))
            .collect()
    })
}

fn records() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(u64::MAX), 1 => 0..6u64, 1 => 60..200u64]
}

pub fn want() -> impl Strategy<Value = Want> {
    (
        prop_oneof![4 => 0..40usize, 1 => 0..2000usize, 1 => Just(usize::MAX)],
        records(),
    )
        .prop_map(|(bytes, records)| Want {
            bytes,
            records,
            flush: false,
        })
}

pub fn pieces() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        proptest::collection::vec(1..4usize, 1..8),
        proptest::collection::vec(1..600usize, 1..8)
    ]
}
