//! How much is in flight when one item holds up all others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use inorder::InOrder;

use crate::threads::Turn;

/// Counts what is alive of it.
struct Counted(Arc<AtomicUsize>, u64);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>, index: u64) -> Counted {
        alive.fetch_add(1, Ordering::SeqCst);
        Counted(Arc::clone(alive), index)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// Waits until this holds.
fn wait_until(holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it never holds");
        sleep(Duration::from_micros(100));
    }
}

/// One item takes a thousand times as long as the rest: the others go on until the window is full, and no further.
#[test]
fn a_slow_item_costs_no_more_than_the_window() {
    let _turn = Turn::new();
    for (window, threads) in [(16, 2), (100, 4), (1000, 2)] {
        let alive = Arc::new(AtomicUsize::new(0));
        let (counted, seen) = (Arc::clone(&alive), Arc::clone(&alive));
        let most = Arc::new(AtomicUsize::new(0));
        let highest = Arc::clone(&most);
        let source = (0..5000u64).map(move |index| Counted::new(&counted, index));
        let results = source
            .in_order()
            .threads(threads)
            .window(window)
            .map(move |item| {
                // By then groups have grown.
                if item.1 == 400 {
                    sleep(Duration::from_millis(20));
                    wait_until(|| seen.load(Ordering::SeqCst) >= window * 3 / 4);
                } else {
                    sleep(Duration::from_micros(20));
                }
                highest.fetch_max(seen.load(Ordering::SeqCst), Ordering::SeqCst);
                item
            });
        for (index, item) in (0..).zip(results.take(3000)) {
            assert_eq!(item.1, index);
        }
        let most = most.load(Ordering::SeqCst);
        assert!(most <= window, "{most} alive in a window of {window}");
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    }
}

/// While the first item is at work, the rest of the window is worked on, in every way to map.
#[test]
fn the_window_is_used() {
    let turn = Turn::new();
    for window in [2, 3, 10, 64, 999] {
        let done = Arc::new(AtomicUsize::new(0));
        let work = {
            let done = Arc::clone(&done);
            move |index: usize| {
                if index == 0 {
                    wait_until(|| done.load(Ordering::SeqCst) == window - 1);
                } else {
                    done.fetch_add(1, Ordering::SeqCst);
                }
                index
            }
        };
        let ordered = || (0..2000usize).in_order().threads(2).window(window);
        assert_eq!(ordered().map(work.clone()).next(), Some(0));
        done.store(0, Ordering::SeqCst);
        assert_eq!(ordered().map_local(work.clone()).next(), Some(0));
        done.store(0, Ordering::SeqCst);
        assert_eq!(
            ordered().scope(&work, |mut results| results.next()),
            Some(0)
        );
        turn.run_is_over();
    }
}

/// As many items as fit the limit are in flight, and not one more, the one that was pulled last aside.
#[test]
fn the_limit_is_used() {
    let turn = Turn::new();
    for (weight, limit, fit) in [
        (10, 100, 10),
        (30, 100, 3),
        (51, 100, 1),
        (500, 100, 1),
        (1, 7, 7),
    ] {
        let pulled = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&pulled);
        let source = (0..100usize).inspect(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let (release, held) = channel::<()>();
        let held = Mutex::new(held);
        let mut results = source
            .in_order()
            .threads(2)
            .weigh(move |_| weight)
            .memory(limit)
            .map(move |index| {
                if index == 0 {
                    held.lock().unwrap().recv().unwrap();
                }
                index
            });
        let first = std::thread::scope(|scope| {
            let first = scope.spawn(|| results.next());
            wait_until(|| pulled.load(Ordering::SeqCst) >= fit);
            sleep(Duration::from_millis(2));
            let pulled = pulled.load(Ordering::SeqCst);
            assert!(pulled <= fit + 1, "{pulled} items of {weight} in {limit}");
            release.send(()).unwrap();
            first.join().unwrap()
        });
        assert_eq!(first, Some(0));
        assert!(results.eq(1..100));
        turn.run_is_over();
    }
}

/// Without a weight of its own, an item weighs its size.
#[test]
fn memory_alone_weighs_by_size() {
    let _turn = Turn::new();
    let alive = Arc::new(AtomicUsize::new(0));
    let (counted, seen) = (Arc::clone(&alive), Arc::clone(&alive));
    let source = (0..500).map(move |index| Counted::new(&counted, index));
    let fit = 8;
    let results = source
        .in_order()
        .threads(4)
        .memory(fit * size_of::<Counted>())
        .map(move |item| (seen.load(Ordering::SeqCst), item));
    for (alive, _item) in results {
        assert!(alive <= fit + 1, "{alive} alive");
    }
}
