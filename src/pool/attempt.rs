//! One go at a chunk: the process is called, and what fails is told apart from what does not.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::failure::{Ended, Held, Panicked, RecordFailure, Taken, Unclosed, panicked};
use super::worker::{Work, count_lines};
use crate::OnError;
use crate::buffer::{Buffer, Mark};
use crate::error::{BoxError, FailureKind, drop_quietly};
use crate::format::Framing;
use crate::frame::lines::is_blank;
use crate::frame::{Chunk, Framed, TooLong};
use crate::process::{ChunkError, Process};
use crate::text::Unencodable;

/// One go at a chunk.
pub(super) struct Attempt<'w, P: Process> {
    pub work: &'w Work<P>,
    pub framed: &'w Framed,
    pub state: Option<P::State>,
    pub output: &'w mut Buffer,
    pub processed: u64,
    pub failures: Vec<RecordFailure>,
    /// A place in the chunk and the LF bytes before it, to count on from.
    pub counted: Cell<(usize, u64)>,
}

/// How one call of the process ended.
enum Outcome {
    Done,
    /// This record failed; what it wrote is taken back.
    Record(Mark, FailureKind, BoxError),
    /// It is not known which record failed.
    Whole(FailureKind, BoxError),
}

impl<P: Process> Attempt<'_, P> {
    pub fn whole_chunk(&mut self) -> Result<(), Ended> {
        let chunk = self.framed.view(&self.work.control);
        let too_long = self.find_too_long(&chunk);
        let unclosed = self
            .framed
            .unclosed
            .and_then(|_| self.framed.records.checked_sub(1));
        // A record that can't be worked on stands alone at the end of what can.
        let bad = too_long.as_ref().map(|bad| bad.index).or(unclosed);
        let Some(bad) = bad else {
            return self.sound_part(&chunk, self.framed.records);
        };
        let start = match &too_long {
            Some(bad) => bad.start,
            None => chunk
                .spans()
                .nth(usize::try_from(bad).unwrap_or(usize::MAX))
                .map_or(chunk.range().end, |span| span.start),
        };
        if start > 0 {
            self.sound_part(&chunk.part(0..start, 0), bad)?;
        }
        if let Some(failure) = too_long {
            let record = &self.framed.bytes[start..];
            let framing = self.framed.input.framing;
            let error = TooLong::new(record, framing, self.work.max_record_size);
            return Err(Ended::TooLong(failure, error));
        }
        let quote = self.framed.unclosed.unwrap_or_default();
        let opened = Unclosed {
            offset: self.framed.offset + quote as u64,
        };
        let failure = self.failure(bad, 1, start, FailureKind::Parse, Box::new(opened));
        self.fail(failure)
    }

    fn find_too_long(&self, chunk: &Chunk<'_>) -> Option<RecordFailure> {
        let most = self.work.max_record_size;
        // An end that was added is not of the input.
        let len = self.framed.own_bytes().len();
        if len <= most {
            return None;
        }
        let framing = self.framed.input.framing;
        let mut index = 0;
        // Of NDJSON all lines are looked at: the reader, too, takes no blank one that is longer.
        for span in chunk.lines() {
            if span.end.min(len) - span.start > most {
                let error = Box::new(Taken);
                return Some(self.failure(index, 1, span.start, FailureKind::Parse, error));
            }
            let content = &self.framed.bytes[span.start..span.content_end];
            index += u64::from(framing != Framing::Ndjson || !is_blank(content));
        }
        None
    }

    /// Works on a part of the chunk with this many records; failing ones are set aside.
    pub(super) fn part(&mut self, chunk: &Chunk<'_>, records: u64) -> Result<(), Ended> {
        let mut rest = chunk.clone();
        let mut left = records;
        loop {
            let point = self.output.point();
            let first = rest.first_number() - 1 - self.framed.first;
            match self.call(&rest)? {
                Outcome::Done => {
                    self.processed += left;
                    return Ok(());
                }
                Outcome::Record(mark, kind, error) => {
                    self.processed += mark.index;
                    let failure = self.failure(first + mark.index, 1, mark.span.start, kind, error);
                    self.fail(failure)?;
                    rest = rest.rest(mark.span.end, mark.index + 1);
                    left = left.saturating_sub(mark.index + 1);
                }
                Outcome::Whole(kind, error) => {
                    self.output.return_to(point);
                    if left > 1 && self.work.on_error != OnError::Stop {
                        drop_quietly(error);
                        return self.halves(&rest, left);
                    }
                    let range = rest.range();
                    let record = rest.spans().next().map_or(range.clone(), |span| {
                        range.start + span.start..range.start + span.end
                    });
                    let alone = left == 1;
                    if alone {
                        self.output.gap(range.start..record.start);
                    }
                    let failure = self.failure(first, left, record.start, kind, error);
                    self.fail(failure)?;
                    if alone {
                        self.output.gap(record.end..range.end);
                    }
                    return Ok(());
                }
            }
            if left == 0 {
                // Blank lines at the end.
                self.output.gap(rest.range());
                return Ok(());
            }
        }
    }

    fn halves(&mut self, chunk: &Chunk<'_>, records: u64) -> Result<(), Ended> {
        let half = records / 2;
        let range = chunk.range();
        let middle = chunk
            .spans()
            .nth(usize::try_from(half).unwrap_or(usize::MAX))
            .map_or(range.end, |span| range.start + span.start);
        self.part(&chunk.part(range.start..middle, 0), half)?;
        self.part(&chunk.part(middle..range.end, half), records - half)
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
        let output = &mut *self.output;
        let called = catch_unwind(AssertUnwindSafe(|| {
            process.chunk(&mut state, chunk, output)?;
            output.settle_text().map_err(ChunkError::Whole)
        }));
        let (kind, error) = match called {
            Ok(result) => {
                self.state = Some(state);
                match result {
                    Ok(()) => {
                        self.output.end();
                        return Ok(Outcome::Done);
                    }
                    Err(ChunkError::Stopped) => {
                        self.processed += self.output.end().map_or(0, |last| last + 1);
                        return Err(Ended::Stopped);
                    }
                    Err(ChunkError::Record(_, error)) | Err(ChunkError::Whole(error)) => {
                        (FailureKind::Work, error)
                    }
                }
            }
            Err(payload) => {
                // What a panic left behind is not used again.
                drop_quietly(state);
                (FailureKind::Panic, panicked(payload))
            }
        };
        let kind = if error.is::<Panicked>() {
            FailureKind::Panic
        } else if error.is::<Unencodable>() {
            FailureKind::Encoding
        } else {
            kind
        };
        Ok(match self.output.take_back() {
            Some(mark) => Outcome::Record(mark, kind, error),
            None => Outcome::Whole(kind, error),
        })
    }

    pub(super) fn fail(&mut self, failure: RecordFailure) -> Result<(), Ended> {
        match self.work.on_error {
            OnError::Stop => Err(Ended::Failed(failure)),
            OnError::Skip => {
                self.failures.push(failure);
                Ok(())
            }
        }
    }

    /// LF bytes of the chunk before this place.
    fn lines_before(&self, start: usize) -> u64 {
        let (place, lines) = match self.counted.get() {
            counted if counted.0 <= start => counted,
            _ => (0, 0),
        };
        let lines = lines + count_lines(&self.framed.bytes[place..start]);
        self.counted.set((start, lines));
        lines
    }

    pub(super) fn failure(
        &self,
        index: u64,
        records: u64,
        start: usize,
        kind: FailureKind,
        error: BoxError,
    ) -> RecordFailure {
        RecordFailure {
            index,
            records,
            start,
            lines: self.lines_before(start),
            kind,
            error: Held(error),
        }
    }
}
