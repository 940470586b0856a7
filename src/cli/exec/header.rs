//! The header of CSV and TSV: who sees it, and what the command makes of it.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;

use super::exchange::Take;
use crate::cli::args::HeaderArg;

/// What is known of the header from the start of the run on.
#[derive(Debug)]
pub struct Header {
    who: Option<HeaderArg>,
    sent: OnceLock<Vec<u8>>,
    printed: OnceLock<Vec<u8>>,
}

impl Header {
    pub fn new(who: Option<HeaderArg>) -> Header {
        Header {
            who,
            sent: OnceLock::new(),
            printed: OnceLock::new(),
        }
    }

    pub fn who(&self) -> Option<HeaderArg> {
        self.who
    }

    /// This is what the command gets before all else. Known once, before the first chunk.
    pub fn set_sent(&self, bytes: &[u8]) {
        let _ = self.sent.set(bytes.to_vec());
    }

    /// This is what it prints for that.
    pub fn set_printed(&self, bytes: &[u8]) {
        let _ = self.printed.set(bytes.to_vec());
    }

    /// Empty: the command sees no header.
    pub fn sent(&self) -> &[u8] {
        self.sent.get().map_or(&[], Vec::as_slice)
    }

    /// Empty: the command prints no header.
    pub fn printed(&self) -> &[u8] {
        self.printed.get().map_or(&[], Vec::as_slice)
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

/// And of Miller, whose older versions write the header with the first row.
const MILLER: &str = ". This Miller prints no header where there are no rows: \
     --header in -- mlr --csv --headerless-csv-output ... gives the rows";

/// What to say when the command can do nothing with a header alone.
const EXPLAINED: &str = "Before the first chunk the command gets the header alone, and what it prints is the output's \
     header. Who sees the header is set by --header: `keep` if the command is not to see it and the output gets the input's \
     (grep, sed, tr), `in` if it is to see it and prints none, `none` if neither";

/// The command can do nothing with the header alone.
#[derive(Debug)]
pub struct NoHeader {
    pub command: String,
    pub what: String,
    /// The last lines of its standard error.
    pub tail: String,
}

impl fmt::Display for NoHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoHeader {
            command,
            what,
            tail,
        } = self;
        write!(f, "given the header alone, the command ({command}) {what}")?;
        if !tail.is_empty() {
            write!(f, " and said: {}", tail.trim_end_matches('.'))?;
        }
        write!(f, ". {EXPLAINED}")?;
        if command.starts_with("mlr ") {
            f.write_str(MILLER)?;
        }
        Ok(())
    }
}

impl std::error::Error for NoHeader {}
