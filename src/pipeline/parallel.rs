//! The parallel part of a run: reader, workers and writer around the order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::ordered::{Ordered, Verdict};
use super::{Run, cannot_start, reader_panicked};
use crate::control::{Control, Stop};
use crate::error::{Error, ErrorKind, drop_quietly};
use crate::frame::{ChunkSize, FrameError, Framed, Framer};
use crate::order::{Limits, Next, Order, Ticket};
use crate::pool::{Done, Pool, Work, with_pool};
use crate::process::Process;

/// A chunk is charged so much for itself, beside its bytes.
const CHUNK_OVERHEAD: usize = 1024;

impl Stop for Order<Framed, Done> {
    fn stop(&self) {
        Order::stop(self);
    }
}

/// What reader, workers and writer share.
struct Shared<'r, P: Process> {
    order: Arc<Order<Framed, Done>>,
    work: &'r Work<'r, P>,
    size: &'r ChunkSize,
    control: &'r Arc<Control>,
}

impl Run<'_> {
    /// Works on the rest of the input on all threads. The calling thread becomes the writer's.
    pub(super) fn parallel<P: Process>(
        &mut self,
        framer: Framer<'_>,
        work: &Work<'_, P>,
        ordered: &mut Ordered<'_, '_, P>,
    ) -> Result<(), Error> {
        let threads = self.settings.threads;
        let shared = Shared {
            order: Arc::new(Order::new(Limits {
                bytes: self.settings.memory,
                slots: threads.saturating_mul(16).max(64),
                started: threads,
            })),
            work,
            size: &self.size,
            control: self.control,
        };
        let order: Arc<dyn Stop> = Arc::clone(&shared.order) as Arc<dyn Stop>;
        self.control.set_order(order);
        let result = with_pool(threads, |pool| shared.run(pool, framer, ordered));
        self.peak = self.peak.max(shared.order.peak() as u64);
        result.unwrap_or_else(|error| Err(cannot_start(error.into())))
    }
}

impl<P: Process> Shared<'_, P> {
    fn run<'s>(
        &'s self,
        pool: &Pool<'_, 's>,
        framer: Framer<'_>,
        ordered: &mut Ordered<'_, '_, P>,
    ) -> Result<(), Error> {
        std::thread::scope(|scope| {
            let reader = std::thread::Builder::new()
                .name("inorder-reader".to_owned())
                .spawn_scoped(scope, || self.read(pool, framer))
                .map_err(|error| cannot_start(error.into()))?;
            // However the writer ends, by a panic too, the others must not wait for it.
            let guard = StopOnDrop(self.control);
            let written = self.write(pool, ordered);
            match &written {
                Ok(()) => std::mem::forget(guard),
                // Now, not at the end of the block: the reader may wait for room that nobody makes any more.
                Err(_) => drop(guard),
            }
            let read = match reader.join() {
                Ok(read) => read,
                Err(payload) => Err(reader_panicked("<input>".as_ref(), payload)),
            };
            // What the writer met comes before what the reader met: it is earlier in the input.
            if let Err(error) = written {
                drop_quietly(read);
                return Err(error);
            }
            read.map_err(|error| ordered.reader_failed(error))
        })
    }

    /// The reader's thread: the pull, and the back-pressure.
    fn read<'s>(&'s self, pool: &Pool<'_, 's>, framer: Framer<'_>) -> Result<(), FrameError> {
        let result = catch_unwind(AssertUnwindSafe(|| self.read_all(pool, framer)));
        self.order.close();
        result.unwrap_or_else(|payload| Err(reader_panicked("<input>".as_ref(), payload)))
    }

    fn read_all<'s>(
        &'s self,
        pool: &Pool<'_, 's>,
        mut framer: Framer<'_>,
    ) -> Result<(), FrameError> {
        while self.order.wait_for_room() {
            let Some(framed) = framer.next(self.size.want())? else {
                break;
            };
            let bytes = framed.bytes.len() + CHUNK_OVERHEAD;
            if self.order.push(framed, bytes).is_err() {
                break;
            }
            self.hand_over(pool);
        }
        Ok(())
    }

    /// Gives the pool the chunks that may start.
    fn hand_over<'s>(&'s self, pool: &Pool<'_, 's>) {
        while let Some((ticket, framed)) = self.order.start_next() {
            pool.spawn(move |pool| self.work_on(pool, ticket, framed));
        }
    }

    /// A worker's job.
    fn work_on<'s>(&'s self, pool: &Pool<'_, 's>, ticket: Ticket, framed: Framed) {
        let claim = self.order.claim(ticket);
        let bytes = framed.bytes.len();
        // The work catches what the process panics with; this is for what should not happen, and leaves the claim unfilled.
        let worked = catch_unwind(AssertUnwindSafe(|| {
            self.work.run(framed, pool.worker_index())
        }));
        match worked {
            Ok(done) => {
                self.size.observe(bytes, done.busy);
                let held = done.output.held() + CHUNK_OVERHEAD;
                claim.fill(done, held);
            }
            Err(payload) => {
                drop_quietly(payload);
                drop(claim);
            }
        }
        self.hand_over(pool);
    }

    /// The writer's thread: strictly in order.
    fn write<'s>(
        &'s self,
        pool: &Pool<'_, 's>,
        ordered: &mut Ordered<'_, '_, P>,
    ) -> Result<(), Error> {
        loop {
            match self.order.next() {
                Next::Result(_, done) => {
                    match ordered.commit(done, self.order.in_flight())? {
                        Verdict::Written => self.order.release(),
                        Verdict::Again(framed) => {
                            let bytes = framed.bytes.len() + CHUNK_OVERHEAD;
                            self.order.run_again(framed, bytes);
                        }
                    }
                    self.hand_over(pool);
                }
                Next::Lost(seq) => {
                    let what = format!("the result of chunk {seq} was lost");
                    return Err(Error::new(ErrorKind::Internal, what));
                }
                Next::End | Next::Stopped => return Ok(()),
            }
        }
    }
}

/// Stops the run when it is dropped.
struct StopOnDrop<'r>(&'r Control);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
