//! A process that runs. However it is let go of, no process of its group is left and no zombie.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{self, ExitStatus};

use inorder::{GuardedGroup, guard_group};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// A process and our ends of its pipes, which never block.
pub struct Child {
    process: process::Child,
    group: Pid,
    guard: Option<GuardedGroup>,
    /// Readable when the process has ended, where the system has that.
    ended: Option<OwnedFd>,
    reaped: bool,
    pub stdin: Option<OwnedFd>,
    pub stdout: Option<OwnedFd>,
    pub stderr: Option<OwnedFd>,
}

impl Child {
    /// `pipe`: how much its standard input and output should hold, where the system allows it.
    pub fn new(mut process: process::Child, pipe: usize) -> io::Result<Child> {
        let group = Pid::from_child(&process);
        let mut child = Child {
            guard: Some(guard_group(group.as_raw_nonzero().get())),
            group,
            ended: end_of(group),
            reaped: false,
            stdin: process.stdin.take().map(OwnedFd::from),
            stdout: process.stdout.take().map(OwnedFd::from),
            stderr: process.stderr.take().map(OwnedFd::from),
            process,
        };
        for (fd, large) in [
            (&mut child.stdin, true),
            (&mut child.stdout, true),
            (&mut child.stderr, false),
        ] {
            let Some(fd) = fd else { continue };
            rustix::io::ioctl_fionbio(&*fd, true)?;
            if large {
                enlarge(fd.as_fd(), pipe);
            }
        }
        Ok(child)
    }

    /// A descriptor that becomes readable when the process has ended; `None`: ask [`has_ended`](Child::has_ended).
    pub fn ended(&self) -> Option<BorrowedFd<'_>> {
        self.ended.as_ref().map(AsFd::as_fd)
    }

    pub fn has_ended(&self) -> bool {
        // The number stays the process's own until it is waited for without this option.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.group), look), Ok(None))
    }

    /// Sends a signal to the process and all that it has started and not put into other groups.
    pub fn signal(&self, signal: Signal) {
        if !self.reaped {
            // A group of which nobody is left can't be told anything.
            let _ = kill_process_group(self.group, signal);
        }
    }

    /// Waits for the process, which has ended or will.
    pub fn reap(&mut self) -> io::Result<ExitStatus> {
        // From here on the number can be someone else's.
        self.guard = None;
        self.reaped = true;
        self.process.wait()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            self.signal(Signal::KILL);
            let _ = self.reap();
        }
    }
}

#[cfg(target_os = "linux")]
fn end_of(process: Pid) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    pidfd_open(process, PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn end_of(_process: Pid) -> Option<OwnedFd> {
    None
}

#[cfg(target_os = "linux")]
fn enlarge(pipe: BorrowedFd<'_>, size: usize) {
    // What a process may hold in pipes is limited; then this one stays as it is.
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, size);
}

#[cfg(not(target_os = "linux"))]
fn enlarge(_pipe: BorrowedFd<'_>, _size: usize) {}
