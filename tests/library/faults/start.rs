//! States that can't be made, headers that can't be written, states that panic when they are dropped.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use inorder::{BoxError, Buffer, ErrorKind, Format, Process, Record, Sink, Source};

use super::{lines, small_chunks};
use crate::support::{PLANNED, WarmUp, Watchdog, quiet_panics};

/// Panics when it is dropped, and is an error too.
#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("{PLANNED}");
        }
    }
}

impl std::fmt::Display for Bomb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a bomb")
    }
}

impl std::error::Error for Bomb {}

/// Makes so many states, then fails or panics.
struct Starts {
    made: AtomicUsize,
    most: usize,
    panics: bool,
    warm_up: WarmUp,
}

impl Process for Starts {
    type State = Option<Bomb>;

    fn start(&self) -> Result<Option<Bomb>, BoxError> {
        if self.made.fetch_add(1, Ordering::SeqCst) < self.most {
            return Ok(Some(Bomb));
        }
        assert!(!self.panics, "{PLANNED}");
        Err(Box::new(Bomb))
    }

    fn record(
        &self,
        _: &mut Option<Bomb>,
        record: &Record<'_>,
        out: &mut Buffer,
    ) -> Result<(), BoxError> {
        self.warm_up.once();
        // So that the workers are at work at the same time, and need states of their own.
        std::thread::sleep(Duration::from_micros(200));
        out.keep(record);
        Ok(())
    }
}

#[test]
fn a_state_that_cannot_be_made_ends_the_run() {
    quiet_panics();
    let watchdog = Watchdog::new();
    let input = lines(60);
    for sequential in [true, false] {
        for panics in [false, true] {
            for most in 0..4 {
                for threads in [1, 2, 7] {
                    watchdog.feed();
                    let starts = Starts {
                        made: AtomicUsize::new(0),
                        most,
                        panics,
                        warm_up: WarmUp::default(),
                    };
                    let mut out = Vec::new();
                    let builder = small_chunks(sequential).threads(threads);
                    let pipeline = builder.build().unwrap();
                    let sink = Sink::writer(&mut out);
                    match pipeline.run(Source::bytes(&input), sink, &starts) {
                        // There were as many as were needed.
                        Ok(_) => assert_eq!(out, input),
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Process, "{error}");
                            assert!(input.starts_with(&out));
                            assert!(most < threads, "{most} states for {threads} threads");
                            // It holds the bomb.
                            std::mem::forget(error);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_header_that_cannot_be_written_ends_the_run() {
    struct Refuses(bool);
    impl Process for Refuses {
        type State = ();
        fn start(&self) -> Result<(), BoxError> {
            Ok(())
        }
        fn header(&self, header: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
            assert_eq!(header.bytes(), b"line 0");
            assert!(!self.0, "{PLANNED}");
            Err("no such column".into())
        }
        fn record(&self, (): &mut (), _: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
            Ok(())
        }
    }
    quiet_panics();
    for (panics, text) in [(false, "no such column"), (true, "panicked: planned")] {
        let pipeline = small_chunks(false).format(Format::csv()).build().unwrap();
        let mut out = Vec::new();
        let error = pipeline
            .run(
                Source::bytes(&lines(5)),
                Sink::writer(&mut out),
                &Refuses(panics),
            )
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Process);
        assert_eq!(
            error.to_string(),
            format!("<bytes>: the header failed: {text}")
        );
        assert_eq!(out, b"");
    }
}
