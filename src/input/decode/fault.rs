//! What is wrong with compressed bytes.

use std::fmt;
use std::io;

use super::Compression;
use crate::input::InputError;

/// A compressed input can't be unpacked.
#[derive(Debug)]
pub(crate) struct DecodeError {
    pub compression: Compression,
    pub fault: Fault,
    /// Compressed bytes that were taken before it was seen.
    pub offset: u64,
}

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(all(feature = "gzip", feature = "zstd", feature = "xz")),
    allow(dead_code)
)]
pub(crate) enum Fault {
    EndsEarly,
    Checksum,
    Damaged,
    /// What follows the last member is none, and no padding.
    Garbage,
    /// More memory is asked for than allowed.
    Window,
    /// Not as the name says, nor text.
    NoMagic,
    /// The feature is off.
    NotBuiltIn,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, at) = (self.compression.name(), self.offset);
        match self.fault {
            Fault::EndsEarly => write!(
                f,
                "compressed input ends early ({name}, after byte {at} of it)"
            ),
            Fault::Checksum => write!(
                f,
                "checksum: what was unpacked is not what was packed ({name}, before byte {at} of it)"
            ),
            Fault::Damaged => write!(
                f,
                "compressed input is damaged ({name}, near byte {at} of it)"
            ),
            Fault::Garbage => write!(
                f,
                "garbage after the compressed data ({name}, at byte {at} of it)"
            ),
            Fault::Window => write!(
                f,
                "unpacking needs more memory than the decoder may take ({name})"
            ),
            Fault::NoMagic => write!(
                f,
                "the name says {name}, but it does not begin as {name} does and is no text: damaged, or to be read without decompression"
            ),
            Fault::NotBuiltIn => write!(f, "{name} can't be unpacked: the feature `{name}` is off"),
        }
    }
}

impl std::error::Error for DecodeError {}

impl From<DecodeError> for InputError {
    fn from(error: DecodeError) -> InputError {
        let kind = match error.fault {
            Fault::EndsEarly => io::ErrorKind::UnexpectedEof,
            Fault::NotBuiltIn => io::ErrorKind::Unsupported,
            _ => io::ErrorKind::InvalidData,
        };
        InputError::Io(io::Error::new(kind, error))
    }
}
