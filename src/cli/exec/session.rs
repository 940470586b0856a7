//! A process that lives on: it gets records and gives an answer to each.

use std::io;
use std::os::fd::AsFd;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use inorder::{Format, Interrupts, Splitter};
use rustix::buffer::spare_capacity;
use rustix::process::Signal;

use super::child::Child;
use super::exchange::GRACE;
use super::feed::Feed;
use super::gate::Pass;
use super::persistent::FAREWELL;
use super::ready::{Watch, hear, read, send, wait};
use super::said::Said;
use super::worker::Number;

/// So long a process that closed its output may take to end.
const DYING: Duration = Duration::from_millis(200);
/// Room for one read.
const READ: usize = 64 << 10;

/// A process and what it has answered.
pub struct Session {
    child: Child,
    // Dropped behind the process: only then there is room for another.
    _pass: Pass,
    _number: Number,
    pub said: Said,
    splitter: Splitter,
    /// What it has printed, from the first answer on that is not taken.
    printed: Vec<u8>,
    taken: usize,
    ended: bool,
    /// It did not end by itself.
    pub had_to_die: bool,
    /// When it was started.
    pub begun: Instant,
    /// Answers, without that to the header.
    pub answered: u64,
    /// It has answered records of an earlier chunk.
    pub is_old: bool,
    /// The longest wait for an answer but the first.
    slowest: Duration,
    /// When it got no more.
    closed: Option<Instant>,
}

/// What a wait for an answer ended with.
pub enum Step<'s> {
    Answer(&'s [u8]),
    /// There will be no more answers.
    Died,
    Interrupted,
    /// The time is over.
    Late,
}

impl Session {
    /// `format`: of the answers.
    pub fn new(
        (pass, child): (Pass, Child),
        number: Number,
        said: Said,
        format: &Format,
    ) -> Session {
        Session {
            child,
            _pass: pass,
            _number: number,
            said,
            splitter: format.splitter(),
            printed: Vec::new(),
            taken: 0,
            ended: false,
            had_to_die: false,
            begun: Instant::now(),
            answered: 0,
            is_old: false,
            slowest: Duration::ZERO,
            closed: None,
        }
    }

    /// Sends what there is room for, until an answer is there.
    pub fn next_answer(
        &mut self,
        feed: &mut Feed<'_>,
        interrupts: Option<Interrupts<'_>>,
        until: Option<Instant>,
    ) -> io::Result<Step<'_>> {
        let mut waits_since = None;
        loop {
            if let Some(len) = self.splitter.next_record(&self.printed[self.taken..]) {
                if let Some(since) = waits_since
                    && self.answered > 0
                {
                    self.slowest = self.slowest.max(Instant::elapsed(&since));
                }
                let start = self.taken;
                self.taken += len;
                return Ok(Step::Answer(&self.printed[start..self.taken]));
            }
            if self.child.stdout.is_none() {
                return Ok(Step::Died);
            }
            waits_since.get_or_insert_with(Instant::now);
            let front = feed.front();
            let watch = Watch {
                stdin: !front.is_empty(),
                stdout: true,
                ended: !self.ended,
                interrupts,
                until,
            };
            let ready = wait(&self.child, &mut self.said, &watch)?;
            if ready.interrupted {
                return Ok(Step::Interrupted);
            }
            if ready.stdin {
                feed.sent(send(&mut self.child, front)?);
            }
            if ready.stderr {
                hear(&mut self.child, &mut self.said)?;
            }
            if ready.stdout || ready.ended {
                self.read()?;
            }
            if ready.ended {
                self.ended = true;
                // What it has printed is there; others that hold its output have no say.
                while self.read()? {}
                self.child.stdout = None;
            } else if !(ready.stdin || ready.stdout || ready.stderr)
                && until.is_some_and(|until| Instant::now() >= until)
            {
                return Ok(Step::Late);
            }
        }
    }

    /// Reads once. Whether anything came.
    fn read(&mut self) -> io::Result<bool> {
        let Some(fd) = &self.child.stdout else {
            return Ok(false);
        };
        self.printed.drain(..std::mem::take(&mut self.taken));
        self.printed.reserve(READ);
        let printed = &mut self.printed;
        match read(|| Ok(rustix::io::read(fd.as_fd(), spare_capacity(printed))?))? {
            Some(0) => {
                self.child.stdout = None;
                Ok(false)
            }
            got => Ok(got.is_some()),
        }
    }

    /// Whether something is printed that is no answer to anything, when all is answered. Waits so long for it.
    pub fn says_more(&mut self, patience: Duration) -> io::Result<bool> {
        let until = Instant::now() + patience;
        while self.taken == self.printed.len() && self.child.stdout.is_some() {
            let watch = Watch {
                stdout: true,
                until: Some(until),
                ..Watch::default()
            };
            let ready = wait(&self.child, &mut self.said, &watch)?;
            if ready.stderr {
                hear(&mut self.child, &mut self.said)?;
            }
            if ready.stdout {
                self.read()?;
            } else if Instant::now() >= until {
                break;
            }
        }
        Ok(self.taken < self.printed.len())
    }

    /// Whether it is still there to be asked.
    pub fn lives(&self) -> bool {
        self.child.stdout.is_some() && self.child.stdin.is_some() && !self.ended
    }

    /// Ends it before it has answered.
    pub fn stop(&mut self) -> io::Result<ExitStatus> {
        self.child.signal(Signal::TERM);
        self.end_by(Instant::now() + GRACE, false, None)
    }

    /// It is gone, or going, with answers owing.
    pub fn end_of_dying(&mut self) -> io::Result<ExitStatus> {
        self.end_by(Instant::now() + DYING, false, None)
    }

    /// Gives it no more.
    pub fn close(&mut self) {
        self.child.stdin = None;
        self.closed.get_or_insert_with(Instant::now);
    }

    /// When all is answered: gives it no more and lets it end by itself, but not for long. Where answers took long it gets as long as
    /// another would take, for that would be a [`surplus`](Session::surplus).
    pub fn end(&mut self, interrupts: Interrupts<'_>) -> io::Result<ExitStatus> {
        self.close();
        let closed = self.closed.unwrap_or_else(Instant::now);
        let patience = FAREWELL.max(self.slowest * 2);
        self.end_by(closed + patience, true, Some(interrupts))
    }

    /// What it printed beyond its answers.
    pub fn surplus(&self) -> Option<&[u8]> {
        let surplus = &self.printed[self.taken..];
        (!surplus.is_empty()).then_some(surplus)
    }

    /// `heeded`: what it prints ends the wait; else it is thrown away.
    fn end_by(
        &mut self,
        until: Instant,
        heeded: bool,
        interrupts: Option<Interrupts<'_>>,
    ) -> io::Result<ExitStatus> {
        self.close();
        loop {
            let closed = self.child.stdout.is_none() && self.child.stderr.is_none();
            if self.ended && closed || Instant::now() >= until {
                break;
            }
            if !heeded {
                self.taken = self.printed.len();
            } else if self.surplus().is_some() {
                break;
            }
            let watch = Watch {
                stdout: true,
                ended: !self.ended,
                interrupts,
                until: Some(until),
                ..Watch::default()
            };
            let ready = wait(&self.child, &mut self.said, &watch)?;
            if ready.stderr {
                hear(&mut self.child, &mut self.said)?;
            }
            if ready.stdout {
                self.read()?;
            }
            self.ended |= ready.ended;
            if ready.interrupted {
                break;
            }
        }
        self.had_to_die = !self.ended;
        self.child.signal(Signal::KILL);
        self.child.reap()
    }
}
