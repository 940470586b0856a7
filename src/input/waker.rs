//! Ends a read that waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

#[cfg(unix)]
use std::{
    io::{self, PipeReader, PipeWriter, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::OnceLock,
};

#[cfg(unix)]
use super::InputError;

/// Tells the reader to stop, also while it waits for a pipe. Clones belong together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waker(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    woken: AtomicBool,
    /// Made by the first wait: runs over regular files need none.
    #[cfg(unix)]
    pipe: OnceLock<(PipeReader, PipeWriter)>,
    #[cfg(unix)]
    output: OnceLock<OwnedFd>,
}

impl Waker {
    /// Makes this and every later `Input::more` say that it is stopped. There is no way back.
    pub fn wake(&self) {
        self.0.woken.store(true, Ordering::SeqCst);
        // Either the waiting side sees the flag, or this side sees its pipe.
        fence(Ordering::SeqCst);
        #[cfg(unix)]
        if let Some((_, writer)) = self.0.pipe.get() {
            let mut writer: &PipeWriter = writer;
            // A byte in the pipe wakes everyone for good. It can only fail if there is one already.
            let _ = writer.write(&[0]);
        }
    }

    pub fn is_woken(&self) -> bool {
        self.0.woken.load(Ordering::SeqCst)
    }
}

#[cfg(unix)]
impl Waker {
    /// Waits end too when nobody can read this pipe or socket any more. The first one given counts.
    pub fn watch_closed(&self, output: OwnedFd) {
        let _ = self.0.output.set(output);
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
            PollFd::from_borrowed_fd(self.pipe()?, PollFlags::IN),
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
        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        let pipe = self.pipe()?;
        let mut fds = vec![
            PollFd::from_borrowed_fd(input, PollFlags::IN),
            PollFd::from_borrowed_fd(pipe, PollFlags::IN),
        ];
        if let Some(output) = self.0.output.get() {
            // Errors and a hang-up are reported without being asked for.
            fds.push(PollFd::new(output, PollFlags::empty()));
        }
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let timeout = if wait { None } else { Some(&at_once) };
        while !self.is_woken() {
            match poll(&mut fds, timeout) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other.map_err(io::Error::from)?,
            };
            if fds[1..].iter().any(|fd| !fd.revents().is_empty()) {
                break;
            }
            let ready = !fds[0].revents().is_empty();
            if ready || !wait {
                return Ok(ready);
            }
        }
        Err(InputError::Stopped)
    }

    fn pipe(&self) -> io::Result<BorrowedFd<'_>> {
        if self.0.pipe.get().is_none() {
            // Another thread may have been first: then this one's goes.
            let _ = self.0.pipe.set(io::pipe()?);
        }
        fence(Ordering::SeqCst);
        match self.0.pipe.get() {
            Some((reader, _)) => Ok(reader.as_fd()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}
