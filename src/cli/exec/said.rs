//! What a command says on its standard error: passed on in whole lines, its end kept for the error message.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use crate::cli::voice::Speaker;

/// A longer line is passed on in pieces.
const LONGEST_LINE: usize = 64 << 10;
/// As much of the end is kept.
const TAIL: usize = 1 << 10;
/// As long is waited for a standard error that nobody reads; then what is said is thrown away.
const PATIENCE: Duration = Duration::from_secs(1);

/// The standard error of one process.
#[derive(Debug)]
pub struct Said {
    /// `None`: nobody wants to hear it.
    speaker: Option<Speaker>,
    line: Vec<u8>,
    tail: Vec<u8>,
    behind_since: Option<Instant>,
}

impl Said {
    pub fn new(speaker: Option<Speaker>) -> Said {
        Said {
            speaker,
            line: Vec::new(),
            tail: Vec::new(),
            behind_since: None,
        }
    }

    /// Whether more should be read. Where our own standard error is slow, the command waits, but not for ever.
    pub fn has_room(&mut self) -> bool {
        if !self.speaker.as_ref().is_some_and(Speaker::is_behind) {
            self.behind_since = None;
            return true;
        }
        self.behind_since.get_or_insert_with(Instant::now).elapsed() > PATIENCE
    }

    /// Reads once; how much it was.
    pub fn read(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        let mut bytes = [0; 16 << 10];
        let n = rustix::io::read(fd, &mut bytes)?;
        self.add(&bytes[..n]);
        Ok(n)
    }

    fn add(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        if self.tail.len() > 2 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
        self.line.extend_from_slice(bytes);
        let whole = memchr::memrchr(b'\n', &self.line).map_or(0, |last| last + 1);
        let rest = self.line.split_off(whole);
        let lines = std::mem::replace(&mut self.line, rest);
        self.pass_on(lines);
        if self.line.len() >= LONGEST_LINE {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        if self.line.is_empty() {
            return;
        }
        let mut line = std::mem::take(&mut self.line);
        line.push(b'\n');
        self.pass_on(line);
    }

    fn pass_on(&self, lines: Vec<u8>) {
        if let Some(speaker) = &self.speaker
            && !lines.is_empty()
            && !speaker.is_behind()
        {
            speaker.others(lines);
        }
    }

    /// The last lines, for a message of one line.
    pub fn tail(&self) -> String {
        let from = self.tail.len().saturating_sub(TAIL);
        let mut bytes = &self.tail[from..];
        if from > 0 {
            // The first line is only the end of one.
            bytes = match memchr::memchr(b'\n', bytes) {
                Some(end) if end + 1 < bytes.len() => &bytes[end + 1..],
                _ => bytes,
            };
        }
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("; ").trim().to_owned()
    }
}

impl Drop for Said {
    /// No more will come.
    fn drop(&mut self) {
        self.end_line();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_last_lines() {
        let mut said = Said::new(None);
        assert_eq!(said.tail(), "");
        said.add(b"one\ntw");
        said.add(b"o\n");
        assert_eq!(said.tail(), "one; two");
        for i in 0..10_000 {
            said.add(format!("line {i}\n").as_bytes());
        }
        let tail = said.tail();
        assert!(tail.len() <= 2 * TAIL && tail.ends_with("line 9998; line 9999"));
        assert!(tail.starts_with("line "), "{tail}");
    }

    #[test]
    fn a_line_without_end_is_bounded() {
        let mut said = Said::new(None);
        for _ in 0..100 {
            said.add(&[b'x'; 16 << 10]);
            assert!(said.line.len() < LONGEST_LINE);
        }
        assert!(said.tail.len() <= 2 * TAIL + (16 << 10));
    }
}
