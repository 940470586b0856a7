//! Thread pools: the caller's, the global one, and work that uses rayon or another ordered map.

use std::sync::Mutex;

use inorder::InOrder;
use rayon::prelude::*;

use crate::threads::Turn;

/// The work runs on the crate's own workers, and nobody has started the global pool.
#[test]
fn nothing_runs_in_the_global_pool() {
    let turn = Turn::new();
    let work = |x: u64| {
        let thread = std::thread::current();
        assert!(thread.name().unwrap().starts_with("inorder-worker-"));
        assert_eq!(rayon::current_num_threads(), 3);
        (0..x % 100).into_par_iter().sum::<u64>()
    };
    let expected = |x: u64| (0..x % 100).sum::<u64>();
    let ordered = || (0..2000u64).in_order().threads(3);
    assert!(ordered().map(work).eq((0..2000).map(expected)));
    assert!(ordered().map_local(work).eq((0..2000).map(expected)));
    assert!(ordered().scope(work, |results| results.eq((0..2000).map(expected))));
    turn.run_is_over();
    // Fails if there is one. No other test uses it.
    let global = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build_global();
    assert!(global.is_ok(), "{global:?}");
}

/// The pool's only thread takes results and holds a lock that the pool's other jobs want. A run that stole them while
/// it waits would wait for itself.
#[test]
fn safe_inside_a_pool_with_a_lock_held() {
    let turn = Turn::new();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    for round in 0..60 {
        let lock = Mutex::new(0);
        pool.scope(|scope| {
            let guard = lock.lock().unwrap();
            for _ in 0..10 {
                scope.spawn(|_| *lock.lock().unwrap() += 1);
            }
            let ordered = (0..500u64).in_order().threads(2);
            let work = |x| rayon::join(|| x, || x).0;
            let same = match round % 3 {
                0 => ordered.map(work).eq(0..500),
                1 => ordered.map_local(work).eq(0..500),
                _ => ordered.scope(work, |results| results.eq(0..500)),
            };
            assert!(same);
            assert_eq!(*guard, 0, "a job of the pool has run");
        });
        assert_eq!(lock.into_inner().unwrap(), 10);
        turn.run_is_over();
    }
}

/// Work that waits in rayon does other groups meanwhile, one inside another: never more than there are workers.
#[test]
fn work_that_uses_rayon_needs_no_deep_stack() {
    use std::cell::Cell;
    thread_local! {
        static DEPTH: Cell<usize> = const { Cell::new(0) };
    }
    let turn = Turn::new();
    for threads in [1, 2, 7] {
        let results = (0..20_000u64).in_order().threads(threads).map(move |x| {
            let depth = DEPTH.get() + 1;
            assert!(depth <= threads, "{depth} inside one another");
            DEPTH.set(depth);
            let (left, right) = rayon::join(|| x / 2, || x - x / 2);
            DEPTH.set(depth - 1);
            left + right
        });
        assert!(results.eq(0..20_000));
        turn.run_is_over();
    }
}

/// An ordered map inside the work of an ordered map.
#[test]
fn one_inside_another() {
    let turn = Turn::new();
    let results = (0..40u64).in_order().threads(2).map(|x| {
        let inner = (0..x).in_order().threads(2).map(|y| y + 1);
        inner.sum::<u64>()
    });
    assert!(results.eq((0..40u64).map(|x| x * (x + 1) / 2)));
    turn.run_is_over();
}

/// The source of an ordered map is another one's results.
#[test]
fn one_behind_another() {
    let turn = Turn::new();
    let results = (0..30_000u64)
        .in_order()
        .threads(2)
        .map(|x| x * 3)
        .in_order()
        .threads(2)
        .map(|x| x / 3);
    assert!(results.eq(0..30_000));
    turn.run_is_over();
}
