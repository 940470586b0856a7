//! The ordered stage's part in runs that can be gone on from: it alone knows what is written.

use std::sync::Arc;

use super::{Error, ErrorKind, Ordered, Process, messages, output_error};
use crate::buffer::{Buffer, BufferSettings};
use crate::checksum::crc;
use crate::error::{Untrusted, escaped};
use crate::frame::InputInfo;
use crate::output::checkpoint::{Checkpoint, HeaderState, State};
use crate::output::{Outlet, Output, OutputError, Sink};
use crate::pipeline::resuming::{Resuming, refused};
use crate::process::RunState;
use crate::summary::Summary;

impl<P: Process> Ordered<'_, P> {
    /// Keeps the state from now on.
    pub fn keep_state(&mut self, resuming: Resuming) {
        self.resuming = Some(resuming);
        self.inputs.keep(Vec::new());
    }

    /// Goes on behind what an earlier run wrote, instead of beginning. `header`: the one that the records have, if they have one.
    pub fn go_on(
        &mut self,
        from: &Checkpoint,
        header: Option<&InputInfo>,
        buffers: &Arc<BufferSettings>,
    ) -> Result<(), Error> {
        self.summary = Summary::resumed(&from.counters);
        self.run = RunState::default();
        self.run.set(from.run.clone());
        let failed = self.summary.skipped + self.summary.rejected;
        self.failures.go_on(failed, from.failing_runs);
        if let Some((last, whole)) = from.inputs.split_last() {
            self.inputs.keep(whole.to_vec());
            self.inputs.go_on(from.position, last.summed);
        }
        self.output.take_up(&from.output);
        self.check_header(from, header, buffers)?;
        self.begun();
        Ok(())
    }

    /// What comes before the first chunk is done.
    pub(super) fn begun(&mut self) {
        if let Some(resuming) = &mut self.resuming {
            resuming.begun = true;
        }
    }

    fn check_header(
        &self,
        from: &Checkpoint,
        header: Option<&InputInfo>,
        buffers: &Arc<BufferSettings>,
    ) -> Result<(), Error> {
        let Some(then) = from.header else {
            return Ok(());
        };
        // The work may learn from it, as it did in the earlier run.
        let made = match header.and_then(|info| Some((info, info.header.as_ref()?))) {
            Some((info, header)) => {
                let mut buffer = self.header(info, header, then.lacks_end, buffers)?;
                Some(sum(&mut buffer).map_err(output_error)?)
            }
            None => None,
        };
        match made {
            Some(crc) if crc == then.crc => Ok(()),
            _ => Err(refused(
                self.output.name(),
                "the run that is to go on wrote another header",
            )),
        }
    }

    pub(super) fn keep_header(
        &mut self,
        buffer: &mut Buffer,
        lacks_end: bool,
    ) -> Result<(), Error> {
        if let Some(resuming) = &mut self.resuming {
            let crc = sum(buffer).map_err(output_error)?;
            resuming.header = Some(HeaderState { lacks_end, crc });
        }
        Ok(())
    }

    /// Saves the state, if it is time to.
    pub(super) fn save_if_due(&mut self) -> Result<(), Error> {
        let Some(resuming) = &self.resuming else {
            return Ok(());
        };
        if !resuming.is_due().map_err(output_error)? {
            return Ok(());
        }
        // What was written out of an input that has changed must not be gone on from.
        self.inputs.check()?;
        self.failures.settle()?;
        let checkpoint = self.checkpoint(State::Running)?;
        if let (Some(resuming), Some(checkpoint)) = (&mut self.resuming, checkpoint) {
            resuming.save(&checkpoint).map_err(output_error)?;
        }
        Ok(())
    }

    /// What a later run needs to know, if anything is there to go on from.
    fn checkpoint(&mut self, state: State) -> Result<Option<Checkpoint>, Error> {
        let output = self.output.state();
        let output = output.map_err(|error| self.output_error(error))?;
        let resuming = self.resuming.as_ref().filter(|resuming| resuming.begun);
        let (Some(resuming), Some(output), Some((inputs, position))) =
            (resuming, output, self.inputs.state())
        else {
            return Ok(None);
        };
        if inputs.is_empty() && state == State::Running {
            return Ok(None);
        }
        let rejects = match self.failures.open_rejects() {
            Some(rejects) => rejects.state().map_err(output_error)?,
            None => None,
        };
        Ok(Some(Checkpoint {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            state,
            settings: resuming.settings().to_vec(),
            inputs,
            header: resuming.header,
            position,
            output,
            rejects,
            counters: self.summary.counters(),
            failing_runs: self.failures.in_a_row(),
            run: self.run.get().to_vec(),
        }))
    }

    /// The run is over: gives the files their names, or leaves what a later run needs.
    pub(super) fn end_resumable(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        if self.resuming.is_none() {
            return result;
        }
        let settled = self.failures.settle();
        let rejects_are_written = settled.is_ok();
        let result = result.and(settled).and_then(|()| {
            self.failures.complete()?;
            self.output.complete().map_err(output_error)
        });
        let state = match &result {
            Ok(()) => State::Publishing,
            Err(error) if is_untrusted(error) => State::Untrusted,
            Err(_) => State::Running,
        };
        let trusted = match &result {
            Ok(()) => true,
            // What reached the file is not known, or does not come from the input as it is.
            Err(error) => {
                let kinds = [ErrorKind::Output, ErrorKind::Changed, ErrorKind::Internal];
                rejects_are_written && !kinds.contains(&error.kind()) && self.inputs.check().is_ok()
            }
        };
        let checkpoint = match (trusted, &result) {
            (false, _) => None,
            (true, Ok(())) => self.checkpoint(state)?,
            // Not all that was handed on has reached the file: the state of the last save stays.
            (true, Err(_)) => self.checkpoint(state).unwrap_or_default(),
        };
        let Some(resuming) = self.resuming.take() else {
            return result;
        };
        let part_path = resuming.part.clone();
        let mut parts = Vec::new();
        if let Some(rejects) = self.failures.open_rejects().and_then(|it| it.parts()) {
            parts.extend(rejects);
        }
        parts.extend(self.output.part());
        match result {
            Ok(()) => {
                let nothing = || messages::internal("the run has no state to publish");
                let checkpoint = checkpoint.ok_or_else(nothing)?;
                resuming.publish(&checkpoint, &parts).map_err(output_error)
            }
            Err(error) => {
                // The first error is the one that is told; the state of the last save stays.
                let left = resuming.leave(checkpoint.as_ref(), &parts);
                if left.is_ok() && error.kind() != ErrorKind::Changed && state != State::Untrusted {
                    let part = escaped(&part_path);
                    self.note(format!(
                        "{part} keeps what is done: a run of the same settings with resume goes on from there"
                    ));
                }
                Err(error)
            }
        }
    }
}

/// Whether results before it may be wrong.
fn is_untrusted(error: &Error) -> bool {
    let first: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(first), |error| error.source())
        .any(<dyn std::error::Error>::is::<Untrusted>)
}

/// The checksum of what a buffer holds.
fn sum(buffer: &mut Buffer) -> Result<u32, OutputError> {
    let mut bytes = Vec::new();
    let output = Output::open(Sink::writer(&mut bytes))?;
    buffer.write_to(&mut Outlet::new(output, None, None))?;
    Ok(crc(&bytes))
}
