//! Windows of a mapped file. The only unsafe code of the crate is here and in [`guard`].
//!
//! A window is shared by the chunks cut from it and unmapped with the last of them, so what is resident is what is in
//! flight, whatever the file's size.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use memmap2::{Advice, Mmap, MmapOptions};

use super::bytes::Bytes;
use super::regular::Regular;
use super::{InputError, More};
use guard::{Entry, Notice};

pub(super) mod guard;

/// A file seen through one window after the other.
pub(super) struct Mapped {
    regular: Regular,
    window: Option<Arc<Window>>,
    /// Where the front begins in the window. It ends with the window.
    start: usize,
    /// Of the front's first byte, in the input.
    offset: u64,
    window_size: usize,
    map: Map,
    notice: Arc<Notice>,
}

/// Maps a range of a file. Tests put another one here, that refuses.
pub(super) type Map = fn(&File, u64, usize) -> io::Result<Pages>;

impl Mapped {
    pub fn new(name: &Path, regular: Regular, window_size: usize, map: Map) -> Mapped {
        let notice = Notice::new(name, regular.clone());
        Mapped {
            regular,
            window: None,
            start: 0,
            offset: 0,
            window_size,
            map,
            notice: Arc::new(notice),
        }
    }

    pub fn regular(&self) -> &Regular {
        &self.regular
    }

    pub fn offset(&self) -> u64 {
        self.offset
    }

    pub fn front(&self) -> &[u8] {
        match &self.window {
            Some(window) => &window.bytes()[self.start..],
            None => &[],
        }
    }

    /// As `Input::more`. `None`: the system refuses another window.
    pub fn more(&mut self, want: usize) -> Result<Option<More>, InputError> {
        let left = self.regular.size() - self.offset;
        let have = self.front().len();
        if have as u64 == left {
            return Ok(Some(More::End));
        }
        if have >= want {
            return Ok(Some(More::Ready));
        }
        // A window past the file's end can be mapped, but not be read.
        let (from, to) = (self.regular.start.length, self.regular.state()?.length);
        if to < from {
            return Err(InputError::Shrank { from, to });
        }
        let len = (self.window_size.max(want) as u64).min(left);
        let Some(window) = self.map_window(len as usize) else {
            return Ok(None);
        };
        self.window = Some(Arc::new(window));
        self.start = 0;
        Ok(Some(if len == left { More::End } else { More::Ready }))
    }

    /// The window that begins with the front's first byte. The mapping begins where that byte's page does.
    fn map_window(&self, len: usize) -> Option<Window> {
        let at = self.regular.base + self.offset;
        let pages = (self.map)(&self.regular.file, at, len).ok()?;
        let entry = guard::protect(&pages, &self.notice).ok()?;
        Some(Window {
            _entry: entry,
            pages,
            file: Arc::clone(&self.regular.file),
            at,
        })
    }

    /// Goes on at this offset, which the file has.
    pub fn jump(&mut self, offset: u64) {
        self.window = None;
        self.start = 0;
        self.offset = offset.min(self.regular.size());
    }

    pub fn take(&mut self, n: usize) -> Bytes {
        let cut = self.start..self.start + n;
        let Some(window) = self.window.take() else {
            unreachable!("bytes are taken from a front that has them");
        };
        assert!(
            cut.end <= window.bytes().len(),
            "more taken than the front has"
        );
        self.start = cut.end;
        self.offset += n as u64;
        if cut.end < window.bytes().len() {
            self.window = Some(window.clone());
        }
        Bytes::mapped(window, cut)
    }
}

/// A mapped part of a file, unmapped when dropped.
pub(super) struct Window {
    /// Before the pages: an address must leave the guard's table before another mapping can get it.
    _entry: Option<Entry>,
    pages: Pages,
    file: Arc<File>,
    /// Where in the file the bytes begin.
    at: u64,
}

impl Window {
    pub fn bytes(&self) -> &[u8] {
        &self.pages
    }

    /// The file, and the offset in it of one of the bytes.
    pub fn place(&self, index: usize) -> (&File, u64) {
        (&self.file, self.at + index as u64)
    }
}

/// Mapped pages.
pub(super) struct Pages(Mmap);

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Maps `len` bytes of `file`, to be read in sequence.
pub(super) fn map_pages(file: &File, offset: u64, len: usize) -> io::Result<Pages> {
    // SAFETY: the file must not change while the mapping lives. That is what the caller promised with the unsafe
    // `memory_map`, the only way to get here. The program, which can't promise it for its users' files, checks with a
    // `Watch` and dies by the guard of this module instead of going on with pages that are gone.
    let map = unsafe { MmapOptions::new().offset(offset).len(len).map(file)? };
    // Advice is advice: without it the same bytes come. To fill the pages ahead (populate, will need) was measured: no
    // faster from memory, slower from a disk, and twice as much resident.
    let _ = map.advise(Advice::Sequential);
    Ok(Pages(map))
}
