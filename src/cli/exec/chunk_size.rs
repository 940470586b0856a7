//! How large the chunks are: a function of the input alone, because a command shows where its input ends.

use std::num::NonZero;
use std::thread::available_parallelism;

/// What is not read from regular files.
const STREAM: u64 = 1 << 20;
/// With `-N` the records decide, up to this.
const WITH_RECORDS: usize = 16 << 20;

/// The size for inputs of so many bytes in all (`None`: that is not known, because they are streams or compressed): a 64th, at
/// least 64 KiB, at most 8 MiB.
///
/// To start a command costs about a millisecond. On a GB, `grep` on two cores is 1.15 times as fast as one `grep` in chunks of
/// 4 MiB, 1.25 times in chunks of 8, and 1.3 times in chunks of 16, of which two and their results would be all the memory in
/// flight.
pub fn of(bytes: Option<u64>, records: bool) -> usize {
    if records {
        return WITH_RECORDS;
    }
    let size = bytes.map_or(STREAM, |bytes| bytes.div_ceil(64).clamp(64 << 10, 8 << 20));
    usize::try_from(size).unwrap_or(WITH_RECORDS)
}

/// The bytes in flight of any run by default, and no less than gives every worker (0: one a core) a chunk of so many bytes and a
/// result as large.
pub fn memory(size: usize, threads: usize) -> usize {
    let threads = match threads {
        0 => available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    };
    let worker = size.saturating_mul(2).max(4 << 20);
    worker.saturating_mul(threads).max(64 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_64th_within_bounds() {
        assert_eq!(of(Some(1000), false), 64 << 10);
        assert_eq!(of(Some(64 << 20), false), 1 << 20);
        assert_eq!(of(Some(1 << 40), false), 8 << 20);
        assert_eq!(of(None, false), 1 << 20);
        assert_eq!(of(Some(1000), true), WITH_RECORDS);
    }

    #[test]
    fn a_chunk_and_its_result_for_every_worker() {
        assert_eq!(memory(8 << 20, 64), 1 << 30);
        assert_eq!(memory(64 << 10, 2), 64 << 20);
        assert_eq!(memory(64 << 10, 64), 256 << 20);
        assert!(memory(8 << 20, 0) >= 64 << 20);
    }
}
