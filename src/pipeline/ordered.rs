//! The ordered stage: takes results in input order, completes their positions and counts, and writes them.

use std::io::IoSlice;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, PoisonError};

use crate::buffer::{Buffer, BufferSettings};
use crate::error::{Error, ErrorKind, FailureKind, Position};
use crate::frame::{FrameError, Framed, InputInfo, OpenedInputs, Opening, Reason, TooLong};
use crate::input::{Grown, InputError};
use crate::output::{Output, OutputError};
use crate::pool::{Done, Ended, RecordFailure, panicked};
use crate::process::{Commit, Committed, Process, RunState};
use crate::progress::{Failure, Observer, Progress};
use crate::summary::Summary;

/// Writes the results. It alone knows how many lines and records came before a chunk.
pub(crate) struct Ordered<'o, P: Process> {
    process: P,
    output: Output<'o>,
    observer: Option<Arc<dyn Observer>>,
    run: RunState,
    summary: Summary,
    progress: Progress,
    seq: u64,
    current: Option<CurrentInput>,
    opened: OpenedInputs,
}

/// The input whose chunks are being written.
struct CurrentInput {
    info: Arc<InputInfo>,
    /// LF bytes before the next chunk.
    lines: u64,
    /// The end of what was processed, to recognise the input by if it has grown.
    tail: Vec<u8>,
    end: u64,
    grown: Option<Grown>,
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
        output: Output<'o>,
        observer: Option<Arc<dyn Observer>>,
        opened: OpenedInputs,
    ) -> Ordered<'o, P> {
        Ordered {
            process,
            output,
            observer,
            run: RunState::default(),
            summary: Summary::default(),
            progress: Progress::default(),
            seq: 0,
            current: None,
            opened,
        }
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
        let record = header.as_record(&info.name);
        let mut buffer = Buffer::new(None, Arc::clone(buffers));
        buffer.begin(0, 0..0, record.end());
        let made = catch_unwind(AssertUnwindSafe(|| {
            self.process.header(&record, &mut buffer)
        }));
        let made = made.unwrap_or_else(|payload| Err(panicked(payload)));
        made.map_err(|error| {
            Error::new(ErrorKind::Process, "the header failed")
                .path(&info.name)
                .because(error)
        })?;
        buffer.end();
        let closed = buffer.close();
        closed.map_err(|error| output_error(buffers.spill_error(error)))?;
        self.write_buffer(&mut buffer)?;
        if opening.header_lacks_end && !buffer.is_empty() {
            self.write(b"\n")?;
        }
        Ok(())
    }

    /// Takes the next result in order.
    pub fn commit(&mut self, mut done: Done, in_flight: usize) -> Result<Verdict, Error> {
        self.enter(&done.input)?;
        if !self.output.is_unpublished_file() {
            // What was copied out of a map is good only if the file is still what it was.
            self.check_input(&done.tail, done.offset + done.bytes)?;
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
                .at(self.position(done, 0, 0, 0))
                .because(error)),
        }
    }

    fn again(&mut self, done: Done) -> Result<Verdict, Error> {
        let Some(bytes) = done.output.input().cloned() else {
            let what = "a chunk without a note can't be run again";
            return Err(Error::new(ErrorKind::Process, what).at(self.position(&done, 0, 0, 0)));
        };
        self.summary.retries += 1;
        Ok(Verdict::Again(Framed {
            bytes,
            added: done.added,
            offset: done.offset,
            first: done.first,
            records: done.records,
            unclosed: done.unclosed,
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
            return Err(Error::new(ErrorKind::Internal, what).at(self.position(&done, 0, 0, 0)));
        }
        self.summary.bytes_in += done.bytes;
        self.summary.lines += done.lines;
        if let Some(current) = &mut self.current {
            current.lines += done.lines;
            current.end = done.offset + done.bytes;
            current.tail = std::mem::take(&mut done.tail);
        }
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
            let position = self.position(done, failure.index, failure.lines, failure.start);
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
                let position = self.position(done, failure.index, failure.lines, failure.start);
                let what = match (failure.kind, failure.records) {
                    (FailureKind::Parse, _) => "malformed".to_owned(),
                    (_, 1) => "failed".to_owned(),
                    (_, records) => {
                        format!("failed, one of {records} records or more")
                    }
                };
                Error::new(ErrorKind::Record(failure.kind), what)
                    .at(position)
                    .because(failure.error.take())
            }
            Ended::TooLong(failure, error) => too_long(
                self.position(done, failure.index, failure.lines, failure.start),
                &error,
            ),
            Ended::Start(error) => Error::new(ErrorKind::Process, "the work could not be started")
                .because(error.take()),
            Ended::Spill(error) => output_error(error),
            Ended::Stopped => Error::new(ErrorKind::Stopped, "stopped"),
        }
    }

    /// Where a record of a chunk stands: so many records, lines and bytes after the chunk's beginning.
    fn position(&self, done: &Done, index: u64, lines: u64, start: usize) -> Position {
        let before = self.current.as_ref().map_or(0, |current| current.lines);
        Position {
            input: done.input.name.to_path_buf(),
            record: done.first + index + 1,
            line: before + lines + 1,
            offset: done.offset + start as u64,
        }
    }

    /// The chunks of an input begin: all before it are complete.
    fn enter(&mut self, info: &InputInfo) -> Result<(), Error> {
        while self.current.as_ref().map(|current| current.info.index) != Some(info.index)
            && self.enter_next()?
        {}
        Ok(())
    }

    /// Goes on to the next input, if one was opened.
    fn enter_next(&mut self) -> Result<bool, Error> {
        let opened = self.opened.lock();
        let next = opened.unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(info) = next else {
            return Ok(false);
        };
        self.leave()?;
        self.summary.lines += info.top_lines;
        self.summary.bytes_in += info.top_bytes();
        self.progress.input = info.index;
        self.current = Some(CurrentInput {
            lines: info.top_lines,
            tail: Vec::new(),
            end: info.top_bytes(),
            grown: None,
            info,
        });
        Ok(true)
    }

    /// All that was read is written.
    pub fn complete(&mut self) -> Result<(), Error> {
        while self.enter_next()? {}
        self.leave()
    }

    /// All of an input is written.
    fn leave(&mut self) -> Result<(), Error> {
        let (tail, end) = match &mut self.current {
            Some(current) => (std::mem::take(&mut current.tail), current.end),
            None => return Ok(()),
        };
        self.check_input(&tail, end)?;
        let note = self.current.take().and_then(|current| {
            let grown = current.grown?;
            Some(format!(
                "{}: grew from {} to {} bytes while it was read; the first {} were processed",
                current.info.name.display(),
                grown.from,
                grown.to,
                grown.from
            ))
        });
        if let Some(note) = note {
            self.note(note);
        }
        Ok(())
    }

    fn check_input(&mut self, tail: &[u8], end: u64) -> Result<(), Error> {
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        let Some(watch) = &current.info.watch else {
            return Ok(());
        };
        let checked = watch
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .check(tail, end);
        match checked {
            Ok(grown) => {
                current.grown = grown.or(current.grown.take());
                Ok(())
            }
            Err(error) => {
                let name = Arc::clone(&current.info.name);
                Err(changed(&name, error))
            }
        }
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
        let here = self
            .current
            .as_ref()
            .filter(|current| current.info.index == error.index);
        let position = Position {
            input: error.input.to_path_buf(),
            record: error.records + 1,
            line: here.map_or(0, |current| current.lines + 1),
            offset: error.offset,
        };
        let name: &Path = &error.input;
        match error.reason {
            Reason::Open(source) => Error::new(ErrorKind::Input, "cannot be opened")
                .path(name)
                .because(source),
            Reason::Read(source) => {
                let what = format!("cannot be read at byte {}", error.offset);
                Error::new(ErrorKind::Input, what)
                    .path(name)
                    .because(source)
            }
            Reason::Shrank { from, to } => changed(name, InputError::Shrank { from, to }),
            Reason::Modified => changed(name, InputError::Modified),
            Reason::Woken => Error::new(ErrorKind::Stopped, "stopped"),
            Reason::TooLong(error) => too_long(position, &error),
            Reason::HeaderUnclosed => {
                let what = format!(
                    "the header's quote, opened at byte {}, is never closed",
                    error.offset
                );
                Error::new(ErrorKind::Header, what).path(name)
            }
            Reason::HeaderDiffers { first } => {
                let what = format!("the header differs from that of {}", first.display());
                Error::new(ErrorKind::Header, what).path(name)
            }
            Reason::NoThreads(source) => super::cannot_start(source.into()),
            Reason::Panicked(source) => Error::new(ErrorKind::Panic, "the reader panicked")
                .path(name)
                .because(source),
        }
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
        if result.is_ok() {
            result = output.finish().map_err(output_error);
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

    fn output_error(&self, error: OutputError) -> Error {
        // A write out of a map whose file has shrunk fails with a bad address.
        if let Some(current) = &self.current
            && let Some(watch) = &current.info.watch
            && let Err(changed_error) = watch
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .check(&current.tail, current.end)
        {
            return changed(&current.info.name, changed_error);
        }
        output_error(error)
    }
}

/// An error of the sink.
pub(crate) fn output_error(error: OutputError) -> Error {
    Error::new(ErrorKind::Output, format!("cannot {}", error.what))
        .path(&error.path)
        .because(error.source)
}

fn changed(name: &Path, error: InputError) -> Error {
    let (kind, what) = match error {
        InputError::Shrank { from, to } => (
            ErrorKind::Changed,
            format!("input shrank from {from} to {to} bytes while it was read"),
        ),
        InputError::Modified => (
            ErrorKind::Changed,
            "input was modified while it was read".to_owned(),
        ),
        InputError::Stopped => (ErrorKind::Stopped, "stopped".to_owned()),
        InputError::Io(source) => {
            return Error::new(ErrorKind::Input, "cannot be looked at")
                .path(name)
                .because(source);
        }
    };
    Error::new(kind, what).path(name)
}

fn too_long(position: Position, error: &TooLong) -> Error {
    let mut what = error.to_string();
    if let Some(quote) = error.quote {
        let opened = position.offset + quote as u64;
        what.push_str(&format!(" (a quote opened at byte {opened})"));
    }
    Error::new(ErrorKind::TooLong, what).at(position)
}
