//! The first hundred hits of a search without an end: no more than the window is tried ahead, and the rest is never
//! begun.

use inorder::InOrder;

/// Ten bits of this have to be zero. Stands for a hash that is worth a core.
fn digest(mut x: u64) -> u64 {
    for _ in 0..100 {
        x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
    x ^ (x >> 32)
}

fn is_hit(digest: u64) -> bool {
    digest.leading_zeros() >= 10
}

pub fn main() {
    let hits: Vec<u64> = (0u64..)
        .in_order()
        .map(|x| (x, digest(x)))
        .filter(|(_, digest)| is_hit(*digest))
        .map(|(x, _)| x)
        .take(100)
        .collect();

    println!("the last is {}", hits[99]);
    let sequential = (0..).filter(|x| is_hit(digest(*x)));
    assert!(hits.into_iter().eq(sequential.take(100)));
}
