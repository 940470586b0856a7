//! The parallel part of a run to a sink: the writer beside reader and workers.

use std::sync::Arc;

#[cfg(unix)]
use super::closed::CloseWatch;
use super::messages::output_error;
use super::ordered::{Ordered, Verdict};
use super::packing::Packing;
use super::stage::{CHUNK_OVERHEAD, Stage, StopOnDrop, charge};
use super::stages::Stages;
use super::times::{Times, of_this_thread};
use super::{Run, cannot_start, reader_panicked};
use crate::control::Control;
use crate::error::{Error, ErrorKind, drop_quietly};
use crate::frame::Framer;
use crate::order::Next;
use crate::pool::{Pending, Pool, with_pool};
use crate::process::Process;

impl Run<'_> {
    /// Works on the rest of the input on all threads; first on a chunk that was begun and has to wait. The calling thread becomes the writer's.
    pub(super) fn parallel<P: Process + Send>(
        &mut self,
        stages: &mut Stages<'_, P>,
        framer: Framer<'_>,
        first: Option<Pending<()>>,
    ) -> Result<(), Error> {
        let (work, size) = (Arc::clone(&stages.work), Arc::clone(&self.size));
        #[cfg(unix)]
        let _watch = CloseWatch::start(&stages.control);
        let packer = stages.ordered.outlet().packer();
        let packing = packer.map(|packer| Packing::new(self.settings, &stages.control, packer));
        let take = |_: Option<&mut P::State>, (): &mut ()| ();
        let stage = Stage::new(self.settings, &stages.control, work, size, take, packing);
        let (threads, stack_size) = (self.settings.threads, self.settings.stack_size);
        let times = &mut self.times;
        let result = with_pool(threads, stack_size, |pool| {
            stage.run(
                pool,
                framer,
                first,
                &mut stages.ordered,
                &stages.control,
                times,
            )
        });
        self.peak = self.peak.max(stage.peak() as u64);
        result.unwrap_or_else(|error| Err(cannot_start(error.into())))
    }
}

impl<P: Process + Send> Stage<P, ()> {
    fn run<'s>(
        &'s self,
        pool: &Pool<'_, 's>,
        framer: Framer<'_>,
        first: Option<Pending<()>>,
        ordered: &mut Ordered<'_, P>,
        control: &Control,
        times: &mut Times,
    ) -> Result<(), Error> {
        std::thread::scope(|scope| {
            let begun = of_this_thread();
            let reader = std::thread::Builder::new()
                .name("inorder-reader".to_owned())
                .spawn_scoped(scope, || (self.read(pool, framer, first), of_this_thread()))
                .map_err(|error| cannot_start(error.into()))?;
            // However the writer ends, by a panic too, the others must not wait for it.
            let guard = StopOnDrop(control);
            let written = match &self.packing {
                Some(packing) => {
                    let running = packing.start(scope, pool, control, ordered.outlet());
                    let running = running.map_err(|error| cannot_start(error.into()))?;
                    let written = self.write(pool, ordered);
                    // Before the others are stopped: what came before a failure gets out.
                    let packed = running.end(ordered.outlet()).map_err(output_error);
                    match (written, packed) {
                        // A worker saw the stop before this thread did.
                        (Err(stopped), Err(packed)) if stopped.kind() == ErrorKind::Stopped => {
                            Err(packed)
                        }
                        (written, packed) => written.and(packed),
                    }
                }
                None => self.write(pool, ordered),
            };
            match &written {
                Ok(()) => std::mem::forget(guard),
                // Now, not at the end of the block: the reader may wait for room that nobody makes any more.
                Err(_) => drop(guard),
            }
            times.writer = of_this_thread() - begun;
            let read = match reader.join() {
                Ok((read, time)) => {
                    times.reader = time;
                    read
                }
                Err(payload) => Err(reader_panicked(payload)),
            };
            // What the writer met comes before what the reader met: it is earlier in the input.
            if let Err(error) = written {
                drop_quietly(read);
                return Err(error);
            }
            read.map_err(|error| ordered.reader_failed(error))
        })
    }

    /// The writer's thread: strictly in order.
    fn write<'s>(&'s self, pool: &Pool<'_, 's>, ordered: &mut Ordered<'_, P>) -> Result<(), Error> {
        loop {
            match self.order.next() {
                Next::Result(_, (done, ())) => {
                    let others = self.order.in_flight().saturating_sub(charge(&done));
                    match ordered.commit(done, others)? {
                        Verdict::Written => self.order.release(),
                        Verdict::Again(framed) => {
                            let bytes = framed.bytes.len() + CHUNK_OVERHEAD;
                            self.order.run_again(framed.into(), bytes);
                        }
                    }
                    self.hand_over(pool);
                }
                Next::Lost(seq) => {
                    let what = format!("the result of chunk {seq} was lost");
                    return Err(Error::new(ErrorKind::Internal, what));
                }
                Next::Due => self.hand_over(pool),
                Next::End | Next::Stopped => return Ok(()),
            }
        }
    }
}
