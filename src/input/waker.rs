//! Ends a read that waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(unix)]
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::OnceLock,
};

use super::InputError;
use crate::latch::Latch;

/// Tells the reader to stop, also while it waits for a pipe. Clones belong together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waker(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    woken: Latch,
    #[cfg(unix)]
    output: OnceLock<OwnedFd>,
}

impl Waker {
    /// Makes this and every later `Input::more` say that it is stopped. There is no way back.
    pub fn wake(&self) {
        self.0.woken.set();
    }

    pub fn is_woken(&self) -> bool {
        self.0.woken.is_set()
    }
}

#[cfg(unix)]
impl Waker {
    /// Waits end too when nobody can read this pipe or socket any more. The first one given counts.
    pub fn watch_closed(&self, output: OwnedFd) {
        let _ = self.0.output.set(output);
    }

    /// What [`watch_closed`](Waker::watch_closed) was given.
    pub fn watched(&self) -> Option<BorrowedFd<'_>> {
        self.0.output.get().map(AsFd::as_fd)
    }

    pub fn watches_output(&self) -> bool {
        self.0.output.get().is_some()
    }

    /// Waits until nobody can read the output any more (`true`), or until woken.
    pub fn wait_for_close(&self) -> io::Result<bool> {
        use rustix::event::{PollFd, PollFlags, poll};

        let Some(output) = self.0.output.get() else {
            return Ok(false);
        };
        let mut fds = [
            PollFd::from_borrowed_fd(self.0.woken.readable()?, PollFlags::IN),
            PollFd::new(output, PollFlags::empty()),
        ];
        while !self.is_woken() {
            match poll(&mut fds, None) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other.map_err(io::Error::from)?,
            };
            if !fds[1].revents().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether `input` has bytes, its end, or an error to read. Waits for it if `wait` says so.
    pub(super) fn readable(&self, input: BorrowedFd<'_>, wait: bool) -> Result<bool, InputError> {
        let timeout = if wait { None } else { Some(Duration::ZERO) };
        self.poll(Some(input), timeout)
    }

    /// Sleeps, but no longer than until it is woken.
    pub fn sleep(&self, duration: Duration) -> Result<(), InputError> {
        self.poll(None, Some(duration)).map(drop)
    }

    /// Waits until `input` is readable (`true`) or the time is over.
    fn poll(
        &self,
        input: Option<BorrowedFd<'_>>,
        timeout: Option<Duration>,
    ) -> Result<bool, InputError> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        let mut fds = vec![PollFd::from_borrowed_fd(
            self.0.woken.readable()?,
            PollFlags::IN,
        )];
        if let Some(output) = self.watched() {
            // Errors and a hang-up are reported without being asked for.
            fds.push(PollFd::from_borrowed_fd(output, PollFlags::empty()));
        }
        let stops = fds.len();
        fds.extend(input.map(|input| PollFd::from_borrowed_fd(input, PollFlags::IN)));
        let until = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            if self.is_woken() {
                return Err(InputError::Stopped);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let left = left.map(|left| Timespec::try_from(left).unwrap_or(FOR_LONG));
            match poll(&mut fds, left.as_ref()) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other.map_err(io::Error::from)?,
            };
            if fds[..stops].iter().any(|fd| !fd.revents().is_empty()) {
                return Err(InputError::Stopped);
            }
            let ready = fds[stops..].iter().any(|fd| !fd.revents().is_empty());
            if ready || timeout.is_some() {
                return Ok(ready);
            }
        }
    }
}

/// Longer than any run.
#[cfg(unix)]
const FOR_LONG: rustix::event::Timespec = rustix::event::Timespec {
    tv_sec: 1 << 32,
    tv_nsec: 0,
};

#[cfg(not(unix))]
impl Waker {
    /// Sleeps, but not much longer than until it is woken.
    pub fn sleep(&self, duration: Duration) -> Result<(), InputError> {
        let until = Instant::now() + duration;
        loop {
            if self.is_woken() {
                return Err(InputError::Stopped);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }
}
