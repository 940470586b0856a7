//! Compressed output: the ordered bytes are cut into blocks, and each block becomes a gzip member or a zstd frame.
//!
//! A block is exactly [`BLOCK`] bytes of the output, the last one what is left, so the compressed bytes depend on the
//! output and the level alone, and blocks can be compressed on any thread. Block `k` begins at byte `k * BLOCK` of the
//! output; a run that is resumed at a border drops what its first chunk wrote before it.

use std::fmt;
use std::io;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::sync::{Mutex, lock};

#[cfg(feature = "gzip")]
mod gzip;
#[cfg(feature = "zstd")]
mod zstd;

#[cfg(all(test, feature = "gzip", feature = "zstd"))]
mod tests;

/// Bytes of the output in one member or frame.
pub(crate) const BLOCK: usize = 1 << 20;

/// How an output is compressed: see [`Sink::compress`](crate::Sink::compress).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Compress {
    kind: Kind,
    level: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    #[cfg(feature = "gzip")]
    Gzip,
    #[cfg(feature = "zstd")]
    Zstd,
}

impl Compress {
    /// gzip (RFC 1952), at level 6 of 0 to 12: those of libdeflate, of which the first nine are about zlib's.
    #[cfg(feature = "gzip")]
    pub fn gzip() -> Compress {
        Compress {
            kind: Kind::Gzip,
            level: 6,
        }
    }

    /// zstd (RFC 8878), with checksums, at level 3 of 1 to 22.
    #[cfg(feature = "zstd")]
    pub fn zstd() -> Compress {
        Compress {
            kind: Kind::Zstd,
            level: 3,
        }
    }

    /// Another level.
    ///
    /// # Errors
    /// What the levels are, if this is none.
    pub fn level(self, level: i32) -> Result<Compress, LevelError> {
        let (name, levels) = self.levels();
        if levels.contains(&level) {
            Ok(Compress { level, ..self })
        } else {
            Err(LevelError {
                name,
                level,
                levels,
            })
        }
    }

    fn levels(self) -> (&'static str, RangeInclusive<i32>) {
        match self.kind {
            #[cfg(feature = "gzip")]
            Kind::Gzip => ("gzip", 0..=12),
            #[cfg(feature = "zstd")]
            Kind::Zstd => ("zstd", 1..=22),
        }
    }

    /// Its name and level, to be [found again](Compress::found).
    pub(crate) fn named(self) -> Named {
        Named(self.levels().0.to_owned(), self.level)
    }

    /// Nothing if this build of the crate lacks it.
    pub(crate) fn found(Named(name, level): &Named) -> Option<Compress> {
        let known = [
            #[cfg(feature = "gzip")]
            Compress::gzip(),
            #[cfg(feature = "zstd")]
            Compress::zstd(),
        ];
        let mut known: std::slice::Iter<'_, Compress> = known.iter();
        let kind = known.find(|compress| compress.levels().0 == name)?.kind;
        let level = *level;
        Some(Compress { kind, level })
    }

    fn codec(self) -> io::Result<Box<dyn Codec>> {
        match self.kind {
            #[cfg(feature = "gzip")]
            Kind::Gzip => Ok(Box::new(gzip::Gzip::new(self.level)?)),
            #[cfg(feature = "zstd")]
            Kind::Zstd => Ok(Box::new(zstd::Zstd::new(self.level)?)),
        }
    }
}

/// Name and level of what compresses, which this build of the crate may lack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Named(pub String, i32);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Named(name, level) = self;
        write!(f, "{name} at level {level}")
    }
}

/// There is no such level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelError {
    name: &'static str,
    level: i32,
    levels: RangeInclusive<i32>,
}

impl fmt::Display for LevelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, level) = (self.name, self.level);
        let (first, last) = (self.levels.start(), self.levels.end());
        write!(f, "{name} has no level {level}: it has {first} to {last}")
    }
}

impl std::error::Error for LevelError {}

/// Compresses one block after the other.
trait Codec: Send {
    /// One whole member or frame.
    fn pack(&mut self, block: &[u8]) -> io::Result<Vec<u8>>;
}

/// Compresses blocks, on as many threads at once as there are.
pub(crate) struct Packer {
    compress: Compress,
    /// Those that are not at work: they are dear to make.
    codecs: Mutex<Vec<Box<dyn Codec>>>,
}

impl Packer {
    pub fn new(compress: Compress) -> Packer {
        Packer {
            compress,
            codecs: Mutex::new(Vec::new()),
        }
    }

    pub fn compress(&self) -> Compress {
        self.compress
    }

    /// One whole member or frame.
    pub fn pack(&self, block: &[u8]) -> io::Result<Vec<u8>> {
        let kept = lock(&self.codecs).pop();
        let mut codec = match kept {
            Some(codec) => codec,
            None => self.compress.codec()?,
        };
        let packed = codec.pack(block);
        lock(&self.codecs).push(codec);
        packed
    }
}
