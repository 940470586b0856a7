//! What is tried again, how often, and what happens meanwhile.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use inorder::{
    BoxError, Buffer, Chunk, ChunkError, Commit, Committed, ErrorKind, FailureKind, Fault, Format,
    OnError, Pipeline, Process, Record, Retry, RunState, Sink, Source,
};

use crate::support::{PLANNED, Watchdog, quiet_panics};

fn numbers(last: u32) -> Vec<u8> {
    (1..=last)
        .flat_map(|n| format!("{n}\n").into_bytes())
        .collect()
}

/// The record of this number fails at its first attempts, so many times.
fn fails(record: &Record<'_>, number: u64, times: u32) -> Result<(), BoxError> {
    match record.number() == number && record.attempt() < times {
        true => Err(io::Error::other("not yet").into()),
        false => Ok(()),
    }
}

#[test]
fn a_record_is_tried_again_and_what_it_wrote_is_taken_back() {
    let input = numbers(200);
    for sequential in [true, false] {
        for delay in [0, 2] {
            let retry = Retry::new(3).delay(Duration::from_millis(delay));
            let builder = Pipeline::builder().threads(2).sequential(sequential);
            let pipeline = builder.retry(retry).build().unwrap();
            let mut out = Vec::new();
            let summary = pipeline
                .run_each(
                    Source::bytes(&input),
                    Sink::writer(&mut out),
                    |record, out| {
                        out.keep(record);
                        fails(record, 57, 3)
                    },
                )
                .unwrap();
            assert_eq!(out, input);
            assert_eq!((summary.retries, summary.processed), (3, 200));
        }
    }
}

#[test]
fn the_number_of_attempts_is_told() {
    let pipeline = Pipeline::builder()
        .retry(Retry::new(2).delay(Duration::ZERO))
        .build()
        .unwrap();
    let error = pipeline
        .run_each(Source::bytes(&numbers(9)), Sink::discard(), |record, _| {
            fails(record, 5, 9)
        })
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "<bytes>: failed after 3 attempts, record 5 (line 5, byte 8): not yet"
    );
}

#[test]
fn only_errors_that_are_worth_it_are_tried_again() {
    quiet_panics();
    let attempts = AtomicU32::new(0);
    let retry = Retry::new(5).delay(Duration::ZERO);
    let retry = retry.when(|error| {
        assert!(error.to_string() != "odd", "{PLANNED}");
        error.is::<io::Error>()
    });
    let pipeline = Pipeline::builder()
        .retry(retry)
        .on_error(OnError::Skip)
        .build()
        .unwrap();
    let summary = pipeline
        .run_each(Source::bytes(&numbers(4)), Sink::discard(), |record, _| {
            attempts.fetch_add(1, Ordering::SeqCst);
            match record.number() {
                1 => Err(BoxError::from("no")),
                2 => Err(BoxError::from("odd")),
                // The error inside is looked at.
                3 => Err(Fault::new(FailureKind::Timeout, io::Error::other("late")).into()),
                _ => Ok(()),
            }
        })
        .unwrap();
    assert_eq!((summary.skipped, summary.retries), (3, 5));
    assert_eq!(attempts.into_inner(), 9);
}

#[test]
fn no_thread_sleeps_for_a_delay() {
    let _watchdog = Watchdog::new();
    // One worker, ten records that wait at the same time.
    let pipeline = Pipeline::builder()
        .threads(1)
        .chunk_records(1)
        .retry(Retry::new(1).delay(Duration::from_millis(300)))
        .build()
        .unwrap();
    let begun = Instant::now();
    let mut out = Vec::new();
    let input = numbers(50);
    pipeline
        .run_each(
            Source::bytes(&input),
            Sink::writer(&mut out),
            |record, out| {
                out.keep(record);
                fails(record, record.number() / 5 * 5, 1)
            },
        )
        .unwrap();
    assert_eq!(out, input);
    assert!(
        begun.elapsed() < Duration::from_millis(1200),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_stop_does_not_wait_for_a_delay() {
    let _watchdog = Watchdog::new();
    for sequential in [true, false] {
        let pipeline = Pipeline::builder()
            .threads(2)
            .sequential(sequential)
            .retry(Retry::new(9).delay(Duration::from_secs(600)))
            .build()
            .unwrap();
        let stop = pipeline.stop_handle();
        let timer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            stop.abort();
        });
        let error = pipeline
            .run_each(Source::bytes(b"1\n2\n3\n"), Sink::discard(), |record, _| {
                fails(record, 2, 9)
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stopped);
        timer.join().unwrap();
    }
}

#[test]
fn values_are_tried_again_in_their_place() {
    let retry = Retry::new(2).delay(Duration::from_millis(5));
    for chunk_records in [1, 7, u64::MAX] {
        let pipeline = Pipeline::builder()
            .threads(2)
            .chunk_records(chunk_records)
            .retry(retry.clone())
            .on_error(OnError::Skip)
            .build()
            .unwrap();
        let values = pipeline
            .records(Source::reader(io::Cursor::new(numbers(40))))
            .unwrap()
            .map(|record| {
                fails(record, record.number() / 10 * 10, 2)?;
                fails(record, 33, 3)?;
                Ok::<_, BoxError>(record.number())
            });
        let values: Vec<u64> = values.collect::<Result<_, _>>().unwrap();
        let expected: Vec<u64> = (1..=40).filter(|number| *number != 33).collect();
        assert_eq!(values, expected);
    }
}

#[test]
fn values_end_at_the_failure_that_is_one_too_many() {
    for chunk_records in [1, 3, u64::MAX] {
        let pipeline = Pipeline::builder()
            .chunk_records(chunk_records)
            .on_error(OnError::Skip)
            .max_errors(2)
            .build()
            .unwrap();
        let values = pipeline
            .records(Source::reader(io::Cursor::new(numbers(40))))
            .unwrap()
            .map(|record| match record.number() % 5 {
                0 => Err("five"),
                _ => Ok(record.number()),
            });
        let (good, bad): (Vec<_>, Vec<_>) = values.partition(Result::is_ok);
        let good: Vec<u64> = good.into_iter().map(Result::unwrap).collect();
        assert_eq!(good, [1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14]);
        assert_eq!(bad.len(), 1);
        let error = bad.into_iter().next().unwrap().unwrap_err();
        assert_eq!(error.position().unwrap().record, 15);
    }
}

/// Leaves a note at its first attempt, which fails.
struct Notes;

impl Process for Notes {
    type State = ();

    fn start(&self) -> Result<(), BoxError> {
        Ok(())
    }

    fn record(&self, (): &mut (), _: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
        unreachable!()
    }

    fn chunk(&self, (): &mut (), chunk: &Chunk<'_>, out: &mut Buffer) -> Result<(), ChunkError> {
        if chunk.attempt() > 0 {
            return Ok(());
        }
        out.note(b"gone");
        Err(ChunkError::Whole("not yet".into()))
    }

    fn commit(&self, _: &mut RunState, chunk: &Committed<'_>) -> Commit {
        assert_eq!(chunk.note, b"");
        Commit::Write
    }
}

#[test]
fn the_note_of_a_failed_attempt_is_taken_back() {
    let retry = Retry::new(1).delay(Duration::ZERO);
    let pipeline = Pipeline::builder().retry(retry).build().unwrap();
    let summary = pipeline
        .run(Source::bytes(b"a\nb\n"), Sink::discard(), &Notes)
        .unwrap();
    assert!(summary.retries > 0);
}

#[test]
fn a_limit_cuts_the_output_before_the_record() {
    let input: String = (1..=60)
        .map(|n| format!("{n},{}\n", "x".repeat(n * 150)))
        .collect();
    for spill in [false, true] {
        for most in [0, 1, 3] {
            let pipeline = Pipeline::builder()
                .format(Format::csv().header(false))
                .on_error(OnError::Skip)
                .max_errors(most)
                .memory(1 << 20)
                .build()
                .unwrap();
            let mut out = Vec::new();
            let copies = if spill { 900 } else { 1 };
            let error = pipeline
                .run_each(
                    Source::bytes(input.as_bytes()),
                    Sink::writer(&mut out),
                    |record: &Record<'_>, out: &mut Buffer| {
                        for _ in 0..copies {
                            match record.number() % 3 {
                                0 => out.write_all(record.raw()).unwrap(),
                                _ => out.keep(record),
                            }
                        }
                        match record.number() % 7 {
                            0 => Err("seven"),
                            _ => Ok(()),
                        }
                    },
                )
                .unwrap_err();
            let last = (most + 1) * 7;
            assert_eq!(error.position().unwrap().record, last);
            let expected: usize = (1..last)
                .filter(|number| number % 7 != 0)
                .map(|n| (n * 150 + 2 + n.to_string().len() as u64) as usize * copies)
                .sum();
            assert_eq!(out.len(), expected);
            let summary = error.summary().unwrap();
            assert_eq!((summary.skipped, summary.records), (most, last - 1));
        }
    }
}
