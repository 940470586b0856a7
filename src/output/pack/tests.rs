use std::io::{IoSlice, Read};

use super::*;
use crate::output::{Outlet, Output, Sink};

const KINDS: &[Compress] = &[
    #[cfg(feature = "gzip")]
    Compress {
        kind: Kind::Gzip,
        level: 6,
    },
    #[cfg(feature = "zstd")]
    Compress {
        kind: Kind::Zstd,
        level: 3,
    },
];

fn unpacked(compress: Compress, bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    match compress.kind {
        #[cfg(feature = "gzip")]
        Kind::Gzip => flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut all),
        #[cfg(feature = "zstd")]
        Kind::Zstd => ::zstd::stream::read::Decoder::new(bytes)
            .unwrap()
            .read_to_end(&mut all),
    }
    .unwrap();
    all
}

/// Through an outlet, in parts of so many bytes.
fn packed(compress: Compress, bytes: &[u8], part: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let output = Output::open(Sink::writer(&mut out)).unwrap();
    let mut outlet = Outlet::new(output, Some(compress), None);
    for part in bytes.chunks(part) {
        let (one, two) = part.split_at(part.len() / 3);
        let mut parts = [IoSlice::new(one), IoSlice::new(&[]), IoSlice::new(two)];
        outlet.write_all(&mut parts).unwrap();
    }
    outlet.finish().unwrap();
    out
}

#[test]
fn blocks_depend_on_the_bytes_alone() {
    let bytes: Vec<u8> = (0..BLOCK as u32 / 2)
        .flat_map(|n| (n / 3).to_le_bytes())
        .collect();
    for &compress in KINDS {
        for len in [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK] {
            let whole = packed(compress, &bytes[..len], len);
            assert!(unpacked(compress, &whole) == bytes[..len]);
            for part in [len / 2 + 1, 100_000] {
                assert!(packed(compress, &bytes[..len], part) == whole);
            }
        }
    }
}

#[test]
fn an_output_of_nothing_is_one_empty_member() {
    for &compress in KINDS {
        let empty = packed(compress, b"", 1);
        assert_eq!(Packer::new(compress).pack(b"").unwrap(), empty);
        assert_eq!(unpacked(compress, &empty), b"");
        // At the border no empty member follows.
        let block = vec![b'x'; BLOCK];
        assert_eq!(
            Packer::new(compress).pack(&block).unwrap(),
            packed(compress, &block, 777)
        );
    }
}

#[test]
fn levels_are_those_of_the_format() {
    for &compress in KINDS {
        let best = compress.level(if compress.level == 6 { 12 } else { 22 });
        assert!(best.is_ok());
        for level in [-1, 23] {
            let error = compress.level(level).unwrap_err().to_string();
            assert!(error.contains(&format!("has no level {level}: it has ")));
        }
    }
}
