//! Moves what goes to and comes from one process, all of it at the same time, so that none of the pipes can block another.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use inorder::Interrupts;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use super::child::Child;
use super::said::Said;

/// When the process has ended and others hold its pipes: as long nothing may come from them.
pub const QUIET: Duration = Duration::from_secs(2);
/// And as long it may take in all. Then its group is killed.
const LINGER: Duration = Duration::from_secs(10);
/// Between TERM and KILL, when the time is over.
pub const GRACE: Duration = Duration::from_secs(2);
/// Between TERM and KILL, when the run is stopping.
const STOP_GRACE: Duration = Duration::from_millis(200);
/// How often is looked at what can't be waited for.
const TICK: Duration = Duration::from_millis(20);

/// Where the standard output of a process goes.
pub trait Take {
    /// Reads once and takes it; how much was read, 0 at the end.
    fn take(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize>;
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Exited(ExitStatus),
    /// As `Exited`, but others had to be killed that held its pipes.
    Outlived(ExitStatus),
    /// It took longer than allowed.
    TimedOut,
    /// The run is stopping.
    Stopped,
}

/// One process, its input, and where its output goes.
pub struct Exchange<'x> {
    pub child: Child,
    /// What it gets, one after another.
    pub input: [&'x [u8]; 2],
    pub output: &'x mut dyn Take,
    pub said: &'x mut Said,
    pub interrupts: Option<Interrupts<'x>>,
    pub timeout: Option<Duration>,
}

/// What a wait ended with.
#[derive(Debug, Default)]
struct Ready {
    stdin: bool,
    stdout: bool,
    stderr: bool,
    ended: bool,
    interrupted: bool,
}

/// The process is being ended.
struct Ending {
    why: End,
    kill_at: Instant,
}

impl Exchange<'_> {
    /// Runs the process to its end.
    ///
    /// # Errors
    /// Of the system, and of the output's `take`: then the process is killed.
    pub fn run(mut self) -> io::Result<End> {
        let begun = Instant::now();
        let deadline = self.timeout.map(|timeout| begun + timeout);
        let mut ending: Option<Ending> = None;
        // When the process ended, and when something came last.
        let mut ended: Option<(Instant, Instant)> = None;
        self.close_when_fed();
        loop {
            let all_read = self.child.stdout.is_none() && self.child.stderr.is_none();
            let now = Instant::now();
            if let Some((at, last)) = ended {
                if let Some(Ending { why, .. }) = ending {
                    self.child.signal(Signal::KILL);
                    self.child.reap()?;
                    return Ok(why);
                }
                if all_read {
                    return Ok(End::Exited(self.child.reap()?));
                }
                if now >= (last + QUIET).min(at + LINGER) {
                    self.child.signal(Signal::KILL);
                    return Ok(End::Outlived(self.child.reap()?));
                }
            }
            let due = match (&ending, deadline) {
                (Some(Ending { kill_at, .. }), _) => Some(*kill_at),
                (None, deadline) => deadline,
            };
            if due.is_some_and(|due| now >= due) {
                if ending.is_some() {
                    self.child.signal(Signal::KILL);
                    ending = ending.map(|ending| Ending {
                        // It can only be waited for now.
                        kill_at: now + GRACE,
                        ..ending
                    });
                } else {
                    self.child.signal(Signal::TERM);
                    ending = Some(Ending {
                        why: End::TimedOut,
                        kill_at: now + GRACE,
                    });
                }
                continue;
            }
            let outlived = ended.map(|(at, last)| (last + QUIET).min(at + LINGER));
            let until = due.into_iter().chain(outlived).min();
            let watches_stop = ending.is_none();
            let ready = self.wait(until, ended.is_none(), watches_stop, all_read)?;
            if ready.interrupted && watches_stop {
                self.child.signal(Signal::TERM);
                ending = Some(Ending {
                    why: End::Stopped,
                    kill_at: Instant::now() + STOP_GRACE,
                });
            }
            let moved = self.exchange(&ready)?;
            if let Some((_, last)) = &mut ended
                && moved
            {
                *last = Instant::now();
            }
            if ended.is_none() && ready.ended {
                let now = Instant::now();
                ended = Some((now, now));
                // Whoever of its group still reads gets no more.
                self.child.stdin = None;
            }
        }
    }

    /// Waits until something can be done, or the time has come.
    fn wait(
        &mut self,
        until: Option<Instant>,
        running: bool,
        watches_stop: bool,
        all_read: bool,
    ) -> io::Result<Ready> {
        let hears = self.said.has_room();
        let child = &self.child;
        let mut fds = Fds::default();
        fds.add(borrowed(&child.stdin), PollFlags::OUT, |ready| {
            &mut ready.stdin
        });
        fds.add(borrowed(&child.stdout), PollFlags::IN, |ready| {
            &mut ready.stdout
        });
        if hears {
            fds.add(borrowed(&child.stderr), PollFlags::IN, |ready| {
                &mut ready.stderr
            });
        }
        let mut timeout = until.map(|until| until.saturating_duration_since(Instant::now()));
        if !hears {
            timeout = Some(timeout.map_or(TICK, |timeout| timeout.min(TICK)));
        }
        if running {
            match child.ended() {
                Some(fd) => fds.add(Some(fd), PollFlags::IN, |ready| &mut ready.ended),
                // It mostly ends at once when its pipes are closed.
                None => {
                    let tick = if all_read { TICK / 20 } else { TICK };
                    timeout = Some(timeout.map_or(tick, |timeout| timeout.min(tick)));
                }
            }
        }
        if let Some(interrupts) = self.interrupts.filter(|_| watches_stop) {
            fds.add(Some(interrupts.stop), PollFlags::IN, |ready| {
                &mut ready.interrupted
            });
            // Errors and a hang-up are reported without being asked for.
            fds.add(interrupts.output, PollFlags::empty(), |ready| {
                &mut ready.interrupted
            });
        }
        let mut ready = fds.wait(timeout)?;
        if running && child.ended().is_none() {
            ready.ended = child.has_ended();
        }
        Ok(ready)
    }

    /// Moves what can be moved at once. Whether anything came.
    fn exchange(&mut self, ready: &Ready) -> io::Result<bool> {
        if ready.stdin {
            self.feed()?;
        }
        let mut moved = false;
        if ready.stdout
            && let Some(fd) = &self.child.stdout
        {
            match read(|| self.output.take(fd.as_fd()))? {
                Some(0) => self.child.stdout = None,
                read => moved |= read.is_some(),
            }
        }
        if ready.stderr
            && let Some(fd) = &self.child.stderr
        {
            match read(|| self.said.read(fd.as_fd()))? {
                Some(0) => {
                    self.child.stderr = None;
                    self.said.end();
                }
                read => moved |= read.is_some(),
            }
        }
        Ok(moved)
    }

    /// Writes once. A process that reads no more is no failure by itself: its status decides.
    fn feed(&mut self) -> io::Result<()> {
        let Some(fd) = &self.child.stdin else {
            return Ok(());
        };
        let part = usize::from(self.input[0].is_empty());
        match rustix::io::write(fd, self.input[part]) {
            Ok(n) => self.input[part] = &self.input[part][n..],
            Err(error) if is_for_now(error) => {}
            Err(rustix::io::Errno::PIPE) => self.child.stdin = None,
            Err(error) => return Err(error.into()),
        }
        self.close_when_fed();
        Ok(())
    }

    fn close_when_fed(&mut self) {
        if self.input.iter().all(|part| part.is_empty()) {
            self.child.stdin = None;
        }
    }
}

/// Reads; `None`: there is nothing for now.
fn read(read: impl FnOnce() -> io::Result<usize>) -> io::Result<Option<usize>> {
    match read() {
        Ok(n) => Ok(Some(n)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn is_for_now(error: rustix::io::Errno) -> bool {
    matches!(error, rustix::io::Errno::AGAIN | rustix::io::Errno::INTR)
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
            Err(rustix::io::Errno::INTR) => return Ok(ready),
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
