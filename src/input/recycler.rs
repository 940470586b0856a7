//! Buffers are used again instead of being freed: fresh memory costs a page fault for each 4 KiB.

use std::fmt;

use crate::sync::{Mutex, lock};

/// A bounded pool of buffers, for blocks of input and for outputs.
pub(crate) struct Recycler {
    pool: Mutex<Vec<Vec<u8>>>,
    count: usize,
    bytes: usize,
}

impl Recycler {
    /// Keeps at most `count` buffers of at most `bytes` bytes each.
    pub fn new(count: usize, bytes: usize) -> Recycler {
        Recycler {
            pool: Mutex::new(Vec::new()),
            count,
            bytes,
        }
    }

    /// An empty buffer with room for `capacity` bytes, and for at most about twice as many, so that what is charged
    /// for it is near what it holds.
    pub fn take(&self, capacity: usize) -> Vec<u8> {
        match self.find(capacity) {
            Some(mut buffer) => {
                buffer.clear();
                buffer
            }
            None => Vec::with_capacity(capacity),
        }
    }

    /// A buffer of `len` bytes of any content, to read into.
    pub fn take_len(&self, len: usize) -> Vec<u8> {
        match self.find(len) {
            Some(mut buffer) => {
                buffer.resize(len, 0);
                buffer
            }
            // Comes zeroed from the system, without being touched here.
            None => vec![0; len],
        }
    }

    /// Takes a buffer back. When the pool is full the smallest one goes.
    pub fn give(&self, buffer: Vec<u8>) {
        if buffer.capacity() == 0 || buffer.capacity() > self.bytes {
            return;
        }
        let mut pool = lock(&self.pool);
        if pool.len() < self.count {
            pool.push(buffer);
            return;
        }
        let smallest = pool.iter_mut().min_by_key(|kept| kept.capacity());
        if let Some(kept) = smallest.filter(|kept| kept.capacity() < buffer.capacity()) {
            let dropped = std::mem::replace(kept, buffer);
            drop(pool);
            drop(dropped);
        }
    }

    /// The smallest buffer that is large enough and not far too large.
    fn find(&self, capacity: usize) -> Option<Vec<u8>> {
        let most = capacity.saturating_mul(2).max(4096);
        let mut pool = lock(&self.pool);
        let (index, _) = pool
            .iter()
            .enumerate()
            .filter(|(_, buffer)| (capacity..=most).contains(&buffer.capacity()))
            .min_by_key(|(_, buffer)| buffer.capacity())?;
        Some(pool.swap_remove(index))
    }
}

impl fmt::Debug for Recycler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recycler")
            .field("count", &self.count)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_the_same_buffer() {
        let recycler = Recycler::new(2, 1 << 20);
        let buffer = recycler.take(5000);
        let address = buffer.as_ptr();
        recycler.give(buffer);
        let again = recycler.take_len(4000);
        assert_eq!(again.as_ptr(), address);
        assert_eq!(again.len(), 4000);
    }

    #[test]
    fn keeps_few_and_small_ones_only() {
        let recycler = Recycler::new(2, 10_000);
        recycler.give(Vec::with_capacity(20_000));
        assert!(recycler.find(15_000).is_none());
        for capacity in [1000, 2000, 9000, 500] {
            recycler.give(Vec::with_capacity(capacity));
        }
        let kept: Vec<_> = recycler
            .pool
            .lock()
            .unwrap()
            .iter()
            .map(Vec::capacity)
            .collect();
        assert_eq!(kept, [9000, 2000]);
    }

    #[test]
    fn never_far_too_large() {
        let recycler = Recycler::new(2, 1 << 20);
        recycler.give(Vec::with_capacity(100_000));
        assert!(recycler.take(10_000).capacity() < 20_001);
        assert_eq!(recycler.take(60_000).capacity(), 100_000);
    }
}
