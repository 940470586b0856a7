//! How large the chunks are: a function of the input alone, because a command shows where its input ends.

/// What is not read from regular files.
const STREAM: u64 = 1 << 20;
/// With `-N` the records decide, up to this.
const WITH_RECORDS: usize = 16 << 20;

/// The size for inputs of so many bytes in all (`None`: that is not known, because they are streams or compressed): a 64th, at
/// least 64 KiB, at most 4 MiB.
pub fn of(bytes: Option<u64>, records: bool) -> usize {
    if records {
        return WITH_RECORDS;
    }
    let size = bytes.map_or(STREAM, |bytes| (bytes / 64).clamp(64 << 10, 4 << 20));
    usize::try_from(size).unwrap_or(WITH_RECORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_64th_within_bounds() {
        assert_eq!(of(Some(1000), false), 64 << 10);
        assert_eq!(of(Some(64 << 20), false), 1 << 20);
        assert_eq!(of(Some(1 << 40), false), 4 << 20);
        assert_eq!(of(None, false), 1 << 20);
        assert_eq!(of(Some(1000), true), WITH_RECORDS);
    }
}
