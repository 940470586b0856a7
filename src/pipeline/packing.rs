//! Compressed output's second stage: the pool compresses full blocks, and a thread of its own writes them in order.
//!
//! The ordered stage cuts blocks and is this stage's reader: it waits here while there is no room, which holds the first stage up in turn.
//! Workers take ready blocks before they take another chunk, because blocks give bytes back; and since all workers may be idle
//! when a block gets ready, each block also sends a job to the pool that does the same.

use std::io::{self, IoSlice};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};

use super::settings::Settings;
use super::stage::StopOnDrop;
use crate::control::{Control, Stop};
use crate::error::panic_text;
use crate::order::{Limits, Next, Order};
#[cfg(unix)]
use crate::output::checkpoint::FileState;
use crate::output::{BLOCK, Lane, Outlet, Output, OutputError, Packer};
use crate::pool::Pool;
use crate::sync::{Condvar, Mutex, lock};

/// What the ordered stage, the workers and the writing thread share.
pub(super) struct Packing {
    order: Order<Vec<u8>, io::Result<Vec<u8>>>,
    packer: Arc<Packer>,
    /// Asks for a job that takes ready blocks.
    jobs: Mutex<Option<Sender<()>>>,
    error: Mutex<Option<OutputError>>,
    written: Mutex<Written>,
    /// Notified at each block, and at the end.
    block_is_written: Condvar,
}

/// How far the writing thread has come.
#[derive(Default)]
struct Written {
    blocks: u64,
    ended: bool,
    #[cfg(unix)]
    file: Option<FileState>,
}

impl Packing {
    pub fn new(settings: &Settings, control: &Control, packer: Arc<Packer>) -> Arc<Packing> {
        let packing = Arc::new(Packing {
            order: Order::new(Limits {
                bytes: Packing::share(settings),
                slots: settings.threads.saturating_mul(2).max(4),
                started: settings.threads,
            }),
            packer,
            jobs: Mutex::new(None),
            error: Mutex::new(None),
            written: Mutex::new(Written::default()),
            block_is_written: Condvar::new(),
        });
        control.stops_too(Arc::clone(&packing) as Arc<dyn Stop>);
        packing
    }

    /// So much of the run's memory is this stage's.
    pub fn share(settings: &Settings) -> usize {
        (settings.memory / 4).min(settings.threads.saturating_mul(2 * BLOCK))
    }

    /// Most bytes that were in flight here.
    pub fn peak(&self) -> usize {
        self.order.peak()
    }

    /// Compresses what is ready: a worker's job, and its last act after a chunk.
    pub fn pack_ready(&self) {
        while let Some((ticket, block)) = self.order.start_next() {
            let claim = self.order.claim(ticket);
            let packed = catch_unwind(AssertUnwindSafe(|| self.packer.pack(&block)));
            let packed =
                packed.unwrap_or_else(|payload| Err(io::Error::other(panic_text(payload))));
            drop(block);
            let held = packed.as_ref().map_or(0, Vec::capacity);
            claim.fill(packed, held);
        }
    }

    /// Starts the threads; from here on blocks of `outlet` come this way.
    pub fn start<'scope, 'o: 'scope, 's>(
        self: &Arc<Packing>,
        scope: &'scope Scope<'scope, '_>,
        pool: &'scope Pool<'_, 's>,
        control: &'scope Control,
        outlet: &mut Outlet<'o>,
    ) -> io::Result<Running<'scope, 'o>> {
        let (sender, jobs) = channel();
        *lock(&self.jobs) = Some(sender);
        let packing = Arc::clone(self);
        std::thread::Builder::new()
            .name("inorder-blocks".to_owned())
            .spawn_scoped(scope, move || packing.ask(pool, &jobs))?;
        let lane = PackLane {
            packing: Arc::clone(self),
            pushed: 0,
        };
        let Some(output) = outlet.lend(Box::new(lane)) else {
            return Err(io::Error::other("the output is in use"));
        };
        self.is_written(&output, 0);
        let packing = Arc::clone(self);
        let writer = std::thread::Builder::new()
            .name("inorder-output".to_owned())
            .spawn_scoped(scope, move || packing.write(output, control))?;
        let packing = Arc::clone(self);
        Ok(Running { packing, writer })
    }

    fn ask<'s>(self: &Arc<Packing>, pool: &Pool<'_, 's>, jobs: &Receiver<()>) {
        for () in jobs {
            let packing = Arc::clone(self);
            pool.spawn(move |_| packing.pack_ready());
        }
    }

    /// Writes the blocks in order. Gives the output back, and whether it has all of them.
    fn write<'o>(&self, mut output: Output<'o>, control: &Control) -> (Output<'o>, bool) {
        // By a panic too.
        let guard = StopOnDrop(control);
        let told = EndOnDrop(self);
        let written = self.write_all(&mut output);
        match written {
            Ok(whole) => {
                std::mem::forget(guard);
                (output, whole)
            }
            Err(error) => {
                *lock(&self.error) = Some(error);
                drop(told);
                drop(guard);
                (output, false)
            }
        }
    }

    fn write_all(&self, output: &mut Output<'_>) -> Result<bool, OutputError> {
        loop {
            match self.order.next() {
                Next::Result(_, packed) => {
                    let packed = packed.map_err(|error| output.error("compress", error))?;
                    output.write_all(&mut [IoSlice::new(&packed)])?;
                    self.is_written(output, 1);
                    self.order.release();
                }
                Next::Lost(_) => {
                    let error = io::Error::other("a compressed block was lost");
                    return Err(output.error("compress", error));
                }
                // No block is put back for later.
                Next::Due => {}
                Next::End => return Ok(true),
                Next::Stopped => return Ok(false),
            }
        }
    }
}

impl Packing {
    /// So many blocks more are in the output.
    fn is_written(&self, output: &Output<'_>, blocks: u64) {
        let mut written = lock(&self.written);
        written.blocks += blocks;
        #[cfg(unix)]
        {
            written.file = output.part().map(|part| part.state());
        }
        #[cfg(not(unix))]
        let _ = output;
        self.block_is_written.notify_all();
    }

    /// What went wrong, or that the run is stopped.
    fn failure(&self) -> OutputError {
        let error = lock(&self.error).take();
        error.unwrap_or_else(OutputError::stopped)
    }
}

/// No more blocks are written: nobody should wait for one.
struct EndOnDrop<'p>(&'p Packing);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        lock(&self.0.written).ended = true;
        self.0.block_is_written.notify_all();
    }
}

impl Stop for Packing {
    fn stop(&self) {
        self.order.stop();
        lock(&self.jobs).take();
    }
}

/// The ordered stage's end of it.
struct PackLane {
    packing: Arc<Packing>,
    /// Blocks.
    pushed: u64,
}

impl Lane for PackLane {
    fn push(&mut self, block: Vec<u8>) -> Result<(), OutputError> {
        let (packing, len) = (&self.packing, block.len());
        if packing.order.push(block, len).is_err() {
            return Err(packing.failure());
        }
        self.pushed += 1;
        if let Some(jobs) = &*lock(&packing.jobs) {
            // The receiver lives until the sender is taken.
            let _ = jobs.send(());
        }
        Ok(())
    }

    #[cfg(unix)]
    fn settle(&mut self) -> Result<Option<FileState>, OutputError> {
        let packing = &self.packing;
        let mut written = lock(&packing.written);
        while written.blocks < self.pushed && !written.ended {
            let waited = packing.block_is_written.wait(written);
            written = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        if written.blocks < self.pushed {
            drop(written);
            return Err(packing.failure());
        }
        Ok(written.file)
    }
}

/// The threads at work.
pub(super) struct Running<'scope, 'o> {
    packing: Arc<Packing>,
    writer: ScopedJoinHandle<'scope, (Output<'o>, bool)>,
}

impl<'o> Running<'_, 'o> {
    /// No more blocks come: waits until all are written, and gives `outlet` its output back.
    pub fn end(self, outlet: &mut Outlet<'o>) -> Result<(), OutputError> {
        outlet.close_lane();
        self.packing.order.close();
        let ended = self.writer.join();
        lock(&self.packing.jobs).take();
        match ended {
            Ok((output, whole)) => outlet.give_back(output, whole),
            Err(payload) => resume_unwind(payload),
        }
        match lock(&self.packing.error).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
