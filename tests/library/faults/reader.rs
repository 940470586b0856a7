//! Readers that fail or panic.

use std::io::{self, Read};

use inorder::{Error, ErrorKind, Format, Sink, Source};

use super::{lines, small_chunks};
use crate::support::{PLANNED, WarmUp, Watchdog, quiet_panics};

/// Brings the bytes, so many at a time, then fails or panics.
struct Breaks<'b> {
    bytes: &'b [u8],
    step: usize,
    panics: bool,
}

impl Read for Breaks<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty() {
            assert!(!self.panics, "{PLANNED}");
            return Err(io::Error::other("the cable is out"));
        }
        let most = self.step.min(into.len());
        self.bytes.read(&mut into[..most])
    }
}

fn run(
    breaks: Breaks<'_>,
    format: Format,
    chunk_size: usize,
    sequential: bool,
) -> (Vec<u8>, Error) {
    let warm_up = WarmUp::default();
    let builder = small_chunks(sequential).format(format);
    let pipeline = builder.chunk_size(chunk_size).build().unwrap();
    let mut out = Vec::new();
    let error = pipeline
        .run_each(
            Source::reader(breaks),
            Sink::writer(&mut out),
            |record, out| {
                warm_up.once();
                out.keep(record);
            },
        )
        .unwrap_err();
    (out, error)
}

/// The records that came whole are written, at any chunk size; the message names the byte at which it failed.
#[test]
fn a_reader_that_fails_at_any_byte_ends_the_run_after_its_whole_records() {
    let watchdog = Watchdog::new();
    let input = lines(12);
    for format in [Format::lines(), Format::csv()] {
        for (chunk_size, step) in [(1, 5), (16, 1000), (16, 1), (1 << 20, 7), (1 << 20, 1000)] {
            for sequential in [true, false] {
                for at in 0..=input.len() {
                    watchdog.feed();
                    let bytes = &input[..at];
                    let breaks = Breaks {
                        bytes,
                        step,
                        panics: false,
                    };
                    let (out, error) = run(breaks, format.clone(), chunk_size, sequential);
                    assert_eq!(
                        error.to_string(),
                        format!("<reader>: cannot be read at byte {at}: the cable is out")
                    );
                    assert_eq!(error.kind(), ErrorKind::Input);
                    let whole = bytes.iter().rposition(|byte| *byte == b'\n');
                    assert_eq!(out, input[..whole.map_or(0, |end| end + 1)]);
                }
            }
        }
    }
}

#[test]
fn a_reader_that_panics_at_any_byte_ends_the_run() {
    quiet_panics();
    let watchdog = Watchdog::new();
    let input = lines(12);
    for sequential in [true, false] {
        for at in 0..=input.len() {
            watchdog.feed();
            let breaks = Breaks {
                bytes: &input[..at],
                step: 5,
                panics: true,
            };
            let (out, error) = run(breaks, Format::lines(), 16, sequential);
            assert_eq!(error.kind(), ErrorKind::Panic);
            assert!(error.to_string().contains(PLANNED), "{error}");
            assert!(input.starts_with(&out));
        }
    }
}

/// A reader that claims more than it was given room for is not believed.
#[test]
fn a_reader_that_lies_is_an_error() {
    struct Lies;
    impl Read for Lies {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            Ok(into.len() + 1)
        }
    }
    let pipeline = small_chunks(false).build().unwrap();
    let error = pipeline
        .run_each(Source::reader(Lies), Sink::discard(), |_, _| {})
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
}

/// A panic when the reader is dropped comes after everything is written.
#[test]
fn a_reader_that_panics_when_it_is_dropped() {
    struct Bomb<'b>(&'b [u8]);
    impl Read for Bomb<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0.read(into)
        }
    }
    impl Drop for Bomb<'_> {
        fn drop(&mut self) {
            panic!("{PLANNED}");
        }
    }
    quiet_panics();
    let _watchdog = Watchdog::new();
    let input = lines(30);
    for sequential in [true, false] {
        let pipeline = small_chunks(sequential).build().unwrap();
        let warm_up = WarmUp::default();
        let mut out = Vec::new();
        let source = Source::reader(Bomb(&input));
        let error = pipeline
            .run_each(source, Sink::writer(&mut out), |record, out| {
                warm_up.once();
                out.keep(record);
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panic);
        assert_eq!(out, input);
    }
}
