//! How many processes run at a time: as many as there are workers, or fewer where the system allows no more.

use std::io;
use std::time::Duration;

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// So often a start that the system refuses is tried again when no other process of ours is there to wait for.
const TRIES: u32 = 10;
/// And so long the first wait is; each is as much longer.
const PAUSE: Duration = Duration::from_millis(10);
/// How often a wait looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(50);

/// Counts the processes that run.
#[derive(Debug, Default)]
pub struct Gate {
    counts: Mutex<Counts>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Counts {
    running: usize,
    /// Set when the system allowed no more.
    most: Option<usize>,
}

/// A process may run as long as this lives.
pub struct Pass<'g>(&'g Gate);

/// Why there is no process.
#[derive(Debug)]
pub enum NoStart {
    /// The run is stopping.
    Stopped,
    Failed(io::Error),
}

impl Gate {
    /// Starts a process by `start`. Where the system has no room for it, waits until another has ended.
    pub fn start<C>(
        &self,
        start: impl Fn() -> io::Result<C>,
        is_stopping: impl Fn() -> bool,
    ) -> Result<(Pass<'_>, C), NoStart> {
        let mut tries = 0;
        loop {
            let pass = self.enter(&is_stopping).ok_or(NoStart::Stopped)?;
            let error = match start() {
                Ok(process) => return Ok((pass, process)),
                Err(error) => error,
            };
            if !is_scarcity(&error) {
                return Err(NoStart::Failed(error));
            }
            if self.lower(pass) {
                continue;
            }
            tries += 1;
            if tries > TRIES {
                return Err(NoStart::Failed(error));
            }
            std::thread::sleep(PAUSE * tries);
        }
    }

    fn enter(&self, is_stopping: impl Fn() -> bool) -> Option<Pass<'_>> {
        let mut counts = self.counts();
        while counts.most.is_some_and(|most| counts.running >= most) {
            if is_stopping() {
                return None;
            }
            let waited = self.freed.wait_timeout(counts, LOOK);
            counts = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        counts.running += 1;
        Some(Pass(self))
    }

    /// No more than the others may run from now on. Whether there are others.
    fn lower(&self, pass: Pass<'_>) -> bool {
        drop(pass);
        let mut counts = self.counts();
        let others = counts.running;
        if others > 0 {
            counts.most = Some(counts.most.map_or(others, |most| most.min(others)));
        }
        others > 0
    }

    /// How many may run at a time, if fewer than there are workers.
    pub fn most(&self) -> Option<usize> {
        self.counts().most
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.counts().running -= 1;
        self.0.freed.notify_one();
    }
}

/// Whether there may be room later: for processes, open files, memory.
pub fn is_scarcity(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let scarce = [Errno::AGAIN, Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|error| scarce.contains(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    fn refused() -> io::Error {
        rustix::io::Errno::AGAIN.into()
    }

    #[test]
    fn fewer_at_a_time_where_there_is_room_for_no_more() {
        let gate = Gate::default();
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let start = || {
            if running.fetch_add(1, Ordering::SeqCst) >= 3 {
                running.fetch_sub(1, Ordering::SeqCst);
                return Err(refused());
            }
            Ok(())
        };
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let (pass, ()) = gate.start(start, || false).ok().unwrap();
                        most.fetch_max(running.load(Ordering::SeqCst), Ordering::SeqCst);
                        thread::sleep(Duration::from_millis(1));
                        running.fetch_sub(1, Ordering::SeqCst);
                        drop(pass);
                    }
                });
            }
        });
        assert!(most.into_inner() <= 3);
        assert!(gate.most().is_none_or(|most| most <= 3));
    }

    #[test]
    fn what_is_refused_for_ever_is_an_error() {
        let gate = Gate::default();
        let tried = AtomicUsize::new(0);
        let start = || -> io::Result<()> {
            tried.fetch_add(1, Ordering::SeqCst);
            Err(refused())
        };
        let Err(NoStart::Failed(error)) = gate.start(start, || false) else {
            panic!("it started");
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(tried.into_inner(), 11);
    }

    #[test]
    fn another_error_is_not_tried_again() {
        let gate = Gate::default();
        let start = || -> io::Result<()> { Err(io::ErrorKind::NotFound.into()) };
        assert!(matches!(
            gate.start(start, || false),
            Err(NoStart::Failed(_))
        ));
    }
}
