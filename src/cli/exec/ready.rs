//! Waits for a process: for its pipes, its end, and what ends the wait itself.

use std::hint::black_box;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use inorder::Interrupts;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::child::Child;
use super::said::Said;

/// How often is looked at what can't be waited for.
const TICK: Duration = Duration::from_millis(20);

/// What to wait for, beside standard error.
#[derive(Debug, Default)]
pub struct Watch<'w> {
    /// Whether there is something to send.
    pub stdin: bool,
    pub stdout: bool,
    /// The process's end.
    pub ended: bool,
    pub interrupts: Option<Interrupts<'w>>,
    pub until: Option<Instant>,
}

/// What a wait ended with; nothing: its time is over.
#[derive(Debug, Default)]
pub struct Ready {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
    pub ended: bool,
    pub interrupted: bool,
}

/// Waits until something can be done, or the time has come.
pub fn wait(child: &Child, said: &mut Said, watch: &Watch<'_>) -> io::Result<Ready> {
    let hears = said.has_room();
    let mut fds = Fds::default();
    if watch.stdin {
        fds.add(borrowed(&child.stdin), PollFlags::OUT, |ready| {
            &mut ready.stdin
        });
    }
    if watch.stdout {
        fds.add(borrowed(&child.stdout), PollFlags::IN, |ready| {
            &mut ready.stdout
        });
    }
    if hears {
        fds.add(borrowed(&child.stderr), PollFlags::IN, |ready| {
            &mut ready.stderr
        });
    }
    if let Some(interrupts) = watch.interrupts {
        fds.add(Some(interrupts.stop), PollFlags::IN, |ready| {
            &mut ready.interrupted
        });
        // Errors and a hang-up are reported without being asked for.
        fds.add(interrupts.output, PollFlags::empty(), |ready| {
            &mut ready.interrupted
        });
    }
    let mut tick = if hears { None } else { Some(TICK) };
    if watch.ended {
        fds.add(child.ended(), PollFlags::IN, |ready| &mut ready.ended);
        if child.ended().is_none() {
            // It mostly ends at once when its pipes are closed.
            let closed = child.stdout.is_none() && child.stderr.is_none();
            tick = Some(if closed { TICK / 20 } else { TICK });
        }
    }
    let left = watch
        .until
        .map(|until| until.saturating_duration_since(Instant::now()));
    let mut ready = fds.wait(left.into_iter().chain(tick).min())?;
    if watch.ended && child.ended().is_none() {
        ready.ended = child.has_ended();
    }
    Ok(ready)
}

/// Reads from standard error once. Whether anything came.
pub fn hear(child: &mut Child, said: &mut Said) -> io::Result<bool> {
    let Some(fd) = &child.stderr else {
        return Ok(false);
    };
    match read(|| said.read(fd.as_fd()))? {
        Some(0) => {
            child.stderr = None;
            Ok(false)
        }
        read => Ok(read.is_some()),
    }
}

/// Writes once, as much as there is room for. A process that reads no more is no failure by itself: its input is closed.
pub fn send(child: &mut Child, bytes: &[u8]) -> io::Result<usize> {
    let given = give(child, |pipe| match rustix::io::write(pipe, bytes) {
        Err(Errno::FAULT) => {
            touch(bytes);
            Err(Errno::AGAIN)
        }
        written => written,
    })?;
    Ok(given.unwrap_or(0))
}

/// Of a mapped input that was cut off, pages are gone, which a write only calls a bad address. To touch them ends the program with the message
/// for it; if they are there again, they are sent, and that the input has changed is found before the result is used.
fn touch(bytes: &[u8]) {
    const PAGE: usize = 4096;
    for byte in bytes.iter().step_by(PAGE).chain(bytes.last()) {
        black_box(*byte);
    }
}

/// As [`send`], with this call; `None`: nothing can be given for now, or ever.
pub fn give(
    child: &mut Child,
    call: impl FnOnce(BorrowedFd<'_>) -> rustix::io::Result<usize>,
) -> io::Result<Option<usize>> {
    let Some(fd) = &child.stdin else {
        return Ok(None);
    };
    match call(fd.as_fd()) {
        Ok(n) => Ok(Some(n)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(Errno::PIPE) => {
            child.stdin = None;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Reads; `None`: there is nothing for now.
pub fn read(read: impl FnOnce() -> io::Result<usize>) -> io::Result<Option<usize>> {
    use io::ErrorKind::{Interrupted, WouldBlock};
    match read() {
        Ok(n) => Ok(Some(n)),
        Err(error) if matches!(error.kind(), WouldBlock | Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

fn borrowed(fd: &Option<OwnedFd>) -> Option<BorrowedFd<'_>> {
    fd.as_ref().map(AsFd::as_fd)
}

/// What is waited for, and what each of it means.
#[derive(Default)]
struct Fds<'f> {
    fds: Vec<PollFd<'f>>,
    meanings: Vec<fn(&mut Ready) -> &mut bool>,
}

impl<'f> Fds<'f> {
    fn add(
        &mut self,
        fd: Option<BorrowedFd<'f>>,
        flags: PollFlags,
        meaning: fn(&mut Ready) -> &mut bool,
    ) {
        if let Some(fd) = fd {
            self.fds.push(PollFd::from_borrowed_fd(fd, flags));
            self.meanings.push(meaning);
        }
    }

    fn wait(mut self, timeout: Option<Duration>) -> io::Result<Ready> {
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut ready = Ready::default();
        match poll(&mut self.fds, timeout.as_ref()) {
            Err(Errno::INTR) => return Ok(ready),
            other => other.map_err(io::Error::from)?,
        };
        for (fd, meaning) in self.fds.iter().zip(&self.meanings) {
            if !fd.revents().is_empty() {
                *meaning(&mut ready) = true;
            }
        }
        Ok(ready)
    }
}
