//! Ending a run early: from outside by a [`StopHandle`], from inside when it fails.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use crate::error::Error;
use crate::input::Waker;
use crate::latch::Latch;
use crate::sync::{Condvar, Instant, Mutex, lock, wait_until};

/// Ends the runs of a [`Pipeline`](crate::Pipeline), from any thread. A pipeline that was stopped stays stopped: later runs end at once.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    drain: AtomicBool,
    abort: Latch,
    runs: Mutex<Vec<Weak<Control>>>,
}

impl StopHandle {
    /// No new chunk is read; what is in flight is finished and written, then the run returns an error of kind
    /// [`Stopped`](crate::ErrorKind::Stopped), and a file is not published; if all was read already, the run ends as ever. A reader that is no file may first have to return from its `read`.
    pub fn drain(&self) {
        self.0.drain.store(true, Ordering::SeqCst);
        for run in self.runs() {
            run.waker.wake();
        }
    }

    /// The run ends as soon as the records at work are done; what is in flight is thrown away. A write that waits for its sink is
    /// not interrupted.
    pub fn abort(&self) {
        self.0.abort.set();
        self.drain();
        for run in self.runs() {
            run.stop();
        }
    }

    /// Whether [`abort`](StopHandle::abort) was called.
    pub fn is_aborted(&self) -> bool {
        self.0.abort.is_set()
    }

    /// What should end a wait after [`abort`](StopHandle::abort), for work that has no chunk at hand, as in
    /// [`Process::header`](crate::Process::header) and [`finish`](crate::Process::finish). A run that ends by itself, or whose output nobody
    /// can read, is not seen by it: for chunks there is [`Chunk::interrupts`](crate::Chunk::interrupts).
    ///
    /// # Errors
    /// If there are no descriptors left.
    #[cfg(unix)]
    pub fn interrupts(&self) -> std::io::Result<crate::Interrupts<'_>> {
        Ok(crate::Interrupts {
            stop: self.0.abort.readable()?,
            output: None,
        })
    }

    fn runs(&self) -> Vec<Arc<Control>> {
        lock(&self.0.runs)
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// A new run takes part.
    pub(crate) fn enroll(&self) -> Arc<Control> {
        let control = Arc::new(Control {
            handle: self.clone(),
            waker: Waker::default(),
            stopped: Latch::default(),
            cut_short: AtomicBool::new(false),
            output_closed: AtomicBool::new(false),
            stops: Mutex::new(Vec::new()),
            sleeps: Mutex::new(()),
            woken: Condvar::new(),
        });
        let mut runs = lock(&self.0.runs);
        runs.retain(|run| run.strong_count() > 0);
        runs.push(Arc::downgrade(&control));
        drop(runs);
        // A stop between the flag's last look and the enrolling would be missed without this.
        if self.0.abort.is_set() {
            control.stop();
        } else if self.0.drain.load(Ordering::SeqCst) {
            control.waker.wake();
        }
        control
    }
}

/// One run's way to stop all its parts.
pub(crate) struct Control {
    handle: StopHandle,
    pub waker: Waker,
    /// Work that waits can wait for it too.
    pub stopped: Latch,
    /// The reader ended before the input did.
    cut_short: AtomicBool,
    output_closed: AtomicBool,
    stops: Mutex<Vec<Arc<dyn Stop>>>,
    sleeps: Mutex<()>,
    /// Ends the sleep of a plain loop.
    woken: Condvar,
}

/// A part of the run whose waits a stop ends.
pub(crate) trait Stop: Send + Sync {
    fn stop(&self);
}

impl Control {
    /// Ends all work after the records at hand.
    pub fn stop(&self) {
        self.stopped.set();
        self.waker.wake();
        drop(lock(&self.sleeps));
        self.woken.notify_all();
        let stops = lock(&self.stops).clone();
        for part in stops {
            part.stop();
        }
    }

    /// Nobody reads the output any more: there is nothing left to do.
    #[cfg(unix)]
    pub fn output_closed(&self) {
        self.output_closed.store(true, Ordering::SeqCst);
        self.stop();
    }

    pub fn is_output_closed(&self) -> bool {
        self.output_closed.load(Ordering::SeqCst)
    }

    /// Sleeps until then, or until the run is stopped.
    pub fn sleep_until(&self, due: Instant) {
        let mut guard = lock(&self.sleeps);
        while !self.is_stopped() && Instant::now() < due {
            guard = wait_until(&self.woken, &self.sleeps, guard, due);
        }
    }

    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stopped.is_set()
    }

    /// Whether what ends early does so because the run is stopping: the handle's flag comes first.
    pub fn is_aborted(&self) -> bool {
        self.is_stopped() || self.handle.is_aborted()
    }

    /// Whether to read no more. If so the run has not done its work.
    pub fn ends_reading(&self) -> bool {
        let ends = self.was_told_to_stop();
        if ends {
            self.cut_short.store(true, Ordering::SeqCst);
        }
        ends
    }

    /// A run that ended because it was told to has not done its work.
    pub fn stopped_early(&self) -> Result<(), Error> {
        if self.is_stopped() || self.cut_short.load(Ordering::SeqCst) {
            return Err(Error::stopped());
        }
        Ok(())
    }

    pub fn was_told_to_stop(&self) -> bool {
        self.is_stopped() || self.is_draining()
    }

    /// Whether nothing more is to be read.
    pub fn is_draining(&self) -> bool {
        self.handle.0.drain.load(Ordering::SeqCst)
    }

    /// From now on this stops with the run.
    pub fn stops_too(&self, part: Arc<dyn Stop>) {
        lock(&self.stops).push(Arc::clone(&part));
        if self.is_stopped() {
            part.stop();
        }
    }
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control")
            .field("stopped", &self.is_stopped())
            .finish()
    }
}
