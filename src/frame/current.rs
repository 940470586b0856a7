//! The input that is being cut.

use std::sync::Arc;

use super::scan::{Scanner, Want, count_lines};
use super::{FrameError, FrameOptions, InputInfo, Reason, TooLong, top};
use crate::input::{Input, More, Origin, Recycler, Waker};
use crate::sync::Mutex;

/// An open input, read up to its front.
pub(super) struct Current<'a> {
    pub input: Input<'a>,
    pub info: Arc<InputInfo>,
    pub scanner: Scanner,
    pub records: u64,
    pub at_end: bool,
}

/// Bytes read beyond the wanted size, so that the end of the record that crosses it is mostly at hand.
pub(super) const READ_AHEAD: usize = 4096;

impl<'a> Current<'a> {
    /// Opens an input and reads what stands before its records.
    pub fn open(
        origin: Origin<'a>,
        index: usize,
        options: &FrameOptions,
        recycler: &Arc<Recycler>,
        waker: &Waker,
    ) -> Result<Current<'a>, FrameError> {
        let name = origin.name();
        let failed = |offset, reason| FrameError {
            reason,
            input: Arc::clone(&name),
            index,
            offset,
            records: 0,
        };
        let mut input = Input::open(origin, &options.open, recycler, waker)
            .map_err(|error| failed(0, Reason::Open(error)))?;
        let settled = input.settle();
        let compression = settled.map_err(|error| failed(0, error.into()))?;
        let note = input.note(&name, compression);
        let top =
            top::read(&mut input, options).map_err(|(offset, reason)| failed(offset, reason))?;
        let header = top.header.as_ref().map_or(&[][..], |header| header.raw());
        if let Some(malformed) = input.malformed_before(input.offset()).pop() {
            return Err(failed(0, Reason::HeaderMalformed(malformed)));
        }
        let top_lines = count_lines(&top.preamble) + count_lines(header);
        let info = InputInfo {
            index,
            framing: options.format.framing,
            preamble: top.preamble,
            header: top.header,
            top_lines,
            identity: input.watch().map(|watch| watch.identity()),
            watch: Mutex::new(input.watch()),
            note,
            encoding: options.open.encoding,
            name,
        };
        Ok(Current {
            input,
            info: Arc::new(info),
            scanner: Scanner::new(options.format.framing),
            records: 0,
            at_end: false,
        })
    }
}

impl Current<'_> {
    /// Makes the front longer. Whether the input has nothing more for now.
    pub fn read_more(&mut self, want: &Want, max_record_size: usize) -> Result<bool, FrameError> {
        let have = self.input.front().len();
        // A front beyond the wanted size without a place to cut is the beginning of one record.
        if have > want.bytes.max(max_record_size) {
            let error = TooLong::new(self.input.front(), self.info.framing, max_record_size);
            return Err(self.failed(Reason::TooLong(error)));
        }
        let aim = if have <= want.bytes {
            want.bytes.saturating_add(READ_AHEAD)
        } else {
            have.saturating_mul(2)
        };
        match self.input.more(aim) {
            Ok(More::Ready) => Ok(false),
            Ok(More::Drained) => Ok(true),
            Ok(More::End) => {
                self.at_end = true;
                Ok(false)
            }
            Err(error) => Err(self.failed(error.into())),
        }
    }

    pub fn failed(&self, reason: Reason) -> FrameError {
        let mut offset = self.input.offset();
        if let Reason::Read(_) = reason {
            offset += self.input.front().len() as u64;
        }
        FrameError {
            reason,
            input: Arc::clone(&self.info.name),
            index: self.info.index,
            offset,
            records: self.records,
        }
    }
}
