//! A regular file and what it looked like when it was opened.

use std::fs::{File, Metadata};
use std::io;
use std::sync::Arc;

/// A regular file that is read from `base` to the length it had at the start.
#[derive(Debug, Clone)]
pub(super) struct Regular {
    pub file: Arc<File>,
    /// Where reading began: 0, but for a standard input that was read in part before.
    pub base: u64,
    /// The state at the start.
    pub start: State,
}

/// What shows that a file was changed. Time stamps are as fine as the file system's clock, often some milliseconds:
/// two changes within one tick look like one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    pub length: u64,
    pub modified: Stamp,
}

/// Seconds and nanoseconds.
#[cfg(unix)]
pub(super) type Stamp = (i64, i64);
#[cfg(not(unix))]
pub(super) type Stamp = Option<std::time::SystemTime>;

impl Regular {
    /// How many bytes there are to read.
    pub fn size(&self) -> u64 {
        self.start.length - self.base
    }

    /// The file's state now.
    pub fn state(&self) -> io::Result<State> {
        self.file.metadata().map(|metadata| State::of(&metadata))
    }

    /// Reads at an offset that counts from `base`.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match read_at(&self.file, buffer, self.base + offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }

    /// As [`Regular::read_at`], until the buffer is full or the file ends.
    pub fn read_full_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_at(&mut buffer[filled..], offset + filled as u64)? {
                0 => break,
                n => filled += n,
            }
        }
        Ok(filled)
    }
}

impl State {
    pub fn of(metadata: &Metadata) -> State {
        State {
            length: metadata.len(),
            modified: modified(metadata),
        }
    }
}

#[cfg(unix)]
fn modified(metadata: &Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    (metadata.mtime(), metadata.mtime_nsec())
}

#[cfg(not(unix))]
fn modified(metadata: &Metadata) -> Stamp {
    metadata.modified().ok()
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}
