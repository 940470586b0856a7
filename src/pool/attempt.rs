//! The work on a chunk: the process is called for what is left of it, what fails is told apart from what does not, and tried again, halved,
//! or set aside.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::failure::{
    Ended, Held, RecordFailure, RecordPlace, Unclosed, length_of_text, panicked, sort_out,
};
use super::so_far::{Part, SoFar};
use super::worker::Work;
use crate::buffer::Mark;
use crate::error::{BoxError, FailureKind};
use crate::format::Framing;
use crate::frame::lines::is_blank;
use crate::frame::scan::count_lines;
use crate::frame::{Chunk, Framed, TooLong};
use crate::process::{ChunkError, Process};

/// A worker's go at a chunk.
pub(super) struct Attempt<'w, P: Process> {
    pub work: &'w Work<P>,
    pub framed: &'w Framed,
    pub state: Option<P::State>,
    pub so_far: &'w mut SoFar,
}

/// How one call of the process ended.
enum Outcome {
    Done,
    /// This record failed; what it wrote is taken back.
    Record(Mark, BoxError),
    /// It is not known which record failed.
    Whole(BoxError),
}

/// A record that can't be worked on; it stands alone at the end of what can.
enum Bad {
    TooLong(RecordPlace),
    Unclosed { index: u64, quote: usize },
}

impl<P: Process> Attempt<'_, P> {
    /// Works on what is left of the chunk. A delay before the next attempt ends this too: the chunk is to be gone on with then.
    pub fn go_on(&mut self) -> Result<Option<Duration>, Ended> {
        let chunk = self.framed.view(&self.work.control);
        let bad = self.find_bad(&chunk);
        if !self.so_far.begun {
            self.so_far.begun = true;
            let workable = self.workable(&chunk, bad.as_ref());
            let parts = workable.map(|part| self.without_malformed(&chunk, part));
            self.so_far.left = parts.unwrap_or_default();
        }
        while let Some(part) = self.so_far.left.pop() {
            let delay = self.part(&chunk, part)?;
            if delay.is_some() {
                return Ok(delay);
            }
        }
        match bad {
            None => Ok(None),
            Some(Bad::TooLong(place)) => {
                let record = &self.framed.bytes[place.start..];
                let framing = self.framed.place.input.framing;
                let error = TooLong::new(record, framing, self.work.max_record_size);
                Err(Ended::TooLong(place, error))
            }
            Some(Bad::Unclosed { index, quote }) => {
                let range = start_of(&chunk, index)..self.framed.bytes.len();
                let offset = self.framed.place.offset + quote as u64;
                let place = self.place(index, range.start);
                let opened = Box::new(Unclosed { offset });
                let failure = self.failure(place, 1, 1, FailureKind::Parse, opened);
                self.fail(failure, range).map(|()| None)
            }
        }
    }

    /// What the process is called for at first.
    fn workable(&self, chunk: &Chunk<'_>, bad: Option<&Bad>) -> Option<Part> {
        let (end, records) = match bad {
            None => (chunk.bytes().len(), self.framed.place.records),
            Some(Bad::TooLong(place)) => (place.start, place.index),
            Some(Bad::Unclosed { index, .. }) => (start_of(chunk, *index), *index),
        };
        (end > 0).then(|| Part::new(0..end, 0, records))
    }

    fn find_bad(&self, chunk: &Chunk<'_>) -> Option<Bad> {
        if let Some(place) = self.find_too_long(chunk) {
            return Some(Bad::TooLong(place));
        }
        let quote = self.framed.place.unclosed?;
        let index = self.framed.place.records.checked_sub(1)?;
        Some(Bad::Unclosed { index, quote })
    }

    fn find_too_long(&self, chunk: &Chunk<'_>) -> Option<RecordPlace> {
        let most = self.work.max_record_size;
        // An end that was added is not of the input.
        let len = self.framed.own_bytes().len();
        if len <= most {
            return None;
        }
        let framing = self.framed.place.input.framing;
        let mut index = 0;
        // Of NDJSON all lines are looked at: the reader, too, takes no blank one that is longer.
        for span in chunk.lines() {
            if span.end.min(len) - span.start > most {
                let lines = count_lines(&self.framed.bytes[..span.start]);
                let start = span.start;
                return Some(RecordPlace {
                    index,
                    start,
                    lines,
                });
            }
            let content = &self.framed.bytes[span.start..span.content_end];
            index += u64::from(framing != Framing::Ndjson || !is_blank(content));
        }
        None
    }

    /// Calls the process for a part of the chunk.
    fn part(&mut self, whole: &Chunk<'_>, part: Part) -> Result<Option<Duration>, Ended> {
        if let Some(malformed) = part.malformed {
            let place = self.place(part.index, part.range.start);
            let error = Box::new(malformed);
            let failure = self.failure(place, 1, 1, FailureKind::Encoding, error);
            return self.fail(failure, part.range).map(|()| None);
        }
        let chunk = whole.part(part.range.clone(), part.index, part.tries);
        let point = self.so_far.tally.output.point();
        match self.call(&chunk)? {
            Outcome::Done => {
                self.so_far.tally.processed += part.records;
                self.so_far.tally.runs.success();
                Ok(None)
            }
            Outcome::Record(mark, error) => self.record_failed(part, mark, error),
            Outcome::Whole(error) => {
                self.so_far.tally.output.return_to(point);
                self.whole_failed(&chunk, part, error)
            }
        }
    }

    fn record_failed(
        &mut self,
        part: Part,
        mark: Mark,
        error: BoxError,
    ) -> Result<Option<Duration>, Ended> {
        self.so_far.tally.processed += mark.index;
        if mark.index > 0 {
            self.so_far.tally.runs.success();
        }
        let before = if mark.index == 0 { part.tries } else { 0 };
        let (kind, error) = sort_out(error);
        let again = self.work.policy.retry.again(before + 1, &*error);
        let place = self.place(part.index + mark.index, mark.span.start);
        let failure = self.failure(place, 1, before + 1, kind, error);
        if again {
            // With what follows it.
            self.so_far.left.push(Part {
                tries: before + 1,
                ..part.from(mark.span.start, mark.index)
            });
            return Ok(self.try_again(failure));
        }
        let rest = part.from(mark.span.end, mark.index + 1);
        if rest.records > 0 {
            self.so_far.left.push(rest);
            return self.fail(failure, mark.span).map(|()| None);
        }
        self.fail(failure, mark.span)?;
        // Blank lines at the end.
        self.so_far.tally.output.gap(rest.range);
        Ok(None)
    }

    fn whole_failed(
        &mut self,
        chunk: &Chunk<'_>,
        part: Part,
        error: BoxError,
    ) -> Result<Option<Duration>, Ended> {
        let work = self.work;
        let policy = &work.policy;
        let tries = part.tries + 1;
        let range = part.range.clone();
        let record = chunk.spans().next().map_or(range.clone(), |span| {
            range.start + span.start..range.start + span.end
        });
        let (kind, error) = sort_out(error);
        let again = !part.once && policy.retry.again(tries, &*error);
        let place = self.place(part.index, record.start);
        let failure = self.failure(place, part.records, tries, kind, error);
        if again {
            self.so_far.left.push(Part { tries, ..part });
            return Ok(self.try_again(failure));
        }
        self.so_far.tally.runs.failure();
        if self.so_far.tally.runs.trail >= policy.max_failing_runs {
            return Err(Ended::AllFail(failure));
        }
        if policy.stops {
            return self.fail(failure, record).map(|()| None);
        }
        match part.records {
            0 => {
                // Blank lines: no record is at fault.
                self.so_far.suspect();
                self.so_far.tally.output.gap(range);
            }
            1 => {
                self.so_far.tally.output.gap(range.start..record.start);
                self.fail(failure, record.clone())?;
                self.so_far.tally.output.gap(record.end..range.end);
            }
            records => {
                self.so_far.suspect();
                self.so_far.tally.runs.first.get_or_insert(failure);
                let half = records / 2;
                let middle = range.start + start_of(chunk, half);
                self.so_far.left.push(part.from(middle, half).half());
                self.so_far.left.push(part.until(middle, half).half());
            }
        }
        Ok(None)
    }

    /// Calls the process once, with a state.
    fn call(&mut self, chunk: &Chunk<'_>) -> Result<Outcome, Ended> {
        let process = &self.work.process;
        if self.work.control.is_stopped() {
            return Err(Ended::Stopped);
        }
        let mut state = match self.state.take().or_else(|| self.work.states().pop()) {
            Some(state) => state,
            None => match catch_unwind(AssertUnwindSafe(|| process.start())) {
                Ok(state) => state.map_err(|error| Ended::Start(Held(error)))?,
                Err(payload) => return Err(Ended::Start(Held(panicked(payload)))),
            },
        };
        let output = &mut self.so_far.tally.output;
        let called = catch_unwind(AssertUnwindSafe(|| {
            process.chunk(&mut state, chunk, output)?;
            output.settle_text().map_err(ChunkError::Whole)
        }));
        let error = match called {
            Ok(result) => {
                self.state = Some(state);
                match result {
                    Ok(()) => {
                        output.end();
                        return Ok(Outcome::Done);
                    }
                    Err(ChunkError::Stopped) => {
                        self.so_far.tally.processed += output.end().map_or(0, |last| last + 1);
                        return Err(Ended::Stopped);
                    }
                    Err(ChunkError::Fatal(error)) => return Err(Ended::Fatal(Held(error))),
                    Err(ChunkError::Record(_, error) | ChunkError::Whole(error)) => error,
                }
            }
            Err(payload) => {
                // What a panic left behind is not used again.
                crate::error::drop_quietly(state);
                panicked(payload)
            }
        };
        Ok(match output.take_back() {
            Some(mark) => Outcome::Record(mark, error),
            None => Outcome::Whole(error),
        })
    }

    /// Notes a failed attempt down; another follows. How long to wait for it.
    fn try_again(&mut self, failure: RecordFailure) -> Option<Duration> {
        let delay = self.work.policy.retry.wait_after(failure.attempts);
        self.so_far.retry(failure);
        (!delay.is_zero()).then_some(delay)
    }

    /// A record failed for good. `range`: where it stands in the chunk.
    fn fail(&mut self, mut failure: RecordFailure, range: Range<usize>) -> Result<(), Ended> {
        self.so_far.forget_retry(&failure);
        if self.work.policy.stops {
            return Err(Ended::Failed(failure));
        }
        if self.work.policy.rejects {
            // An end that was added is not of the record as it was.
            let own = self.framed.own_bytes().len();
            let bytes = self.framed.source(range.start.min(own)..range.end.min(own));
            self.so_far.tally.rejected.extend_from_slice(&bytes);
            failure.rejected = self.so_far.tally.rejected.len();
        }
        self.so_far.tally.failures.push(failure);
        Ok(())
    }

    /// Where a record stands that begins there.
    fn place(&mut self, index: u64, start: usize) -> RecordPlace {
        let (place, lines) = match self.so_far.counted {
            counted if counted.0 <= start => counted,
            _ => (0, 0),
        };
        let lines = lines + count_lines(&self.framed.bytes[place..start]);
        self.so_far.counted = (start, lines);
        RecordPlace {
            index,
            start,
            lines,
        }
    }

    fn failure(
        &self,
        place: RecordPlace,
        records: u64,
        attempts: u32,
        kind: FailureKind,
        error: BoxError,
    ) -> RecordFailure {
        RecordFailure {
            place,
            records,
            attempts,
            kind,
            text: length_of_text(&error),
            error: Held(error),
            written: self.so_far.tally.output.len(),
            rejected: 0,
        }
    }
}

/// Where the `index`-th record of the chunk begins, in its bytes; their end, if there are fewer.
fn start_of(chunk: &Chunk<'_>, index: u64) -> usize {
    let span = chunk
        .spans()
        .nth(usize::try_from(index).unwrap_or(usize::MAX));
    span.map_or(chunk.bytes().len(), |span| span.start)
}
