//! Work that waits, that gives the run up, and that reads from descriptors; the pace of records.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use inorder::{
    BoxError, Buffer, Chunk, ChunkError, ErrorKind, Format, OnError, Pipeline, Process, Record,
    Sink, Source,
};

use crate::work::Chunks;

#[test]
fn a_process_that_gives_the_run_up_ends_it_whatever_on_error_says() {
    let pipeline = Pipeline::builder()
        .chunk_records(2)
        .on_error(OnError::Skip)
        .build()
        .unwrap();
    let process = Chunks(|chunk: &Chunk<'_>, out: &mut Buffer| {
        if chunk.first_number() == 5 {
            return Err(ChunkError::Fatal("no more room".into()));
        }
        out.write_all(chunk.bytes()).unwrap();
        Ok(())
    });
    let mut out = Vec::new();
    let input = b"1\n2\n3\n4\n5\n6\n7\n8\n";
    let run = pipeline.run(Source::bytes(input), Sink::writer(&mut out), &process);
    let error = run.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Process);
    assert_eq!(
        error.to_string(),
        "<bytes>: the run was given up, record 5 (line 5, byte 8): no more room"
    );
    assert_eq!(out, b"1\n2\n3\n4\n");
}

#[test]
fn chunks_are_numbered_as_they_are_written() {
    for sequential in [false, true] {
        let builder = Pipeline::builder().chunk_size(1).sequential(sequential);
        let pipeline = builder.build().unwrap();
        let process = Chunks(|chunk: &Chunk<'_>, out: &mut Buffer| {
            writeln!(out, "{}", chunk.seq()).unwrap();
            Ok(())
        });
        let mut out = Vec::new();
        let source = Source::bytes(b"a\nb\n").then(Source::bytes(b"c\n"));
        let run = pipeline.run(source, Sink::writer(&mut out), &process);
        run.unwrap();
        assert_eq!(out, b"0\n1\n2\n");
    }
}

#[test]
fn the_header_is_asked_for_where_none_is_written() {
    struct Headers(std::sync::atomic::AtomicUsize);
    impl Process for Headers {
        type State = ();
        fn start(&self) -> Result<(), BoxError> {
            Ok(())
        }
        fn header(&self, header: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            out.keep(header);
            Ok(())
        }
        fn record(
            &self,
            (): &mut (),
            record: &Record<'_>,
            out: &mut Buffer,
        ) -> Result<(), BoxError> {
            out.keep(record);
            Ok(())
        }
    }
    let builder = Pipeline::builder()
        .format(Format::csv())
        .output_header(false);
    let process = Headers(0.into());
    let mut out = Vec::new();
    let source = Source::bytes(b"\xEF\xBB\xBFa,b\n1,2\n");
    let run = builder
        .build()
        .unwrap()
        .run(source, Sink::writer(&mut out), &process);
    run.unwrap();
    assert_eq!((out.as_slice(), process.0.into_inner()), (&b"1,2\n"[..], 1));
}

#[test]
fn a_rate_holds_records_back() {
    let input = b"x\n".repeat(50);
    for sequential in [false, true] {
        let pipeline = Pipeline::builder()
            .rate(100, Duration::from_secs(1))
            .chunk_records(1)
            .sequential(sequential)
            .build()
            .unwrap();
        let start = Instant::now();
        let mut out = Vec::new();
        let run = pipeline.run_each(
            Source::bytes(&input),
            Sink::writer(&mut out),
            |record, out| {
                out.keep(record);
            },
        );
        assert_eq!(run.unwrap().records, 50);
        assert_eq!(out, input);
        assert!(start.elapsed() >= Duration::from_millis(480));
    }
    let refused = Pipeline::builder().rate(0, Duration::from_secs(1)).build();
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Config);
}

#[test]
fn a_stop_ends_the_wait_for_the_next_records() {
    let pipeline = Pipeline::builder()
        .rate(1, Duration::from_secs(1000))
        .build()
        .unwrap();
    let stop = pipeline.stop_handle();
    let start = Instant::now();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        stop.drain();
    });
    let mut out = Vec::new();
    let run = pipeline.run_each(
        Source::bytes(b"1\n2\n"),
        Sink::writer(&mut out),
        |record, out| {
            out.keep(record);
        },
    );
    assert_eq!(run.unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(out, b"1\n");
    assert!(start.elapsed() < Duration::from_secs(100));
}

#[cfg(unix)]
mod descriptors {
    use super::*;
    use std::io::PipeWriter;
    use std::os::fd::{AsFd, BorrowedFd};

    use inorder::StopHandle;
    use rustix::event::{PollFd, PollFlags, poll};

    /// Waits for what ends a wait, and nothing else.
    fn wait(chunk: &Chunk<'_>) -> Result<(), ChunkError> {
        let interrupts = chunk.interrupts().unwrap();
        let mut fds = vec![PollFd::from_borrowed_fd(interrupts.stop, PollFlags::IN)];
        let output: Option<BorrowedFd<'_>> = interrupts.output;
        fds.extend(output.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::empty())));
        poll(&mut fds, None).unwrap();
        Err(ChunkError::Stopped)
    }

    #[test]
    fn an_abort_and_a_failure_end_the_waits_of_the_work() {
        for fails in [false, true] {
            let pipeline = Pipeline::builder()
                .threads(4)
                .chunk_size(1)
                .build()
                .unwrap();
            let stop = pipeline.stop_handle();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                if !fails {
                    stop.abort();
                }
            });
            let process = Chunks(move |chunk: &Chunk<'_>, _: &mut Buffer| {
                if fails && chunk.seq() == 0 {
                    std::thread::sleep(Duration::from_millis(50));
                    return Err(ChunkError::Whole("bad".into()));
                }
                wait(chunk)
            });
            let mut out = Vec::new();
            let run = pipeline.run(
                Source::bytes(b"1\n2\n3\n"),
                Sink::writer(&mut out),
                &process,
            );
            let stopped = run.unwrap_err().kind() == ErrorKind::Stopped;
            assert_eq!(stopped, !fails);
        }
    }

    /// Waits at the header.
    struct Waits(StopHandle);

    impl Process for Waits {
        type State = ();

        fn start(&self) -> Result<(), BoxError> {
            Ok(())
        }

        fn header(&self, _: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
            let interrupts = self.0.interrupts().unwrap();
            let mut fds = [PollFd::from_borrowed_fd(interrupts.stop, PollFlags::IN)];
            poll(&mut fds, None).unwrap();
            assert!(self.0.is_aborted());
            Err("stopped".into())
        }

        fn record(&self, (): &mut (), _: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
            unreachable!("the header is not done")
        }
    }

    #[test]
    fn one_handle_ends_several_runs_and_their_waits_at_the_header() {
        let stop = StopHandle::default();
        let run = || {
            let builder = Pipeline::builder().format(Format::csv()).threads(2);
            let pipeline = builder.stop_handle(stop.clone()).build().unwrap();
            let process = Waits(stop.clone());
            let run = pipeline.run(Source::bytes(b"a\n1\n"), Sink::discard(), &process);
            run.unwrap_err().kind()
        };
        std::thread::scope(|scope| {
            let runs = [scope.spawn(run), scope.spawn(run)];
            std::thread::sleep(Duration::from_millis(50));
            assert!(!stop.is_aborted());
            stop.abort();
            for run in runs {
                assert_eq!(run.join().unwrap(), ErrorKind::Stopped);
            }
        });
    }

    #[test]
    fn what_is_read_from_a_descriptor_is_written_whole() {
        let sent = sent_bytes();
        for memory in [1 << 20, 64 << 20] {
            let pipeline = Pipeline::builder().memory(memory).build().unwrap();
            let process = Chunks(|_: &Chunk<'_>, out: &mut Buffer| {
                let (reader, mut writer): (_, PipeWriter) = std::io::pipe().unwrap();
                std::thread::scope(|scope| {
                    scope.spawn(move || writer.write_all(&sent_bytes()).unwrap());
                    assert_eq!(out.last_byte(), None);
                    let mut total = 0;
                    loop {
                        match out.read_from(reader.as_fd()).unwrap() {
                            0 => break,
                            n => total += n,
                        }
                        assert_eq!(out.last_byte(), Some(((total - 1) % 251) as u8));
                    }
                });
                Ok(())
            });
            let mut out = Vec::new();
            let run = pipeline.run(Source::bytes(b"1\n"), Sink::writer(&mut out), &process);
            run.unwrap();
            assert!(out == sent);
        }
    }

    fn sent_bytes() -> Vec<u8> {
        (0..5_000_000u32).map(|i| (i % 251) as u8).collect()
    }
}

#[test]
fn the_last_byte_is_that_of_what_was_written_last() {
    let long = "x".repeat(5000);
    let input = format!("{long}a\n{long}b\n1\n{long}c\n");
    let pipeline = Pipeline::builder().build().unwrap();
    let process = Chunks(|chunk: &Chunk<'_>, out: &mut Buffer| {
        chunk.each(out, |record, out| {
            out.keep(record);
            assert_eq!(out.last_byte(), Some(b'\n'));
            if record.bytes() == b"1" {
                out.write_all(b"!").unwrap();
                assert_eq!(out.last_byte(), Some(b'!'));
            }
            Ok(())
        })
    });
    let mut out = Vec::new();
    let run = pipeline.run(
        Source::bytes(input.as_bytes()),
        Sink::writer(&mut out),
        &process,
    );
    run.unwrap();
}

/// A byte at a time, and a while before each.
struct Slow(u8);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        thread::sleep(Duration::from_millis(1));
        self.0 = self.0.saturating_sub(1);
        buffer[..2].copy_from_slice(b"a\n");
        Ok(if self.0 == 0 { 0 } else { 2 })
    }
}

#[test]
fn a_run_that_reads_for_long_gets_threads_though_its_work_is_short() {
    for (threads, gets_threads) in [(2, true), (1, false)] {
        let on_workers = AtomicU64::new(0);
        let pipeline = Pipeline::builder().threads(threads).build().unwrap();
        let mut out = Vec::new();
        let source = Source::reader(Slow(30));
        pipeline
            .run_each(source, Sink::writer(&mut out), |record, out| {
                let thread = thread::current();
                let is_worker = thread
                    .name()
                    .is_some_and(|name| name.starts_with("inorder-worker"));
                on_workers.fetch_add(is_worker.into(), Ordering::Relaxed);
                out.keep(record);
            })
            .unwrap();
        assert_eq!(out, b"a\n".repeat(29));
        assert_eq!(on_workers.into_inner() > 0, gets_threads);
    }
}
