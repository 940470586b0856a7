//! The run's private pool of workers: the only place that names rayon.
//!
//! Jobs come from outside the pool or from a job's last act, and idle workers steal them. No job ever waits for another,
//! so nothing that the pipeline does can block the pool. The pool's scope is opened on a thread that is in no pool: opened on a
//! worker of the caller's pool, it would steal the caller's jobs while it waits, under whatever locks the caller holds.

mod attempt;
mod failure;
mod malformed;
mod policy;
mod runs;
mod so_far;
mod worker;

pub(crate) use failure::{Ended, RecordFailure, RecordPlace, panicked};
pub(crate) use policy::Policy;
pub(crate) use so_far::Pending;
pub(crate) use worker::{Done, Work, Worked};

use rayon::{ScopeFifo, ThreadPoolBuilder};

/// The pool, for the length of one run.
pub(crate) struct Pool<'p, 'scope>(&'p ScopeFifo<'scope>);

impl<'scope> Pool<'_, 'scope> {
    /// Gives a job to the pool. A panic of its own would come out of [`with_pool`] when all jobs are done.
    pub fn spawn(&self, job: impl FnOnce(&Pool<'_, 'scope>) + Send + 'scope) {
        self.0.spawn_fifo(move |scope| job(&Pool(scope)));
    }

    /// Which worker runs the calling job, from 0.
    pub fn worker_index(&self) -> usize {
        rayon::current_thread_index().unwrap_or(0)
    }
}

/// Starts `threads` workers with stacks of this size, calls `body` on this thread, waits for all jobs, and joins the workers.
pub(crate) fn with_pool<'scope, R: Send>(
    threads: usize,
    stack_size: Option<usize>,
    body: impl FnOnce(&Pool<'_, 'scope>) -> R + Send,
) -> Result<R, std::io::Error> {
    let mut pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("inorder-worker-{index}"));
    if let Some(bytes) = stack_size {
        pool = pool.stack_size(bytes);
    }
    pool.build_scoped(
        |thread| thread.run(),
        |pool| pool.in_place_scope_fifo(|scope| body(&Pool(scope))),
    )
    .map_err(std::io::Error::other)
}
