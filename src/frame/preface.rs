//! What stands before the records: a preamble, and a header that all inputs have alike.

use std::path::Path;
use std::sync::Arc;

use super::scan::Want;
use super::{FrameError, Framer, InputInfo, Reason};
use crate::input::Origin;
use crate::text::MARK;

/// What the output begins with.
pub(crate) struct Preface {
    /// What stands at the top of the first input.
    pub preamble: Vec<u8>,
    /// The first input that has a header.
    pub header: Option<Arc<InputInfo>>,
    /// The header has no end, and records of another input follow it.
    pub header_lacks_end: bool,
}

/// Any chunk at all.
const FIRST_BYTE: Want = Want {
    bytes: 1,
    records: 1,
    flush: true,
};

impl Framer<'_> {
    /// Reads the header of each input that can be opened twice, so that a difference is found before anything is written.
    pub fn compare_headers(&self) -> Result<(), FrameError> {
        if !self.options.format.header || self.origins.len() < 2 {
            return Ok(());
        }
        let mut first: Option<Arc<InputInfo>> = None;
        for path in self.origins.iter().filter_map(regular_file) {
            let current = self.open(Origin::Path(path.to_owned()), 0)?;
            match &first {
                Some(first) => same_header(first, &current.info)?,
                None if current.info.header.is_some() => first = Some(current.info),
                None => {}
            }
        }
        Ok(())
    }

    /// Opens the first input, and further ones until a header is found, if the format has one.
    pub fn open_first(&mut self) -> Result<Preface, FrameError> {
        self.open_next()?;
        let mut preamble = Vec::new();
        if let Some(current) = &self.current {
            if self.options.keeps_mark && current.input.had_mark() {
                preamble.extend_from_slice(MARK);
            }
            preamble.extend_from_slice(&current.info.preamble);
        }
        while self.options.format.header && self.header.is_none() && self.open_next()? {}
        let lacks_end = match self.header.as_deref() {
            Some(InputInfo {
                header: Some(header),
                ..
            }) => !self.options.format.ends(header.raw()),
            _ => false,
        };
        Ok(Preface {
            preamble,
            header: self.header.clone(),
            header_lacks_end: lacks_end && self.find_more()?,
        })
    }

    /// Goes on to the next input that has bytes after its header, if the current one has none. Whether there is one.
    pub(super) fn find_more(&mut self) -> Result<bool, FrameError> {
        loop {
            let Some(current) = &mut self.current else {
                return Ok(false);
            };
            let empty = current.input.front().is_empty();
            if !empty {
                return Ok(true);
            }
            if current.at_end {
                self.open_next()?;
            } else {
                current.read_more(&FIRST_BYTE, self.options.max_record_size)?;
            }
        }
    }
}

/// The path of an input that can be opened twice.
pub(super) fn regular_file<'o>(origin: &'o Origin<'_>) -> Option<&'o Path> {
    match origin {
        Origin::Path(path) if path.metadata().is_ok_and(|data| data.is_file()) => Some(path),
        _ => None,
    }
}

pub(super) fn same_header(first: &Arc<InputInfo>, other: &InputInfo) -> Result<(), FrameError> {
    match (&first.header, &other.header) {
        (Some(one), Some(two)) if !one.same_fields(two) => Err(FrameError {
            reason: Reason::HeaderDiffers {
                first: Arc::clone(&first.name),
            },
            input: Arc::clone(&other.name),
            index: other.index,
            offset: other.preamble.len() as u64,
            records: 0,
        }),
        _ => Ok(()),
    }
}
