//! The ordered stage: takes results in input order, completes their positions and counts, and writes them.

mod beside;
mod counting;
mod entering;
#[cfg(unix)]
mod resumable;

use std::io::IoSlice;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::failures::Failures;
use super::inputs::Inputs;
use super::messages::{self, output_error};
#[cfg(unix)]
use super::resuming::Resuming;
use crate::buffer::Buffer;
use crate::control::Control;
use crate::error::{Error, ErrorKind};
use crate::frame::{Framed, OpenedInputs};
use crate::output::{Outlet, OutputError};
use crate::pool::{Done, Ended, panicked};
use crate::process::{Commit, Committed, Process, RunState};
use crate::progress::{Observer, Started};
use crate::summary::Summary;
use counting::balance;

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
                self.write_buffer(&mut done.tally.output, sum)?;
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
            processed: done.tally.processed,
            bytes_out: done.tally.output.len(),
            note: done.tally.output.noted(),
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
        let Some(bytes) = done.tally.output.input().cloned() else {
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
