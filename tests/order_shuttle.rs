//! `order.rs` under shuttle: random plans of longer runs with more workers, on random schedules.

/// Shuttle's types in the place of the standard ones.
mod sync {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use shuttle::thread;

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
        shuttle::check_random(test, 1);
    }
}

#[path = "../src"]
mod source {
    #[allow(dead_code)]
    pub(crate) mod order;
}

mod order_model;

use order_model::{Attempt, Plan, Stop, Way};
use shuttle::rand::{Rng, thread_rng};
use source::order::Limits;

/// Runs of each test; INORDER_CASES asks for more.
fn runs() -> usize {
    let asked = std::env::var("INORDER_CASES").ok();
    asked.and_then(|count| count.parse().ok()).unwrap_or(1000)
}

fn chance(one_in: u32) -> bool {
    thread_rng().gen_ratio(1, one_in)
}

fn up_to(most: usize) -> usize {
    thread_rng().gen_range(1..=most)
}

fn random_attempt(limit: usize, last: bool) -> Attempt {
    let bytes = if chance(12) {
        limit + up_to(limit)
    } else {
        up_to(limit)
    };
    let filled = if chance(6) {
        up_to(4 * limit)
    } else {
        up_to(bytes)
    };
    let way = match thread_rng().gen_range(0..10) {
        0 => Way::Twice,
        1 if !last => Way::Late,
        2 | 3 if !last => Way::Lose,
        4 | 5 if !last => Way::PutBack(up_to(3) as u64 - 1),
        _ => Way::Fill,
    };
    Attempt::new(bytes, filled, way)
}

fn random_plan() -> Plan {
    let bytes = up_to(40);
    let count = up_to(12);
    let chunks = (0..count)
        .map(|_| {
            let again = if chance(4) { up_to(3) } else { 0 };
            (0..=again)
                .map(|attempt| random_attempt(bytes, attempt == again))
                .collect()
        })
        .collect();
    Plan {
        limits: Limits {
            bytes,
            slots: up_to(6),
            started: up_to(4),
        },
        workers: up_to(4),
        chunks,
        stop: None,
        late_writer: false,
    }
}

#[test]
fn random_runs_keep_the_order() {
    shuttle::check_random(|| random_plan().run(), runs());
}

#[test]
fn random_runs_keep_the_order_under_few_preemptions() {
    shuttle::check_pct(|| random_plan().run(), runs(), 4);
}

/// Everything behind the head gets through while that is at work, retries too.
#[test]
fn a_long_head_holds_nothing_up() {
    shuttle::check_random(
        || {
            let mut plan = random_plan();
            for attempts in &mut plan.chunks {
                for attempt in attempts.iter_mut() {
                    attempt.filled = attempt.bytes;
                    attempt.way = Way::PutBack(up_to(3) as u64);
                }
                attempts.last_mut().unwrap().way = Way::Fill;
            }
            plan.chunks[0] = vec![Attempt::new(1, 1, Way::FillLast)];
            // Room for all of it: the writer can't make any.
            let attempts = plan.chunks.iter().flatten();
            plan.limits = Limits {
                bytes: attempts.map(|attempt| attempt.bytes).sum(),
                slots: plan.chunks.len(),
                started: 1 + up_to(3),
            };
            plan.workers = 1 + up_to(3);
            plan.run();
        },
        runs(),
    );
}

#[test]
fn random_stops_end_random_runs() {
    shuttle::check_random(
        || {
            let mut plan = random_plan();
            let chunk = up_to(plan.chunks.len()) - 1;
            plan.stop = Some(match thread_rng().gen_range(0..4) {
                0 => Stop::Reader(chunk),
                1 => Stop::Worker(chunk),
                2 => Stop::Writer(chunk),
                _ => Stop::Outside,
            });
            plan.run();
        },
        runs(),
    );
}
