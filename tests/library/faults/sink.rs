//! Sinks that fail or panic.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use inorder::{ErrorKind, Sink, Source};

use super::{lines, small_chunks};
use crate::support::{PLANNED, WarmUp, Watchdog, quiet_panics};

/// Takes so many bytes, then fails or panics.
#[derive(Clone)]
struct Breaks {
    taken: Arc<Mutex<Vec<u8>>>,
    at: usize,
    panics: bool,
}

impl Breaks {
    fn new(at: usize, panics: bool) -> Breaks {
        Breaks {
            taken: Arc::default(),
            at,
            panics,
        }
    }

    fn break_now<T>(&self) -> io::Result<T> {
        assert!(!self.panics, "{PLANNED}");
        Err(io::ErrorKind::StorageFull.into())
    }
}

impl Write for Breaks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = self.taken.lock().unwrap();
        let n = bytes.len().min(self.at - taken.len());
        taken.extend_from_slice(&bytes[..n]);
        drop(taken);
        if n == 0 { self.break_now() } else { Ok(n) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.break_now()
    }
}

#[test]
fn a_sink_that_breaks_at_any_byte_ends_the_run() {
    quiet_panics();
    let watchdog = Watchdog::new();
    let input = lines(30);
    for panics in [false, true] {
        for sequential in [true, false] {
            // The last one takes all and breaks when it is flushed.
            for at in 0..=input.len() {
                watchdog.feed();
                let breaks = Breaks::new(at, panics);
                let warm_up = WarmUp::default();
                let pipeline = small_chunks(sequential).build().unwrap();
                let sink = Sink::writer(breaks.clone());
                let error = pipeline
                    .run_each(Source::bytes(&input), sink, |record, out| {
                        warm_up.once();
                        out.keep(record);
                    })
                    .unwrap_err();
                let kind = match panics {
                    true => ErrorKind::Panic,
                    false => ErrorKind::Output,
                };
                assert_eq!(error.kind(), kind, "at byte {at}: {error}");
                assert_eq!(*breaks.taken.lock().unwrap(), input[..at]);
            }
        }
    }
}

/// A panic when it is dropped is told too, and hides nothing.
#[test]
fn a_sink_that_panics_when_it_is_dropped() {
    struct Bomb(Vec<u8>);
    impl Write for Bomb {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("{PLANNED}");
        }
    }
    quiet_panics();
    let _watchdog = Watchdog::new();
    for sequential in [true, false] {
        let pipeline = small_chunks(sequential).build().unwrap();
        let warm_up = WarmUp::default();
        let sink = Sink::writer(Bomb(Vec::new()));
        let error = pipeline
            .run_each(Source::bytes(&lines(30)), sink, |record, out| {
                warm_up.once();
                out.keep(record);
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panic);
        assert!(error.to_string().contains(PLANNED));
    }
}
