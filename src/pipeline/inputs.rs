//! How far the ordered stage is in its inputs: the lines before a record, and whether the input is still what it was.

use std::sync::Arc;

use super::messages::changed;
use crate::error::{Error, Position, escaped};
use crate::frame::{FrameError, InputInfo, OpenedInputs};
use crate::input::Grown;
use crate::pool::{Done, RecordPlace};
use crate::sync::lock;

/// The inputs in the order in which their chunks are written.
pub(super) struct Inputs {
    opened: OpenedInputs,
    current: Option<CurrentInput>,
}

/// The input whose chunks are being written.
struct CurrentInput {
    info: Arc<InputInfo>,
    /// LF bytes before the next chunk.
    lines: u64,
    /// The end of what was processed, to recognise the input by if it has grown.
    tail: Vec<u8>,
    end: u64,
    grown: Option<Grown>,
}

impl Inputs {
    pub fn new(opened: OpenedInputs) -> Inputs {
        Inputs {
            opened,
            current: None,
        }
    }

    /// Whether chunks of this input are being written.
    pub fn is_at(&self, index: usize) -> bool {
        self.current
            .as_ref()
            .is_some_and(|current| current.info.index == index)
    }

    /// Which input's chunks are being written, from 0.
    pub fn index(&self) -> usize {
        self.current
            .as_ref()
            .map_or(0, |current| current.info.index)
    }

    /// Goes on to the next input, if one was opened. The one before must be left.
    pub fn enter_next(&mut self) -> Option<Arc<InputInfo>> {
        let info = lock(&self.opened).pop_front()?;
        self.current = Some(CurrentInput {
            lines: info.top_lines,
            tail: Vec::new(),
            end: info.top_bytes(),
            grown: None,
            info: Arc::clone(&info),
        });
        Some(info)
    }

    /// Whether another input was opened.
    pub fn has_next(&self) -> bool {
        !lock(&self.opened).is_empty()
    }

    /// All of an input is written. A note, if it has grown.
    pub fn leave(&mut self) -> Result<Option<String>, Error> {
        self.check()?;
        Ok(self.current.take().and_then(|current| {
            let grown = current.grown?;
            Some(format!(
                "{}: grew from {} to {} bytes while it was read; the first {} were processed",
                escaped(&current.info.name),
                grown.from,
                grown.to,
                grown.from
            ))
        }))
    }

    /// This chunk is written.
    pub fn advance(&mut self, done: &mut Done) {
        if let Some(current) = &mut self.current {
            current.lines += done.lines;
            current.end = done.place.offset + done.bytes;
            current.tail = std::mem::take(&mut done.tail);
        }
    }

    /// Whether the input is still what it was when this chunk was read.
    pub fn check_before(&mut self, done: &Done) -> Result<(), Error> {
        let end = done.place.offset + done.bytes;
        self.current
            .as_mut()
            .map_or(Ok(()), |current| current.check(&done.tail, end))
    }

    /// Whether the input is still what it was when it was last written from.
    pub fn check(&mut self) -> Result<(), Error> {
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        let tail = std::mem::take(&mut current.tail);
        let checked = current.check(&tail, current.end);
        current.tail = tail;
        checked
    }

    /// Where a chunk begins.
    pub fn position_of_chunk(&self, done: &Done) -> Position {
        self.position_of(done, RecordPlace::default())
    }

    /// Where a record of a chunk stands.
    pub fn position_of(&self, done: &Done, place: RecordPlace) -> Position {
        let before = self.current.as_ref().map_or(0, |current| current.lines);
        Position {
            input: done.place.input.name.to_path_buf(),
            record: done.place.first + place.index + 1,
            line: before + place.lines + 1,
            offset: done.place.offset + place.start as u64,
        }
    }

    /// Where the reader met an error: behind all that is written.
    pub fn position_of_reader(&self, error: &FrameError) -> Position {
        let here = self
            .current
            .as_ref()
            .filter(|current| current.info.index == error.index);
        Position {
            input: error.input.to_path_buf(),
            record: error.records + 1,
            // In the top of an input, whose lines are not counted yet, only that of the first byte is known.
            line: here.map_or(u64::from(error.offset == 0), |current| current.lines + 1),
            offset: error.offset,
        }
    }
}

impl CurrentInput {
    fn check(&mut self, tail: &[u8], end: u64) -> Result<(), Error> {
        let checked = self.info.check(tail, end);
        let grown = checked.map_err(|error| changed(&self.info.name, error))?;
        self.grown = grown.or(self.grown.take());
        Ok(())
    }
}
