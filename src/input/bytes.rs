//! The bytes of one chunk, cut off an input.

use std::fmt;
#[cfg(unix)]
use std::fs::File;
use std::ops::{Deref, Range};
use std::sync::Arc;

#[cfg(unix)]
use super::mapped::Window;
use super::recycler::Recycler;

/// Bytes of an input, shared by all clones. The window or the buffer behind them is given back with the last one.
#[derive(Clone)]
pub(crate) struct Bytes {
    held: Held,
    range: Range<usize>,
}

#[derive(Clone)]
enum Held {
    #[cfg(unix)]
    Window(Arc<Window>),
    Block(Arc<Block>),
}

impl Bytes {
    #[cfg(unix)]
    pub(super) fn mapped(window: Arc<Window>, range: Range<usize>) -> Bytes {
        Bytes {
            held: Held::Window(window),
            range,
        }
    }

    /// The range of a buffer that goes to the recycler afterwards.
    pub(super) fn owned(buffer: Vec<u8>, range: Range<usize>, recycler: &Arc<Recycler>) -> Bytes {
        Bytes {
            held: Held::Block(Arc::new(Block {
                buffer,
                recycler: recycler.clone(),
            })),
            range,
        }
    }

    /// A buffer of the caller's.
    pub fn from_vec(buffer: Vec<u8>, recycler: &Arc<Recycler>) -> Bytes {
        let range = 0..buffer.len();
        Bytes::owned(buffer, range, recycler)
    }

    /// Whether the bytes are those of a mapped file, which can change or vanish.
    pub fn is_mapped(&self) -> bool {
        match self.held {
            #[cfg(unix)]
            Held::Window(_) => true,
            Held::Block(_) => false,
        }
    }

    /// The file that the bytes are mapped from, and the offset in it of one of them.
    #[cfg(unix)]
    pub fn mapped_from(&self, index: usize) -> Option<(&File, u64)> {
        match &self.held {
            Held::Window(window) => Some(window.place(self.range.start + index)),
            Held::Block(_) => None,
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.held {
            #[cfg(unix)]
            Held::Window(window) => &window.bytes()[self.range.clone()],
            Held::Block(block) => &block.buffer[self.range.clone()],
        }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bytes")
            .field("len", &self.range.len())
            .field("is_mapped", &self.is_mapped())
            .finish()
    }
}

/// A buffer that goes back to the recycler.
struct Block {
    buffer: Vec<u8>,
    recycler: Arc<Recycler>,
}

impl Drop for Block {
    fn drop(&mut self) {
        self.recycler.give(std::mem::take(&mut self.buffer));
    }
}
