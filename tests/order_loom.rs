//! `order.rs` under loom: every interleaving, up to a number of preemptions, of small runs.

/// Loom's types in the place of the standard ones.
mod sync {
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use loom::thread;

    pub(crate) use crate::order_model::clock::Instant;

    /// Nobody notifies in time.
    pub(crate) fn wait_until<'a, T>(
        _condvar: &Condvar,
        mutex: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        until: Instant,
    ) -> MutexGuard<'a, T> {
        drop(guard);
        Instant::pass(until);
        thread::yield_now();
        mutex.lock().unwrap()
    }

    pub(crate) fn run(test: impl Fn() + Send + Sync + 'static) {
        loom::model(test);
    }
}

#[path = "../src"]
mod source {
    #[allow(dead_code)]
    pub(crate) mod order;
}

mod order_model;

use std::sync::Arc;

use loom::thread;
use order_model::{Attempt, Plan, Stop, Way};
use source::order::{Limits, Next, Order};

/// Limits of bytes and started chunks; three slots.
fn limits(bytes: usize, started: usize) -> Limits {
    Limits {
        bytes,
        slots: 3,
        started,
    }
}

/// Runs the plan in every interleaving with at most so many preemptions.
fn explore(preemptions: usize, plan: Plan) {
    explore_with(preemptions, move || plan.run());
}

/// The same for a run of its own.
fn explore_with(preemptions: usize, run: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.max_branches = 10_000;
    model.check(run);
}

#[test]
fn two_workers_keep_the_order() {
    explore(1, Plan::straight(limits(100, 2), 2, &[(1, 1); 3]));
}

#[test]
fn the_reader_waits_for_each_kind_of_room() {
    let full = [
        ("bytes", limits(15, 4), true),
        (
            "slots",
            Limits {
                slots: 1,
                ..limits(100, 4)
            },
            true,
        ),
        ("ready list", limits(100, 1), false),
    ];
    for (what, limits, starts) in full {
        explore_with(3, move || {
            let order = Arc::new(Order::<char, char>::new(limits));
            let reader = {
                let order = Arc::clone(&order);
                thread::spawn(move || {
                    if order.push('a', 10).is_ok() {
                        assert!(!starts || order.start_next().is_some() || order.is_stopped());
                        let went_on = order.wait_for_room() && order.push('b', 10).is_ok();
                        assert!(!went_on, "{what}");
                    }
                })
            };
            order.stop();
            reader.join().unwrap();
        });
    }
}

#[test]
fn slots_are_used_again() {
    explore(1, Plan::straight(limits(100, 4), 1, &[(1, 1); 5]));
}

#[test]
fn the_reader_waits_for_bytes() {
    let chunks = [(6, 3), (6, 6), (4, 4)];
    explore(1, Plan::straight(limits(10, 2), 1, &chunks));
    explore(1, Plan::straight(limits(10, 2), 2, &chunks[..2]));
}

#[test]
fn a_chunk_beyond_the_budget_goes_alone() {
    let chunks = [(5, 5), (50, 20), (5, 5)];
    explore(2, Plan::straight(limits(10, 2), 1, &chunks));
    explore(1, Plan::straight(limits(10, 2), 2, &chunks[..2]));
}

#[test]
fn results_beyond_the_budget_let_the_head_through() {
    let mut plan = Plan::straight(limits(10, 2), 2, &[(3, 3), (3, 30), (3, 3)]);
    plan.chunks[0].push(Attempt::new(3, 3, Way::Fill));
    explore(1, plan);
}

#[test]
fn the_flow_goes_on_while_the_writer_is_held_up() {
    for (workers, chunks) in [(1, 3), (2, 2)] {
        let mut plan = Plan::straight(limits(100, 1), workers, &[(1, 1); 3][..chunks]);
        plan.late_writer = true;
        explore(1, plan);
    }
}

#[test]
fn bytes_given_back_by_a_fill_let_the_reader_go_on() {
    let mut plan = Plan::straight(limits(10, 2), 1, &[(10, 2), (8, 8)]);
    plan.late_writer = true;
    explore(2, plan);
}

#[test]
fn bytes_given_back_by_running_again_let_the_reader_go_on() {
    explore_with(3, || {
        let order = Arc::new(Order::<char, char>::new(limits(10, 2)));
        let reader = {
            let order = Arc::clone(&order);
            thread::spawn(move || {
                order.push('a', 10).unwrap();
                let (ticket, _) = order.start_next().unwrap();
                assert!(order.claim(ticket).fill('A', 10));
                order.push('b', 8).unwrap();
            })
        };
        assert_eq!(order.next(), Next::Result(0, 'A'));
        order.run_again('a', 2);
        reader.join().unwrap();
        assert_eq!(order.in_flight(), 10);
    });
}

#[test]
fn room_taken_ahead_comes_back_to_the_reader() {
    explore_with(3, || {
        let order = Arc::new(Order::<(), char>::new(limits(2, 2)));
        let reader = {
            let order = Arc::clone(&order);
            thread::spawn(move || {
                let mut left = 0;
                for (name, bytes) in [('a', 1), ('b', 2), ('c', 1)] {
                    left = order.take_room(left, bytes).unwrap() - bytes;
                    let ticket = order.begin(bytes).unwrap();
                    assert!(order.claim(ticket).fill(name, bytes));
                }
                order.close();
                assert_eq!(order.take_room(left, 1), None);
                assert_eq!(order.begin(0), None);
            })
        };
        for (seq, name) in ['a', 'b', 'c'].into_iter().enumerate() {
            assert_eq!(order.next(), Next::Result(seq as u64, name));
            assert!(order.in_flight() <= 2);
            order.release();
        }
        assert_eq!(order.next(), Next::End);
        reader.join().unwrap();
    });
}

#[test]
fn a_lost_chunk_is_reported_and_run_again() {
    let mut plan = Plan::straight(limits(100, 2), 2, &[(1, 1); 2]);
    plan.chunks[0] = vec![
        Attempt::new(1, 1, Way::Lose),
        Attempt::new(2, 1, Way::Late),
        Attempt::new(1, 1, Way::Twice),
    ];
    plan.workers = 1;
    explore(2, plan.clone());
    plan.workers = 2;
    plan.chunks[0].remove(0);
    explore(1, plan);
}

#[test]
fn a_chunk_put_back_comes_when_it_is_due() {
    // The head; one behind it; both, the later one first; twice.
    for put_off in [
        &[(0, 1)][..],
        &[(1, 1)],
        &[(0, 2), (1, 1)],
        &[(0, 1), (0, 2)],
    ] {
        for (workers, started) in [(1, 1), (2, 1), (2, 2)] {
            let mut plan = Plan::straight(limits(100, started), workers, &[(1, 1); 2]);
            for &(chunk, ticks) in put_off {
                let attempt = Attempt::new(2, 1, Way::PutBack(ticks));
                plan.chunks[chunk].insert(0, attempt);
            }
            explore(1, plan);
        }
    }
}

#[test]
fn a_chunk_put_back_waits_for_no_head() {
    let mut plan = Plan::straight(limits(100, 2), 2, &[(1, 1); 3]);
    plan.chunks[0][0].way = Way::FillLast;
    plan.chunks[1].insert(0, Attempt::new(2, 1, Way::PutBack(1)));
    explore(1, plan);
}

#[test]
fn a_head_put_back_comes_though_the_results_behind_it_exceed_the_budget() {
    let mut plan = Plan::straight(limits(10, 2), 1, &[(3, 3), (3, 30), (3, 3)]);
    plan.chunks[0].insert(0, Attempt::new(3, 3, Way::PutBack(2)));
    plan.chunks[2].insert(0, Attempt::new(3, 3, Way::PutBack(1)));
    explore(1, plan);
}

#[test]
fn a_stop_wakes_everyone() {
    for stop in [
        Stop::Outside,
        Stop::Worker(1),
        Stop::Writer(0),
        Stop::Reader(1),
    ] {
        let mut plan = Plan::straight(limits(10, 2), 1, &[(6, 6); 3]);
        plan.stop = Some(stop);
        explore(if stop == Stop::Outside { 1 } else { 2 }, plan);
    }
}
