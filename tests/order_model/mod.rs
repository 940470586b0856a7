//! The flow around an order, as the model checks run it: a reader, workers behind the queue of a pool, a writer. Threads and locks are those
//! of `crate::sync`, loom's or shuttle's. A wake-up that is lost shows as a deadlock, which both checkers report; the order of the results
//! is checked by the writer, the limits by a [`ledger`].

pub mod clock;
mod ledger;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex as PlainMutex};

use crate::source::order::{Limits, Next, Order, Ticket};
use crate::sync::{Condvar, Instant, Mutex, thread};
use ledger::Ledger;

/// A chunk is its own number; a result is that number and the attempt it came from.
type Flow = Order<usize, (usize, u32)>;

/// One run.
#[derive(Debug, Clone)]
pub struct Plan {
    pub limits: Limits,
    pub workers: usize,
    pub chunks: Vec<Vec<Attempt>>,
    pub stop: Option<Stop>,
    /// The writer begins when all first attempts are done, as if it were held up by a slow output.
    pub late_writer: bool,
}

/// What becomes of a chunk at one attempt; after all but the last the writer runs it again, unless the worker has put it back.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// The charge until it is done.
    pub bytes: usize,
    /// The charge of its result.
    pub filled: usize,
    pub way: Way,
}

/// How a worker ends an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Fill,
    /// A second fill follows the first.
    Twice,
    /// The result comes once more when the next attempt is already under way.
    Late,
    /// The claim is dropped.
    Lose,
    /// It is put back, due so much later.
    PutBack(u64),
    /// As `Fill`, when all other attempts are done.
    FillLast,
}

/// Who stops the run, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A thread that does nothing else.
    Outside,
    /// The reader, in place of this chunk.
    Reader(usize),
    /// The worker that gets this chunk, which it then loses.
    Worker(usize),
    /// The writer, when this chunk is at the head.
    Writer(usize),
}

impl Plan {
    /// Chunks that go through at the first attempt, from their charges before and after.
    #[allow(dead_code, reason = "shuttle's plans are random")]
    pub fn straight(limits: Limits, workers: usize, chunks: &[(usize, usize)]) -> Self {
        Self {
            limits,
            workers,
            chunks: chunks
                .iter()
                .map(|&(bytes, filled)| vec![Attempt::new(bytes, filled, Way::Fill)])
                .collect(),
            stop: None,
            late_writer: false,
        }
    }

    /// Whether somebody waits for attempts to be done.
    fn counts_done(&self) -> bool {
        let mut attempts = self.chunks.iter().flatten();
        self.late_writer || attempts.any(|attempt| attempt.way == Way::FillLast)
    }

    /// Runs the plan once and checks it.
    pub fn run(&self) {
        Instant::reset();
        let run = Arc::new(Run {
            order: Order::new(self.limits),
            queue: Queue::new(),
            ledger: PlainMutex::new(Ledger::new(self)),
            plan: self.clone(),
        });
        let spawn = |part: fn(&Run)| {
            let run = Arc::clone(&run);
            thread::spawn(move || part(&run))
        };
        let mut threads = vec![spawn(Run::read)];
        threads.extend((0..self.workers).map(|_| spawn(Run::work)));
        if self.stop == Some(Stop::Outside) {
            threads.push(spawn(|run| run.order.stop()));
        }
        run.write();
        for thread in threads {
            thread.join().unwrap();
        }
        run.ledger().check_end(&run.order);
    }
}

impl Attempt {
    pub fn new(bytes: usize, filled: usize, way: Way) -> Self {
        Self { bytes, filled, way }
    }

    /// The charge that the writer finds.
    fn settled(&self) -> usize {
        match self.way {
            Way::Lose | Way::PutBack(_) => self.bytes,
            Way::Fill | Way::Twice | Way::Late | Way::FillLast => self.filled,
        }
    }
}

struct Run {
    plan: Plan,
    order: Flow,
    queue: Queue,
    ledger: PlainMutex<Ledger>,
}

impl Run {
    fn read(&self) {
        for (chunk, attempts) in self.plan.chunks.iter().enumerate() {
            if self.plan.stop == Some(Stop::Reader(chunk)) {
                self.order.stop();
            }
            if !self.order.wait_for_room() {
                return self.assert_stopping();
            }
            let bytes = attempts[0].bytes;
            match self.order.push(chunk, bytes) {
                Ok(seq) => assert_eq!(seq, chunk as u64),
                Err(back) => {
                    assert_eq!(back, chunk);
                    return self.assert_stopping();
                }
            }
            self.ledger().reserve(bytes);
            self.hand_over();
        }
        self.order.close();
    }

    fn work(&self) {
        while let Some((ticket, chunk)) = self.queue.take() {
            assert_eq!(ticket.seq, chunk as u64);
            let claim = self.order.claim(ticket);
            assert_eq!(claim.ticket(), ticket);
            let attempt = self.plan.chunks[chunk][ticket.attempt as usize];
            let result = (chunk, ticket.attempt);
            if self.plan.stop == Some(Stop::Worker(chunk)) {
                self.order.stop();
                return drop(claim);
            }
            let next = self.plan.chunks[chunk].get(ticket.attempt as usize + 1);
            let charge = match (attempt.way, next) {
                (Way::PutBack(_), Some(next)) => next.bytes,
                _ => attempt.settled(),
            };
            if attempt.way == Way::FillLast {
                let all: usize = self.plan.chunks.iter().map(Vec::len).sum();
                self.queue.wait_until_done(all - 1);
            }
            self.ledger().before(attempt.bytes, charge);
            self.ledger().end();
            match attempt.way {
                Way::PutBack(ticks) => {
                    let put_back = claim.put_back(chunk, charge, Instant::after(ticks));
                    assert!(put_back || self.plan.stop.is_some());
                    let late = put_back && self.order.fill(ticket, result, 1000);
                    assert!(!late, "only the attempt under way may fill the slot");
                }
                Way::Lose => drop(claim),
                Way::Fill | Way::Late | Way::FillLast => {
                    assert!(claim.fill(result, attempt.filled))
                }
                Way::Twice => {
                    assert!(self.order.fill(ticket, result, attempt.filled));
                    assert!(!claim.fill(result, attempt.filled + 1));
                }
            }
            self.ledger().after(attempt.bytes, charge);
            self.hand_over();
            if self.plan.counts_done() {
                self.queue.done();
            }
        }
    }

    fn write(&self) {
        if self.plan.late_writer {
            self.queue.wait_until_done(self.plan.chunks.len());
        }
        let mut at = (0, 0);
        loop {
            let (seq, result) = match self.order.next() {
                Next::Result(seq, result) => (seq, Some(result)),
                Next::Lost(seq) => (seq, None),
                Next::Due => {
                    self.hand_over();
                    continue;
                }
                Next::End => {
                    assert_eq!(at, (self.plan.chunks.len(), 0), "everything was written");
                    break;
                }
                Next::Stopped => {
                    self.assert_stopping();
                    break;
                }
            };
            let chunk = at.0;
            assert_eq!(seq, chunk as u64, "nothing lost, doubled or reordered");
            let attempts = &self.plan.chunks[chunk];
            while matches!(attempts[at.1].way, Way::PutBack(_)) {
                at.1 += 1;
            }
            let attempt = at.1;
            let this = &attempts[attempt];
            let expected = (this.way != Way::Lose).then_some((chunk, attempt as u32));
            assert_eq!(result, expected);
            if self.plan.stop == Some(Stop::Writer(chunk)) {
                self.order.stop();
                continue;
            }
            match attempts.get(attempt + 1) {
                Some(next) => {
                    self.ledger().before(this.settled(), next.bytes);
                    self.order.run_again(chunk, next.bytes);
                    self.ledger().after(this.settled(), next.bytes);
                    at.1 += 1;
                }
                None => {
                    self.ledger().release(this.settled());
                    self.order.release();
                    at = (chunk + 1, 0);
                }
            }
            self.hand_over();
            if this.way == Way::Late {
                let attempt = attempt as u32;
                let late = self
                    .order
                    .fill(Ticket { seq, attempt }, (chunk, attempt), 1000);
                assert!(!late, "only the attempt under way may fill the slot");
            }
        }
        self.queue.close();
    }

    fn hand_over(&self) {
        let mut started = VecDeque::new();
        while let Some(next) = self.order.start_next() {
            self.ledger().start();
            started.push_back(next);
        }
        if !started.is_empty() {
            self.queue.give(started);
        }
    }

    fn assert_stopping(&self) {
        assert!(self.plan.stop.is_some());
        assert!(self.order.is_stopped());
    }

    fn ledger(&self) -> std::sync::MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap()
    }
}

/// The queue of a pool, first in, first out.
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    chunks: VecDeque<(Ticket, usize)>,
    done: usize,
    closed: bool,
}

impl Queue {
    fn new() -> Self {
        Self {
            state: Mutex::new(QueueState {
                chunks: VecDeque::new(),
                done: 0,
                closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn give(&self, mut started: VecDeque<(Ticket, usize)>) {
        self.state.lock().unwrap().chunks.append(&mut started);
        self.changed.notify_all();
    }

    fn take(&self) -> Option<(Ticket, usize)> {
        let mut state = self.state.lock().unwrap();
        loop {
            if let Some(next) = state.chunks.pop_front() {
                return Some(next);
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap();
        }
    }

    fn close(&self) {
        self.state.lock().unwrap().closed = true;
        self.changed.notify_all();
    }

    fn done(&self) {
        self.state.lock().unwrap().done += 1;
        self.changed.notify_all();
    }

    fn wait_until_done(&self, count: usize) {
        let mut state = self.state.lock().unwrap();
        while state.done < count {
            state = self.changed.wait(state).unwrap();
        }
    }
}
