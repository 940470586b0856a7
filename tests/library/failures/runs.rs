//! Work on whole chunks: halving, the bound on its attempts, and the end of work that fails on everything.

use std::io::Write;
use std::sync::Mutex;
use std::time::Duration;

use inorder::{
    BoxError, Buffer, Builder, Chunk, ChunkError, FailureKind, Fault, Format, OnError, Pipeline,
    Process, Record, Retry, Source,
};

use super::shelf::{Came, Shelf};

/// Fails on chunks that hold a poisoned record; at times on others.
struct Command<F> {
    /// Whether to fail on these records at this attempt.
    fails: F,
    /// The records of each run.
    runs: Mutex<Vec<u64>>,
}

impl<F: Fn(&Chunk<'_>) -> bool + Sync> Command<F> {
    fn new(fails: F) -> Command<F> {
        let runs = Mutex::default();
        Command { fails, runs }
    }

    fn runs(&self) -> Vec<u64> {
        self.runs.lock().unwrap().clone()
    }
}

impl<F: Fn(&Chunk<'_>) -> bool + Sync> Process for Command<F> {
    type State = ();

    fn start(&self) -> Result<(), BoxError> {
        Ok(())
    }

    fn record(&self, (): &mut (), _: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
        unreachable!()
    }

    fn chunk(&self, (): &mut (), chunk: &Chunk<'_>, out: &mut Buffer) -> Result<(), ChunkError> {
        let records = chunk.records().count() as u64;
        self.runs.lock().unwrap().push(records);
        let io = |error: std::io::Error| ChunkError::Whole(error.into());
        if (self.fails)(chunk) {
            out.write_all(b"half").map_err(io)?;
            let fault = Fault::new(FailureKind::Command, "command exited 3");
            return Err(ChunkError::Whole(fault.into()));
        }
        out.write_all(chunk.bytes()).map_err(io)
    }
}

fn is_poison(record: &Record<'_>) -> bool {
    record.bytes().ends_with(b"POISON")
}

fn poisoned(chunk: &Chunk<'_>) -> bool {
    chunk.records().any(|record| is_poison(&record))
}

fn input(records: u64, poison: &[u64]) -> String {
    (1..=records)
        .map(|n| match poison.contains(&n) {
            true => format!("{n} POISON\n"),
            false => format!("{n}\n"),
        })
        .collect()
}

fn chunks_of(records: u64) -> Builder {
    Pipeline::builder()
        .threads(3)
        .chunk_size(1 << 20)
        .chunk_records(records)
}

#[test]
fn e7_poison_is_isolated_in_few_runs() {
    let poison = [1, 2, 300, 301, 777, 1023, 1024];
    let text = input(1024, &poison);
    for records in [1024, 256, 100, 1] {
        for sequential in [true, false] {
            let shelf = Shelf::default();
            let command = Command::new(poisoned);
            let builder = chunks_of(records).sequential(sequential);
            let builder = builder.on_error(shelf.on_error());
            let came = Came::of(builder, &shelf, Source::bytes(text.as_bytes()), &command);
            assert_eq!(came.end, Ok(()));
            assert_eq!(came.counts, [1024, 1017, 0, 7]);
            let lines = |bad: bool| -> String {
                let lines = text.split_inclusive('\n');
                lines.filter(|line| line.contains('P') == bad).collect()
            };
            assert_eq!(came.output.0, lines(false).as_bytes());
            assert_eq!(came.rejects.0, lines(true).as_bytes());
            let rows = String::from_utf8(came.errors.0).unwrap();
            assert!(rows.starts_with(
                "{\"input\":\"<bytes>\",\"record\":1,\"line\":1,\"offset\":0,\"attempts\":1,\"kind\":\"command\",\
                 \"error\":\"command exited 3\"}\n"
            ));
            let (runs, chunks) = (command.runs().len() as u64, 1024u64.div_ceil(records));
            let levels = u64::from(records.next_power_of_two().ilog2());
            assert!(runs <= chunks + 2 * 7 * levels, "{runs} runs");
        }
    }
}

#[test]
fn with_stop_the_chunk_is_tried_again_and_its_records_are_named() {
    let text = input(20, &[7]);
    let command = Command::new(poisoned);
    let builder = chunks_of(5).sequential(true);
    let builder = builder.retry(Retry::new(2).delay(Duration::ZERO));
    let shelf = Shelf::default();
    let came = Came::of(builder, &shelf, Source::bytes(text.as_bytes()), &command);
    let (message, ..) = came.end.unwrap_err();
    assert_eq!(
        message,
        "<bytes>: failed, one of 5 records or more after 3 attempts, record 6 (line 6, byte 10): command exited 3"
    );
    assert_eq!(command.runs(), [5, 5, 5, 5]);
    assert_eq!(came.output.0, b"1\n2\n3\n4\n5\n");
}

#[test]
fn halves_get_one_attempt_and_lone_records_all() {
    let text = input(4, &[3]);
    let command = Command::new(poisoned);
    let shelf = Shelf::default();
    let builder = chunks_of(4).sequential(true).on_error(shelf.on_error());
    let builder = builder.retry(Retry::new(2).delay(Duration::ZERO));
    let came = Came::of(builder, &shelf, Source::bytes(text.as_bytes()), &command);
    assert_eq!(came.output.0, b"1\n2\n4\n");
    assert_eq!(command.runs(), [4, 4, 4, 2, 2, 1, 1, 1, 1]);
    assert_eq!(
        came.told.len(),
        2,
        "the chunk, and the record: {:?}",
        came.told
    );
    assert!(came.told[0].starts_with("retried") && came.told[0].ends_with("exited 3 2"));
    assert!(came.told[1].starts_with("failed") && came.told[1].ends_with("exited 3 3"));
}

#[test]
fn luck_is_waited_for_and_poison_alone_is_rejected() {
    let text = input(400, &[50, 333]);
    // A third of the runs fail by chance, which depends on the records and the attempt.
    let unlucky = |chunk: &Chunk<'_>| {
        let seed = chunk.first_number() * 31 + u64::from(chunk.attempt()) * 17;
        (seed + chunk.bytes().len() as u64).is_multiple_of(3) || poisoned(chunk)
    };
    for delay in [0, 1] {
        let command = Command::new(unlucky);
        let shelf = Shelf::default();
        let builder = chunks_of(40).on_error(shelf.on_error()).max_failing_runs(0);
        let retry = Retry::new(6).delay(Duration::from_millis(delay));
        let came = Came::of(
            builder.retry(retry),
            &shelf,
            Source::bytes(text.as_bytes()),
            &command,
        );
        assert_eq!(came.rejects.0, b"50 POISON\n333 POISON\n");
        assert_eq!(came.counts, [400, 398, 0, 2]);
        assert!(came.more.unwrap()[1] > 10);
    }
}

#[test]
fn a_chunk_that_fails_only_as_a_whole_is_noted() {
    let text = input(30, &[]);
    let command = Command::new(|chunk| chunk.bytes().len() > 16);
    let shelf = Shelf::default();
    let builder = chunks_of(10).on_error(shelf.on_error());
    let pipeline = builder.clone().build().unwrap();
    let mut out = Vec::new();
    let summary = pipeline
        .run(
            Source::bytes(text.as_bytes()),
            inorder::Sink::writer(&mut out),
            &command,
        )
        .unwrap();
    assert_eq!(out, text.as_bytes());
    assert_eq!((summary.flaky_chunks, summary.rejected), (3, 0));
    assert_eq!(
        summary.notes,
        [
            "3 chunks failed as a whole, though none of the records failed alone: what the parts gave is in the output"
        ]
    );
}

#[test]
fn work_that_fails_on_everything_ends_soon() {
    let text = input(100_000, &[]);
    for records in [1, 7, 1000, 100_000] {
        for sequential in [true, false] {
            let command = Command::new(|_| true);
            let shelf = Shelf::default();
            let builder = chunks_of(records).sequential(sequential);
            let builder = builder.on_error(shelf.on_error());
            let came = Came::of(builder, &shelf, Source::bytes(text.as_bytes()), &command);
            let (message, ..) = came.end.unwrap_err();
            assert!(
                message.contains("failed, as did all of 64 runs in a row, record "),
                "{message}"
            );
            assert!(message.ends_with(": command exited 3"));
            assert!(came.output.0.is_empty());
            if sequential {
                // The chunk that brings the end is worked on as far as it goes.
                assert!(command.runs().len() < 64 + 13);
            }
            assert!(command.runs().len() < 64 * 64);
        }
    }
}

#[test]
fn e7_without_the_limit_all_may_fail() {
    let text = format!("h\n{}", input(300, &[]));
    let command = Command::new(|_| true);
    let shelf = Shelf::default();
    let builder = chunks_of(50)
        .format(Format::csv())
        .max_failing_runs(0)
        .on_error(shelf.on_error());
    let came = Came::of(builder, &shelf, Source::bytes(text.as_bytes()), &command);
    assert_eq!(came.end, Ok(()));
    assert_eq!(came.output.0, b"h\n");
    assert_eq!(came.rejects.0, text.as_bytes());
    assert_eq!(came.counts, [300, 0, 0, 300]);
}

#[test]
fn skipping_needs_no_place() {
    let text = input(64, &[9]);
    let command = Command::new(poisoned);
    let shelf = Shelf::default();
    let builder = chunks_of(64).on_error(OnError::Skip);
    let came = Came::of(builder, &shelf, Source::bytes(text.as_bytes()), &command);
    assert_eq!(came.counts, [64, 63, 1, 0]);
}
