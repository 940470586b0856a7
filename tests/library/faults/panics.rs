//! Panics in the work, in what it leaves behind, in the observer.

use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use inorder::{
    BoxError, Buffer, ErrorKind, Failure, FailureKind, Observer, OnError, Process, Progress,
    Record, Sink, Source, Started,
};

use super::{lines, small_chunks};
use crate::support::{PLANNED, WarmUp, Watchdog, quiet_panics};

/// Counts how many there were, and panics when it is dropped.
#[derive(Debug)]
struct Bomb(Arc<AtomicUsize>);

impl Bomb {
    fn new(count: &Arc<AtomicUsize>) -> Bomb {
        count.fetch_add(1, Ordering::SeqCst);
        Bomb(Arc::clone(count))
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // Even what this leaves behind is a bomb.
            panic_any(Bomb(Arc::clone(&self.0)));
        }
    }
}

impl std::fmt::Display for Bomb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a bomb")
    }
}

impl std::error::Error for Bomb {}

/// Every third record fails with a bomb, or panics with one; each state is one.
struct Bombs {
    count: Arc<AtomicUsize>,
    panics: bool,
    warm_up: WarmUp,
}

impl Process for Bombs {
    type State = Bomb;

    fn start(&self) -> Result<Bomb, BoxError> {
        Ok(Bomb::new(&self.count))
    }

    fn record(&self, _: &mut Bomb, record: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
        self.warm_up.once();
        out.keep(record);
        if !record.number().is_multiple_of(3) {
            return Ok(());
        }
        let bomb = Bomb::new(&self.count);
        if self.panics {
            panic_any(bomb);
        }
        Err(Box::new(bomb))
    }
}

#[test]
fn bombs_are_failing_records() {
    quiet_panics();
    let watchdog = Watchdog::new();
    let input = lines(90);
    let good: Vec<u8> = input
        .split_inclusive(|byte| *byte == b'\n')
        .zip(1..)
        .filter(|(_, number)| number % 3 != 0)
        .flat_map(|(line, _)| line.to_vec())
        .collect();
    for sequential in [true, false] {
        for panics in [true, false] {
            for skips in [false, true] {
                watchdog.feed();
                let bombs = Bombs {
                    count: Arc::default(),
                    panics,
                    warm_up: WarmUp::default(),
                };
                let on_error = if skips { OnError::Skip } else { OnError::Stop };
                let pipeline = small_chunks(sequential).on_error(on_error).build().unwrap();
                let mut out = Vec::new();
                let result = pipeline.run(Source::bytes(&input), Sink::writer(&mut out), &bombs);
                if skips {
                    let summary = result.unwrap();
                    assert_eq!((summary.processed, summary.skipped), (60, 30));
                    assert_eq!(out, good);
                    assert!(bombs.count.load(Ordering::SeqCst) > 30);
                } else {
                    let error = result.unwrap_err();
                    let kind = match panics {
                        true => FailureKind::Panic,
                        false => FailureKind::Work,
                    };
                    assert_eq!(error.kind(), ErrorKind::Record(kind));
                    assert_eq!(error.position().unwrap().record, 3);
                    assert_eq!(out, b"line 0\nline 1\n");
                    // It holds the bomb.
                    std::mem::forget(error);
                }
            }
        }
    }
}

#[test]
fn a_panic_is_told_with_its_text() {
    quiet_panics();
    let pipeline = small_chunks(false).build().unwrap();
    let error = pipeline
        .run_each(Source::bytes(&lines(9)), Sink::discard(), |record, _| {
            assert!(record.number() < 5, "{PLANNED} for {}", record.number());
        })
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "<bytes>: failed, record 5 (line 5, byte 28): panicked: planned for 5"
    );
}

/// Panics in one of its calls.
struct Panics(&'static str);

impl Panics {
    fn when(&self, call: &str) {
        assert!(self.0 != call, "{PLANNED}: {call}");
    }
}

impl Observer for Panics {
    fn started(&self, _: &Started) {
        self.when("started");
    }

    fn progress(&self, progress: &Progress) {
        if progress.records > 20 {
            self.when("progress");
        }
    }

    fn failed(&self, _: &Failure<'_>) {
        self.when("failed");
    }
}

#[test]
fn an_observer_that_panics_ends_the_run() {
    quiet_panics();
    let watchdog = Watchdog::new();
    let input = lines(60);
    for sequential in [true, false] {
        for call in ["started", "progress", "failed"] {
            watchdog.feed();
            let bombs = Bombs {
                count: Arc::default(),
                panics: false,
                warm_up: WarmUp::default(),
            };
            let builder = small_chunks(sequential).on_error(OnError::Skip);
            let pipeline = builder.observe(Arc::new(Panics(call))).build().unwrap();
            let error = pipeline
                .run(Source::bytes(&input), Sink::discard(), &bombs)
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Panic);
            assert_eq!(
                error.to_string(),
                format!("the run panicked: {PLANNED}: {call}")
            );
        }
    }
}
