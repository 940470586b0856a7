//! Compressed inputs, whole and broken, in pieces of every size.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::input::tap::Feed;
use crate::input::{Recycler, Waker, stream::Stream};

const TEXT: &[u8] = b"id,name\n1,Ada\n2,Alan\n3,\"Grace\nHopper\"\n";

const KINDS: &[Compression] = &[
    #[cfg(feature = "gzip")]
    Compression::Gzip,
    #[cfg(feature = "zstd")]
    Compression::Zstd,
    #[cfg(feature = "bzip2")]
    Compression::Bzip2,
    #[cfg(feature = "xz")]
    Compression::Xz,
];

fn name(kind: Compression) -> &'static Path {
    Path::new(match kind {
        Compression::Gzip => "x.csv.gz",
        Compression::Zstd => "x.csv.zst",
        Compression::Bzip2 => "x.csv.bz2",
        Compression::Xz => "x.csv.xz",
    })
}

fn packed(kind: Compression, bytes: &[u8]) -> Vec<u8> {
    match kind {
        #[cfg(feature = "gzip")]
        Compression::Gzip => {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            writer.write_all(bytes).unwrap();
            writer.finish().unwrap()
        }
        #[cfg(feature = "zstd")]
        Compression::Zstd => {
            let mut writer = ::zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
            writer.include_checksum(true).unwrap();
            writer.write_all(bytes).unwrap();
            writer.finish().unwrap()
        }
        #[cfg(feature = "bzip2")]
        Compression::Bzip2 => {
            let mut writer = ::bzip2::write::BzEncoder::new(Vec::new(), Default::default());
            writer.write_all(bytes).unwrap();
            writer.finish().unwrap()
        }
        #[cfg(feature = "xz")]
        Compression::Xz => {
            let mut writer = liblzma::write::XzEncoder::new(Vec::new(), 6);
            writer.write_all(bytes).unwrap();
            writer.finish().unwrap()
        }
        #[allow(unreachable_patterns)]
        _ => unreachable!("{bytes:?}"),
    }
}

/// Hands out at most so many bytes at a time.
struct Dripping<'a>(&'a [u8], usize);

impl std::io::Read for Dripping<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.1.min(buffer.len());
        std::io::Read::read(&mut self.0, &mut buffer[..n])
    }
}

/// Unpacks, with reads of at most `step` bytes into a buffer of `block`.
fn unpack(bytes: &[u8], name: &Path, step: usize, block: usize) -> Result<Vec<u8>, String> {
    let feed = Feed::Reader(Box::new(Dripping(bytes, step)));
    let raw = Raw::new(feed, 0, Waker::default());
    let unpacked = Unpacked::new(raw, name, 128 << 20);
    let recycler = Arc::new(Recycler::new(2, 1 << 20));
    let mut stream = Stream::new(Box::new(unpacked), 0, block, recycler, Waker::default());
    let mut all = Vec::new();
    loop {
        let more = stream.more(block).map_err(|error| error.to_string())?;
        let n = stream.front().len();
        all.extend_from_slice(&stream.take(n));
        if more == crate::input::More::End {
            return Ok(all);
        }
    }
}

fn error(bytes: &[u8], kind: Compression) -> String {
    unpack(bytes, name(kind), 100, 1000).unwrap_err()
}

#[test]
fn members_of_all_sizes_are_joined_at_every_read_and_buffer_size() {
    let long: Vec<u8> = (0..40_000_u32)
        .flat_map(|n| n.wrapping_mul(n).to_le_bytes())
        .collect();
    for &kind in KINDS {
        let members = [&b""[..], TEXT, b"", &long, b"\n"];
        let whole = members.concat();
        let bytes: Vec<u8> = members.iter().flat_map(|part| packed(kind, part)).collect();
        for (step, block) in [(1, 70_000), (1000, 1), (usize::MAX, 100_000), (7, 4096)] {
            let step = if step == 1 { 13 } else { step };
            let block = if block == 1 { 333 } else { block };
            let all = unpack(&bytes, name(kind), step, block);
            assert!(all.as_deref() == Ok(&whole), "{kind:?} {step} {block}");
        }
        let small = packed(kind, TEXT);
        for step in 1..40 {
            let all = unpack(&small, name(kind), step, step);
            assert_eq!(all.as_deref(), Ok(TEXT), "{kind:?} {step}");
        }
    }
}

#[test]
fn zeros_at_the_end_are_padding_and_garbage_is_an_error() {
    for &kind in KINDS {
        let bytes = packed(kind, TEXT);
        for zeros in [1, 4, 511, 200_000] {
            let padded = [&bytes[..], &vec![0; zeros]].concat();
            let all = unpack(&padded, name(kind), 100, 1000);
            assert_eq!(all.as_deref(), Ok(TEXT), "{kind:?} {zeros}");
            let member_after = [&padded[..], &bytes].concat();
            let all = unpack(&member_after, name(kind), 100, 1000);
            let allowed = kind == Compression::Xz && zeros % 4 == 0;
            assert_eq!(all.is_ok(), allowed, "{kind:?} {zeros}");
        }
        let at = bytes.len() + 3;
        let shown = error(&[&bytes[..], b"\0\0\0garbage"].concat(), kind);
        assert!(
            shown.contains("garbage") && shown.contains(&format!("at byte {at}")),
            "{shown}"
        );
        let shown = error(&[&bytes[..], &bytes[..1]].concat(), kind);
        assert!(shown.contains("ends early"), "{shown}");
    }
}

/// Not once is what comes out other than what went in without an error.
#[test]
fn every_cut_and_every_flipped_bit_is_seen() {
    for &kind in KINDS {
        let bytes = packed(kind, TEXT);
        for len in 0..bytes.len() {
            let shown = error(&bytes[..len], kind);
            let begun = kind.begins(&bytes[..len]);
            assert!(
                !begun || shown.contains("compressed input ends early"),
                "{kind:?} {len}: {shown}"
            );
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok(all) = unpack(&flipped, name(kind), 100, 1000) {
                assert_eq!(all, TEXT, "{kind:?} bit {bit}");
            }
        }
    }
}

#[test]
fn a_checksum_that_differs_is_called_so() {
    for &kind in KINDS {
        let mut bytes = packed(kind, TEXT);
        let at = match kind {
            Compression::Gzip => bytes.len() - 8,
            Compression::Zstd => bytes.len() - 4,
            Compression::Bzip2 | Compression::Xz => continue,
        };
        bytes[at] ^= 1;
        let shown = error(&bytes, kind);
        assert!(shown.starts_with("checksum"), "{shown}");
    }
}

#[cfg(feature = "zstd")]
#[test]
fn skippable_frames_are_skipped_also_as_the_first() {
    let skippable = [&b"\x5A\x2A\x4D\x18\x05\0\0\0"[..], b"12345"].concat();
    let frame = packed(Compression::Zstd, TEXT);
    let bytes = [&skippable[..], &frame, &skippable, &frame, &skippable].concat();
    let all = unpack(&bytes, Path::new("x"), 9, 1000);
    assert_eq!(all.unwrap(), [TEXT, TEXT].concat());
}

#[cfg(all(feature = "zstd", feature = "xz"))]
#[test]
fn a_window_that_is_too_large_is_refused() {
    let mut writer = ::zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    writer.window_log(24).unwrap();
    writer.write_all(TEXT).unwrap();
    let zstd = writer.finish().unwrap();
    let xz = packed(Compression::Xz, TEXT);
    for (bytes, kind) in [(zstd, Compression::Zstd), (xz, Compression::Xz)] {
        for (memory, fits) in [(1 << 20, false), (32 << 20, true)] {
            let raw = Raw::new(Feed::Slice(&bytes), 0, Waker::default());
            let mut unpacked = Unpacked::new(raw, name(kind), memory);
            unpacked.settle().unwrap();
            let mut out = [0; 1000];
            let got = unpacked.read(&mut out);
            match got {
                Ok(got) => assert!(fits && out[..got.bytes] == *TEXT),
                Err(error) => assert!(!fits && error.to_string().contains("memory"), "{error}"),
            }
        }
    }
}

#[test]
fn what_is_no_magic_passes_and_only_a_prefix_is_waited_for() {
    for text in [
        &b""[..],
        b"B",
        b"BZ",
        b"BZh",
        b"BZh9 is text",
        b"\x1F\x8B",
        b"(",
        b"plain",
    ] {
        let all = unpack(text, Path::new("x.csv"), 1, 10);
        assert_eq!(all.as_deref(), Ok(text));
    }
    assert_eq!(magic::sniff(b"BZh9", false), Sniffed::Unclear);
    assert_eq!(magic::sniff(b"BZh9", true), Sniffed::Plain);
    assert_eq!(magic::sniff(b"BZi", false), Sniffed::Plain);
    assert_eq!(magic::sniff(b"x", false), Sniffed::Plain);
}

#[test]
fn a_name_that_promises_compression_is_not_believed_but_for_text() {
    let read = |bytes: &[u8], name: &str| unpack(bytes, Path::new(name), 100, 100);
    assert_eq!(
        read(b"a,b\n\xC3\xA9\n", "x.gz").as_deref(),
        Ok(&b"a,b\n\xC3\xA9\n"[..])
    );
    assert!(
        read(b"\x1E\x8B\x08\0\0", "x.gz")
            .unwrap_err()
            .contains("gzip")
    );
    assert!(read(b"", "x.zst").unwrap_err().contains("ends early"));
    assert_eq!(read(b"\0\x01", "x.bin").as_deref(), Ok(&b"\0\x01"[..]));
    for &kind in KINDS {
        let all = read(&packed(kind, TEXT), "x.csv");
        assert_eq!(all.as_deref(), Ok(TEXT));
    }
}
