//! The ordered stage: takes results in input order, completes their positions and counts, and writes them.

use std::io::IoSlice;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::inputs::Inputs;
use super::messages::{self, output_error};
use crate::buffer::{Buffer, BufferSettings};
use crate::control::Control;
use crate::error::{Error, ErrorKind};
use crate::frame::{FrameError, Framed, InputInfo, OpenedInputs, Opening, Reason};
use crate::output::{Outlet, OutputError};
use crate::pool::{Done, Ended, RecordFailure, panicked};
use crate::process::{Commit, Committed, Process, RunState};
use crate::progress::{Failure, Observer, Progress};
use crate::summary::Summary;

/// Writes the results. It alone knows how many lines and records came before a chunk.
pub(crate) struct Ordered<'o, P: Process> {
    process: P,
    output: Outlet<'o>,
    observer: Option<Arc<dyn Observer>>,
    run: RunState,
    summary: Summary,
    progress: Progress,
    seq: u64,
    inputs: Inputs,
    control: Arc<Control>,
}

/// What became of a result.
pub(crate) enum Verdict {
    Written,
    /// The chunk is to be worked on again.
    Again(Framed),
}

impl<'o, P: Process> Ordered<'o, P> {
    pub fn new(
        process: P,
        output: Outlet<'o>,
        observer: Option<Arc<dyn Observer>>,
        opened: OpenedInputs,
        control: Arc<Control>,
    ) -> Ordered<'o, P> {
        Ordered {
            process,
            output,
            observer,
            run: RunState::default(),
            summary: Summary::default(),
            progress: Progress::default(),
            seq: 0,
            inputs: Inputs::new(opened),
            control,
        }
    }

    /// Where it writes.
    pub fn outlet(&mut self) -> &mut Outlet<'o> {
        &mut self.output
    }

    pub fn observer(&self) -> Option<&dyn Observer> {
        self.observer.as_deref()
    }

    /// Writes what stands before the first record.
    pub fn begin(
        &mut self,
        opening: &Opening,
        output_header: bool,
        buffers: &Arc<BufferSettings>,
    ) -> Result<(), Error> {
        let header = opening.header.as_deref();
        let with_header = header.and_then(|info| Some((info, info.header.as_ref()?)));
        if with_header.is_some() && !output_header {
            return Ok(());
        }
        self.write(&opening.preamble)?;
        let Some((info, header)) = with_header else {
            return Ok(());
        };
        let with_end = [header.raw(), b"\n"].concat();
        let mut record = header.as_record(&info.name);
        if opening.header_lacks_end {
            record.raw = &with_end;
        }
        let mut buffer = Buffer::new(None, Arc::clone(buffers));
        buffer.begin(0, 0..0, record.end());
        let made = catch_unwind(AssertUnwindSafe(|| {
            self.process.header(&record, &mut buffer)
        }));
        let made = made.unwrap_or_else(|payload| Err(panicked(payload)));
        let made = made.and_then(|()| buffer.settle_text());
        made.map_err(|error| {
            Error::new(ErrorKind::Process, "the header failed")
                .path(&info.name)
                .because(error)
        })?;
        buffer.end();
        let closed = buffer.close();
        closed.map_err(|error| output_error(buffers.spill_error(error)))?;
        self.write_buffer(&mut buffer)
    }

    /// Takes the next result in order.
    pub fn commit(&mut self, mut done: Done, in_flight: usize) -> Result<Verdict, Error> {
        self.enter(&done.input)?;
        if !self.output.is_unpublished_file() {
            // What was copied out of a map is good only if the file is still what it was.
            self.inputs.check_before(&done)?;
        }
        if let Some(Ended::Spill(_) | Ended::Start(_)) = &done.ended {
            // What there is of a result is of no use, and no process is asked about it.
            return self.count(done, in_flight).map(|()| Verdict::Written);
        }
        match self.decide(&mut done)? {
            Some(bytes) => {
                self.write(&bytes)?;
                self.write_buffer(&mut done.output)?;
            }
            None => return self.again(done),
        }
        self.count(done, in_flight)?;
        Ok(Verdict::Written)
    }

    /// Asks the process. `None`: run it again; else the bytes that go before it.
    fn decide(&mut self, done: &mut Done) -> Result<Option<Vec<u8>>, Error> {
        let committed = Committed {
            seq: self.seq,
            processed: done.processed,
            bytes_out: done.output.len(),
            note: done.output.notes(),
        };
        let run = &mut self.run;
        let asked = catch_unwind(AssertUnwindSafe(|| self.process.commit(run, &committed)));
        match asked.unwrap_or_else(|payload| Commit::Fail(panicked(payload))) {
            Commit::Write => Ok(Some(Vec::new())),
            Commit::WriteAfter(bytes) => Ok(Some(bytes)),
            Commit::RunAgain => Ok(None),
            Commit::Fail(error) => Err(Error::new(ErrorKind::Process, "the run was given up")
                .at(self.inputs.position_of_chunk(done))
                .because(error)),
        }
    }

    fn again(&mut self, mut done: Done) -> Result<Verdict, Error> {
        let Some(bytes) = done.output.input().cloned() else {
            let what = "a chunk without a note can't be run again";
            return Err(
                Error::new(ErrorKind::Process, what).at(self.inputs.position_of_chunk(&done))
            );
        };
        self.summary.retries += 1;
        Ok(Verdict::Again(Framed {
            bytes,
            added: done.added,
            offset: done.offset,
            first: done.first,
            records: done.records,
            unclosed: done.unclosed,
            malformed: std::mem::take(&mut done.malformed),
            input: Arc::clone(&done.input),
            attempt: done.attempt + 1,
        }))
    }

    fn count(&mut self, mut done: Done, in_flight: usize) -> Result<(), Error> {
        let mut failures = std::mem::take(&mut done.failures);
        for failure in &mut failures {
            self.report(&done, failure);
        }
        let skipped: u64 = failures.iter().map(|failure| failure.records).sum();
        self.seq += 1;
        self.summary.add_chunk(done.worker, done.busy);
        self.summary.processed += done.processed;
        self.summary.skipped += skipped;
        self.summary.records += done.processed + skipped;
        self.progress.failed += skipped;
        self.progress.records = self.summary.records;
        if let Some(ended) = done.ended.take() {
            if let Ended::Failed(failure) | Ended::TooLong(failure, _) = &ended {
                self.summary.bytes_in += failure.start as u64;
                self.summary.lines += failure.lines;
            }
            return Err(self.ended(&done, ended));
        }
        if done.processed + skipped != done.records {
            let what = format!(
                "a chunk of {} records gave {} results and {skipped} failures",
                done.records, done.processed
            );
            return Err(
                Error::new(ErrorKind::Internal, what).at(self.inputs.position_of_chunk(&done))
            );
        }
        self.summary.bytes_in += done.bytes;
        self.summary.lines += done.lines;
        self.inputs.advance(&mut done);
        self.progress.bytes_in = self.summary.bytes_in;
        self.progress.bytes_out = self.summary.bytes_out;
        self.progress.in_flight = in_flight as u64;
        if let Some(observer) = &self.observer {
            observer.progress(&self.progress);
        }
        Ok(())
    }

    fn report(&mut self, done: &Done, failure: &mut RecordFailure) {
        if let Some(observer) = &self.observer {
            let position = self.inputs.position_of(done, failure);
            observer.failed(&Failure {
                position: &position,
                kind: failure.kind,
                error: &*failure.error,
                attempts: done.attempt + 1,
            });
        }
    }

    fn ended(&self, done: &Done, ended: Ended) -> Error {
        match ended {
            Ended::Failed(failure) => {
                let position = self.inputs.position_of(done, &failure);
                messages::failed(failure, position)
            }
            Ended::TooLong(failure, error) => {
                messages::too_long(self.inputs.position_of(done, &failure), &error)
            }
            Ended::Start(error) => Error::new(ErrorKind::Process, "the work could not be started")
                .because(error.take()),
            Ended::Spill(error) => output_error(error),
            Ended::Stopped => messages::stopped(),
        }
    }

    /// The chunks of an input begin: all before it are complete.
    fn enter(&mut self, info: &InputInfo) -> Result<(), Error> {
        while !self.inputs.is_at(info.index) && self.enter_next()? {}
        Ok(())
    }

    /// Goes on to the next input, if one was opened.
    fn enter_next(&mut self) -> Result<bool, Error> {
        if !self.inputs.has_next() {
            return Ok(false);
        }
        self.leave()?;
        let Some(info) = self.inputs.enter_next() else {
            return Ok(false);
        };
        self.summary.lines += info.top_lines;
        self.summary.bytes_in += info.top_bytes();
        self.progress.input = info.index;
        if let Some(note) = &info.note {
            self.note(note.clone());
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

    pub fn note(&mut self, note: String) {
        if let Some(observer) = &self.observer {
            observer.note(&note);
        }
        self.summary.notes.push(note);
    }

    /// The reader met an error after the last chunk.
    pub fn reader_failed(&mut self, error: FrameError) -> Error {
        loop {
            match self.enter_next() {
                Ok(true) => {}
                Ok(false) => break,
                Err(changed) => return changed,
            }
        }
        if matches!(error.reason, Reason::Woken) && !self.control.was_told_to_stop() {
            return messages::output_closed(self.output.name());
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

    /// A run that was stopped because its output was closed says so.
    pub fn told_of_close(&self, error: Error) -> Error {
        if self.control.is_output_closed() && error.kind() == ErrorKind::Stopped {
            return messages::output_closed(self.output.name());
        }
        error
    }

    /// The run is over: publishes the output if all went well, else leaves nothing of it. Gives the figures either way.
    pub fn end(
        mut self,
        run: Result<(), Error>,
        finish: impl FnOnce(&mut Summary),
    ) -> Result<Summary, Error> {
        let mut result = run.and_then(|()| self.complete());
        let Ordered {
            output,
            mut summary,
            ..
        } = self;
        let mut output = output;
        match &result {
            Ok(()) => result = output.finish().map_err(output_error),
            // What came before the failure is to reach the sink all the same; the failure is what is told.
            Err(error) if error.kind() != ErrorKind::Output => drop(output.flush()),
            Err(_) => {}
        }
        summary.complete();
        finish(&mut summary);
        match result {
            Ok(()) => Ok(summary),
            Err(error) => Err(error.after(summary)),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let encoded = self.output.encode(bytes).map_err(|error| {
            Error::new(
                ErrorKind::Output,
                "cannot encode what stands before a record",
            )
            .path(self.output.name())
            .because(error)
        })?;
        let bytes: &[u8] = &encoded;
        let written = self.output.write_all(&mut [IoSlice::new(bytes)]);
        written.map_err(|error| self.output_error(error))?;
        self.summary.bytes_out += bytes.len() as u64;
        Ok(())
    }

    fn write_buffer(&mut self, buffer: &mut Buffer) -> Result<(), Error> {
        let written = buffer.write_to(&mut self.output);
        written.map_err(|error| self.output_error(error))?;
        self.summary.bytes_out += buffer.len();
        Ok(())
    }

    fn output_error(&mut self, error: OutputError) -> Error {
        // A write out of a map whose file has shrunk fails with a bad address.
        match self.inputs.check() {
            Ok(()) if error.is_stopped() => messages::stopped(),
            Ok(()) => output_error(error),
            Err(changed) => changed,
        }
    }
}
