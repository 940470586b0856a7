//! What failed, in order: told, set aside, counted, and held against the limits. The ordered stage's part of it, so that all of this is the same for
//! any number of threads.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::inputs::Inputs;
use super::messages::output_error;
use super::settings::Settings;
use crate::error::{Error, drop_quietly};
use crate::format::Format;
use crate::output::{Ends, OpenRejects};
use crate::pool::{Done, Ended, RecordFailure};
use crate::progress::{Failure, Observer};
use crate::text::{Encoding, encoded};

/// Failures of a run, up to the chunk that is written.
pub(super) struct Failures {
    observer: Option<Arc<dyn Observer>>,
    rejects: Option<OpenRejects>,
    /// Records that fail now are set aside, not only those of the run that this one goes on from.
    sets_aside: bool,
    format: Format,
    /// So many records may fail.
    max_errors: u64,
    /// As many chunks, or parts of them, in a row that fail whole end the run.
    max_failing_runs: u64,
    failed: u64,
    /// Those that failed whole since the last one that did not.
    in_a_row: u64,
}

impl Failures {
    /// Opens the rejects, if there are to be any.
    pub fn open(settings: &Settings) -> Result<Failures, Error> {
        let rejects = settings.on_error.rejects().map(OpenRejects::open);
        let rejects = rejects.transpose().map_err(output_error)?;
        Ok(Failures::of(settings, rejects))
    }

    /// With rejects that are open, if there are to be any.
    pub fn of(settings: &Settings, rejects: Option<OpenRejects>) -> Failures {
        Failures {
            observer: settings.observer.clone(),
            rejects,
            sets_aside: settings.on_error.rejects().is_some(),
            format: settings.format.clone(),
            max_errors: settings.max_errors,
            max_failing_runs: settings.max_failing_runs(),
            failed: 0,
            in_a_row: 0,
        }
    }

    /// Goes on behind these.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub fn go_on(&mut self, failed: u64, in_a_row: u64) {
        (self.failed, self.in_a_row) = (failed, in_a_row);
    }

    /// Those that failed whole since the last one that did not.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub fn in_a_row(&self) -> u64 {
        self.in_a_row
    }

    /// What is set aside.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub fn open_rejects(&mut self) -> Option<&mut OpenRejects> {
        self.rejects.as_mut()
    }

    /// Nothing more is set aside.
    #[cfg(unix)]
    pub fn complete(&mut self) -> Result<(), Error> {
        let completed = self.rejects.as_mut().map_or(Ok(()), OpenRejects::complete);
        completed.map_err(output_error)
    }

    /// Writes what was set aside and waits.
    #[cfg(unix)]
    pub fn settle(&mut self) -> Result<(), Error> {
        let written = self.rejects.as_mut().map_or(Ok(()), OpenRejects::write);
        written.map_err(output_error)
    }

    /// Whether failing records are set aside.
    pub fn rejects(&self) -> bool {
        self.sets_aside
    }

    /// Holds a chunk against the limits, before anything of it is written. A failing record that is one too many ends the run as if it
    /// were the first and the run stopped at failures.
    pub fn limit(&self, done: &mut Done) {
        let row = self.in_a_row + done.tally.runs.lead;
        // The run that this one goes on from may have had higher limits.
        if done.ended.is_none() && done.tally.runs.lead > 0 && row >= self.max_failing_runs {
            let first = done.tally.runs.first.take();
            if let Some(failure) = first.or_else(|| take_first(&mut done.tally.failures)) {
                done.ended = Some(Ended::AllFail(failure));
                return;
            }
        }
        let room = self.max_errors.saturating_sub(self.failed);
        if done.tally.failures.len() as u64 > room {
            cut_at_failure(done, room as usize);
        }
    }

    /// Counts a chunk's failures, tells them, and sets the failing records aside. How many records failed.
    pub fn report(&mut self, done: &mut Done, inputs: &Inputs) -> Result<u64, Error> {
        self.in_a_row = done.tally.runs.row_after(self.in_a_row);
        let failed: u64 = done
            .tally
            .failures
            .iter()
            .map(|failure| failure.records)
            .sum();
        self.failed += failed;
        let mut retried = std::mem::take(&mut done.tally.retried)
            .into_iter()
            .peekable();
        let mut start = 0;
        for failure in std::mem::take(&mut done.tally.failures) {
            while let Some(earlier) =
                retried.next_if(|other| other.place.index <= failure.place.index)
            {
                self.tell_retried(&earlier, done, inputs);
            }
            let position = inputs.position_of(done, failure.place);
            let told = told(&failure, &position);
            if let Some(rejects) = self.rejects.as_mut().filter(|_| self.sets_aside) {
                let input = &done.place.input;
                let header = input.header.as_ref();
                let header = encoded(input.encoding, header.map_or(&[], |header| header.raw()));
                let end = encoded(input.encoding, self.format.default_end());
                let format = &self.format;
                let ends = Ends {
                    header: &header,
                    ends: &|bytes| ends(format, input.encoding, bytes),
                    end: &end,
                };
                let record = &done.tally.rejected[start..failure.rejected];
                start = failure.rejected;
                rejects
                    .add(record, &ends, &told, &text_of(&failure))
                    .map_err(output_error)?;
            }
            if let Some(observer) = &self.observer {
                observer.failed(&told);
            }
        }
        for last in retried {
            self.tell_retried(&last, done, inputs);
        }
        Ok(failed)
    }

    /// What a failing record that ends the run says of its limit.
    pub fn max_errors(&self) -> u64 {
        self.max_errors
    }

    /// As many chunks, or parts of them, may fail in a row.
    pub fn max_failing_runs(&self) -> u64 {
        self.max_failing_runs
    }

    fn tell_retried(&self, failure: &RecordFailure, done: &Done, inputs: &Inputs) {
        if let Some(observer) = &self.observer {
            let position = inputs.position_of(done, failure.place);
            observer.retried(&told(failure, &position));
        }
    }

    /// The run is over, whether it failed or not: what was set aside is kept.
    pub fn finish(self) -> Result<(), Error> {
        let finished = self.rejects.map_or(Ok(()), OpenRejects::finish);
        finished.map_err(output_error)
    }
}

/// Whether bytes of a source in this encoding end as records do.
fn ends(format: &Format, encoding: Option<Encoding>, bytes: &[u8]) -> bool {
    if encoding.is_none() {
        return format.ends(bytes);
    }
    let end_of_record = |end: &&[u8]| format.ends(end) && bytes.ends_with(&encoded(encoding, end));
    bytes.is_empty() || [&b"\n"[..], b"\r", b"\0"].iter().any(end_of_record)
}

fn told<'a>(failure: &'a RecordFailure, position: &'a crate::error::Position) -> Failure<'a> {
    Failure {
        position,
        records: failure.records,
        kind: failure.kind,
        error: &*failure.error,
        attempts: failure.attempts,
    }
}

fn take_first(failures: &mut Vec<RecordFailure>) -> Option<RecordFailure> {
    (!failures.is_empty()).then(|| failures.swap_remove(0))
}

/// Cuts a chunk's result off before this failure, which becomes its end.
fn cut_at_failure(done: &mut Done, index: usize) {
    let later = done.tally.failures.split_off(index + 1);
    drop_quietly(later);
    let Some(failure) = done.tally.failures.pop() else {
        return;
    };
    let place = failure.place.index;
    done.tally.retried.retain(|other| other.place.index < place);
    done.tally.processed = place - done.tally.failures.len() as u64;
    done.tally.output.cut(failure.written);
    done.ended = Some(Ended::TooMany(failure));
}

/// What an error says. Its `Display` is the user's, and may panic.
fn text_of(failure: &RecordFailure) -> String {
    let mut text = String::new();
    let said = catch_unwind(AssertUnwindSafe(|| {
        let _ = write!(text, "{}", &*failure.error);
    }));
    if let Err(payload) = said {
        drop_quietly(payload);
        text.push_str("(the error can't be shown: its Display panicked)");
    }
    text
}
