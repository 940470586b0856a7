//! What flows, and when: results come as soon as their turn has, whatever source, work and consumer wait for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use inorder::InOrder;

use crate::threads::Turn;

/// A source that blocks after three items: their results come out all the same.
#[test]
fn results_do_not_wait_for_the_source() {
    let turn = Turn::new();
    for threads in [1, 2, 7] {
        let (sender, source) = channel();
        let mut results = source
            .into_iter()
            .in_order()
            .threads(threads)
            .map(|x: u32| x * 2);
        for round in 0..20 {
            for x in 0..3 {
                sender.send(round + x).unwrap();
            }
            for x in 0..3 {
                assert_eq!(results.next(), Some((round + x) * 2));
            }
        }
        drop(sender);
        assert_eq!(results.next(), None);
        turn.run_is_over();
    }
}

/// The same where each result brings about the next item.
#[test]
fn the_source_may_wait_for_the_results() {
    let _turn = Turn::new();
    let (sender, source) = channel();
    sender.send(1u64).unwrap();
    let mut results = source
        .into_iter()
        .in_order()
        .threads(3)
        .try_map(|x| match x {
            1000.. => Err(x),
            _ => Ok(x),
        });
    let mut last = 0;
    // The error comes although the source still waits; it ends when its sender is dropped.
    while let Some(Ok(x)) = results.next() {
        last = x;
        sender.send(x + 1).unwrap();
    }
    assert_eq!(last, 999);
    drop(sender);
    assert_eq!(results.next(), None);
}

#[test]
fn endless_sources() {
    let turn = Turn::new();
    let found = (0u64..)
        .in_order()
        .threads(2)
        .map(|x| x * x)
        .find(|x| *x > 1_000_000);
    assert_eq!(found, Some(1001 * 1001));
    let found = (0u64..)
        .in_order()
        .threads(2)
        .map_local(|x| x * x)
        .find(|x| *x > 1_000_000);
    assert_eq!(found, Some(1001 * 1001));
    let found = (0u64..)
        .in_order()
        .threads(2)
        .scope(|x| x * x, |mut squares| squares.find(|x| *x > 1_000_000));
    assert_eq!(found, Some(1001 * 1001));
    turn.run_is_over();
}

/// Two items are at work at once as soon as there are two; each waits for the other.
#[test]
fn no_item_waits_while_a_worker_is_free() {
    let turn = Turn::new();
    for threads in [2, 3, 7] {
        let barrier = Arc::new(Barrier::new(threads));
        let count = 60 * threads;
        // Two windows' worth of single items.
        let ordered = || (0..count).in_order().threads(threads).window(threads);
        let work = |barrier: &Arc<Barrier>| {
            let barrier = Arc::clone(barrier);
            move |x| {
                barrier.wait();
                x
            }
        };
        assert!(ordered().map(work(&barrier)).eq(0..count));
        assert!(ordered().map_local(work(&barrier)).eq(0..count));
        assert!(ordered().scope(work(&barrier), |results| results.eq(0..count)));
        turn.run_is_over();
    }
}

/// In a window of fewer than four items a thread there are no groups, so work may wait for the result before it.
#[test]
fn work_may_wait_for_an_earlier_result_in_a_small_window() {
    let turn = Turn::new();
    for (threads, window) in [(2, 2), (2, 7), (7, 27), (3, 11)] {
        let taken = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&taken);
        let results = (0..300u64)
            .in_order()
            .threads(threads)
            .window(window)
            .map(move |x| {
                while seen.load(Ordering::SeqCst) + 1 < x {
                    std::thread::yield_now();
                }
                x
            });
        for x in results {
            taken.store(x, Ordering::SeqCst);
        }
        turn.run_is_over();
    }
}

/// When quick items are followed by slow ones, a worker that has taken many of them does not keep its results for itself.
#[test]
fn a_group_that_takes_too_long_gives_out_its_results_one_by_one() {
    let turn = Turn::new();
    const QUICK: u64 = 100_000;
    for threads in [1, 2] {
        let work = |x: u64| {
            if x >= QUICK {
                std::thread::sleep(Duration::from_millis(2));
            }
            x
        };
        let mut results = (0u64..).in_order().threads(threads).map(work);
        assert!(results.by_ref().take(QUICK as usize).eq(0..QUICK));
        let begun = Instant::now();
        assert_eq!(results.next(), Some(QUICK));
        let waited = begun.elapsed();
        assert!(waited < Duration::from_millis(700), "{waited:?}");
        assert!(results.by_ref().take(100).eq(QUICK + 1..QUICK + 101));
        drop(results);
        turn.run_is_over();
    }
}

/// A consumer that is slow holds the source up, and gets everything.
#[test]
fn a_slow_consumer() {
    let _turn = Turn::new();
    let pulled = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&pulled);
    let source = (0..200u64).inspect(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    for x in source.in_order().threads(2).window(10).map(|x| x) {
        std::thread::sleep(Duration::from_micros(200));
        assert!(pulled.load(Ordering::SeqCst) <= x + 10);
    }
}

/// The results can be moved to another thread, and dropped there.
#[test]
fn results_may_be_taken_elsewhere() {
    let turn = Turn::new();
    let mut results = (0..1000).in_order().threads(2).map(|x| x);
    assert_eq!(results.next(), Some(0));
    std::thread::spawn(move || assert!(results.eq(1..1000)))
        .join()
        .unwrap();
    turn.run_is_over();
}
