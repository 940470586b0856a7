//! The header of CSV and TSV: who sees it, and what the command makes of it.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;

use super::exchange::Take;
use crate::cli::args::HeaderArg;

/// What is known of the header from the start of the run on.
#[derive(Debug)]
pub struct Header {
    who: Option<HeaderArg>,
    learnt: OnceLock<Learnt>,
}

/// The header as it is sent and as it comes back.
#[derive(Debug, Default)]
pub struct Learnt {
    /// What the command gets before a chunk.
    pub sent: Vec<u8>,
    /// What its result begins with.
    pub printed: Vec<u8>,
    /// The output begins with it.
    pub written: bool,
}

static NOTHING: Learnt = Learnt {
    sent: Vec::new(),
    printed: Vec::new(),
    written: false,
};

impl Header {
    pub fn new(who: Option<HeaderArg>) -> Header {
        Header {
            who,
            learnt: OnceLock::new(),
        }
    }

    pub fn who(&self) -> Option<HeaderArg> {
        self.who
    }

    pub fn learn(&self, learnt: Learnt) {
        // It is learnt once, before the first chunk.
        let _ = self.learnt.set(learnt);
    }

    pub fn learnt(&self) -> &Learnt {
        self.learnt.get().unwrap_or(&NOTHING)
    }
}

/// The most that a header may be.
const LARGEST: usize = 16 << 20;

/// What the command prints for the header alone.
#[derive(Debug, Default)]
pub struct Collected(pub Vec<u8>);

impl Take for Collected {
    fn take(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        let mut bytes = [0; 4096];
        let n = rustix::io::read(fd, &mut bytes)?;
        self.0.extend_from_slice(&bytes[..n]);
        if self.0.len() > LARGEST {
            return Err(io::Error::other(
                "the command printed more than 16 MiB for the header alone",
            ));
        }
        Ok(n)
    }
}

/// What to say when the command can do nothing with a header alone.
pub const EXPLAINED: &str = "Before the first chunk the command gets the header alone, and what it prints is the output's \
     header. Who sees the header is set by --header: `keep` if the command is not to see it and the output gets the input's \
     (grep, sed, tr), `in` if it is to see it and prints none, `none` if neither";
