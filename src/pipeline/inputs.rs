//! How far the ordered stage is in its inputs: the lines before a record, and whether the input is still what it was.

use std::sync::Arc;

use super::messages::changed;
use crate::checksum::{combine, crc};
use crate::error::{Error, Position, escaped};
use crate::frame::{FrameError, InputInfo, OpenedInputs};
use crate::input::Grown;
use crate::output::checkpoint::{InputState, Place, Summed};
use crate::pool::{Done, RecordPlace};
use crate::sync::lock;

/// The inputs in the order in which their chunks are written.
pub(super) struct Inputs {
    opened: OpenedInputs,
    current: Option<CurrentInput>,
    /// Where the input that is entered next goes on, and its bytes before that.
    go_on: Option<(Place, Summed)>,
    /// Those that are written whole, where the run can be gone on from.
    whole: Option<Vec<InputState>>,
    /// The end of the last of them.
    end: Place,
    /// Bytes of the files that are written whole, as they lie there.
    files: u64,
}

/// The input whose chunks are being written.
struct CurrentInput {
    info: Arc<InputInfo>,
    /// Where the next chunk begins, or the record before which the last one ended.
    place: Place,
    /// The bytes before that.
    summed: Summed,
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
            go_on: None,
            whole: None,
            end: Place::default(),
            files: 0,
        }
    }

    /// Keeps what a later run needs to know of the inputs; of this one's, those before the next were written by an earlier run.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub fn keep(&mut self, whole: Vec<InputState>) {
        let length = |state: &InputState| state.identity.map_or(0, |identity| identity.length);
        self.files = whole.iter().map(length).sum();
        self.whole = Some(whole);
    }

    /// The next input goes on at this place.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub fn go_on(&mut self, place: Place, summed: Summed) {
        self.go_on = Some((place, summed));
    }

    /// The inputs up to the one being written, and the place in that one. `None`: none was entered since the run began, or went on.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub fn state(&self) -> Option<(Vec<InputState>, Place)> {
        if self.go_on.is_some() {
            return None;
        }
        let mut states = self.whole.clone().unwrap_or_default();
        let place = match &self.current {
            Some(current) => {
                states.push(current.state());
                current.place
            }
            None => self.end,
        };
        Some((states, place))
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

    /// How much of the inputs' files is done, as they lie there: of compressed ones, what was read.
    pub fn bytes_of_files(&self) -> u64 {
        let current = self.current.as_ref();
        self.files + current.map_or(0, |current| current.info.bytes_of_file(current.end))
    }

    /// Goes on to the next input, if one was opened. The one before must be left.
    /// Whether its top counts: it was counted by the run that this one goes on from.
    pub fn enter_next(&mut self) -> Option<(Arc<InputInfo>, bool)> {
        let info = lock(&self.opened).pop_front()?;
        let go_on = self.go_on.take();
        let is_new = go_on.is_none();
        let (place, summed) = go_on.unwrap_or_else(|| at_top(&info, self.whole.is_some()));
        self.current = Some(CurrentInput {
            place,
            summed,
            tail: Vec::new(),
            end: place.offset,
            grown: None,
            info: Arc::clone(&info),
        });
        Some((info, is_new))
    }

    /// Whether another input was opened.
    pub fn has_next(&self) -> bool {
        !lock(&self.opened).is_empty()
    }

    /// All of an input is written. A note, if it has grown.
    pub fn leave(&mut self) -> Result<Option<String>, Error> {
        self.check()?;
        self.files = self.bytes_of_files();
        let Some(current) = self.current.take() else {
            return Ok(None);
        };
        if let Some(whole) = &mut self.whole {
            whole.push(current.state());
            self.end = current.place;
        }
        Ok(current.grown.map(|grown| {
            format!(
                "{}: grew from {} to {} bytes while it was read; the first {} were processed",
                escaped(&current.info.name),
                grown.from,
                grown.to,
                grown.from
            )
        }))
    }

    /// This chunk is written.
    pub fn advance(&mut self, done: &mut Done) {
        if let Some(current) = &mut self.current {
            current.place.lines += done.place.lines;
            current.place.records = done.place.first + done.place.records;
            current.end = done.place.offset + done.bytes;
            current.place.offset = current.end;
            if let Some(sums) = done.sums {
                current.summed.crc = combine(current.summed.crc, sums.input, done.bytes);
            }
            current.summed.bytes = current.end;
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
        let before = self
            .current
            .as_ref()
            .map_or(0, |current| current.place.lines);
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
            line: here.map_or(u64::from(error.offset == 0), |current| {
                current.place.lines + 1
            }),
            offset: error.offset,
        }
    }
}

/// Behind the top of an input.
fn at_top(info: &InputInfo, sum: bool) -> (Place, Summed) {
    let place = Place {
        offset: info.top_bytes(),
        records: 0,
        lines: info.top_lines,
    };
    let header = info.header.as_ref().map_or(&[][..], |header| header.raw());
    let summed = Summed {
        bytes: place.offset,
        crc: match sum {
            true => combine(crc(&info.preamble), crc(header), header.len() as u64),
            false => 0,
        },
    };
    (place, summed)
}

impl CurrentInput {
    fn state(&self) -> InputState {
        InputState {
            path: self.info.name.as_os_str().to_owned(),
            identity: self.info.identity,
            summed: self.summed,
        }
    }

    fn check(&mut self, tail: &[u8], end: u64) -> Result<(), Error> {
        let checked = self.info.check(tail, end);
        let grown = checked.map_err(|error| changed(&self.info.name, error))?;
        self.grown = grown.or(self.grown.take());
        Ok(())
    }
}
