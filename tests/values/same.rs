//! Every way to map gives what `Iterator::map` gives, within the bounds, for random data, delays and settings.

use std::rc::Rc;

use inorder::InOrder;
use proptest::prelude::*;

use crate::random::{Books, Item, Run, runs};
use crate::support::check;
use crate::threads::Turn;

/// Runs random cases; `map` takes all results of one.
fn same(map: impl Fn(&Run, &Books)) {
    let turn = Turn::new();
    check(300, &runs(400), |run| {
        let books = Books::new(&run);
        map(&run, &books);
        books.check_end();
        turn.run_is_over();
    });
}

/// Takes all results, each in its turn.
fn take_all(books: &Books, results: impl Iterator<Item = Item>) {
    for (index, item) in (0..).zip(results) {
        books.take(&item, index);
    }
}

#[test]
fn map() {
    same(|run, books| {
        let work = run.clone();
        let results = run
            .settings(books.source())
            .map(move |item| work.work(item));
        take_all(books, results);
    });
}

#[test]
fn try_map_without_an_error() {
    same(|run, books| {
        let work = run.clone();
        let results = run
            .settings(books.source())
            .try_map(move |item| Ok::<_, ()>(work.work(item)));
        take_all(books, results.map(Result::unwrap));
    });
}

#[test]
fn map_local_with_a_source_that_cannot_be_sent() {
    same(|run, books| {
        let (work, local) = (run.clone(), Rc::new(()));
        let source = books.source().inspect(move |_| drop(Rc::clone(&local)));
        let results = run.settings(source).map_local(move |item| work.work(item));
        take_all(books, results);
    });
}

#[test]
fn scope_with_borrowed_work() {
    same(|run, books| {
        run.settings(books.source())
            .scope(|item| run.work(item), |results| take_all(books, results));
    });
}

#[test]
fn for_each_with_borrowed_work() {
    same(|run, books| {
        let mut index = 0;
        run.settings(books.source()).for_each(
            |item| run.work(item),
            |item| {
                books.take(&item, index);
                index += 1;
            },
        );
    });
}

/// The first error ends the results; what was in the window may have been worked on, the rest is neither pulled nor worked on.
#[test]
fn try_map_ends_at_the_first_error() {
    let turn = Turn::new();
    let errors = prop::collection::vec(0u64..500, 1..4);
    check(300, &(runs(400), errors), |(run, errors)| {
        let books = Books::new(&run);
        let (work, failing) = (run.clone(), errors.clone());
        let results = run.settings(books.endless()).try_map(move |item| {
            let item = work.work(item);
            if failing.contains(&item.index) {
                return Err(item.index);
            }
            Ok(item)
        });
        let first = errors.into_iter().min().unwrap();
        let mut error = None;
        for (index, result) in (0..).zip(results) {
            assert_eq!(error, None, "results behind an error");
            match result {
                Ok(item) => books.take(&item, index),
                Err(index) => error = Some(index),
            }
        }
        assert_eq!(error, Some(first));
        assert!(books.sums().pulled <= first + run.window() as u64);
        books.check_dropped();
        turn.run_is_over();
    });
}

/// Plain values, many of them, in the default settings: groups grow and shrink.
#[test]
fn many_quick_items() {
    let turn = Turn::new();
    for threads in [0, 1, 2, 3, 7, 64] {
        let results = (0..200_000u64).in_order().threads(threads).map(|x| x * 3);
        assert!(results.eq((0..200_000).map(|x| x * 3)));
        let results = (0..200_000u64)
            .in_order()
            .threads(threads)
            .map_local(|x| x * 3);
        assert!(results.eq((0..200_000).map(|x| x * 3)));
        turn.run_is_over();
    }
}

#[test]
fn no_bounds() {
    let turn = Turn::new();
    let ordered = || {
        let ordered = (0..10_000u64).in_order().threads(2);
        ordered.window(usize::MAX).memory(usize::MAX)
    };
    assert!(ordered().map(|x| x).eq(0..10_000));
    assert!(ordered().map_local(|x| x).eq(0..10_000));
    assert!(ordered().weigh(|_| usize::MAX).map(|x| x).eq(0..10_000));
    turn.run_is_over();
}

#[test]
fn no_items() {
    let turn = Turn::new();
    assert_eq!(std::iter::empty::<u8>().in_order().map(|x| x).next(), None);
    assert_eq!(
        std::iter::empty::<u8>().in_order().map_local(|x| x).next(),
        None
    );
    assert_eq!(
        std::iter::empty::<u8>()
            .in_order()
            .scope(|x| x, |results| results.count()),
        0
    );
    turn.run_is_over();
}

/// Like a fused iterator, whatever the source does after its end.
#[test]
fn the_end_is_the_end() {
    let _turn = Turn::new();
    let mut calls = 0;
    let odd = std::iter::from_fn(move || {
        calls += 1;
        (calls % 4 != 0).then_some(calls)
    });
    let mut results = odd.in_order().map(|x| x);
    assert_eq!(results.by_ref().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!((results.next(), results.next()), (None, None));
}

/// Nothing is pulled, no thread is started, before the first result is asked for.
#[test]
fn lazy() {
    let turn = Turn::new();
    let source = std::iter::from_fn(|| -> Option<u8> { unreachable!("nobody asked") });
    let map = source.clone().in_order().map(|x| x);
    let local = source.in_order().map_local(|x| x);
    turn.run_is_over();
    drop((map, local));
}
