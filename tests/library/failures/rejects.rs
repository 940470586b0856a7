//! What is set aside.

use inorder::{BoxError, FailureKind, Fault, Format, OnError, Pipeline, Rejects, Sink, Source};

use super::shelf::Shelf;
use crate::support::{PLANNED, quiet_panics};

/// Eleven lines, three of which are JSON: what stands beside it is in none of them.
const LINES: [(&str, bool); 11] = [
    ("{\"a\":1}", true),
    ("{\"a\":2", false),
    ("\\N", false),
    ("{\"a\":4} x", false),
    ("{\"a\":5} {\"a\":55}", false),
    ("{\"a\":6},", false),
    ("[", false),
    ("{\"a\":8}", true),
    ("]", false),
    ("{\"a\":10}", true),
    ("{\"a\":\"\\q\"}", false),
];

#[test]
fn bad_lines_go_to_quarantine_and_none_infects_the_next() {
    let input: String = LINES.iter().map(|(line, _)| format!("{line}\n")).collect();
    for sequential in [true, false] {
        for chunk_size in [1, 8, 1 << 20] {
            let shelf = Shelf::default();
            let pipeline = Pipeline::builder()
                .format(Format::ndjson())
                .threads(4)
                .chunk_size(chunk_size)
                .sequential(sequential)
                .on_error(shelf.on_error())
                .build()
                .unwrap();
            let mut out = Vec::new();
            let source = Source::bytes(input.as_bytes());
            let summary = pipeline
                .run_each(source, Sink::writer(&mut out), |record, out| {
                    let value: serde_json::Value = serde_json::from_slice(record.bytes())
                        .map_err(|error| Fault::new(FailureKind::Parse, error))?;
                    out.line(value["a"].to_string().as_bytes());
                    Ok::<(), BoxError>(())
                })
                .unwrap();
            assert_eq!((summary.processed, summary.rejected), (3, 8));
            assert_eq!(out, b"1\n8\n10\n");
            let bad = LINES.iter().filter(|(_, good)| !good);
            let bad: String = bad.map(|(line, _)| format!("{line}\n")).collect();
            assert_eq!(shelf.records.text().0, bad.as_bytes());
            let rows = String::from_utf8(shelf.errors.text().0).unwrap();
            let lines: Vec<u64> = rows
                .lines()
                .map(|row| {
                    let row: serde_json::Value = serde_json::from_str(row).unwrap();
                    assert_eq!(row["kind"], "parse");
                    assert_eq!(row["line"], row["record"]);
                    row["line"].as_u64().unwrap()
                })
                .collect();
            assert_eq!(lines, [2, 3, 4, 5, 6, 7, 9, 11]);
        }
    }
}

/// Panics when it is shown, and when it is dropped.
#[derive(Debug)]
struct Bomb;

impl std::fmt::Display for Bomb {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("{PLANNED}")
    }
}

impl std::error::Error for Bomb {}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "{PLANNED}");
    }
}

#[test]
fn f4_an_error_that_panics_when_it_is_shown_or_dropped_is_a_failing_record() {
    quiet_panics();
    for sequential in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bad");
        let pipeline = Pipeline::builder()
            .sequential(sequential)
            .on_error(OnError::Reject(Rejects::file(&path)))
            .build()
            .unwrap();
        let summary = pipeline
            .run_each(
                Source::bytes(b"1\n2\n3\n"),
                Sink::discard(),
                |record, _| match record.number() {
                    2 => Err(BoxError::from(Bomb)),
                    _ => Ok(()),
                },
            )
            .unwrap();
        assert_eq!((summary.processed, summary.rejected), (2, 1));
        assert_eq!(std::fs::read(&path).unwrap(), b"2\n");
        let rows = std::fs::read_to_string(Rejects::errors_path(&path)).unwrap();
        assert!(rows.contains("its Display panicked"), "{rows}");
    }
}
