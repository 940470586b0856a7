//! `--persistent`: a process for each worker, which answers every record.
//!
//! Here it is started, and learns of the header; [`talk`](super::talk) is about the records.

use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use inorder::{BoxError, Chunk, ChunkError};

use super::command::Environment;
use super::failure::Why;
use super::feed::Feed;
use super::filter::Filter;
use super::header::NoHeader;
use super::said::Said;
use super::session::{Session, Step};
use super::worker::Worker;
use crate::cli::args::HeaderArg;

/// After so long without a first answer a note says what may be wrong.
pub const SLOW: Duration = Duration::from_secs(5);
/// So long a process may take to end when it gets no more.
pub const FAREWELL: Duration = Duration::from_secs(2);
/// So long a first answer is the only one: whatever answers twice mostly does so at once.
pub const ALONE: Duration = Duration::from_millis(10);

/// Said when there is no first answer.
pub const NO_ANSWER: &str = "no answer from the command for 5 s. With --persistent each record must get one answer at once; many \
     programs hold theirs back until there are more. This helps: python3 -u, jq --unbuffered, sed -u, grep --line-buffered, \
     mlr --records-per-batch 1, fflush() in awk, $| = 1 in perl, else stdbuf -oL COMMAND";

/// How a process died.
pub struct Death {
    pub status: ExitStatus,
    pub tail: String,
}

impl Filter<'_> {
    /// Starts a process for the worker, and shows it the header: its answer, if there is to be one, or its death.
    pub fn start_session(
        &self,
        worker: &mut Worker,
        chunk: Option<&Chunk<'_>>,
    ) -> Result<Result<Vec<u8>, Death>, ChunkError> {
        let environment = Environment {
            chunk: None,
            record: None,
            input: None,
            worker: Some(worker.number.number),
            attempt: worker.deaths + 1,
        };
        let is_stopping = || chunk.is_some_and(Chunk::is_stopping);
        let (_, child) = self.start(&environment, is_stopping)?;
        worker.started += 1;
        let mut session = Session::new(child, Said::new(self.speaker()), self.answers());
        let header = self.header.sent();
        if header.is_empty() {
            worker.session = Some(session);
            return Ok(Ok(Vec::new()));
        }
        let interrupts = match chunk {
            Some(chunk) => Some(chunk.interrupts().map_err(fatal)?),
            None => None,
        };
        let mut feed = Feed::header(header);
        let answers = self.header.who() == Some(HeaderArg::Both);
        loop {
            if !answers && feed.front().is_empty() {
                worker.session = Some(session);
                return Ok(Ok(Vec::new()));
            }
            let until = match answers {
                true if self.notes.slow.is_completed() => None,
                true => Some(session.begun + SLOW),
                // Only until all of it is sent.
                false => Some(Instant::now() + ALONE),
            };
            match session
                .next_answer(&mut feed, interrupts, until)
                .map_err(fatal)?
            {
                Step::Answer(printed) => {
                    let printed = printed.to_vec();
                    if !answers {
                        let what = "the command prints something for the header: --header both is for that";
                        return Err(ChunkError::Fatal(what.into()));
                    }
                    worker.session = Some(session);
                    return Ok(Ok(printed));
                }
                Step::Died => return Ok(Err(death(session).map_err(fatal)?)),
                Step::Interrupted => return Err(ChunkError::Stopped),
                Step::Late if answers => self.note(&self.notes.slow, || NO_ANSWER.to_owned()),
                Step::Late => {}
            }
        }
    }

    /// What a process answers to the header. The process is kept for the first worker.
    pub fn learn_by_session(&self) -> Result<Vec<u8>, BoxError> {
        let mut worker = self.new_worker();
        match self.start_session(&mut worker, None) {
            Ok(Ok(printed)) => {
                self.keep_worker(worker);
                Ok(printed)
            }
            Ok(Err(death)) => Err(Box::new(NoHeader {
                command: self.plan.command.shown(),
                what: format!("{} without an answer", Why::Ended(death.status)),
                tail: death.tail,
            })),
            Err(ChunkError::Fatal(error)) => Err(error),
            Err(_) => Err("stopped".into()),
        }
    }
}

/// The process is gone, or going.
pub fn death(mut session: Session) -> io::Result<Death> {
    let status = session.end(Duration::from_millis(200))?;
    Ok(Death {
        status,
        tail: session.said.tail(),
    })
}

/// The system failed, not the command.
pub fn fatal(error: io::Error) -> ChunkError {
    ChunkError::Fatal(error.into())
}
