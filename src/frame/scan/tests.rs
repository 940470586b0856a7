//! The scanner and the spans against the `csv` crate and against a loop over the bytes.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

mod inputs;
mod naive;

use super::*;
use crate::format::Dialect;
use crate::frame::fields::{count_fields, fields};
use crate::frame::spans::{Span, Spans};
use inputs::{framing, input, pieces, want};
use naive::{by_csv_crate, naive, naive_chunks};

/// Feeds the input in pieces of these sizes (again from the first one after the last).
fn scan(
    input: &[u8],
    framing: Framing,
    wants: &[Want],
    pieces: &[usize],
    end_is_seen_late: bool,
) -> Vec<Cut> {
    let mut scanner = Scanner::new(framing);
    let (mut cuts, mut start, mut known, mut ended) = (Vec::new(), 0, 0, false);
    let mut pieces = pieces.iter().cycle();
    let mut wants = wants.iter().cycle();
    loop {
        let front = &input[start..known];
        if let Some(cut) = scanner.cut(front, ended, wants.next().expect("endless")) {
            assert!(
                cut.len > 0 && cut.len <= front.len(),
                "{cut:?} of {}",
                front.len()
            );
            start += cut.len;
            cuts.push(cut);
        } else if known < input.len() {
            assert!(!ended);
            known = input.len().min(known + pieces.next().expect("endless"));
            ended = known == input.len() && !end_is_seen_late;
        } else if ended {
            assert_eq!(start, input.len(), "a rest is left");
            return cuts;
        } else {
            ended = true;
        }
    }
}

/// The spans of the chunks, relative to the input; each chunk's number of them must be the cut's.
fn spans_of(input: &[u8], framing: Framing, cuts: &[Cut]) -> Vec<Span> {
    let (mut spans, mut start) = (Vec::new(), 0);
    for cut in cuts {
        let found: Vec<_> = Spans::new(&input[start..start + cut.len], framing).collect();
        assert_eq!(found.len() as u64, cut.records, "chunk at {start}: {cut:?}");
        spans.extend(found.iter().map(|s| Span {
            start: s.start + start,
            content_end: s.content_end + start,
            end: s.end + start,
        }));
        start += cut.len;
    }
    spans
}

fn check_fixed(input: &[u8], framing: Framing, want: Want, pieces: &[usize], late: bool) {
    let found = naive(input, framing);
    let cuts = scan(input, framing, &[want], pieces, late);
    assert_eq!(cuts, naive_chunks(input, &found, &want));
    assert_eq!(spans_of(input, framing, &cuts), found.spans);
}

fn check_any(input: &[u8], framing: Framing, wants: &[Want], pieces: &[usize], late: bool) {
    let found = naive(input, framing);
    let cuts = scan(input, framing, wants, pieces, late);
    let mut at = 0;
    for cut in &cuts {
        assert_eq!(cut.lines, count_lines(&input[at..at + cut.len]));
        at += cut.len;
        assert!(
            found.ends.iter().any(|(end, _)| *end == at),
            "no end at {at}"
        );
    }
    assert_eq!(
        cuts.last()
            .and_then(|cut| cut.unclosed.map(|quote| at - cut.len + quote)),
        found.unclosed
    );
    assert_eq!(spans_of(input, framing, &cuts), found.spans);
}

fn check_csv(input: &[u8], dialect: Dialect) {
    let spans: Vec<_> = Spans::new(input, Framing::Csv(dialect)).collect();
    let expected = by_csv_crate(input, dialect);
    let found: Vec<(usize, Vec<Vec<u8>>)> = spans
        .iter()
        .map(|span| {
            (
                span.content_end,
                fields(&input[span.start..span.content_end], dialect)
                    .map(Into::into)
                    .collect(),
            )
        })
        .collect();
    assert_eq!(found, expected);
    for (span, (_, fields)) in spans.iter().zip(&expected) {
        assert_eq!(
            count_fields(&input[span.start..span.content_end], dialect),
            fields.len()
        );
    }
}

fn run(cases: u32) {
    let seed: u64 = std::env::var("INORDER_SEED").map_or_else(
        |_| rand_seed(),
        |s| s.parse().expect("INORDER_SEED is a number"),
    );
    println!("INORDER_SEED={seed}");
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let flushing = (want(), any::<bool>()).prop_map(|(want, flush)| Want { flush, ..want });
    let case = (
        input(600),
        framing(),
        want(),
        pieces(),
        any::<bool>(),
        proptest::collection::vec(flushing, 1..5),
    );
    let result = runner.run(&case, |(input, framing, want, pieces, late, wants)| {
        check_fixed(&input, framing, want, &pieces, late);
        check_any(&input, framing, &wants, &pieces, late);
        if let Framing::Csv(dialect) = framing {
            check_csv(&input, dialect);
        }
        Ok(())
    });
    result.unwrap_or_else(|e| panic!("{e}"));
}

fn rand_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

#[test]
fn records_are_those_of_the_csv_crate_in_any_chunks() {
    run(500);
}

#[test]
#[ignore = "long: INORDER_CASES (1,000,000) random inputs"]
fn records_are_those_of_the_csv_crate_in_any_chunks_long() {
    run(std::env::var("INORDER_CASES")
        .map_or(1_000_000, |n| n.parse().expect("INORDER_CASES is a number")));
}

const CSV: Framing = Framing::Csv(Dialect {
    delimiter: b',',
    quote: Some(b'"'),
    doubling: true,
});

fn want_bytes(bytes: usize) -> Want {
    Want {
        bytes,
        records: u64::MAX,
        flush: false,
    }
}

#[test]
fn every_short_input_is_framed_like_the_csv_crate_does() {
    const BYTES: [u8; 5] = *b"\",\n\ra";
    let Framing::Csv(dialect) = CSV else {
        unreachable!()
    };
    for len in 1..=5u32 {
        for n in 0..5u32.pow(len) {
            let input: Vec<u8> = (0..len)
                .map(|i| BYTES[(n / 5u32.pow(i) % 5) as usize])
                .collect();
            for bytes in [1, 3] {
                check_fixed(&input, CSV, want_bytes(bytes), &[1], n % 2 == 0);
            }
            check_csv(&input, dialect);
        }
    }
}

#[test]
fn quotes_far_from_each_other_are_those_of_the_csv_crate_too() {
    const BYTES: [u8; 5] = *b"\",\n\ra";
    let Framing::Csv(dialect) = CSV else {
        unreachable!()
    };
    for n in 0..5usize.pow(4) {
        let burst = [0, 1, 2, 3].map(|i| BYTES[n / 5usize.pow(i) % 5]);
        let text = [b'b'; 256];
        let input = [&text[..], &burst, b"b\nb", &text, b"\"\n"].concat();
        for doubling in [true, false] {
            let dialect = Dialect {
                doubling,
                ..dialect
            };
            for border in 256..=260 {
                for size in [border, usize::MAX] {
                    check_fixed(
                        &input,
                        Framing::Csv(dialect),
                        want_bytes(size),
                        &[border],
                        false,
                    );
                }
            }
            check_csv(&input, dialect);
        }
    }
}

#[test]
fn a_cr_waits_for_the_next_byte() {
    let mut scanner = Scanner::new(CSV);
    assert_eq!(scanner.cut(b"a\r", false, &want_bytes(1)), None);
    assert_eq!(
        scanner.cut(b"a\r\n", false, &want_bytes(1)),
        Some(Cut {
            len: 3,
            records: 1,
            lines: 1,
            unclosed: None
        })
    );
    assert_eq!(
        scanner.cut(b"b\r", true, &want_bytes(1)),
        Some(Cut {
            len: 2,
            records: 1,
            lines: 0,
            unclosed: None
        })
    );
}

#[test]
fn quotes_are_known_from_call_to_call_and_tell_where_they_opened() {
    let mut scanner = Scanner::new(CSV);
    let flush = Want {
        flush: true,
        ..want_bytes(100)
    };
    assert_eq!(
        scanner.cut(b"x\na,\"b\"", false, &flush).map(|cut| cut.len),
        Some(2)
    );
    assert_eq!(scanner.open_quote(), None);
    // The quote that closed was the first of a doubled one.
    assert_eq!(scanner.cut(b"a,\"b\"\"\n\n", false, &flush), None);
    assert_eq!(scanner.open_quote(), Some(2));
    let cut = scanner.cut(b"a,\"b\"\"\n\n", true, &want_bytes(100));
    assert_eq!(
        cut,
        Some(Cut {
            len: 8,
            records: 1,
            lines: 2,
            unclosed: Some(2)
        })
    );
    assert_eq!(scanner.open_quote(), None);
}

#[test]
fn an_empty_front_gives_no_chunk() {
    for framing in [CSV, Framing::Lines, Framing::Nul, Framing::Ndjson] {
        assert_eq!(Scanner::new(framing).cut(b"", true, &want_bytes(1)), None);
        assert_eq!(Spans::new(b"", framing).next(), None);
    }
}

#[test]
fn a_record_bound_costs_no_more_than_its_records() {
    let input = b"1,2\n".repeat(1 << 20);
    let want = Want {
        records: 1000,
        ..want_bytes(usize::MAX)
    };
    let mut scanner = Scanner::new(CSV);
    assert_eq!(
        scanner.cut(&input, false, &want).map(|cut| cut.len),
        Some(4000)
    );
    assert_eq!(scanner.state.pos, 0, "scanned past the bound");
}
