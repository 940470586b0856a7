//! Begins in the middle, where an earlier run stopped.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::preface::regular_file;
use super::{FrameError, Framer, InputInfo, Reason};
use crate::input::Origin;

/// Where to go on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GoOn {
    /// Which input.
    pub input: usize,
    /// The offset in it.
    pub offset: u64,
    /// Records of it before that.
    pub records: u64,
    /// Records of all inputs that were read.
    pub read: u64,
    /// Chunks before it.
    pub seq: u64,
}

impl Framer<'_> {
    /// Goes on there. The first header found.
    pub fn go_on(&mut self, from: &GoOn) -> Result<Option<Arc<InputInfo>>, FrameError> {
        let paths = self.origins.iter().filter_map(regular_file);
        let paths: Vec<PathBuf> = paths.map(Path::to_owned).collect();
        for (index, path) in paths.into_iter().enumerate() {
            if !self.options.format.header || self.header.is_some() {
                break;
            }
            let current = self.open(Origin::Path(path), index)?;
            if current.info.header.is_some() {
                self.header = Some(current.info);
            }
        }
        self.origins.drain(..from.input.min(self.origins.len()));
        self.next_index = from.input;
        self.left = self.left.saturating_sub(from.read);
        self.seq = from.seq;
        self.open_next()?;
        if let Some(current) = &mut self.current {
            current.records = from.records;
            let there = current.input.go_to(from.offset, None);
            if !there.map_err(|error| current.failed(error.into()))? {
                return Err(current.failed(Reason::Modified));
            }
            // Those before are told already.
            drop(current.input.malformed_before(from.offset));
        }
        Ok(self.header.clone())
    }
}
