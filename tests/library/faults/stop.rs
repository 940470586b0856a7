//! Runs that are told to stop: by another thread at any moment, by the work itself.

use std::time::Duration;

use inorder::{ErrorKind, Format, Pipeline, Sink, Source, StopHandle};
use proptest::prelude::*;

use super::{lines, small_chunks};
use crate::support::{Watchdog, check};

#[derive(Debug, Clone, Copy)]
enum How {
    Drain,
    Abort,
}

impl How {
    fn stop(self, handle: &StopHandle) {
        match self {
            How::Drain => handle.drain(),
            How::Abort => handle.abort(),
        }
    }
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![Just(How::Drain), Just(How::Abort)]
}

/// A stopped run has written a prefix that ends at a record end, and says that it was stopped.
fn check_stopped(pipeline: &Pipeline, input: &[u8], work: impl Fn(u64) + Sync) -> Option<u64> {
    let mut out = Vec::new();
    let result = pipeline.run_each(
        Source::bytes(input),
        Sink::writer(&mut out),
        |record, out| {
            work(record.number());
            out.keep(record);
        },
    );
    assert!(input.starts_with(&out));
    assert!(out.last().is_none_or(|last| *last == b'\n'));
    match result {
        Ok(_) => {
            assert_eq!(out, input);
            None
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Stopped);
            // A header is no record.
            let lines = out.iter().filter(|byte| **byte == b'\n').count() as u64;
            let processed = error.summary().unwrap().processed;
            assert!(lines - processed <= 1, "{processed} records, {lines} lines");
            Some(processed)
        }
    }
}

/// A run after a stop ends at once, with nothing written.
fn check_stays_stopped(pipeline: &Pipeline) {
    let mut out = Vec::new();
    let result = pipeline.run_each(
        Source::bytes(b"a\nb\n"),
        Sink::writer(&mut out),
        |record, out| out.keep(record),
    );
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(out, b"");
}

#[test]
fn a_run_can_be_stopped_at_any_moment() {
    let input = lines(600);
    let case = (how(), 0..3000u64, any::<bool>(), any::<bool>());
    check(150, &case, |(how, moment, sequential, csv)| {
        let format = if csv { Format::csv() } else { Format::lines() };
        let pipeline = small_chunks(sequential).format(format).build().unwrap();
        let handle = pipeline.stop_handle();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_micros(moment));
                how.stop(&handle);
            });
            check_stopped(&pipeline, &input, |_| {
                std::thread::sleep(Duration::from_micros(5));
            });
        });
        check_stays_stopped(&pipeline);
    });
}

#[test]
fn the_work_itself_can_stop_its_run() {
    let input = lines(300);
    let case = (how(), 1..300u64, 1..5usize, any::<bool>());
    check(150, &case, |(how, at, threads, sequential)| {
        let builder = small_chunks(sequential).threads(threads);
        let pipeline = builder.build().unwrap();
        let handle = pipeline.stop_handle();
        let records = check_stopped(&pipeline, &input, |number| {
            if number == 1 {
                std::thread::sleep(Duration::from_micros(1100));
            }
            if number == at {
                how.stop(&handle);
            }
        });
        match (records, how) {
            // A drain finishes what is in flight; where that is all that was left, the run ends as ever.
            (Some(records), How::Drain) => assert!(records >= at, "{records} records"),
            (None, How::Drain) | (Some(_), _) => {}
            (None, _) => panic!("it was stopped"),
        }
        check_stays_stopped(&pipeline);
    });
}

/// Stopping one pipeline stops all its runs, and no other pipeline's.
#[test]
fn a_stop_is_for_the_runs_of_its_pipeline() {
    let _watchdog = Watchdog::new();
    let input = lines(200);
    let slow = |_: u64| std::thread::sleep(Duration::from_micros(500));
    let (stopped, other) = (small_chunks(false), small_chunks(false));
    let (stopped, other) = (stopped.build().unwrap(), other.build().unwrap());
    std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| check_stopped(&stopped, &input, slow)));
        let others = scope.spawn(|| check_stopped(&other, &input, slow));
        std::thread::sleep(Duration::from_millis(5));
        stopped.stop_handle().abort();
        for run in both {
            assert!(run.join().unwrap().is_some());
        }
        assert_eq!(others.join().unwrap(), None);
    });
}
