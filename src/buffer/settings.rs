//! What all buffers of a run share.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::format::{Dialect, Ends};
use crate::input::Recycler;
use crate::output::OutputError;
use crate::text::Encoding;

/// What all buffers of a run share.
pub(crate) struct BufferSettings {
    pub dialect: Dialect,
    /// What becomes of the ends of the input's records.
    pub ends: Ends,
    /// Separates what is written for a record that has no end.
    pub default_end: &'static [u8],
    /// Whether blank lines are passed on in their place.
    pub blank_lines: bool,
    /// What is written becomes text of this encoding.
    pub encoding: Option<Encoding>,
    /// Own bytes of one chunk beyond this go to a file.
    pub spill_at: usize,
    /// The output's folder, in which that file is made.
    pub near: Option<PathBuf>,
    pub recycler: Arc<Recycler>,
    /// What the last chunks wrote: a buffer that begins with this much need not grow, which leaves holes in the heap.
    pub expected: AtomicUsize,
}

/// At least so much, in steps of a quarter of a power of two: buffers of few sizes fill each other's place in the heap.
pub(super) fn size_class(bytes: usize) -> usize {
    let step = (bytes.next_power_of_two() / 8).max(1);
    bytes.next_multiple_of(step)
}

impl BufferSettings {
    /// A chunk wrote so much.
    pub fn expect(&self, bytes: usize) {
        let before = self.expected.load(Ordering::Relaxed);
        let now = bytes.max(before - before / 8).min(self.spill_at);
        self.expected.store(now, Ordering::Relaxed);
    }

    /// Output could not be spilled to a file.
    pub fn spill_error(&self, source: io::Error) -> OutputError {
        OutputError {
            path: self.near.clone().unwrap_or_else(std::env::temp_dir),
            what: "keep output in a temporary file",
            source,
        }
    }
}
