//! Moves what goes to and comes from one process, all of it at the same time, so that none of the pipes can block another.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

use inorder::Interrupts;
use rustix::process::Signal;

use super::child::Child;
use super::ready::{Ready, Watch, hear, read, wait};
use super::said::Said;
use super::sent::Sent;

/// When the process has ended and others hold its pipes: as long nothing may come from them.
pub const QUIET: Duration = Duration::from_secs(2);
/// And as long it may take in all. Then its group is killed.
const LINGER: Duration = Duration::from_secs(10);
/// Between TERM and KILL, when the time is over.
pub const GRACE: Duration = Duration::from_secs(2);
/// Between TERM and KILL, when the run is stopping.
const STOP_GRACE: Duration = Duration::from_millis(200);

/// Many commands write 4 KiB at a time, and to be woken for each costs more than the work. Where less than this came and went in a round,
/// and more than that before, it is left to pile up for a moment: the pipes hold enough for the process to go on meanwhile.
const WORTH_A_ROUND: usize = 64 << 10;
const MOMENT: Duration = Duration::from_micros(300);

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
    /// It took longer than this, which is allowed.
    TimedOut(Duration),
    /// The run is stopping.
    Stopped,
}

/// One process, its input, and where its output goes.
pub struct Exchange<'x> {
    pub child: Child,
    pub input: Sent<'x>,
    pub output: &'x mut dyn Take,
    pub said: &'x mut Said,
    pub interrupts: Option<Interrupts<'x>>,
    pub timeout: Option<Duration>,
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
        let mut moved_before = 0;
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
                        why: End::TimedOut(self.timeout.unwrap_or_default()),
                        kill_at: now + GRACE,
                    });
                }
                continue;
            }
            let outlived = ended.map(|(at, last)| (last + QUIET).min(at + LINGER));
            let until = due.into_iter().chain(outlived).min();
            let watches_stop = ending.is_none();
            let watch = Watch {
                stdin: true,
                stdout: true,
                ended: ended.is_none(),
                interrupts: self.interrupts.filter(|_| watches_stop),
                until,
            };
            let ready = wait(&self.child, self.said, &watch)?;
            if ready.interrupted && watches_stop {
                self.child.signal(Signal::TERM);
                ending = Some(Ending {
                    why: End::Stopped,
                    kill_at: Instant::now() + STOP_GRACE,
                });
            }
            let left = self.input.left();
            let came = self.exchange(&ready)?;
            if let Some((_, last)) = &mut ended
                && came > 0
            {
                *last = Instant::now();
            }
            let moved = came + (left - self.input.left());
            if ended.is_none()
                && (1..WORTH_A_ROUND).contains(&moved)
                && moved_before > WORTH_A_ROUND
            {
                thread::sleep(MOMENT);
            }
            moved_before += moved;
            if ended.is_none() && ready.ended {
                let now = Instant::now();
                ended = Some((now, now));
                // Whoever of its group still reads gets no more.
                self.child.stdin = None;
            }
        }
    }

    /// Moves what can be moved at once. How much came.
    fn exchange(&mut self, ready: &Ready) -> io::Result<usize> {
        if ready.stdin {
            self.feed()?;
        }
        let mut came = 0;
        if ready.stdout
            && let Some(fd) = &self.child.stdout
        {
            match read(|| self.output.take(fd.as_fd()))? {
                Some(0) => self.child.stdout = None,
                read => came += read.unwrap_or(0),
            }
        }
        if ready.stderr {
            came += usize::from(hear(&mut self.child, self.said)?);
        }
        Ok(came)
    }

    fn feed(&mut self) -> io::Result<()> {
        self.input.send(&mut self.child)?;
        self.close_when_fed();
        Ok(())
    }

    fn close_when_fed(&mut self) {
        if self.input.left() == 0 {
            self.child.stdin = None;
        }
    }
}
