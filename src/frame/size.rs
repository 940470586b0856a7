//! How large the next chunk should be.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::frame::scan::Want;

/// The size of chunks: fixed, or growing from one record while chunks finish quickly.
#[derive(Debug)]
pub(crate) struct ChunkSize {
    bytes: AtomicUsize,
    most: usize,
    fixed: bool,
    records: u64,
    goal: Duration,
}

impl ChunkSize {
    pub fn fixed(bytes: usize, records: u64) -> ChunkSize {
        ChunkSize {
            goal: Duration::ZERO,
            bytes: AtomicUsize::new(bytes),
            most: bytes,
            fixed: true,
            records,
        }
    }

    /// A chunk should take about as long as `goal`.
    pub fn adaptive(most: usize, records: u64, goal: Duration) -> ChunkSize {
        ChunkSize {
            goal,
            // The first record end is after the first byte: one record.
            bytes: AtomicUsize::new(1),
            most,
            fixed: false,
            records,
        }
    }

    pub fn want(&self) -> Want {
        Want {
            bytes: self.bytes.load(Ordering::Relaxed),
            records: self.records,
            flush: false,
        }
    }

    /// A chunk of this many bytes took this long and has a result of this size, which is to be no larger than the largest
    /// chunk: it stands in memory as long.
    pub fn observe(&self, bytes: usize, output: usize, busy: Duration) {
        if self.fixed {
            return;
        }
        let now = self.bytes.load(Ordering::Relaxed);
        let nanos = busy.as_nanos().max(1);
        let goal = (bytes as u128).saturating_mul(self.goal.as_nanos()) / nanos;
        let fits = (bytes as u128).saturating_mul(self.most as u128) / (output.max(1) as u128);
        let goal = usize::try_from(goal.min(fits)).unwrap_or(usize::MAX);
        // One odd chunk moves the size by a factor of two at most. A chunk much smaller than the size now (one of an
        // earlier time, or the last of an input) says nothing about whether a larger one would do.
        let next = if goal < now {
            goal.max(now / 2)
        } else if bytes < now / 2 {
            now
        } else {
            goal.min(now.saturating_mul(2).max(bytes))
        };
        self.bytes
            .store(next.clamp(1, self.most), Ordering::Relaxed);
    }
}

/// What a chunk of a fixed size wants that begins `offset` bytes into its input: to end at the next multiple of the size, or the one
/// after it if that is less than half a size away. What one chunk leaves to the next so adds up to nothing: 256 MiB are
/// 256 chunks of 1 MiB, not 257. And it depends on the place alone, so that a run which goes on from there cuts as the first one.
pub(super) fn to_multiple(size: usize, offset: u64) -> usize {
    let size = size.max(1) as u64;
    let past = (offset.saturating_add(size / 2)) % size;
    // From the multiple that is nearest to the offset it is a size to the next.
    let wanted = size.saturating_add(size / 2) - past;
    usize::try_from(wanted).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_while_chunks_are_quick() {
        let size = ChunkSize::adaptive(1 << 20, u64::MAX, Duration::from_millis(2));
        for _ in 0..30 {
            size.observe(size.want().bytes, 0, Duration::from_nanos(100));
        }
        assert_eq!(size.want().bytes, 1 << 20);
    }

    #[test]
    fn stays_at_one_record_while_records_are_slow() {
        let size = ChunkSize::adaptive(1 << 20, u64::MAX, Duration::from_millis(2));
        for _ in 0..30 {
            size.observe(90, 0, Duration::from_millis(10));
        }
        assert_eq!(size.want().bytes, 18);
    }

    #[test]
    fn shrinks_when_records_become_slow() {
        let size = ChunkSize::adaptive(1 << 20, u64::MAX, Duration::from_millis(2));
        for _ in 0..30 {
            size.observe(size.want().bytes, 0, Duration::from_nanos(100));
        }
        for _ in 0..30 {
            size.observe(size.want().bytes, 0, Duration::from_millis(50));
        }
        assert!(size.want().bytes < 1 << 16);
    }

    #[test]
    fn large_results_keep_chunks_small() {
        let size = ChunkSize::adaptive(1 << 20, u64::MAX, Duration::from_millis(2));
        for _ in 0..30 {
            let bytes = size.want().bytes;
            size.observe(bytes, 20 * bytes, Duration::from_nanos(100));
        }
        assert_eq!(size.want().bytes, (1 << 20) / 20);
    }

    #[test]
    fn a_fixed_size_counts_from_the_inputs_start() {
        for (offset, wanted) in [(0, 10), (1, 9), (4, 6), (5, 15), (9, 11), (10, 10), (12, 8)] {
            assert_eq!(to_multiple(10, offset), wanted, "at {offset}");
        }
        for offset in 0..20 {
            assert_eq!(to_multiple(1, offset), 1);
            assert_eq!((to_multiple(7, offset) as u64 + offset) % 7, 0);
            assert!((4..11).contains(&to_multiple(7, offset)));
        }
        assert_eq!(to_multiple(0, 3), 1);
        assert!(to_multiple(usize::MAX, 0) > usize::MAX / 4);
    }

    #[test]
    fn fixed_is_fixed() {
        let size = ChunkSize::fixed(7, 3);
        size.observe(7, 0, Duration::from_nanos(1));
        assert_eq!((size.want().bytes, size.want().records), (7, 3));
    }
}
