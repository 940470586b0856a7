//! The ordered stage: takes results in input order, completes their positions and counts, and writes them.

use std::io::IoSlice;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::failures::Failures;
use super::inputs::Inputs;
use super::messages::{self, output_error};
use super::options::Preamble;
#[cfg(unix)]
use super::resuming::Resuming;
use crate::buffer::{Buffer, BufferSettings};
use crate::control::Control;
use crate::error::{BoxError, Error, ErrorKind};
use crate::frame::{FrameError, Framed, InputInfo, OpenedInputs, Opening, Reason};
use crate::output::{Outlet, OutputError};
use crate::pool::{Done, Ended, panicked};
use crate::process::{Commit, Committed, Process, RunState};
use crate::progress::{Observer, Progress, Started};
use crate::record::Header;
use crate::summary::Summary;

/// Writes the results. It alone knows how many lines and records came before a chunk.
pub(crate) struct Ordered<'o, P: Process> {
    process: P,
    output: Outlet<'o>,
    observer: Option<Arc<dyn Observer>>,
    failures: Failures,
    run: RunState,
    summary: Summary,
    inputs: Inputs,
    control: Arc<Control>,
    /// Where a later run can go on from this one.
    #[cfg(unix)]
    resuming: Option<Resuming>,
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
        failures: Failures,
        opened: OpenedInputs,
        control: Arc<Control>,
    ) -> Ordered<'o, P> {
        Ordered {
            process,
            output,
            observer,
            failures,
            run: RunState::default(),
            summary: Summary::default(),
            inputs: Inputs::new(opened),
            control,
            #[cfg(unix)]
            resuming: None,
        }
    }

    /// Where it writes.
    pub fn outlet(&mut self) -> &mut Outlet<'o> {
        &mut self.output
    }

    /// Tells the observer that the inputs and the output are open.
    pub fn started(&self, run: &Started) {
        if let Some(observer) = &self.observer {
            observer.started(run);
        }
    }

    /// Writes what stands before the first record.
    pub fn begin(
        &mut self,
        opening: &Opening,
        output_header: bool,
        preamble: Preamble,
        buffers: &Arc<BufferSettings>,
    ) -> Result<(), Error> {
        self.write_top(opening, output_header, preamble, buffers)?;
        #[cfg(unix)]
        self.begun();
        Ok(())
    }

    fn write_top(
        &mut self,
        opening: &Opening,
        output_header: bool,
        preamble: Preamble,
        buffers: &Arc<BufferSettings>,
    ) -> Result<(), Error> {
        let header = opening.header.as_deref();
        let with_header = header.and_then(|info| Some((info, info.header.as_ref()?)));
        let written = output_header || with_header.is_none();
        if written {
            self.write(preamble.of(&opening.preamble))?;
        }
        let Some((info, header)) = with_header else {
            return Ok(());
        };
        // It is made where it is not to be written too: the process may learn from it.
        let mut buffer = self.header(info, header, opening.header_lacks_end, buffers)?;
        #[cfg(unix)]
        self.keep_header(&mut buffer, opening.header_lacks_end)?;
        match written {
            true => self.write_buffer(&mut buffer, None),
            false => Ok(()),
        }
    }

    /// The header that the work gives.
    fn header(
        &self,
        info: &InputInfo,
        header: &Header,
        lacks_end: bool,
        buffers: &Arc<BufferSettings>,
    ) -> Result<Buffer, Error> {
        let mut record = header.as_record(&info.name);
        let with_end;
        if lacks_end {
            with_end = [header.raw(), b"\n"].concat();
            record.raw = &with_end;
        }
        let made = self.aside(buffers, record.end(), |process, _, out| {
            process.header(&record, out)
        })?;
        made.map_err(|error| {
            if self.control.is_aborted() {
                return Error::stopped();
            }
            Error::new(ErrorKind::Process, "the header failed")
                .path(&info.name)
                .because(error)
        })
    }

    /// Writes what stands after the last record.
    pub fn finish(&mut self, buffers: &Arc<BufferSettings>) -> Result<(), Error> {
        let made = self.aside(buffers, buffers.default_end, |process, run, out| {
            process.finish(run, out)
        })?;
        let mut buffer = made.map_err(|error| {
            if self.control.is_aborted() {
                return Error::stopped();
            }
            Error::new(ErrorKind::Process, "the end of the output failed").because(error)
        })?;
        self.write_buffer(&mut buffer, None)
    }

    /// What the process writes beside the records, its lines with this `end`.
    fn aside(
        &self,
        buffers: &Arc<BufferSettings>,
        end: &[u8],
        work: impl FnOnce(&P, &RunState, &mut Buffer) -> Result<(), BoxError>,
    ) -> Result<Result<Buffer, BoxError>, Error> {
        let mut buffer = Buffer::new(None, Arc::clone(buffers));
        buffer.begin(0, 0..0, end);
        let (process, run) = (&self.process, &self.run);
        let made = catch_unwind(AssertUnwindSafe(|| work(process, run, &mut buffer)));
        let made = made.unwrap_or_else(|payload| Err(panicked(payload)));
        if let Err(error) = made.and_then(|()| buffer.settle_text()) {
            return Ok(Err(error));
        }
        buffer.end();
        let closed = buffer.close();
        closed.map_err(|error| output_error(buffers.spill_error(error)))?;
        Ok(Ok(buffer))
    }

    /// Takes the next result in order.
    pub fn commit(&mut self, mut done: Done, in_flight: usize) -> Result<Verdict, Error> {
        self.enter(&done.place.input)?;
        if !self.output.can_be_taken_back() {
            self.inputs.check_before(&done)?;
        }
        let has_nothing = |ended: &Ended| {
            matches!(
                ended,
                Ended::Spill(_) | Ended::Start(_) | Ended::Fatal(_) | Ended::Observer(_)
            )
        };
        let of_no_use = done.ended.as_ref().is_some_and(has_nothing);
        if !of_no_use {
            self.failures.limit(&mut done);
        }
        // A run goes on at a chunk's border: so it cuts the same chunks as one that was never interrupted, and all that is written is
        // counted. Where everything fails, the work is at fault, not these records: the run ends before them.
        let keeps_whole_ones = self.keeps_state();
        if let Some(ended) = done
            .ended
            .take_if(|ended| keeps_whole_ones || matches!(ended, Ended::AllFail(_)))
        {
            return Err(self.ended(&done, ended));
        }
        if of_no_use {
            // No process is asked about what there is of a result.
            return self.count(done, in_flight).map(|()| Verdict::Written);
        }
        match self.decide(&mut done)? {
            Some(bytes) => {
                self.write(&bytes)?;
                let sum = done.sums.and_then(|sums| sums.output);
                self.write_buffer(&mut done.output, sum)?;
            }
            None => return self.again(done),
        }
        self.count(done, in_flight)?;
        #[cfg(unix)]
        self.save_if_due()?;
        Ok(Verdict::Written)
    }

    /// Asks the process. `None`: run it again; else the bytes that go before it.
    fn decide(&mut self, done: &mut Done) -> Result<Option<Vec<u8>>, Error> {
        let committed = Committed {
            seq: self.summary.chunks,
            processed: done.processed,
            bytes_out: done.output.len(),
            note: done.output.noted(),
        };
        let before = self.keeps_state().then(|| self.run.clone());
        let run = &mut self.run;
        let asked = catch_unwind(AssertUnwindSafe(|| self.process.commit(run, &committed)));
        match asked.unwrap_or_else(|payload| Commit::Fail(panicked(payload))) {
            Commit::Write => Ok(Some(Vec::new())),
            Commit::WriteAfter(bytes) => Ok(Some(bytes)),
            Commit::RunAgain => Ok(None),
            Commit::Fail(error) => {
                self.run = before.unwrap_or_default();
                Err(Error::new(ErrorKind::Process, "the run was given up")
                    .at(self.inputs.position_of_chunk(done))
                    .because(error))
            }
        }
    }

    fn again(&mut self, done: Done) -> Result<Verdict, Error> {
        let Some(bytes) = done.output.input().cloned() else {
            let what = "a chunk without a note can't be run again";
            return Err(
                Error::new(ErrorKind::Process, what).at(self.inputs.position_of_chunk(&done))
            );
        };
        self.summary.retries += 1;
        let mut place = done.place;
        place.attempt += 1;
        Ok(Verdict::Again(Framed { bytes, place }))
    }

    fn count(&mut self, mut done: Done, in_flight: usize) -> Result<(), Error> {
        let failed = self.failures.report(&mut done, &self.inputs)?;
        let summary = &mut self.summary;
        summary.add_chunk(done.worker, done.busy);
        summary.processed += done.processed;
        match self.failures.rejects() {
            true => summary.rejected += failed,
            false => summary.skipped += failed,
        }
        summary.retries += done.retries;
        let end = done.ended.as_ref().map(Ended::place);
        summary.records += match end {
            None => done.place.records,
            Some(Some(place)) => place.index,
            Some(None) => done.processed + failed,
        };
        if let Some(ended) = done.ended.take() {
            if let Some(place) = ended.place() {
                summary.bytes_in += place.start as u64;
                summary.lines += place.lines;
            }
            return Err(self.ended(&done, ended));
        }
        if done.processed + failed != done.place.records {
            let what = format!(
                "a chunk of {} records gave {} results and {failed} failures",
                done.place.records, done.processed
            );
            return Err(
                Error::new(ErrorKind::Internal, what).at(self.inputs.position_of_chunk(&done))
            );
        }
        summary.flaky_chunks += u64::from(done.is_flaky);
        self.summary.bytes_in += done.bytes;
        self.summary.lines += done.lines;
        self.inputs.advance(&mut done);
        if let Some(observer) = &self.observer {
            observer.progress(&self.progress(in_flight));
        }
        Ok(())
    }

    fn progress(&self, in_flight: usize) -> Progress {
        let summary = &self.summary;
        Progress {
            records: summary.records,
            bytes_in: summary.bytes_in,
            bytes_of_files: self.inputs.bytes_of_files(),
            bytes_out: summary.bytes_out,
            failed: summary.skipped + summary.rejected,
            retries: summary.retries,
            in_flight: in_flight as u64,
            input: self.inputs.index(),
        }
    }

    fn ended(&self, done: &Done, ended: Ended) -> Error {
        match ended {
            Ended::Failed(failure) => {
                let position = self.inputs.position_of(done, failure.place);
                messages::failed(failure, position)
            }
            Ended::TooMany(failure) => {
                let position = self.inputs.position_of(done, failure.place);
                messages::too_many(failure, position, self.failures.max_errors())
            }
            Ended::AllFail(failure) => {
                let position = self.inputs.position_of(done, failure.place);
                messages::all_fail(failure, position, self.failures.max_failing_runs())
            }
            Ended::TooLong(place, error) => {
                messages::too_long(self.inputs.position_of(done, place), &error)
            }
            Ended::Observer(error) => {
                Error::new(ErrorKind::Panic, "the observer panicked").because(error.take())
            }
            Ended::Start(error) => Error::new(ErrorKind::Process, "the work could not be started")
                .because(error.take()),
            Ended::Fatal(error) => Error::new(ErrorKind::Process, "the run was given up")
                .at(self.inputs.position_of_chunk(done))
                .because(error.take()),
            Ended::Spill(error) => output_error(error),
            Ended::Stopped => self.woken(),
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

    /// Records whose result is in the output so far.
    pub fn processed(&self) -> u64 {
        self.summary.processed
    }

    pub fn note(&mut self, note: String) {
        if let Some(observer) = &self.observer {
            observer.note(&note);
        }
        self.summary.notes.push(note);
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
    fn woken(&self) -> Error {
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

    /// The run is over: publishes the output if all went well, else leaves nothing of it. Gives the figures either way.
    pub fn end(
        mut self,
        run: Result<(), Error>,
        finish: impl FnOnce(&mut Summary),
    ) -> Result<Summary, Error> {
        let mut result = run.and_then(|()| self.complete());
        self.note_flaky_chunks();
        if result.is_ok() {
            result = balance(&self.summary);
        }
        #[cfg(unix)]
        let result = self.end_resumable(result);
        #[cfg(unix)]
        let mut result = result;
        let Ordered {
            mut output,
            mut summary,
            failures,
            ..
        } = self;
        // What was set aside is kept when the run fails, and comes before the output that lacks it.
        let kept = failures.finish();
        result = result.and(kept);
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

    fn note_flaky_chunks(&mut self) {
        let chunks = match self.summary.flaky_chunks {
            0 => return,
            1 => "1 chunk".to_owned(),
            chunks => format!("{chunks} chunks"),
        };
        self.note(format!(
            "{chunks} failed as a whole, though none of the records failed alone: what the parts gave is in the output"
        ));
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

    /// `sum`: of what the buffer holds, if that is known.
    fn write_buffer(&mut self, buffer: &mut Buffer, sum: Option<u32>) -> Result<(), Error> {
        let written = match sum {
            Some(sum) => self
                .output
                .write_summed(sum, |output| buffer.write_to(output)),
            None => buffer.write_to(&mut self.output),
        };
        written.map_err(|error| self.output_error(error))?;
        self.summary.bytes_out += buffer.len();
        Ok(())
    }

    /// Whether a later run can go on from this one.
    fn keeps_state(&self) -> bool {
        #[cfg(unix)]
        return self.resuming.is_some();
        #[cfg(not(unix))]
        false
    }

    fn output_error(&mut self, error: OutputError) -> Error {
        // A write out of a map whose file has shrunk fails with a bad address.
        match self.inputs.check() {
            Ok(()) if error.is_stopped() => Error::stopped(),
            Ok(()) => output_error(error),
            Err(changed) => changed,
        }
    }
}

#[cfg(unix)]
mod resumable;

/// Every record that was read is in the output, or failed.
fn balance(summary: &Summary) -> Result<(), Error> {
    let ended = summary.processed + summary.skipped + summary.rejected;
    if summary.records == ended {
        return Ok(());
    }
    let what = format!(
        "{} records were read, but {} were processed, {} skipped and {} rejected",
        summary.records, summary.processed, summary.skipped, summary.rejected
    );
    Err(Error::new(ErrorKind::Internal, what))
}
