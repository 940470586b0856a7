//! The thread beside the caller's: the source's, or the pool's.

use std::io;
use std::panic::resume_unwind;
use std::thread::{Builder, JoinHandle, Result};

use crate::error::drop_quietly;

/// What a thread of a run comes to: whether its pool's threads could be started.
pub(super) type Ran = io::Result<()>;

/// A thread that was started.
pub(super) struct Thread(JoinHandle<Ran>);

impl Thread {
    /// # Panics
    /// If it cannot be started.
    pub fn start(name: &str, body: impl FnOnce() -> Ran + Send + 'static) -> Thread {
        let started = Builder::new().name(name.to_owned()).spawn(body);
        Thread(started.unwrap_or_else(|error| cannot_start(error)))
    }

    /// Waits for it.
    pub fn join(self) -> Result<Ran> {
        self.0.join()
    }

    /// Waits for it when nobody wants to know any more what went wrong.
    pub fn join_quietly(self) {
        if let Err(payload) = self.0.join() {
            drop_quietly(payload);
        }
    }
}

/// # Panics
/// If the thread panicked, or could not start its pool.
pub(super) fn expect(joined: Result<Ran>) {
    match joined {
        Ok(Ok(())) => {}
        Ok(Err(error)) => cannot_start(error),
        Err(payload) => resume_unwind(payload),
    }
}

pub(super) fn cannot_start(error: io::Error) -> ! {
    panic!("threads cannot be started: {error}")
}
