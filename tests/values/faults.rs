//! Drops and panics at random places: out of the `next` whose turn it is, and never a hang, an abort, a thread or an item left.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use inorder::InOrder;
use proptest::prelude::*;

use crate::random::{Run, runs};
use crate::support::{PLANNED, check};
use crate::threads::Turn;

/// What goes wrong, and at which item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Work(u64),
    Source(u64),
    Weigh(u64),
    Consumer(u64),
    /// The results are dropped when so many were taken.
    Drop(u64),
}

#[derive(Debug, Clone, Copy)]
enum Way {
    Map,
    TryMap,
    Local,
    Scope,
}

#[derive(Debug, Clone)]
struct Case {
    run: Run,
    way: Way,
    fault: Fault,
    /// Each so manyth item panics when it is dropped by others than work and consumer.
    bombs: Option<u64>,
}

fn cases() -> impl Strategy<Value = Case> {
    let way = prop::sample::select(vec![Way::Map, Way::TryMap, Way::Local, Way::Scope]);
    let fault = (0..5, 0u64..250).prop_map(|(kind, at)| match kind {
        0 => Fault::Work(at),
        1 => Fault::Source(at),
        2 => Fault::Weigh(at),
        3 => Fault::Consumer(at),
        _ => Fault::Drop(at),
    });
    let bombs = prop::option::of(1u64..20);
    (runs(300), way, fault, bombs).prop_map(|(run, way, fault, bombs)| Case {
        run,
        way,
        fault,
        bombs,
    })
}

/// An item, and its own result.
struct Item {
    index: u64,
    weight: usize,
    bomb: bool,
    /// Not in the hands of work or consumer.
    armed: bool,
    alive: Arc<AtomicUsize>,
}

impl Drop for Item {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
        if self.bomb && self.armed {
            panic!("{PLANNED}: item {} goes off", self.index);
        }
    }
}

fn fail(what: Fault) -> ! {
    panic!("{PLANNED}: {what:?}");
}

impl Case {
    fn run(&self) {
        let alive = Arc::new(AtomicUsize::new(0));
        let ended = catch_unwind(AssertUnwindSafe(|| self.map(&alive)));
        match (ended, self.fault) {
            (Ok(()), _) => {}
            (Err(payload), Fault::Consumer(_)) => self.is_planned(&*payload),
            (Err(payload), _) => std::panic::resume_unwind(payload),
        }
        assert_eq!(
            alive.load(Ordering::SeqCst),
            0,
            "items that were never dropped"
        );
    }

    fn map(&self, alive: &Arc<AtomicUsize>) {
        let (case, alive) = (self.clone(), Arc::clone(alive));
        let source = (0..self.run.items).map(move |index| {
            case.run.delay("source", index, case.run.slow.source);
            if case.fault == Fault::Source(index) {
                fail(case.fault);
            }
            alive.fetch_add(1, Ordering::SeqCst);
            Item {
                index,
                weight: case.run.weight(index),
                bomb: case.bombs.is_some_and(|every| index.is_multiple_of(every)),
                armed: true,
                alive: Arc::clone(&alive),
            }
        });
        let fault = self.fault;
        let ordered = source
            .in_order()
            .threads(self.run.threads)
            .window(self.run.window)
            .memory(self.run.limit.unwrap_or(usize::MAX))
            .weigh(move |item| {
                if fault == Fault::Weigh(item.index) {
                    fail(fault);
                }
                item.weight
            });
        let case = self.clone();
        let work = move |mut item: Item| {
            item.armed = false;
            case.run.delay("work", item.index, case.run.slow.work);
            if case.fault == Fault::Work(item.index) {
                fail(case.fault);
            }
            item.armed = true;
            item
        };
        match self.way {
            Way::Map => self.consume(&mut ordered.map(work)),
            Way::TryMap => {
                let mut results = ordered.try_map(move |item| Ok::<_, ()>(work(item)));
                self.consume(&mut results.by_ref().map(Result::unwrap));
            }
            Way::Local => self.consume(&mut ordered.map_local(work)),
            Way::Scope => ordered.scope(work, |mut results| self.consume(&mut results)),
        }
    }

    fn consume(&self, results: &mut dyn Iterator<Item = Item>) {
        for index in 0.. {
            if self.fault == Fault::Drop(index) {
                return;
            }
            match catch_unwind(AssertUnwindSafe(|| results.next())) {
                Ok(Some(mut item)) => {
                    item.armed = false;
                    assert_eq!(item.index, index);
                    self.run.delay("consumer", index, self.run.slow.consumer);
                    if self.fault == Fault::Consumer(index) {
                        fail(self.fault);
                    }
                }
                Ok(None) => {
                    assert_eq!(index, self.run.items, "the results end too early");
                    assert!(results.next().is_none());
                    return;
                }
                Err(payload) => {
                    self.is_planned(&*payload);
                    let (Fault::Work(at) | Fault::Source(at) | Fault::Weigh(at)) = self.fault
                    else {
                        unreachable!("{:?} does not panic in next", self.fault);
                    };
                    assert_eq!(index, at, "out of its turn");
                    assert!(results.next().is_none(), "the panic is the end");
                    return;
                }
            }
        }
    }

    fn is_planned(&self, payload: &(dyn std::any::Any + Send)) {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        assert_eq!(text, Some(&*format!("{PLANNED}: {:?}", self.fault)));
    }
}

#[test]
fn faults_at_random_places() {
    let turn = Turn::new();
    check(300, &cases(), |case| {
        case.run();
        turn.run_is_over();
    });
}

/// A panic waits for its turn, and then does not wait for the source.
#[test]
fn a_panic_does_not_wait_for_the_source() {
    let turn = Turn::new();
    let (sender, source) = channel();
    for x in 0..5 {
        sender.send(x).unwrap();
    }
    let mut results = source.into_iter().in_order().threads(2).map(|x| {
        if x == 3 {
            fail(Fault::Work(3));
        }
        x
    });
    for x in 0..3 {
        assert_eq!(results.next(), Some(x));
    }
    assert!(catch_unwind(AssertUnwindSafe(|| results.next())).is_err());
    // The source ends with its sender, and only then can the thread that pulls it.
    drop(sender);
    drop(results);
    turn.run_is_over();
}

/// After a panic or an error nothing more is begun.
#[test]
fn the_rest_is_not_worked_on() {
    let turn = Turn::new();
    for round in 0..100 {
        let begun = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&begun);
        let (panics, window) = (round % 2 == 0, 100);
        let work = move |x: u64| {
            count.fetch_add(1, Ordering::SeqCst);
            match x {
                500 if panics => fail(Fault::Work(500)),
                500 => Err(()),
                _ => Ok(x),
            }
        };
        let mut results = (0u64..).in_order().threads(2).window(window).try_map(work);
        assert!(results.by_ref().take(500).all(|result| result.is_ok()));
        let ended = catch_unwind(AssertUnwindSafe(|| results.next()));
        assert_eq!(ended.is_err(), panics);
        let at_the_end = begun.load(Ordering::SeqCst);
        assert!(at_the_end <= 500 + window, "{at_the_end} items begun");
        drop(results);
        turn.run_is_over();
        // One that was at hand in each worker.
        assert!(begun.load(Ordering::SeqCst) <= at_the_end + 2);
    }
}

/// The body of a scope panics, with results left and without.
#[test]
fn the_body_of_a_scope_panics() {
    let turn = Turn::new();
    for take in [0, 1, 100, 1000] {
        let ended = catch_unwind(|| {
            (0..1000).in_order().threads(2).scope(
                |x| x,
                |results| -> () {
                    let _taken: Vec<i32> = results.take(take).collect();
                    fail(Fault::Consumer(take as u64));
                },
            )
        });
        assert!(ended.is_err());
        turn.run_is_over();
    }
}

/// What the results were to come from, or go to, panics when it is dropped.
#[test]
fn drops_that_panic_at_the_end() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("{PLANNED}: a drop");
        }
    }
    let turn = Turn::new();
    for take in [1, 50, 100] {
        let source = || {
            let bomb = Bomb;
            (0..100).inspect(move |_| {
                let _ = &bomb;
            })
        };
        assert_eq!(
            source().in_order().threads(2).map(|x| x).take(take).count(),
            take
        );
        assert_eq!(
            source()
                .in_order()
                .threads(2)
                .map_local(|x| x)
                .take(take)
                .count(),
            take
        );
        let count = source()
            .in_order()
            .threads(2)
            .scope(|x| x, |results| results.take(take).count());
        assert_eq!(count, take);
        turn.run_is_over();
    }
}
