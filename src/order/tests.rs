//! What one thread can see of an order; what several can is in `tests/order_loom.rs` and `tests/order_shuttle.rs`.

use super::{Limits, Next, Order, Ticket};
use crate::sync::run;

fn order(bytes: usize, slots: usize, started: usize) -> Order<char, &'static str> {
    Order::new(Limits {
        bytes,
        slots,
        started,
    })
}

fn ticket(seq: u64, attempt: u32) -> Ticket {
    Ticket { seq, attempt }
}

#[test]
fn results_come_in_sequence() {
    run(|| {
        let order = order(100, 8, 8);
        for (seq, chunk) in ['a', 'b', 'c'].into_iter().enumerate() {
            assert_eq!(order.push(chunk, 10), Ok(seq as u64));
        }
        order.close();
        let started: Vec<_> = std::iter::from_fn(|| order.start_next()).collect();
        assert_eq!(
            started,
            [
                (ticket(0, 0), 'a'),
                (ticket(1, 0), 'b'),
                (ticket(2, 0), 'c')
            ]
        );
        for (ticket, result) in [(2, "C"), (0, "A"), (1, "B")] {
            assert!(order.fill(self::ticket(ticket, 0), result, 1));
        }
        for (seq, result) in [(0, "A"), (1, "B"), (2, "C")] {
            assert_eq!(order.next(), Next::Result(seq, result));
            order.release();
        }
        assert_eq!(order.next(), Next::End);
        assert_eq!((order.in_flight(), order.peak()), (0, 30));
    });
}

#[test]
fn no_more_than_the_limit_are_started() {
    run(|| {
        let order = order(100, 8, 2);
        for chunk in ['a', 'b'] {
            order.push(chunk, 10).unwrap();
            assert!(order.start_next().is_some());
        }
        order.push('c', 10).unwrap();
        assert_eq!(order.start_next(), None);
        assert!(order.fill(ticket(1, 0), "B", 10));
        assert_eq!(order.start_next(), Some((ticket(2, 0), 'c')));
    });
}

#[test]
fn behind_an_exceeded_budget_only_the_head_starts() {
    run(|| {
        let order = order(30, 8, 2);
        for chunk in ['a', 'b'] {
            order.push(chunk, 10).unwrap();
            order.start_next().unwrap();
        }
        order.push('c', 10).unwrap();
        assert!(order.fill(ticket(1, 0), "B", 50));
        assert_eq!(order.in_flight(), 70);
        assert_eq!(order.start_next(), None);
        assert!(order.fill(ticket(0, 0), "A", 10));
        assert_eq!(order.next(), Next::Result(0, "A"));
        order.run_again('a', 10);
        assert_eq!(order.start_next(), Some((ticket(0, 1), 'a')));
        assert_eq!(order.start_next(), None);
        assert!(order.fill(ticket(0, 1), "A", 10));
        for (seq, result) in [(0, "A"), (1, "B")] {
            assert_eq!(order.next(), Next::Result(seq, result));
            order.release();
        }
        assert_eq!(order.start_next(), Some((ticket(2, 0), 'c')));
    });
}

#[test]
fn the_head_starts_above_the_limit_when_it_runs_again() {
    run(|| {
        let order = order(100, 8, 1);
        order.push('a', 10).unwrap();
        order.start_next().unwrap();
        order.fill(ticket(0, 0), "A", 10);
        order.push('b', 10).unwrap();
        order.start_next().unwrap();
        assert_eq!(order.next(), Next::Result(0, "A"));
        order.run_again('a', 20);
        assert_eq!(order.in_flight(), 30);
        assert_eq!(order.start_next(), Some((ticket(0, 1), 'a')));
    });
}

#[test]
fn a_push_that_fits_does_not_wait_for_a_start() {
    run(|| {
        let order = order(30, 3, 1);
        for chunk in ['a', 'b', 'c'] {
            order.push(chunk, 10).unwrap();
        }
        assert_eq!(order.in_flight(), 30);
    });
}

#[test]
fn room_may_be_taken_ahead() {
    run(|| {
        let order = order(30, 3, 1);
        assert_eq!(order.take_room(0, 10), Some(30));
        assert_eq!((order.take_room_now(20), order.in_flight()), (20, 30));
        let first = order.begin(10).unwrap();
        assert!(order.fill(first, "A", 10));
        assert_eq!(order.next(), Next::Result(0, "A"));
        order.release();
        assert_eq!(order.take_room(20, 30), Some(30));
        order.close();
        assert_eq!((order.take_room(30, 30), order.begin(10)), (None, None));
    });
}

#[test]
fn the_head_is_settled_when_next_would_not_wait() {
    run(|| {
        let order = order(30, 3, 2);
        for chunk in ['a', 'b'] {
            order.push(chunk, 10).unwrap();
            order.start_next().unwrap();
        }
        order.close();
        assert!(order.fill(ticket(1, 0), "B", 10));
        assert!(!order.is_head_settled());
        assert!(order.fill(ticket(0, 0), "A", 10));
        for _ in 0..2 {
            assert!(order.is_head_settled());
            order.next();
            assert!(!order.is_head_settled());
            order.release();
        }
        assert!(order.is_head_settled(), "the end is at hand too");
    });
}

#[test]
fn only_the_first_fill_of_the_current_attempt_counts() {
    run(|| {
        let order = order(100, 8, 8);
        order.push('a', 10).unwrap();
        order.start_next().unwrap();
        assert!(order.fill(ticket(0, 0), "first", 1));
        assert!(!order.fill(ticket(0, 0), "twice", 2));
        order.lose(ticket(0, 0));
        assert_eq!(order.next(), Next::Result(0, "first"));
        order.run_again('a', 10);
        assert!(!order.fill(ticket(0, 0), "late", 3));
        assert!(!order.fill(ticket(0, 1), "not started", 3));
        order.start_next().unwrap();
        assert!(!order.fill(ticket(0, 0), "late", 3));
        assert!(order.fill(ticket(0, 1), "second", 4));
        assert_eq!(order.next(), Next::Result(0, "second"));
        order.release();
        assert!(!order.fill(ticket(0, 1), "late", 5));
        assert!(!order.fill(ticket(7, 0), "never reserved", 5));
        assert_eq!(order.in_flight(), 0);
    });
}

#[test]
fn a_dropped_claim_is_a_lost_chunk() {
    run(|| {
        let order = order(100, 8, 8);
        for chunk in ['a', 'b'] {
            order.push(chunk, 10).unwrap();
        }
        let (ticket, _) = order.start_next().unwrap();
        drop(order.claim(ticket));
        let (ticket, _) = order.start_next().unwrap();
        let claim = order.claim(ticket);
        assert_eq!(claim.ticket(), ticket);
        assert!(claim.fill("B", 10));
        assert_eq!(order.next(), Next::Lost(0));
        assert!(!order.fill(self::ticket(0, 0), "late", 1));
        assert_eq!(order.in_flight(), 20);
        order.release();
        assert_eq!(order.next(), Next::Result(1, "B"));
    });
}

#[test]
fn a_chunk_beyond_the_budget_goes_through_alone() {
    run(|| {
        let order = order(10, 0, 0);
        assert!(order.wait_for_room());
        assert_eq!(order.push('a', 1000), Ok(0));
        assert_eq!(order.start_next(), Some((ticket(0, 0), 'a')));
        assert!(order.fill(ticket(0, 0), "A", 5));
        assert_eq!(order.next(), Next::Result(0, "A"));
        order.release();
        assert!(order.wait_for_room());
        assert_eq!((order.in_flight(), order.peak()), (0, 1000));
    });
}

#[test]
fn after_a_stop_nothing_waits_and_nothing_starts() {
    run(|| {
        let order = order(20, 2, 2);
        for chunk in ['a', 'b'] {
            order.push(chunk, 10).unwrap();
        }
        order.start_next().unwrap();
        assert!(!order.is_stopped());
        order.stop();
        assert!(order.is_stopped());
        assert!(!order.wait_for_room());
        assert_eq!(order.push('c', 10), Err('c'));
        assert_eq!(order.start_next(), None);
        assert!(order.fill(ticket(0, 0), "A", 10));
        assert_eq!(order.next(), Next::Stopped);
    });
}

#[test]
fn nothing_comes_after_the_end() {
    run(|| {
        let order = order(10, 1, 1);
        order.close();
        assert!(!order.wait_for_room());
        assert_eq!(order.push('a', 1), Err('a'));
        assert_eq!(order.next(), Next::End);
    });
}
