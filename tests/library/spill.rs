//! Output of one chunk that outgrows its share of the memory goes to a file and comes back in its place.

use std::io::Write;

use inorder::{Buffer, ErrorKind, OnError, Pipeline, Record, Sink, Source};

use crate::support::{WarmUp, Watchdog, quiet_panics};

const BUDGET: usize = 2 << 20;

/// Long lines, which are kept as slices, and short ones that say what to write.
fn input() -> Vec<u8> {
    let mut input = Vec::new();
    for round in 0..3 {
        input.extend(format!("short {round}\n").into_bytes());
        input.extend(vec![b'k'; 9000]);
        input.extend_from_slice(b"\nmuch\n");
        input.extend(vec![b'l'; 5000]);
        input.extend_from_slice(
            b"\nmuch, then fail\nmuch, then panic\nlittle, then fail\nbetween\n",
        );
    }
    input.extend_from_slice(b"much");
    input
}

/// Writes five times the budget, in pieces, among them the record itself.
fn write_much(record: &Record<'_>, out: &mut Buffer) {
    let block = [b'm'; 10_000];
    for n in 0..5 * BUDGET / block.len() {
        out.write_all(&block).unwrap();
        if n % 400 == 0 {
            out.keep(record);
        }
    }
}

fn work(record: &Record<'_>, out: &mut Buffer) -> Result<(), String> {
    let text = record.bytes();
    if text.starts_with(b"much") {
        write_much(record, out);
    } else {
        out.keep(record);
    }
    if text.ends_with(b"fail") {
        return Err("it fails".to_owned());
    }
    assert!(!text.ends_with(b"panic"), "planned");
    Ok(())
}

/// What a loop writes that holds all of it in memory.
fn expected(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for line in input.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii_end();
        if text.ends_with(b"fail") || text.ends_with(b"panic") {
            continue;
        }
        if text != b"much" {
            out.extend_from_slice(line);
            continue;
        }
        for n in 0..5 * BUDGET / 10_000 {
            out.extend_from_slice(&[b'm'; 10_000]);
            if n % 400 == 0 {
                out.extend_from_slice(line);
            }
        }
    }
    out
}

fn run(sequential: bool, chunk_size: usize, to_file: bool) -> Vec<u8> {
    let warm_up = WarmUp::default();
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::write(&from, input()).unwrap();
    let builder = Pipeline::builder()
        .threads(2)
        .memory(BUDGET)
        .chunk_size(chunk_size)
        .on_error(OnError::Skip)
        .sequential(sequential);
    // SAFETY: the file does not change.
    let pipeline = unsafe { builder.memory_map(to_file) }.build().unwrap();
    let mut out = Vec::new();
    let sink = match to_file {
        true => Sink::file(&to),
        false => Sink::writer(&mut out),
    };
    let summary = pipeline
        .run_each(Source::file(&from), sink, |record, out| {
            warm_up.once();
            work(record, out)
        })
        .unwrap();
    assert_eq!((summary.processed, summary.skipped), (16, 9));
    // Of the chunks at work none holds more than its share, whatever it writes.
    assert!(summary.peak_in_flight <= 3 * BUDGET as u64);
    if to_file {
        out = std::fs::read(&to).unwrap();
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 2, "nothing but input and output");
    }
    out
}

#[test]
fn spilled_output_comes_back_in_its_place() {
    quiet_panics();
    let watchdog = Watchdog::new();
    let expected = expected(&input());
    for sequential in [true, false] {
        for (chunk_size, to_file) in [(1, false), (20_000, true), (1 << 20, false)] {
            watchdog.feed();
            let out = run(sequential, chunk_size, to_file);
            assert!(out == expected, "chunks of {chunk_size}");
        }
    }
}

/// Where output can't be spilled the run fails with that, whatever the chunk has kept.
#[cfg(unix)]
#[test]
fn a_failed_spill_is_told() {
    quiet_panics();
    let watchdog = Watchdog::new();
    for (sequential, resumable) in [(true, true), (false, true), (true, false), (false, false)] {
        watchdog.feed();
        let warm_up = WarmUp::default();
        let folder = tempfile::tempdir().unwrap();
        let (there, away) = (folder.path().join("there"), folder.path().join("away"));
        std::fs::create_dir(&there).unwrap();
        let from = folder.path().join("in");
        std::fs::write(&from, [&b"few\n"[..], &[b'k'; 9000], b"\nmuch\n"].concat()).unwrap();
        let mut builder = Pipeline::builder()
            .threads(2)
            .memory(BUDGET)
            .chunk_size(1 << 20)
            .sequential(sequential);
        if resumable {
            builder = builder.resume(inorder::Resume::new("spill"));
        }
        let pipeline = builder.build().unwrap();
        let sink = Sink::file(there.join("out"));
        let error = pipeline
            .run_each(Source::file(&from), sink, |record, out| {
                warm_up.once();
                match record.bytes() {
                    b"few" => out.line(b"bytes of its own, before a slice of the input"),
                    b"much" => {
                        // The folder's name is where a file without one would be made.
                        std::fs::rename(&there, &away)?;
                        out.line(&vec![b'm'; 5 * BUDGET]);
                    }
                    _ => out.keep(record),
                }
                Ok::<_, std::io::Error>(())
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Output, "{error}");
        let text = error.to_string();
        assert!(
            text.contains("cannot keep output in a temporary file"),
            "{text}"
        );
    }
}
