//! CRC-32 as gzip has it (ISO 3309), of bytes that come in parts.

/// CRC-32 as gzip has it (ISO 3309).
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    crc_fast::checksum(CRC_32, bytes) as u32
}

/// A CRC-32 that grows with its bytes.
#[derive(Debug, Clone)]
pub(crate) struct Digest {
    /// Of what came before the tail.
    before: u32,
    tail: crc_fast::Digest,
    tail_len: u64,
}

const CRC_32: crc_fast::CrcAlgorithm = crc_fast::CrcAlgorithm::Crc32IsoHdlc;

impl Default for Digest {
    fn default() -> Digest {
        Digest {
            before: 0,
            tail: crc_fast::Digest::new(CRC_32),
            tail_len: 0,
        }
    }
}

impl Digest {
    pub fn update(&mut self, bytes: &[u8]) {
        self.tail.update(bytes);
        self.tail_len += bytes.len() as u64;
    }

    /// So many bytes follow, which have this sum.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub fn append(&mut self, sum: u32, len: u64) {
        *self = Digest {
            before: combine(self.sum(), sum, len),
            ..Digest::default()
        };
    }

    pub fn sum(&self) -> u32 {
        match self.tail_len {
            0 => self.before,
            len => combine(self.before, self.tail.finalize() as u32, len),
        }
    }
}

/// The sum of bytes whose parts have these, the second of which has so many: `first` · x^(8 · `second_len`) + `second`, modulo the polynomial.
///
/// The crate's own combination multiplies matrices, which takes longer than summing some hundred kilobytes.
pub(crate) fn combine(first: u32, second: u32, second_len: u64) -> u32 {
    let mut shift = ONE;
    let mut left = second_len;
    // A byte is 2^3 bits.
    let mut power = 3;
    while left > 0 {
        if left & 1 == 1 {
            shift = times(X_TO_POWERS[power % X_TO_POWERS.len()], shift);
        }
        left >>= 1;
        power += 1;
    }
    times(first, shift) ^ second
}

/// The polynomial of ISO 3309; the highest power is the lowest bit, here and in all of these.
const POLYNOMIAL: u32 = 0xedb8_8320;

const ONE: u32 = 1 << 31;

/// x^(2^n). The order of x divides 2^32 - 1, so that they begin anew after 32.
const X_TO_POWERS: [u32; 32] = {
    let mut powers = [ONE >> 1; 32];
    let mut n = 1;
    while n < 32 {
        powers[n] = times(powers[n - 1], powers[n - 1]);
        n += 1;
    }
    powers
};

/// The product modulo the polynomial.
const fn times(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    let mut bit = ONE;
    while bit > 0 {
        if a & bit != 0 {
            product ^= b;
        }
        b = (b >> 1) ^ (POLYNOMIAL * (b & 1));
        bit >>= 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_gzip_and_combine() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc(b""), 0);
        let bytes: Vec<u8> = (0..100_000u32).map(|n| (n * 7 % 251) as u8).collect();
        for cut in [0, 1, 777, 65_536, 100_000] {
            let (first, second) = bytes.split_at(cut);
            let both = combine(crc(first), crc(second), second.len() as u64);
            assert_eq!(both, crc(&bytes));
        }
        // As the crate does it, for lengths that no test can sum.
        for shift in 0..64 {
            let len = (u64::MAX >> shift) - 17 % (u64::MAX >> shift).max(1);
            let theirs = crc_fast::checksum_combine(CRC_32, 0x1234_5678, 0x9abc_def0, len);
            assert_eq!(
                u64::from(combine(0x1234_5678, 0x9abc_def0, len)),
                theirs,
                "{len}"
            );
        }
        let mut digest = Digest::default();
        bytes.chunks(999).for_each(|part| digest.update(part));
        assert_eq!(digest.sum(), crc(&bytes));
        let mut digest = Digest::default();
        for (part, n) in bytes.chunks(999).zip(0..) {
            match n % 3 {
                0 => digest.update(part),
                _ => digest.append(crc(part), part.len() as u64),
            }
        }
        assert_eq!(digest.sum(), crc(&bytes));
    }
}
