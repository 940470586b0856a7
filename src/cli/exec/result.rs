//! What a command prints for a chunk: the header that it repeats is taken off, and results are joined at record ends.

use std::fmt;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;

use inorder::{Buffer, Commit, Committed, RunState};

use super::exchange::Take;
use crate::cli::args::FormatArg;

/// The result of one attempt, on its way into the chunk's buffer.
pub struct Printed<'o> {
    out: &'o mut Buffer,
    ends: Ends,
    /// The header with which it must begin.
    header: &'o [u8],
    /// How much of that has come.
    seen: usize,
    /// Whether anything has come after it.
    begun: bool,
}

/// The result does not begin with the header.
#[derive(Debug)]
pub struct OtherHeader {
    pub wanted: String,
    pub found: String,
}

impl fmt::Display for OtherHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OtherHeader { wanted, found } = self;
        write!(
            f,
            "the result begins with {found:?}, not with the header {wanted:?} that the command printed for the header alone"
        )
    }
}

impl std::error::Error for OtherHeader {}

impl<'o> Printed<'o> {
    pub fn new(out: &'o mut Buffer, ends: Ends, header: &'o [u8]) -> Printed<'o> {
        Printed {
            out,
            ends,
            header,
            seen: 0,
            begun: false,
        }
    }

    /// All has come. Nothing at all is a result too.
    pub fn end(self) -> Result<(), OtherHeader> {
        if 0 < self.seen && self.seen < self.header.len() {
            return Err(self.other(&[]));
        }
        self.ends.note(self.out);
        Ok(())
    }

    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        let left = &self.header[self.seen..];
        let n = left.len().min(bytes.len());
        if left[..n] != bytes[..n] {
            return Err(io::Error::other(self.other(bytes)));
        }
        self.seen += n;
        let bytes = &bytes[n..];
        if bytes.is_empty() {
            return Ok(());
        }
        if !self.begun {
            self.begun = true;
            self.ends.separate(self.out)?;
        }
        self.out.write_all(bytes)
    }

    fn other(&self, bytes: &[u8]) -> OtherHeader {
        let found = [&self.header[..self.seen], bytes].concat();
        OtherHeader {
            wanted: first_line(self.header),
            found: first_line(&found),
        }
    }
}

impl Take for Printed<'_> {
    fn take(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        if self.begun {
            return self.out.read_from(fd);
        }
        let mut bytes = [0; 4096];
        let n = rustix::io::read(fd, &mut bytes)?;
        self.add(&bytes[..n])?;
        Ok(n)
    }
}

/// As much of a header as a message shows.
pub fn first_line(bytes: &[u8]) -> String {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or(bytes);
    let text = String::from_utf8_lossy(line);
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into_owned(),
    }
}

/// Ends of records, as the command prints them.
#[derive(Debug, Clone, Copy)]
pub struct Ends(FormatArg);

/// A note, and a state, that says so.
const MISSING: &[u8] = b"1";
const THERE: &[u8] = b"0";

impl Ends {
    pub fn of(format: FormatArg) -> Ends {
        Ends(format)
    }

    /// Whether this can be the last byte of a record's end.
    pub fn is_end(self, byte: u8) -> bool {
        match self.0 {
            FormatArg::Nul => byte == 0,
            FormatArg::Csv | FormatArg::Tsv => matches!(byte, b'\n' | b'\r'),
            FormatArg::Lines | FormatArg::Ndjson => byte == b'\n',
        }
    }

    /// The end that is added.
    pub fn end(self) -> &'static [u8] {
        match self.0 {
            FormatArg::Nul => b"\0",
            _ => b"\n",
        }
    }

    fn is_missing(self, out: &Buffer) -> bool {
        out.last_byte().is_some_and(|last| !self.is_end(last))
    }

    /// Something is to be written behind the result of a chunk's other part.
    fn separate(self, out: &mut Buffer) -> io::Result<()> {
        if self.is_missing(out) {
            out.write_all(self.end())?;
        }
        Ok(())
    }

    /// Leaves word for [`commit`](Ends::commit) that the result lacks its last end. Mostly it has it, and then the chunk
    /// can let its input go.
    fn note(self, out: &mut Buffer) {
        let note = if self.is_missing(out) { MISSING } else { b"" };
        out.note(note);
    }

    /// In input order: the end that is missing is added when something follows. `header_lacks_end`: what is written before the
    /// first chunk does.
    pub fn commit(
        self,
        run: &mut RunState,
        chunk: &Committed<'_>,
        header_lacks_end: bool,
    ) -> Commit {
        if chunk.bytes_out == 0 {
            return Commit::Write;
        }
        let due = match run.get() {
            b"" => header_lacks_end,
            state => state == MISSING,
        };
        run.set(if chunk.note == MISSING {
            MISSING
        } else {
            THERE
        });
        if due {
            Commit::WriteAfter(self.end().to_vec())
        } else {
            Commit::Write
        }
    }
}
