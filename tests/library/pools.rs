//! Other thread pools: work that uses rayon itself, and runs that are started inside a pool, under a lock.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use inorder::{Pipeline, Sink, Source};
use rayon::prelude::*;

use crate::support::{WarmUp, Watchdog, cases};

/// How often a small run is repeated: 100 times, or 1,000 if many cases are asked for.
fn runs() -> usize {
    match cases() {
        Some(cases) if cases >= 1000 => 1000,
        _ => 100,
    }
}

/// How many calls of the work are under way on this thread, and the address of the outermost one's frame.
fn nested<R>(deepest: &AtomicUsize, frames: &AtomicUsize, work: impl FnOnce() -> R) -> R {
    thread_local! {
        static DEPTH: Cell<usize> = const { Cell::new(0) };
        static OUTERMOST: Cell<usize> = const { Cell::new(0) };
    }
    let frame = 0u8;
    let address = &raw const frame as usize;
    let depth = DEPTH.get() + 1;
    DEPTH.set(depth);
    if depth == 1 {
        OUTERMOST.set(address);
    }
    deepest.fetch_max(depth, Ordering::Relaxed);
    frames.fetch_max(OUTERMOST.get().abs_diff(address), Ordering::Relaxed);
    let result = work();
    DEPTH.set(depth - 1);
    result
}

/// Runs work that uses rayon in every record, each a chunk.
fn uses_rayon(threads: usize, chunks: usize) {
    let input = b"0123456789\n".repeat(chunks);
    let (deepest, frames) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let warm_up = WarmUp::default();
    let builder = Pipeline::builder().threads(threads).chunk_records(1);
    let mut out = Vec::new();
    let summary = builder
        .build()
        .unwrap()
        .run_each(
            Source::bytes(&input),
            Sink::writer(&mut out),
            |record, out| {
                nested(&deepest, &frames, || {
                    warm_up.once();
                    let digits = record.bytes();
                    let (left, right) = digits.split_at(digits.len() / 2);
                    let sum =
                        |digits: &[u8]| -> u64 { digits.iter().map(|d| u64::from(d - b'0')).sum() };
                    let (left, right) = rayon::join(|| sum(left), || sum(right));
                    let all: u64 = digits.par_iter().map(|d| u64::from(d - b'0')).sum();
                    assert_eq!(left + right, all);
                    out.line(all.to_string().as_bytes());
                });
            },
        )
        .unwrap();
    assert_eq!(summary.chunks, chunks as u64);
    assert_eq!(out, b"45\n".repeat(chunks));
    // Only chunks that were started can be stolen while one waits.
    let deepest = deepest.into_inner();
    assert!(deepest <= threads, "{deepest} chunks inside one another");
    let frames = frames.into_inner();
    assert!(frames < threads << 16, "{frames} bytes of stack");
}

#[test]
fn work_may_use_rayon_in_every_record() {
    let watchdog = Watchdog::new();
    for _ in 0..runs() {
        watchdog.feed();
        uses_rayon(1, 100);
        uses_rayon(3, 100);
    }
}

#[test]
fn twenty_thousand_chunks_that_use_rayon_need_no_deep_stack() {
    let watchdog = Watchdog::new();
    uses_rayon(1, 20_000);
    watchdog.feed();
    uses_rayon(4, 20_000);
}

#[test]
#[ignore = "long: 1,000 runs of 20,000 chunks"]
fn twenty_thousand_chunks_that_use_rayon_a_thousand_times() {
    let watchdog = Watchdog::new();
    for _ in 0..1000 {
        watchdog.feed();
        uses_rayon(1, 20_000);
    }
}

/// The pool's only thread calls `run` and holds a lock that the pool's other jobs want. A run that stole them while it
/// waits would wait for itself.
#[test]
fn a_run_inside_a_pool_takes_none_of_its_jobs() {
    let watchdog = Watchdog::new();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let input = b"some\nlines\n".repeat(20);
    for _ in 0..runs() {
        watchdog.feed();
        let lock = Mutex::new(0);
        pool.scope(|scope| {
            let guard = lock.lock().unwrap();
            for _ in 0..10 {
                scope.spawn(|_| *lock.lock().unwrap() += 1);
            }
            let warm_up = WarmUp::default();
            let builder = Pipeline::builder().threads(1).chunk_size(16);
            let mut out = Vec::new();
            builder
                .build()
                .unwrap()
                .run_each(
                    Source::bytes(&input),
                    Sink::writer(&mut out),
                    |record, out| {
                        warm_up.once();
                        let (kept, _) = rayon::join(|| record.raw(), || ());
                        out.line(kept.trim_ascii());
                    },
                )
                .unwrap();
            assert_eq!(out, input);
            assert_eq!(*guard, 0, "a job of the pool has run");
        });
        assert_eq!(lock.into_inner().unwrap(), 10);
    }
}

/// Work may hold a lock while it uses rayon only if it takes it on the pool's own terms; a plain lock in the work is fine.
#[test]
fn work_may_take_a_lock() {
    let watchdog = Watchdog::new();
    let input = b"some\nlines\n".repeat(50);
    for _ in 0..runs() {
        watchdog.feed();
        let lock = Mutex::new(0);
        let warm_up = WarmUp::default();
        let builder = Pipeline::builder().threads(4).chunk_size(16);
        builder
            .build()
            .unwrap()
            .run_each(Source::bytes(&input), Sink::discard(), |_, _| {
                warm_up.once();
                *lock.lock().unwrap() += 1;
            })
            .unwrap();
        assert_eq!(lock.into_inner().unwrap(), 100);
    }
}

/// A run inside the work of a run, on the same pipeline.
#[test]
fn a_run_inside_the_work_of_a_run() {
    let _watchdog = Watchdog::new();
    let pipeline = Pipeline::builder()
        .threads(2)
        .chunk_size(1)
        .build()
        .unwrap();
    let mut out = Vec::new();
    let outer = pipeline.run_each(
        Source::bytes(b"a\nb\nc\nd\n"),
        Sink::writer(&mut out),
        |record, out| {
            let warm_up = WarmUp::default();
            let input = record.raw().repeat(3);
            pipeline
                .run_each(Source::bytes(&input), Sink::writer(out), |record, out| {
                    warm_up.once();
                    out.keep(record);
                })
                .map(drop)
        },
    );
    assert_eq!(outer.unwrap().records, 4);
    assert_eq!(out, b"a\na\na\nb\nb\nb\nc\nc\nc\nd\nd\nd\n");
}
