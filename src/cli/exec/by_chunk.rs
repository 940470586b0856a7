//! A process for each chunk.

use std::io;

use inorder::{BoxError, Buffer, Chunk, ChunkError, Record};

use super::command::Environment;
use super::exchange::{End, Exchange, Take};
use super::failure::{CommandFailed, OK_STATUS, Why};
use super::filter::Filter;
use super::header::{Collected, NoHeader};
use super::result::{OtherHeader, Printed};
use super::said::Said;
use super::sent::Sent;

impl Filter<'_> {
    /// Runs the command over the chunk, or over a part of one.
    pub fn attempt(
        &self,
        worker: usize,
        chunk: &Chunk<'_>,
        out: &mut Buffer,
    ) -> Result<(), ChunkError> {
        let environment = Environment {
            chunk: Some(chunk.seq()),
            record: Some(chunk.first_number()),
            input: Some(chunk.input()),
            worker: Some(worker),
            attempt: chunk.attempt() + 1,
        };
        let interrupts = chunk
            .interrupts()
            .map_err(|error| ChunkError::Fatal(error.into()))?;
        let (_pass, child) = self.start(&environment, || chunk.is_stopping())?;
        let before = out.len();
        let mut printed = Printed::new(out, self.ends, self.header.printed());
        let mut said = Said::new(self.speaker());
        let end = Exchange {
            child,
            input: Sent::new(self.header.sent(), chunk.bytes(), chunk.mapped_from()),
            output: &mut printed,
            said: &mut said,
            interrupts: Some(interrupts),
            timeout: self.plan.timeout,
        }
        .run();
        let fail = |why, hint| {
            let count = chunk.records().count() as u64;
            let first = chunk.first_number();
            ChunkError::from(CommandFailed {
                why,
                records: (first, first + count.saturating_sub(1)),
                tail: said.tail(),
                hint,
            })
        };
        let status = match end {
            Ok(End::Exited(status)) => status,
            Ok(End::Outlived(status)) => {
                self.note(&self.notes.outlived, || OUTLIVED.to_owned());
                status
            }
            Ok(End::Stopped) => return Err(ChunkError::Stopped),
            Ok(End::TimedOut(limit)) => return Err(fail(Why::TimedOut(limit), "")),
            Err(error) => return Err(wrong_or_fatal(error, fail)),
        };
        let ended = printed.end();
        if !self.is_ok(status) {
            let nothing = out.len() == before && status.code() == Some(1) && said.tail().is_empty();
            let hint = if nothing { OK_STATUS } else { "" };
            return Err(fail(Why::Ended(status), hint));
        }
        ended.map_err(|other| fail(Why::Wrong(other.to_string()), ""))
    }

    /// What the command prints for the header alone.
    pub fn learn(&self, header: &Record<'_>) -> Result<Vec<u8>, BoxError> {
        let environment = Environment {
            chunk: None,
            record: Some(0),
            input: Some(header.input()),
            worker: None,
            attempt: 1,
        };
        let interrupts = self.stop.interrupts()?;
        let (_pass, child) = match self.start(&environment, || self.stop.is_aborted()) {
            Ok(started) => started,
            Err(ChunkError::Fatal(error)) => return Err(error),
            Err(_) => return Err("stopped".into()),
        };
        let mut printed = Collected::default();
        let mut said = Said::new(self.speaker());
        let end = Exchange {
            child,
            input: Sent::new(b"", header.raw(), None),
            output: &mut printed as &mut dyn Take,
            said: &mut said,
            interrupts: Some(interrupts),
            timeout: self.plan.timeout,
        }
        .run()?;
        let what = match end {
            End::Exited(status) | End::Outlived(status) if !self.is_ok(status) => {
                Why::Ended(status).to_string()
            }
            End::Exited(_) | End::Outlived(_) if printed.0.is_empty() => {
                "printed nothing".to_owned()
            }
            End::Exited(_) | End::Outlived(_) => return Ok(printed.0),
            End::TimedOut(limit) => Why::TimedOut(limit).to_string(),
            End::Stopped => return Err("stopped".into()),
        };
        Err(Box::new(NoHeader {
            command: self.plan.command.shown(),
            what,
            tail: said.tail(),
        }))
    }
}

/// Said once, when processes were left behind.
const OUTLIVED: &str = "the command ends and leaves a process behind that holds its standard output or error open: 2 s \
     after the last output the command's process group was killed";

/// What was printed is wrong, or the system failed.
fn wrong_or_fatal(
    error: io::Error,
    fail: impl FnOnce(Why, &'static str) -> ChunkError,
) -> ChunkError {
    match error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<OtherHeader>())
    {
        Some(other) => fail(Why::Wrong(format!("went wrong: {other}")), ""),
        None => ChunkError::Fatal(error.into()),
    }
}
