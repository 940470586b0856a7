//! Cuts the inputs into chunks, at record ends only. Runs on the reader's thread.

mod chunk;
pub(crate) mod csv;
mod current;
mod fault;
pub(crate) mod fields;
mod go_on;
pub(crate) mod lines;
mod pace;
mod preface;
pub(crate) mod scan;
mod size;
pub(crate) mod spans;
mod splitter;
mod too_long;
mod top;

use std::collections::VecDeque;
use std::sync::Arc;

#[cfg(unix)]
pub use chunk::Interrupts;
pub use chunk::{Chunk, Stopping};
pub(crate) use chunk::{Framed, InputInfo, Place};
pub(crate) use fault::{FrameError, Reason};
pub(crate) use go_on::GoOn;
pub(crate) use pace::{Pace, Rate};
pub(crate) use size::ChunkSize;
pub use splitter::Splitter;
pub(crate) use too_long::TooLong;

use crate::control::Control;
use crate::format::Format;
use crate::input::{Ahead, Bytes, OpenOptions, Origin, Recycler};
use crate::sync::{Mutex, lock};
use current::Current;
pub(crate) use preface::Preface;
use preface::same_header;
use scan::Want;
use size::to_multiple;

/// What the framer needs to know.
#[derive(Debug, Clone)]
pub(crate) struct FrameOptions {
    pub format: Format,
    pub open: OpenOptions,
    pub max_record_size: usize,
    pub limit: u64,
    pub skip_lines: u64,
    /// Chunks have a fixed size.
    pub fixed: bool,
    /// Which counts from the input's start.
    pub multiples: bool,
    /// So many records are given out in so much time.
    pub rate: Option<Rate>,
    /// A byte order mark that was taken off the first input is passed on.
    pub keeps_mark: bool,
    /// So many inputs are unpacked before their turn comes, if they are compressed files.
    pub ahead: usize,
    /// Bytes unpacked ahead of each.
    pub ahead_room: usize,
}

/// The inputs that were opened and that the ordered stage has not come to: some have no chunks.
pub(crate) type OpenedInputs = Arc<Mutex<VecDeque<Arc<InputInfo>>>>;

/// Reads the inputs in turn and cuts them.
pub(crate) struct Framer<'a> {
    origins: VecDeque<Origin<'a>>,
    next_index: usize,
    /// The first input of which it is not known whether it is to be unpacked ahead.
    next_ahead: usize,
    current: Option<Current<'a>>,
    opened: OpenedInputs,
    /// The first header found, and in which input: all others must have the same fields.
    header: Option<Arc<InputInfo>>,
    left: u64,
    /// The next chunk's sequence number.
    seq: u64,
    pace: Option<Pace>,
    /// An error that was met while a chunk was at hand; it comes after that chunk.
    pending: Option<FrameError>,
    options: FrameOptions,
    recycler: Arc<Recycler>,
    control: Arc<Control>,
}

impl<'a> Framer<'a> {
    pub fn new(
        origins: Vec<Origin<'a>>,
        options: FrameOptions,
        recycler: Arc<Recycler>,
        control: Arc<Control>,
    ) -> Framer<'a> {
        Framer {
            origins: origins.into(),
            next_index: 0,
            next_ahead: 1,
            current: None,
            opened: OpenedInputs::default(),
            header: None,
            left: options.limit,
            seq: 0,
            pace: options.rate.map(Pace::new),
            pending: None,
            options,
            recycler,
            control,
        }
    }

    /// For the ordered stage.
    pub fn opened(&self) -> OpenedInputs {
        Arc::clone(&self.opened)
    }

    /// Adds the end that the last record of an input lacks, if records of another input follow.
    fn add_missing_end(&mut self, framed: &mut Framed) -> Result<(), FrameError> {
        if self.origins.is_empty() || self.left == 0 || self.options.format.ends(&framed.bytes) {
            return Ok(());
        }
        if self.open_next()? && self.find_more()? {
            let mut bytes = framed.bytes.to_vec();
            let end = self.options.format.default_end();
            bytes.extend_from_slice(end);
            framed.place.added = end.len();
            framed.bytes = Bytes::from_vec(bytes, &self.recycler);
        }
        Ok(())
    }

    /// Leaves the current input, of which nothing is left. One that gave no chunk is not held open until the ordered stage comes
    /// to it: nothing would hold the reader up from opening ever more of them.
    fn leave(&mut self) -> Result<(), FrameError> {
        let Some(current) = self.current.take() else {
            return Ok(());
        };
        if current.records > 0 || self.origins.is_empty() {
            return Ok(());
        }
        let checked = current.info.check(&[], 0);
        checked.map_err(|error| current.failed(error.into()))?;
        lock(&current.info.watch).take();
        Ok(())
    }

    fn open_next(&mut self) -> Result<bool, FrameError> {
        self.leave()?;
        let Some(origin) = self.origins.pop_front() else {
            return Ok(false);
        };
        let current = self.open(origin, self.next_index)?;
        self.next_index += 1;
        match &self.header {
            Some(first) => same_header(first, &current.info)?,
            None if current.info.header.is_some() => self.header = Some(Arc::clone(&current.info)),
            None => {}
        }
        lock(&self.opened).push_back(Arc::clone(&current.info));
        self.current = Some(current);
        self.unpack_ahead();
        Ok(true)
    }

    fn open(&self, origin: Origin<'a>, index: usize) -> Result<Current<'a>, FrameError> {
        let waker = &self.control.waker;
        Current::open(origin, index, &self.options, &self.recycler, waker)
    }

    /// Starts to unpack the inputs whose turn comes soon.
    fn unpack_ahead(&mut self) {
        let Some(memory) = self.options.open.decoder else {
            return;
        };
        let known = self.next_ahead.saturating_sub(self.next_index);
        let inputs = self.origins.iter_mut().take(self.options.ahead);
        for origin in inputs.skip(known) {
            let room = self.options.ahead_room;
            if let Origin::Path(path) = origin
                && let Some(ahead) = Ahead::start(path, memory, room, &self.control.waker)
            {
                *origin = Origin::Ahead(Box::new(ahead));
            }
        }
        self.next_ahead = self.next_index + self.options.ahead;
    }

    /// Whether nothing is left to be read.
    fn is_at_end(&self) -> bool {
        let ended = |current: &Current<'_>| current.at_end && current.input.front().is_empty();
        let read = self.current.as_ref().is_none_or(ended);
        self.left == 0 || (read && self.origins.is_empty() && self.pending.is_none())
    }

    /// Waits until the next chunk may be given out. Whether it still is to be: the run may be stopping.
    fn wait_until_due(&mut self) -> Result<bool, FrameError> {
        let (Some(pace), Some(current), false) = (&self.pace, &self.current, self.is_at_end())
        else {
            return Ok(true);
        };
        match self.control.waker.sleep(pace.time_left()) {
            Ok(()) => Ok(true),
            Err(_) if self.control.ends_reading() => Ok(false),
            Err(error) => Err(current.failed(error.into())),
        }
    }

    /// The next chunk, or `None` after the last.
    pub fn next(&mut self, mut want: Want) -> Result<Option<Framed>, FrameError> {
        want.flush |= self.pending.is_some();
        if !self.is_at_end() && self.control.ends_reading() {
            return Ok(None);
        }
        if !self.wait_until_due()? {
            return Ok(None);
        }
        loop {
            if self.left == 0 {
                return Ok(None);
            }
            let Some(current) = &mut self.current else {
                if let Some(error) = self.pending.take() {
                    return Err(error);
                }
                if self.open_next()? {
                    continue;
                }
                return Ok(None);
            };
            let mut next = want;
            if self.options.multiples {
                next.bytes = to_multiple(want.bytes, current.input.offset());
            }
            // Every record has a byte at least, so a chunk of fewer bytes than records left can't pass the limit, and need not be
            // cut record by record.
            if self.left < next.bytes as u64 || want.records < u64::MAX {
                next.records = want.records.min(self.left);
            }
            let front = current.input.front();
            if let Some(cut) = current.scanner.cut(front, current.at_end, &next) {
                let offset = current.input.offset();
                let malformed = current.input.malformed_before(offset + cut.len as u64);
                let place = Place {
                    input: Arc::clone(&current.info),
                    offset,
                    malformed,
                    first: current.records,
                    records: cut.records,
                    lines: cut.lines,
                    seq: self.seq,
                    added: 0,
                    unclosed: cut.unclosed,
                    attempt: 0,
                };
                let bytes = current.input.take(cut.len);
                let mut framed = Framed { bytes, place };
                current.records += cut.records;
                self.left -= cut.records.min(self.left);
                self.seq += 1;
                if let Some(pace) = &mut self.pace {
                    pace.given(cut.records);
                }
                let last = current.at_end && current.input.front().is_empty();
                if last && cut.unclosed.is_none() {
                    self.pending = self.add_missing_end(&mut framed).err();
                }
                return Ok(Some(framed));
            }
            if let Some(error) = self.pending.take() {
                return Err(error);
            }
            if current.at_end {
                self.leave()?;
                continue;
            }
            want.flush = match current.read_more(&next, self.options.max_record_size) {
                // What came whole before a read failed goes first.
                Err(error) if matches!(error.reason, Reason::Read(_)) => {
                    self.pending = Some(error);
                    true
                }
                // A fixed chunk depends on the input alone, not on how it arrives.
                more => more? && !self.options.fixed,
            };
        }
    }
}

#[cfg(all(test, feature = "encoding"))]
mod tests;
