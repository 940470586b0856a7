//! From one input to the next, and what the reader met after the last chunk.

use super::Ordered;
use crate::error::{Error, ErrorKind};
use crate::frame::{FrameError, InputInfo, Reason};
use crate::pipeline::messages;
use crate::process::Process;

impl<P: Process> Ordered<'_, P> {
    /// The chunks of an input begin: all before it are complete.
    pub(super) fn enter(&mut self, info: &InputInfo) -> Result<(), Error> {
        while !self.inputs.is_at(info.index) && self.enter_next()? {}
        Ok(())
    }

    /// Goes on to the next input, if one was opened.
    fn enter_next(&mut self) -> Result<bool, Error> {
        if !self.inputs.has_next() {
            return Ok(false);
        }
        self.leave()?;
        let Some((info, is_new)) = self.inputs.enter_next() else {
            return Ok(false);
        };
        if is_new {
            self.summary.lines += info.top_lines;
            self.summary.bytes_in += info.top_bytes();
            if let Some(note) = &info.note {
                self.note(note.clone());
            }
        }
        Ok(true)
    }

    fn leave(&mut self) -> Result<(), Error> {
        if let Some(note) = self.inputs.leave()? {
            self.note(note);
        }
        Ok(())
    }

    /// All that was read is written.
    pub fn complete(&mut self) -> Result<(), Error> {
        while self.enter_next()? {}
        self.leave()
    }

    /// The reader met an error after the last chunk.
    pub fn reader_failed(&mut self, error: FrameError) -> Error {
        if self.control.is_stopped() {
            // Results that came before are thrown away: those inputs are not written.
            return Error::stopped();
        }
        loop {
            match self.enter_next() {
                Ok(true) => {}
                Ok(false) => break,
                Err(changed) => return changed,
            }
        }
        if matches!(error.reason, Reason::Woken) {
            return self.woken();
        }
        // Compressed bytes that make no sense may be those of a file that was changed.
        if matches!(error.reason, Reason::Read(_))
            && self.inputs.is_at(error.index)
            && let Err(changed) = self.inputs.check()
        {
            return changed;
        }
        let position = self.inputs.position_of_reader(&error);
        messages::reader_failed(error, position)
    }

    /// A wait ended before it had to: because the run is stopping, or the reader of the output is gone.
    pub(super) fn woken(&self) -> Error {
        if self.control.was_told_to_stop() {
            Error::stopped()
        } else {
            messages::output_closed(self.output.name())
        }
    }

    /// A run that was stopped because its output was closed says so.
    pub fn told_of_close(&self, error: Error) -> Error {
        if self.control.is_output_closed() && error.kind() == ErrorKind::Stopped {
            return messages::output_closed(self.output.name());
        }
        error
    }
}
