//! Reads into a buffer: pipes, devices, readers, and files that are not mapped.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use super::bytes::Bytes;
use super::recycler::Recycler;
use super::regular::Regular;
use super::waker::Waker;
use super::{InputError, More};

/// An input that is read in sequence. Its front is a range of the one buffer it owns.
pub(super) struct Stream<'a> {
    feed: Feed<'a>,
    buffer: Vec<u8>,
    /// The front is `buffer[start..filled]`.
    start: usize,
    filled: usize,
    /// Of the front's first byte.
    offset: u64,
    /// Nothing follows the front.
    ended: bool,
    /// Bytes have come in that were not there when `Drained` was last said.
    fresh: bool,
    /// A reader's last read brought less than asked.
    short: bool,
    block: usize,
    recycler: Arc<Recycler>,
    waker: Waker,
}

/// Where the bytes come from.
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

impl<'a> Stream<'a> {
    /// Goes on at `offset`. The buffer is made by the first read.
    pub fn new(
        feed: Feed<'a>,
        offset: u64,
        block: usize,
        recycler: Arc<Recycler>,
        waker: Waker,
    ) -> Stream<'a> {
        Stream {
            feed,
            buffer: Vec::new(),
            start: 0,
            filled: 0,
            offset,
            ended: false,
            fresh: false,
            short: false,
            block: block.max(1),
            recycler,
            waker,
        }
    }

    /// These bytes were read before.
    #[cfg(unix)]
    pub fn begin_with(&mut self, bytes: Vec<u8>) {
        self.fresh = !bytes.is_empty();
        self.start = 0;
        self.filled = bytes.len();
        self.buffer = bytes;
    }

    pub fn front(&self) -> &[u8] {
        &self.buffer[self.start..self.filled]
    }

    pub fn offset(&self) -> u64 {
        self.offset
    }

    pub fn more(&mut self, want: usize) -> Result<More, InputError> {
        loop {
            if self.ended {
                return Ok(More::End);
            }
            if self.front().len() >= want {
                return Ok(More::Ready);
            }
            if self.waker.is_woken() {
                return Err(InputError::Stopped);
            }
            if self.wait()? {
                self.fresh = false;
                return Ok(More::Drained);
            }
            self.make_room(want);
            self.read()?;
        }
    }

    /// Returns when the next read does not wait (but for readers), or `true` if it would and there are bytes at
    /// hand that could be processed meanwhile.
    fn wait(&mut self) -> Result<bool, InputError> {
        let flushable = self.fresh && self.start < self.filled;
        match &self.feed {
            Feed::Regular(_) | Feed::Slice(_) => Ok(false),
            Feed::Reader(_) => Ok(flushable && std::mem::take(&mut self.short)),
            #[cfg(unix)]
            Feed::File(file) => {
                use std::os::fd::AsFd;
                Ok(!self.waker.readable(file.as_fd(), !flushable)?)
            }
            #[cfg(not(unix))]
            Feed::File(_) => Ok(flushable && std::mem::take(&mut self.short)),
        }
    }

    /// Room for a front of `want` bytes, which is more than it has.
    fn make_room(&mut self, want: usize) {
        let len = self.buffer.len();
        if self.start.saturating_add(want) <= len {
            return;
        }
        let front = self.start..self.filled;
        if want <= len {
            self.buffer.copy_within(front, 0);
        } else {
            // Twice as much, so that a record that grows and grows is not copied at each step; not what is wanted at once, which an
            // input may be far from having.
            let len = want
                .max(self.block)
                .min(self.block.max(len.saturating_mul(2)));
            let mut buffer = self.recycler.take_len(len);
            buffer[..front.len()].copy_from_slice(self.front());
            let old = std::mem::replace(&mut self.buffer, buffer);
            self.recycler.give(old);
        }
        self.filled -= self.start;
        self.start = 0;
    }

    /// One read into the rest of the buffer.
    fn read(&mut self) -> Result<(), InputError> {
        let at = self.offset + self.front().len() as u64;
        let rest = &mut self.buffer[self.filled..];
        let asked = rest.len();
        let got = match &mut self.feed {
            Feed::Regular(regular) => {
                let left = regular.size() - at;
                let asked = left.min(rest.len() as u64) as usize;
                let n = regular.read_at(&mut rest[..asked], at)?;
                if n == 0 {
                    ended_early(regular)?;
                }
                self.ended = n as u64 == left;
                Ok(n)
            }
            Feed::File(file) => Read::read(&mut &**file, rest),
            Feed::Reader(reader) => reader.read(rest),
            Feed::Slice(bytes) => bytes.read(rest),
        };
        let n = match got {
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            // Someone else was faster, or made the descriptor non-blocking: it is waited for again.
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock
                    && matches!(self.feed, Feed::File(_)) =>
            {
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        if n > asked {
            return Err(
                io::Error::other("a reader says it read more than there was room for").into(),
            );
        }
        self.ended |= n == 0;
        self.filled += n;
        self.fresh |= n > 0;
        self.short = n < asked;
        Ok(())
    }

    pub fn take(&mut self, n: usize) -> Bytes {
        let cut = self.start..self.start + n;
        assert!(cut.end <= self.filled, "more taken than the front has");
        self.offset += n as u64;
        if n * 2 >= self.buffer.len() {
            return self.take_buffer(cut);
        }
        let mut copy = self.recycler.take(n);
        copy.extend_from_slice(&self.buffer[cut.clone()]);
        self.start = cut.end;
        if self.start == self.filled {
            self.start = 0;
            self.filled = 0;
        }
        Bytes::from_vec(copy, &self.recycler)
    }

    /// The chunk keeps the buffer it lies in, and what follows it moves to another one.
    fn take_buffer(&mut self, cut: std::ops::Range<usize>) -> Bytes {
        let tail = &self.buffer[cut.end..self.filled];
        let len = tail.len();
        let mut buffer = Vec::new();
        if len > 0 {
            buffer = self.recycler.take_len(self.block.max(len));
            buffer[..len].copy_from_slice(tail);
        }
        let taken = std::mem::replace(&mut self.buffer, buffer);
        self.start = 0;
        self.filled = len;
        Bytes::owned(taken, cut, &self.recycler)
    }
}

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
