//! Eight bytes at once: for short distances, where a call of `memchr` costs more than the search itself.

const ONES: u64 = u64::from_le_bytes([0x01; 8]);
const HIGH: u64 = u64::from_le_bytes([0x80; 8]);

/// The first eight bytes as a word, the first byte lowest.
#[inline(always)]
pub(crate) fn word(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk::<8>().map(|b| u64::from_le_bytes(*b))
}

/// At most eight bytes as a word, the missing ones zero.
#[inline(always)]
pub(crate) fn short_word(bytes: &[u8]) -> u64 {
    let n = bytes.len();
    if let Some(word) = word(bytes) {
        return word;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) | u64::from(last) << (8 * (n - 4));
    }
    if n == 0 {
        return 0;
    }
    // The first, the middle and the last byte: all there are, and no branch for each length.
    let (middle, last) = (n / 2, n - 1);
    u64::from(bytes[0])
        | u64::from(bytes[middle]) << (8 * middle)
        | u64::from(bytes[last]) << (8 * last)
}

/// The high bit of each byte that equals `byte` is set. Bytes above the first that matches may be set wrongly.
#[inline(always)]
pub(crate) fn matches(word: u64, byte: u8) -> u64 {
    let x = word ^ (ONES * u64::from(byte));
    x.wrapping_sub(ONES) & !x & HIGH
}

/// As `memchr`, made for a match within the first 16 bytes.
#[inline]
pub(crate) fn find_near(byte: u8, bytes: &[u8]) -> Option<usize> {
    for start in [0, 8] {
        let Some(word) = bytes.get(start..).and_then(word) else {
            return bytes[start..]
                .iter()
                .position(|b| *b == byte)
                .map(|i| start + i);
        };
        let found = matches(word, byte);
        if found != 0 {
            return Some(start + (found.trailing_zeros() / 8) as usize);
        }
    }
    memchr::memchr(byte, &bytes[16..]).map(|i| i + 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn searches_agree_with_a_loop(bytes in proptest::collection::vec(prop_oneof![0u8..4, any::<u8>(), Just(0x80), Just(0x81)], 0..80), byte in prop_oneof![0u8..4, Just(0x80u8)]) {
            prop_assert_eq!(find_near(byte, &bytes), bytes.iter().position(|b| *b == byte));
            let short = &bytes[..bytes.len().min(8)];
            let naive = short.iter().enumerate().fold(0u64, |w, (i, b)| w | u64::from(*b) << (8 * i));
            prop_assert_eq!(short_word(short), naive);
            prop_assert_eq!(matches(short_word(short), byte) != 0, short.contains(&byte) || (byte == 0 && short.len() < 8));
        }
    }
}
