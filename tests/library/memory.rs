//! The byte budget: a slow record or a slow sink holds the reader up.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use inorder::{Builder, Encoding, OnError, Pipeline, Sink, Source, Summary};

use crate::support::Watchdog;

const LINE: &[u8] = b"a line of some thirty bytes ..\n";

/// Brings so many bytes of lines, and counts them.
struct Counting<'c> {
    left: usize,
    out: &'c AtomicU64,
}

impl Read for Counting<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done + LINE.len() <= into.len().min(self.left) {
            into[done..done + LINE.len()].copy_from_slice(LINE);
            done += LINE.len();
        }
        self.left -= done;
        self.out.fetch_add(done as u64, Ordering::SeqCst);
        Ok(done)
    }
}

/// Twenty lines a line, and for the first one a wait.
fn twentyfold(builder: Builder, input: usize) -> (Summary, u64) {
    let read = AtomicU64::new(0);
    let ahead = AtomicU64::new(0);
    let source = Source::reader(Counting {
        left: input,
        out: &read,
    });
    let sink = Counts(AtomicU64::new(0));
    let pipeline = builder.build().unwrap();
    let result = pipeline.run_each(source, Sink::writer(&sink), |record, out| {
        if record.number() == 1 {
            std::thread::sleep(Duration::from_millis(3));
        }
        // The head of the order once the pool has started: whatever is read now is in flight.
        if record.number() == 20_000 {
            std::thread::sleep(Duration::from_millis(400));
            ahead.store(
                read.load(Ordering::SeqCst) - record.offset(),
                Ordering::SeqCst,
            );
        }
        for _ in 0..20 {
            out.line(record.bytes());
        }
    });
    assert_eq!(sink.0.into_inner(), 20 * input as u64);
    (result.unwrap(), ahead.into_inner())
}

struct Counts(AtomicU64);

impl Write for &Counts {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes in flight stay within the budget and what the chunks at work write; the reader does not run ahead of it.
#[test]
fn a_slow_record_holds_the_reader_up() {
    let _watchdog = Watchdog::new();
    const BUDGET: usize = 2 << 20;
    const CHUNK: usize = 16 << 10;
    for threads in [1, 2, 4, 7] {
        let input = 6 << 20;
        let input = input - input % LINE.len();
        let builder = Pipeline::builder().threads(threads).memory(BUDGET);
        let (summary, ahead) = twentyfold(builder.chunk_size(CHUNK), input);
        // A growing buffer has up to twice the room that it needs.
        let chunk_out = 2 * 20 * CHUNK + 1024;
        let most = BUDGET + threads * chunk_out;
        assert!(
            summary.peak_in_flight <= most as u64,
            "{} bytes in flight of at most {most}, {threads} threads",
            summary.peak_in_flight
        );
        // Beside what is in flight: the reader's own buffer, and the chunk it has cut.
        let most = BUDGET / 4 + (256 << 10);
        assert!(
            ahead <= most as u64,
            "{ahead} bytes read ahead, {threads} threads"
        );
    }
}

/// A slow sink does the same.
#[test]
fn a_slow_sink_holds_the_reader_up() {
    struct Slow<'s> {
        read: &'s AtomicU64,
        written: u64,
        ahead: &'s AtomicU64,
    }
    impl Write for Slow<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            std::thread::sleep(Duration::from_millis(1));
            let ahead = self.read.load(Ordering::SeqCst) - self.written;
            self.ahead.fetch_max(ahead, Ordering::SeqCst);
            self.written += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let _watchdog = Watchdog::new();
    const BUDGET: usize = 1 << 20;
    let (read, ahead) = (AtomicU64::new(0), AtomicU64::new(0));
    let input = (8 << 20) / LINE.len() * LINE.len();
    let builder = Pipeline::builder().threads(2).memory(BUDGET);
    let summary = builder
        .chunk_size(32 << 10)
        .build()
        .unwrap()
        .run_each(
            Source::reader(Counting {
                left: input,
                out: &read,
            }),
            Sink::writer(Slow {
                read: &read,
                written: 0,
                ahead: &ahead,
            }),
            |record, out| out.keep(record),
        )
        .unwrap();
    assert_eq!(summary.bytes_out, input as u64);
    let ahead = ahead.into_inner();
    let most = (BUDGET + (512 << 10)) as u64;
    assert!(ahead <= most, "{ahead} bytes ahead of the sink");
    assert!(summary.peak_in_flight <= (BUDGET + (256 << 10)) as u64);
}

/// A record that is bigger than the budget goes through alone.
#[test]
fn a_record_bigger_than_the_budget_goes_through() {
    let _watchdog = Watchdog::new();
    let mut input = b"small\n".repeat(2000);
    input.extend(vec![b'x'; 3 << 20]);
    input.push(b'\n');
    input.extend(b"small\n".repeat(2000));
    for memory in [1, 100 << 10] {
        let warm_up = crate::support::WarmUp::default();
        let builder = Pipeline::builder().threads(3).memory(memory);
        let mut out = Vec::new();
        builder
            .build()
            .unwrap()
            .run_each(
                Source::bytes(&input),
                Sink::writer(&mut out),
                |record, out| {
                    warm_up.once();
                    out.keep(record);
                },
            )
            .unwrap();
        assert!(out == input);
    }
}

/// What is said of failing records counts too, be it told later or thrown away.
#[test]
fn texts_of_errors_are_in_flight() {
    const TEXT: usize = 4000;
    let input = b"bad\n".repeat(1000);
    for sequential in [true, false] {
        let builder = Pipeline::builder().threads(2).sequential(sequential);
        let pipeline = builder.on_error(OnError::Skip).chunk_size(1 << 20).build();
        let summary = pipeline
            .unwrap()
            .run_each(Source::bytes(&input), Sink::discard(), |_, _| {
                Err("x".repeat(TEXT))
            })
            .unwrap();
        assert_eq!(summary.skipped, 1000);
        assert!(summary.peak_in_flight >= 1000 * TEXT as u64);
    }
}

/// So do the places of bytes that mean nothing.
#[test]
fn places_of_malformed_bytes_are_in_flight() {
    const MALFORMED: usize = 100_000;
    let mut input = vec![0xFF; MALFORMED];
    input.extend_from_slice(b"\ngood\n");
    for sequential in [true, false] {
        let builder = Pipeline::builder().threads(2).sequential(sequential);
        let builder = builder.on_error(OnError::Skip).chunk_size(1 << 20);
        let pipeline = builder
            .encoding(Encoding::for_label("utf-8").unwrap())
            .build();
        let mut out = Vec::new();
        let summary = pipeline
            .unwrap()
            .run_each(
                Source::bytes(&input),
                Sink::writer(&mut out),
                |record, out| {
                    out.keep(record);
                },
            )
            .unwrap();
        assert_eq!((summary.skipped, &*out), (1, &b"good\n"[..]));
        let least = MALFORMED * (3 + 32);
        assert!(
            summary.peak_in_flight >= least as u64,
            "{}",
            summary.peak_in_flight
        );
    }
}
