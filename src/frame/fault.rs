//! Why no more chunks come.

use std::path::Path;
use std::sync::Arc;

use super::TooLong;
use crate::error::BoxError;
use crate::input::{InputError, Malformed};

/// Why no more chunks come, with the place.
#[derive(Debug)]
pub(crate) struct FrameError {
    pub reason: Reason,
    pub input: Arc<Path>,
    /// Which input this is.
    pub index: usize,
    /// Bytes of the input before the fault.
    pub offset: u64,
    /// Records of the input before the fault.
    pub records: u64,
}

#[derive(Debug)]
pub(crate) enum Reason {
    Open(std::io::Error),
    Read(std::io::Error),
    Shrank {
        from: u64,
        to: u64,
    },
    Modified,
    /// A wake-up ended the wait for more input.
    Woken,
    /// The record at this offset is too long.
    TooLong(TooLong),
    HeaderUnclosed,
    HeaderMalformed(Malformed),
    HeaderDiffers {
        first: Arc<Path>,
    },
    Panicked(BoxError),
    NoThreads(std::io::Error),
}

impl From<InputError> for Reason {
    fn from(error: InputError) -> Reason {
        match error {
            InputError::Io(error) => Reason::Read(error),
            InputError::Shrank { from, to } => Reason::Shrank { from, to },
            InputError::Modified => Reason::Modified,
            InputError::Stopped => Reason::Woken,
        }
    }
}
