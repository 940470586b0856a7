//! How many processes run at a time: as many as there are workers, or fewer where the system allows no more.

use std::io;
use std::time::Duration;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// So often a start that the system refuses is tried again when no other process of ours is there to wait for.
const TRIES: u32 = 10;
/// And so long the first wait is; each is as much longer.
const PAUSE: Duration = Duration::from_millis(10);
/// How often a wait looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(50);

/// Counts the processes that run.
#[derive(Debug, Default)]
pub struct Gate(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
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
#[derive(Debug)]
pub struct Pass(Arc<Shared>);

/// What came of a start.
#[derive(Debug)]
pub enum Entry<C, I> {
    Started(Pass, C),
    /// What was there already.
    Instead(I),
}

/// Why there is no process.
#[derive(Debug)]
pub enum NoStart {
    /// The run is stopping.
    Stopped,
    Failed(io::Error),
}

impl Gate {
    /// Starts a process by `start`. Where the system has no room for it, waits until another has ended, or until there is something
    /// `instead` of it (see [`look_again`](Gate::look_again)), which is asked for first unless it is to be a
    /// `new` one and there is room.
    pub fn start<C, I>(
        &self,
        new: bool,
        start: impl Fn() -> io::Result<C>,
        instead: impl Fn() -> Option<I>,
        is_stopping: impl Fn() -> bool,
    ) -> Result<Entry<C, I>, NoStart> {
        let mut tries = 0;
        loop {
            let pass = match self.enter(new, &instead, &is_stopping)? {
                Entry::Started(pass, ()) => pass,
                Entry::Instead(other) => return Ok(Entry::Instead(other)),
            };
            let error = match start() {
                Ok(process) => return Ok(Entry::Started(pass, process)),
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

    fn enter<I>(
        &self,
        new: bool,
        instead: impl Fn() -> Option<I>,
        is_stopping: impl Fn() -> bool,
    ) -> Result<Entry<(), I>, NoStart> {
        let mut counts = self.0.counts();
        loop {
            // Under the lock (where no pass may be dropped), so that `look_again` can't come between this look and the wait.
            let has_room = counts.most.is_none_or(|most| counts.running < most);
            if !(new && has_room)
                && let Some(other) = instead()
            {
                return Ok(Entry::Instead(other));
            }
            if has_room {
                break;
            }
            if is_stopping() {
                return Err(NoStart::Stopped);
            }
            let waited = self.0.freed.wait_timeout(counts, LOOK);
            counts = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        counts.running += 1;
        Ok(Entry::Started(Pass(Arc::clone(&self.0)), ()))
    }

    /// There is something instead of a process, for one who waits.
    pub fn look_again(&self) {
        let _counts = self.0.counts();
        self.0.freed.notify_one();
    }

    /// No more than the others may run from now on. Whether there are others.
    fn lower(&self, pass: Pass) -> bool {
        drop(pass);
        let mut counts = self.0.counts();
        let others = counts.running;
        if others > 0 {
            counts.most = Some(counts.most.map_or(others, |most| most.min(others)));
        }
        others > 0
    }

    /// How many may run at a time, if fewer than there are workers.
    pub fn most(&self) -> Option<usize> {
        self.0.counts().most
    }
}

impl Shared {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pass {
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
                        let entry = gate.start(true, start, || None::<()>, || false).unwrap();
                        let Entry::Started(pass, ()) = entry else {
                            panic!("there is nothing instead");
                        };
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
        let Err(NoStart::Failed(error)) = gate.start(true, start, || None::<()>, || false) else {
            panic!("it started");
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(tried.into_inner(), 11);
    }

    #[test]
    fn who_waits_takes_what_comes_instead() {
        let (gate, idle) = (Gate::default(), Mutex::new(None));
        let none = || None::<u8>;
        let Ok(Entry::Started(_pass, ())) = gate.start(true, || Ok(()), none, || false) else {
            panic!("there is room for one");
        };
        let take = || idle.lock().unwrap().take();
        thread::scope(|scope| {
            let waits =
                scope.spawn(|| gate.start(false, || Err::<(), _>(refused()), take, || false));
            while gate.most().is_none() {
                thread::yield_now();
            }
            *idle.lock().unwrap() = Some(7);
            gate.look_again();
            assert!(matches!(waits.join().unwrap(), Ok(Entry::Instead(7))));
        });
    }

    #[test]
    fn another_error_is_not_tried_again() {
        let gate = Gate::default();
        let start = || -> io::Result<()> { Err(io::ErrorKind::NotFound.into()) };
        assert!(matches!(
            gate.start(true, start, || None::<()>, || false),
            Err(NoStart::Failed(_))
        ));
    }
}
