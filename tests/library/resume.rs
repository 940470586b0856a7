//! Runs that are gone on from give what a run gives that was never interrupted.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use inorder::{
    Builder, Error, ErrorKind, Format, OnError, Pipeline, Rejects, Resume, Sink, Source, Summary,
};
use tempfile::TempDir;

mod random;

struct Place(TempDir);

impl Place {
    fn new(input: &[u8]) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        std::fs::write(place.path("in"), input).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Upper case, and the run ends at the record that a counter comes to; `bad` records fail.
fn run(place: &Place, builder: Builder, calls: &AtomicU64) -> Result<Summary, Error> {
    let pipeline = builder.build()?;
    let stop = pipeline.stop_handle();
    pipeline.run_each(
        Source::file(place.path("in")),
        Sink::file(place.path("out")),
        |record, out| -> Result<(), String> {
            if calls.fetch_sub(1, Ordering::Relaxed) == 1 {
                stop.abort();
            }
            out.line(&record.bytes().to_ascii_uppercase());
            match record.bytes().starts_with(b"bad") {
                true => Err("it is bad".to_owned()),
                false => Ok(()),
            }
        },
    )
}

fn input(records: usize) -> Vec<u8> {
    let mut input = b"id,text\n".to_vec();
    for n in 0..records {
        match n % 10 {
            3 => input.extend_from_slice(format!("bad{n},x\n").as_bytes()),
            5 => input.extend_from_slice(format!("{n},\"two\nlines\"\r\n").as_bytes()),
            7 => input.extend_from_slice(format!("\n{n},after a blank\n").as_bytes()),
            _ => input.extend_from_slice(format!("{n},plain\n").as_bytes()),
        }
    }
    input
}

fn builder(place: &Place, threads: usize, chunk: usize) -> Builder {
    Pipeline::builder()
        .format(Format::csv())
        .threads(threads)
        .chunk_size(chunk)
        .on_error(OnError::Reject(Rejects::file(place.path("bad"))))
}

fn read(path: &Path) -> String {
    String::from_utf8(std::fs::read(path).unwrap()).unwrap()
}

fn counts(summary: &Summary) -> [u64; 6] {
    [
        summary.records,
        summary.processed,
        summary.rejected,
        summary.lines,
        summary.bytes_in,
        summary.bytes_out,
    ]
}

#[test]
fn a_stopped_run_is_gone_on_from_and_equal() {
    let input = input(500);
    let whole = Place::new(&input);
    let calls = AtomicU64::new(0);
    let expected = run(&whole, builder(&whole, 2, 64), &calls).unwrap();
    for (threads, every) in [(1, 0), (3, 0), (2, 10_000)] {
        let place = Place::new(&input);
        let resume = Resume::new("upper").every(Duration::from_millis(every));
        let mut runs = 0;
        let summary = loop {
            runs += 1;
            assert!(runs < 200, "no end");
            let calls = AtomicU64::new(if runs > 20 { 0 } else { 60 + runs });
            let threads = threads + (runs as usize % 2);
            let builder = builder(&place, threads, 40 + 7 * runs as usize);
            match run(&place, builder.resume(resume.clone()), &calls) {
                Ok(summary) => break summary,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Stopped, "{error}");
                    assert!(!place.path("out").exists());
                }
            }
        };
        assert!(runs > 2);
        assert!(summary.resumed_from.is_some());
        assert_eq!(counts(&summary), counts(&expected));
        for name in ["out", "bad", "bad.errors.ndjson"] {
            let (one, two) = (read(&place.path(name)), read(&whole.path(name)));
            let two = two.replace(
                whole.0.path().to_str().unwrap(),
                place.0.path().to_str().unwrap(),
            );
            assert_eq!(one, two, "{name}");
        }
        assert_eq!(place.names(), ["bad", "bad.errors.ndjson", "in", "out"]);
    }
}

#[test]
fn a_run_that_a_record_ended_goes_on_with_another_policy() {
    let input = input(100);
    let whole = Place::new(&input);
    run(&whole, builder(&whole, 2, 64), &AtomicU64::new(0)).unwrap();
    let place = Place::new(&input);
    let stop = builder(&place, 2, 9)
        .on_error(OnError::Stop)
        .resume("upper");
    let error = run(&place, stop, &AtomicU64::new(0)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Record(_)), "{error}");
    assert_eq!(place.names(), ["in", "out.checkpoint", "out.part"]);
    let summary = run(
        &place,
        builder(&place, 2, 50).resume("upper"),
        &AtomicU64::new(0),
    )
    .unwrap();
    assert_eq!(summary.resumed_from, Some(3));
    assert_eq!(read(&place.path("out")), read(&whole.path("out")));
    assert_eq!(read(&place.path("bad")), read(&whole.path("bad")));
}

#[test]
fn what_changes_bytes_is_refused_by_name() {
    let input = input(100);
    let start = || {
        let place = Place::new(&input);
        let stop = builder(&place, 2, 9)
            .on_error(OnError::Stop)
            .resume("upper");
        run(&place, stop, &AtomicU64::new(0)).unwrap_err();
        place
    };
    let go_on = |place: &Place, builder: Builder| run(place, builder, &AtomicU64::new(0));
    let refused = |place: &Place, builder: Builder, name: &str| {
        let before: Vec<Vec<u8>> = place
            .names()
            .iter()
            .map(|n| std::fs::read(place.path(n)).unwrap())
            .collect();
        let error = go_on(place, builder).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        assert!(error.to_string().contains(name), "{error}");
        let after: Vec<Vec<u8>> = place
            .names()
            .iter()
            .map(|n| std::fs::read(place.path(n)).unwrap())
            .collect();
        assert!(before == after, "{name}: touched");
    };
    let usual = |place: &Place| builder(place, 2, 50);

    let place = start();
    refused(&place, usual(&place).resume("lower"), "key");
    refused(
        &place,
        usual(&place).resume(Resume::new("upper").setting("table", "a")),
        "table",
    );
    refused(&place, usual(&place).limit(5).resume("upper"), "limit");
    refused(
        &place,
        usual(&place)
            .format(Format::csv().header(false))
            .resume("upper"),
        "header",
    );
    refused(
        &place,
        usual(&place).skip_lines(1).resume("upper"),
        "skip-lines",
    );

    let shorter = start();
    std::fs::write(shorter.path("in"), &input[..input.len() - 1]).unwrap();
    refused(&shorter, usual(&shorter).resume("upper"), "bytes");
    let other = start();
    let mut changed = input.clone();
    changed[9] ^= 1;
    std::fs::write(other.path("in"), &changed).unwrap();
    refused(&other, usual(&other).resume("upper"), "changed");

    let part = start();
    std::fs::write(part.path("out.part"), b"").unwrap();
    refused(&part, usual(&part).resume("upper"), "out.part");
    let part = start();
    let mut bytes = std::fs::read(part.path("out.part")).unwrap();
    bytes[1] ^= 1;
    std::fs::write(part.path("out.part"), &bytes).unwrap();
    refused(&part, usual(&part).resume("upper"), "out.part");
    let gone = start();
    std::fs::remove_file(gone.path("out.part")).unwrap();
    refused(&gone, usual(&gone).resume("upper"), "out.part");
    let gone = start();
    std::fs::remove_file(gone.path("out.checkpoint")).unwrap();
    refused(&gone, usual(&gone).resume("upper"), "out.part");
    let damaged = start();
    let mut bytes = std::fs::read(damaged.path("out.checkpoint")).unwrap();
    bytes[30] ^= 1;
    std::fs::write(damaged.path("out.checkpoint"), &bytes).unwrap();
    refused(&damaged, usual(&damaged).resume("upper"), "damaged");
    go_on(
        &damaged,
        usual(&damaged).resume(Resume::new("lower").restart(true)),
    )
    .unwrap();
}

#[test]
fn what_changes_no_bytes_is_fine() {
    let input = input(100);
    let whole = Place::new(&input);
    run(&whole, builder(&whole, 2, 64), &AtomicU64::new(0)).unwrap();
    let place = Place::new(&input);
    let stop = builder(&place, 2, 50)
        .on_error(OnError::Stop)
        .resume("upper");
    run(&place, stop, &AtomicU64::new(0)).unwrap_err();
    // Another file of the same bytes, and more in the part than was counted.
    std::fs::remove_file(place.path("in")).unwrap();
    std::fs::write(place.path("in"), &input).unwrap();
    let mut part = std::fs::read(place.path("out.part")).unwrap();
    part.extend_from_slice(b"torn");
    std::fs::write(place.path("out.part"), part).unwrap();
    let other = builder(&place, 5, 7)
        .memory(1 << 20)
        .chunk_records(2)
        .sequential(true);
    run(&place, other.resume("upper"), &AtomicU64::new(0)).unwrap();
    assert_eq!(read(&place.path("out")), read(&whole.path("out")));
}

#[test]
fn streams_can_not_be_resumed() {
    let place = Place::new(b"a\n");
    let pipeline = || Pipeline::builder().resume("key").build().unwrap();
    let keep = |record: &inorder::Record<'_>, out: &mut inorder::Buffer| out.keep(record);
    let (source, sink) = (Source::bytes(b"a\n"), Sink::file(place.path("out")));
    let error = pipeline().run_each(source, sink, keep).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    let (source, sink) = (Source::file(place.path("in")), Sink::stdout());
    let error = pipeline().run_each(source, sink, keep).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    let (source, sink) = (Source::file(place.path("in")), Sink::file("/dev/null"));
    let error = pipeline().run_each(source, sink, keep).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    assert_eq!(place.names(), ["in"]);
}

#[test]
fn a_checkpoint_that_is_cut_or_garbled_anywhere_is_refused() {
    let place = Place::new(&input(30));
    let stop = builder(&place, 2, 9)
        .on_error(OnError::Stop)
        .resume("upper");
    run(&place, stop, &AtomicU64::new(0)).unwrap_err();
    let bytes = std::fs::read(place.path("out.checkpoint")).unwrap();
    let cut = (0..bytes.len()).map(|end| bytes[..end].to_vec());
    let garbled = (0..bytes.len()).map(|at| {
        let mut bytes = bytes.clone();
        bytes[at] = bytes[at].wrapping_add(1 + at as u8 % 255);
        bytes
    });
    for bytes in cut.chain(garbled) {
        std::fs::write(place.path("out.checkpoint"), &bytes).unwrap();
        let usual = builder(&place, 2, 9).resume("upper");
        let error = run(&place, usual, &AtomicU64::new(0)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        assert_eq!(std::fs::read(place.path("out.checkpoint")).unwrap(), bytes);
    }
    assert_eq!(place.names(), ["in", "out.checkpoint", "out.part"]);
}

#[test]
fn lower_limits_hold_for_what_is_gone_on_with() {
    let place = Place::new(&input(200));
    let limited = |most| builder(&place, 2, 9).max_errors(most).resume("upper");
    run(&place, limited(7), &AtomicU64::new(0)).unwrap_err();
    // More have failed by now than may fail in all: the next one ends it.
    let error = run(&place, limited(2), &AtomicU64::new(0)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Record(_)), "{error}");
    let summary = run(&place, limited(1000), &AtomicU64::new(0)).unwrap();
    assert_eq!(summary.rejected, 20);
    assert_eq!(read(&place.path("bad")).lines().count(), 21);
}

#[test]
fn no_input_at_all_gives_an_empty_output() {
    let place = Place::new(b"");
    let pipeline = Pipeline::builder().resume("key").build().unwrap();
    let none = Source::files(std::iter::empty::<PathBuf>());
    let summary = pipeline.run_each(none, Sink::file(place.path("out")), |record, out| {
        out.keep(record);
    });
    assert_eq!(summary.unwrap().records, 0);
    assert_eq!(place.names(), ["in", "out"]);
}

/// What an earlier run left is compared with what is there; that can take long, and a stop ends it.
#[test]
fn a_stop_ends_the_comparison_with_what_is_there() {
    let input = input(500);
    for (changed, at) in [("in", 20), ("out.part", 0)] {
        let place = Place::new(&input);
        let resume = Resume::new("upper").every(Duration::ZERO);
        let builder = || builder(&place, 1, 64).resume(resume.clone());
        run(&place, builder(), &AtomicU64::new(300)).unwrap_err();
        let mut bytes = std::fs::read(place.path(changed)).unwrap();
        bytes[at] ^= 1;
        std::fs::write(place.path(changed), &bytes).unwrap();
        let left = place.names();
        // It sees that only when it has read all.
        let error = run(&place, builder(), &AtomicU64::new(0)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        let pipeline = builder().build().unwrap();
        pipeline.stop_handle().drain();
        let source = Source::file(place.path("in"));
        let sink = Sink::file(place.path("out"));
        let stopped = pipeline.run_each(source, sink, |record, out| out.keep(record));
        assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Stopped, "{changed}");
        bytes[at] ^= 1;
        std::fs::write(place.path(changed), &bytes).unwrap();
        assert_eq!(place.names(), left);
        run(&place, builder(), &AtomicU64::new(0)).unwrap();
    }
}
