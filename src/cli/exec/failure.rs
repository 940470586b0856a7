//! What is said of a command that failed.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use inorder::{ChunkError, FailureKind, Fault};

/// An attempt failed.
#[derive(Debug)]
pub struct CommandFailed {
    pub why: Why,
    /// The numbers of the first and the last record.
    pub records: (u64, u64),
    /// The last lines of its standard error.
    pub tail: String,
    pub hint: &'static str,
}

/// How an attempt failed.
#[derive(Debug)]
pub enum Why {
    Ended(ExitStatus),
    /// It said what is no result.
    Wrong(String),
    TimedOut(Duration),
    /// A process that lives on did not.
    Died(ExitStatus),
}

/// Where the status is 1 and nothing was printed.
pub const OK_STATUS: &str =
    " (if that means that nothing was found, as grep does, add --ok-status 0,1)";

impl fmt::Display for CommandFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "command {}", self.why)?;
        match self.records {
            (0, _) => {}
            (first, last) if first == last => write!(f, " on record {first}")?,
            (first, last) => write!(f, " on records {first} to {last}")?,
        }
        f.write_str(self.hint)?;
        if !self.tail.is_empty() {
            write!(f, "; it said: {}", self.tail)?;
        }
        Ok(())
    }
}

impl std::error::Error for CommandFailed {}

impl From<CommandFailed> for ChunkError {
    /// It is not known of which record.
    fn from(failed: CommandFailed) -> ChunkError {
        let kind = match failed.why {
            Why::TimedOut(_) => FailureKind::Timeout,
            _ => FailureKind::Command,
        };
        ChunkError::Whole(Fault::new(kind, failed).into())
    }
}

impl Why {
    /// A process that lives on should not have ended.
    pub fn with_answers_owing(self) -> Why {
        match self {
            Why::Ended(status) => Why::Died(status),
            why => why,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Ended(status) => ended(*status, f),
            Why::Wrong(what) => f.write_str(what),
            Why::Died(status) => {
                ended(*status, f)?;
                f.write_str(" with answers owing")
            }
            Why::TimedOut(limit) => write!(f, "took longer than {limit:?}"),
        }
    }
}

fn ended(status: ExitStatus, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match (status.code(), status.signal()) {
        (Some(code), _) => write!(f, "exited {code}"),
        (None, Some(signal)) => match signal_name(signal) {
            Some(name) => write!(f, "was killed by {name}"),
            None => write!(f, "was killed by signal {signal}"),
        },
        (None, None) => write!(f, "ended: {status}"),
    }
}

/// The names of the signals that end processes, with their numbers here.
fn signal_name(number: i32) -> Option<&'static str> {
    use rustix::process::Signal;
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::SYS, "SIGSYS"),
    ];
    let found = names.iter().find(|(signal, _)| signal.as_raw() == number);
    found.map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(status: i32, records: (u64, u64), tail: &str) -> String {
        CommandFailed {
            why: Why::Ended(ExitStatus::from_raw(status)),
            records,
            tail: tail.to_owned(),
            hint: "",
        }
        .to_string()
    }

    #[test]
    fn messages() {
        assert_eq!(
            failed(3 << 8, (5, 8), "no such thing"),
            "command exited 3 on records 5 to 8; it said: no such thing"
        );
        assert_eq!(
            failed(9, (5, 5), ""),
            "command was killed by SIGKILL on record 5"
        );
        assert_eq!(failed(34, (0, 0), ""), "command was killed by signal 34");
    }
}
