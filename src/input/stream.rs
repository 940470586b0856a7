//! Reads into a buffer: pipes, devices, readers, files that are not mapped, and what a decoder makes of them.

use std::sync::Arc;

use super::bytes::Bytes;
use super::decode::Compression;
use super::recycler::Recycler;
use super::tap::Tap;
use super::waker::Waker;
use super::{InputError, More};

/// An input that is read in sequence. Its front is a range of the one buffer it owns.
pub(super) struct Stream<'a> {
    tap: Box<dyn Tap + 'a>,
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
    block: usize,
    recycler: Arc<Recycler>,
    waker: Waker,
}

impl<'a> Stream<'a> {
    /// Goes on at `offset`. The buffer is made by the first read.
    pub fn new(
        tap: Box<dyn Tap + 'a>,
        offset: u64,
        block: usize,
        recycler: Arc<Recycler>,
        waker: Waker,
    ) -> Stream<'a> {
        Stream {
            tap,
            buffer: Vec::new(),
            start: 0,
            filled: 0,
            offset,
            ended: false,
            fresh: false,
            block: block.max(1),
            recycler,
            waker,
        }
    }

    /// See [`Tap::settle`].
    pub fn settle(&mut self) -> Result<Option<Compression>, InputError> {
        self.tap.settle()
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
            if self.tap.wait(self.fresh && self.start < self.filled)? {
                self.fresh = false;
                return Ok(More::Drained);
            }
            self.make_room(want);
            self.read()?;
        }
    }

    /// Room for a front of `want` bytes, which is more than it has.
    fn make_room(&mut self, want: usize) {
        let len = self.buffer.len();
        if self.start.saturating_add(want) <= len {
            return;
        }
        let front = self.start..self.filled;
        if want <= len || front.len() < len / 2 {
            self.buffer.copy_within(front, 0);
        } else {
            // Twice as much when it is half full, so that a record that grows and grows is not copied at each step; not what is wanted at
            // once, which an input may be far from having.
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
        let got = self.tap.read(&mut self.buffer[self.filled..])?;
        self.ended |= got.ended;
        self.filled += got.bytes;
        self.fresh |= got.bytes > 0;
        Ok(())
    }

    /// Goes on at this offset, if the tap can be read at any.
    pub fn jump(&mut self, offset: u64) {
        if let Some(offset) = self.tap.jump(offset) {
            self.offset = offset;
            self.ended = false;
            (self.start, self.filled) = (0, 0);
        }
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
