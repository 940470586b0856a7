//! Where a stream's bytes come from.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use super::InputError;
use super::decode::Compression;
use super::regular::Regular;
use super::waker::Waker;
use super::watch::Tail;

/// Where a stream's bytes come from: the system, or a decoder that has its own from there.
pub(super) trait Tap: Send {
    /// Waits until it is known how the input is compressed.
    fn settle(&mut self) -> Result<Option<Compression>, InputError> {
        Ok(None)
    }

    /// Returns when the next read does not wait (but for readers), or `true` if it would and the caller has something
    /// else to do meanwhile.
    fn wait(&mut self, busy: bool) -> Result<bool, InputError>;

    /// One read into `rest`, which has room. That nothing came is no end.
    fn read(&mut self, rest: &mut [u8]) -> Result<Got, InputError>;
}

/// What a read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Got {
    pub bytes: usize,
    /// Nothing follows.
    pub ended: bool,
}

/// The bytes as they are.
pub(super) struct Raw<'a> {
    feed: Feed<'a>,
    /// Of the next byte, in the input.
    at: u64,
    /// A reader's last read brought less than asked.
    short: bool,
    waker: Waker,
    /// The end of what was read of a regular file, for its watch.
    tail: Option<Tail>,
    /// What comes before the feed.
    before: io::Cursor<Vec<u8>>,
}

/// The ways to get at them.
pub(super) enum Feed<'a> {
    /// Positioned reads, up to the length at the start.
    Regular(Regular),
    /// Waited for together with the waker.
    File(Arc<File>),
    Reader(Box<dyn Read + Send + 'a>),
    Slice(&'a [u8]),
}

impl Feed<'_> {
    /// A pipe is made larger where the system allows it, so that writer and reader wake each other less often.
    pub fn pipe(file: File) -> Self {
        #[cfg(target_os = "linux")]
        {
            use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
            const SIZE: usize = 1 << 20;
            if fcntl_getpipe_size(&file).is_ok_and(|size| size < SIZE) {
                let _ = fcntl_setpipe_size(&file, SIZE);
            }
        }
        Feed::File(Arc::new(file))
    }
}

impl<'a> Raw<'a> {
    /// Reads from `at` on.
    pub fn new(feed: Feed<'a>, at: u64, waker: Waker) -> Raw<'a> {
        Raw {
            feed,
            at,
            short: false,
            waker,
            tail: None,
            before: io::Cursor::default(),
        }
    }

    /// These bytes were read off the feed before.
    #[cfg(unix)]
    pub fn begin_with(mut self, bytes: Vec<u8>) -> Raw<'a> {
        self.before = io::Cursor::new(bytes);
        self
    }

    fn has_before(&self) -> bool {
        self.before.position() < self.before.get_ref().len() as u64
    }

    /// What is read last is noted down there.
    pub fn noting(mut self, tail: Option<Tail>) -> Raw<'a> {
        self.tail = tail;
        self
    }
}

impl Tap for Raw<'_> {
    fn wait(&mut self, busy: bool) -> Result<bool, InputError> {
        match &self.feed {
            _ if self.has_before() => Ok(false),
            Feed::Regular(_) | Feed::Slice(_) => Ok(false),
            Feed::Reader(_) => Ok(busy && std::mem::take(&mut self.short)),
            #[cfg(unix)]
            Feed::File(file) => {
                use std::os::fd::AsFd;
                Ok(!self.waker.readable(file.as_fd(), !busy)?)
            }
            #[cfg(not(unix))]
            Feed::File(_) => Ok(busy && std::mem::take(&mut self.short)),
        }
    }

    fn read(&mut self, rest: &mut [u8]) -> Result<Got, InputError> {
        if self.waker.is_woken() {
            return Err(InputError::Stopped);
        }
        let asked = rest.len();
        let mut ended = false;
        let has_before = self.has_before();
        let got = match &mut self.feed {
            _ if has_before => self.before.read(rest),
            Feed::Regular(regular) => {
                let left = regular.size() - self.at;
                let asked = left.min(rest.len() as u64) as usize;
                let n = regular.read_at(&mut rest[..asked], self.at)?;
                if n == 0 {
                    ended_early(regular)?;
                }
                ended = n as u64 == left;
                Ok(n)
            }
            Feed::File(file) => Read::read(&mut &**file, rest),
            Feed::Reader(reader) => reader.read(rest),
            Feed::Slice(bytes) => bytes.read(rest),
        };
        let n = match got {
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(NOTHING),
            // Someone else was faster, or made the descriptor non-blocking: it is waited for again.
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock
                    && matches!(self.feed, Feed::File(_)) =>
            {
                return Ok(NOTHING);
            }
            Err(error) => return Err(error.into()),
        };
        if n > asked {
            return Err(
                io::Error::other("a reader says it read more than there was room for").into(),
            );
        }
        self.at += n as u64;
        self.short = n < asked;
        if let Some(tail) = &self.tail {
            tail.note(&rest[..n], self.at);
        }
        Ok(Got {
            bytes: n,
            ended: ended || n == 0,
        })
    }
}

const NOTHING: Got = Got {
    bytes: 0,
    ended: false,
};

/// A file that ends before the length it had is an error, unless that length never was the truth: files in `/sys` are
/// all 4096 bytes long.
fn ended_early(regular: &Regular) -> Result<(), InputError> {
    let now = regular.state()?;
    let from = regular.start.length;
    if now.length < from {
        let to = now.length;
        return Err(InputError::Shrank { from, to });
    }
    if now != regular.start {
        return Err(InputError::Modified);
    }
    Ok(())
}
