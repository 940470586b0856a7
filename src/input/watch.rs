//! Whether an input file was changed while it was processed.

use std::io;
use std::sync::Arc;

use super::InputError;
use super::regular::{Regular, State};
use crate::output::checkpoint::Identity;
use crate::sync::{Mutex, lock};

/// How many bytes are compared at either end.
const COMPARED: usize = 4096;

/// A regular file as it was when it was opened, for the ordered stage to compare with what it is now.
///
/// A file that only grew is accepted; its first bytes and the last ones processed must be what they were. One that
/// shrank, or was written to in place, is not. Renaming and removing don't matter: the open file stays whole.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    regular: Regular,
    first: Arc<[u8]>,
    seen: State,
    identity: Identity,
    /// Of a file that is decoded: the end of what was read, which is not what was processed.
    tail: Option<Tail>,
}

/// The end of what was read of a file, up to 4 KiB, and its place. Clones belong together.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail(Arc<Mutex<(Vec<u8>, u64)>>);

impl Tail {
    /// These bytes were read, and they end there.
    pub fn note(&self, bytes: &[u8], end: u64) {
        if bytes.is_empty() {
            return;
        }
        let mut tail = lock(&self.0);
        tail.0.clear();
        let from = bytes.len().saturating_sub(COMPARED);
        tail.0.extend_from_slice(&bytes[from..]);
        tail.1 = end;
    }
}

/// The file is longer than what is processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grown {
    /// Length of the file at the start, which is how far it is processed.
    pub from: u64,
    /// Length of the file now.
    pub to: u64,
}

impl Watch {
    /// Reads the first bytes of the file.
    pub(super) fn new(regular: Regular) -> io::Result<Watch> {
        let mut first = vec![0; regular.size().min(COMPARED as u64) as usize];
        let n = regular.read_full_at(&mut first, 0)?;
        first.truncate(n);
        Ok(Watch {
            first: first.into(),
            seen: regular.start,
            identity: Identity::of(&regular.file.metadata()?),
            regular,
            tail: None,
        })
    }

    /// What tells the file from others, as it was when it was opened.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// The first bytes, up to 4 KiB.
    pub(super) fn first(&self) -> &[u8] {
        &self.first
    }

    /// The file's bytes are not those that are processed: where its reader notes how far it is.
    pub(super) fn decoded(&mut self) -> Tail {
        self.tail.get_or_insert_default().clone()
    }

    /// How far the reader of a decoded file is, in the file.
    pub fn read_of_file(&self) -> Option<u64> {
        self.tail.as_ref().map(|tail| lock(&tail.0).1)
    }

    /// How many bytes are processed.
    #[cfg(test)]
    pub(super) fn size(&self) -> u64 {
        self.regular.size()
    }

    /// To be called before bytes leave for a sink that can't take them back, and before a file is published.
    /// `tail`: the last bytes processed, as many as are at hand up to 4 KiB, and the offset of their end.
    ///
    /// The length is looked at before the tail: a mapped tail is not touched when it may be gone. Growth is
    /// reported once for each new length. A file that has not changed costs one `fstat`.
    pub fn check(&mut self, tail: &[u8], tail_end: u64) -> Result<Option<Grown>, InputError> {
        let now = self.regular.state()?;
        let from = self.regular.start.length;
        if now.length < from {
            let to = now.length;
            return Err(InputError::Shrank { from, to });
        }
        if now == self.seen {
            return Ok(None);
        }
        // Appending never makes a file shorter than it was seen.
        if now.length == from || now.length < self.seen.length {
            return Err(InputError::Modified);
        }
        let read = self.tail.as_ref().map(|tail| lock(&tail.0).clone());
        let (tail, tail_end) = match &read {
            Some((read, end)) => (read.as_slice(), *end),
            None => (tail, tail_end),
        };
        let tail = &tail[tail.len().saturating_sub(COMPARED)..];
        let tail_at = tail_end.saturating_sub(tail.len() as u64);
        if !self.still_has(&self.first, 0)? || !self.still_has(tail, tail_at)? {
            return Err(InputError::Modified);
        }
        self.seen = now;
        let to = now.length;
        Ok(Some(Grown { from, to }))
    }

    fn still_has(&self, bytes: &[u8], offset: u64) -> io::Result<bool> {
        let mut now = [0; COMPARED];
        let now = &mut now[..bytes.len()];
        let n = self.regular.read_full_at(now, offset)?;
        Ok(now[..n] == *bytes)
    }
}
