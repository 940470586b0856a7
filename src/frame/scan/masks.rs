//! Where bytes of a kind are among 64: one bit each, the first byte lowest.

/// The most bytes of a block.
pub(crate) const BLOCK: usize = 64;

/// The bits of the bytes of `bytes[at..to]`, at least one and at most 64, for each of the kinds.
#[inline(always)]
pub(crate) fn masks<const N: usize>(
    bytes: &[u8],
    at: usize,
    to: usize,
    kinds: impl Fn(&[u8; BLOCK]) -> [u64; N],
) -> [u64; N] {
    let keep = u64::MAX >> (BLOCK - (to - at));
    let copy;
    let (block, before) = if let Some(block) = bytes[at..].first_chunk() {
        (block, 0)
    } else if let Some(block) = bytes.last_chunk() {
        (block, BLOCK - (bytes.len() - at))
    } else {
        copy = padded(&bytes[at..to]);
        (&copy, 0)
    };
    kinds(block).map(|mask| mask >> before & keep)
}

#[inline(never)]
fn padded(bytes: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..bytes.len()].copy_from_slice(bytes);
    block
}

/// The bytes that are `byte`.
#[inline(always)]
pub(crate) fn equal(block: &[u8; BLOCK], byte: u8) -> u64 {
    mask(block, |b| b == byte)
}

/// The bytes that are LF or CR.
#[inline(always)]
pub(crate) fn line_ends(block: &[u8; BLOCK]) -> u64 {
    mask(block, |b| (b == b'\n') | (b == b'\r'))
}

/// Written so that the compiler makes vector code of the comparison, which is nearly all of the work.
#[inline(always)]
fn mask(block: &[u8; BLOCK], is: impl Fn(u8) -> bool) -> u64 {
    const BITS: [u8; BLOCK] = {
        let mut bits = [0; BLOCK];
        let mut i = 0;
        while i < BLOCK {
            bits[i] = 1 << (i % 8);
            i += 1;
        }
        bits
    };
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let mut found = [0; BLOCK];
    for ((found, byte), bit) in found.iter_mut().zip(block).zip(&BITS) {
        *found = if is(*byte) { *bit } else { 0 };
    }
    let mut mask = 0;
    for (i, bits) in found.as_chunks().0.iter().enumerate() {
        // The product's top byte is the sum of the eight bytes: different bits, so all of them.
        mask |= (u64::from_le_bytes(*bits).wrapping_mul(ONES) >> 56) << (8 * i);
    }
    mask
}

/// Bit i of the result is set if an odd number of the bits 0 to i are set.
#[inline(always)]
pub(crate) fn parity(mask: u64) -> u64 {
    [1, 2, 4, 8, 16, 32]
        .iter()
        .fold(mask, |mask, shift| mask ^ mask << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn masks_agree_with_a_loop(
            bytes in proptest::collection::vec(prop_oneof![0u8..14, any::<u8>(), Just(0x80), Just(0x81)], 1..200),
            at: prop::sample::Index, to: prop::sample::Index, byte in prop_oneof![0u8..14, Just(0x80u8)],
        ) {
            let at = at.index(bytes.len());
            let to = (at + 1 + to.index(BLOCK)).min(bytes.len());
            let naive = |is: &dyn Fn(u8) -> bool| {
                bytes[at..to].iter().enumerate().fold(0u64, |m, (i, b)| m | u64::from(is(*b)) << i)
            };
            let found = masks(&bytes, at, to, |block| [equal(block, byte), line_ends(block)]);
            prop_assert_eq!(found, [naive(&|b| b == byte), naive(&|b| b == b'\r' || b == b'\n')]);
            let odd = (0..64).fold(0, |m, i| m | u64::from((found[0] << (63 - i)).count_ones() % 2) << i);
            prop_assert_eq!(parity(found[0]), odd);
        }
    }
}
