//! `--persistent`: a process for each worker, which answers every record.
//!
//! Here it is started, and learns of the header; [`talk`](super::talk) is about the records.

use std::io;
use std::time::{Duration, Instant};

use inorder::{BoxError, Chunk, ChunkError, Interrupts};

use super::child::Child;
use super::command::Environment;
use super::failure::Why;
use super::feed::Feed;
use super::filter::Filter;
use super::gate::{Entry, Pass};
use super::header::NoHeader;
use super::said::Said;
use super::session::{Session, Step};
use super::worker::{Number, Worker};
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
     mlr --records-per-batch 1, fflush() in awk, $| = 1 in perl, else stdbuf -oL COMMAND. --timeout ends the wait";

/// How a process died.
pub struct Death {
    pub why: Why,
    pub tail: String,
}

impl Filter<'_> {
    /// A process that has seen the header and now waits for records: one that is there, unless it is to be
    /// a `new` one, or a new one; or how the new one died.
    pub fn session(
        &self,
        worker: &Worker,
        chunk: &Chunk<'_>,
        new: bool,
    ) -> Result<Result<Session, Death>, ChunkError> {
        let interrupts = chunk.interrupts().map_err(fatal)?;
        let session = loop {
            // The number is taken only when there is room: no more are taken than there are workers.
            let environment = || {
                let number = self.session_numbers.take();
                (environment(&number, worker.deaths + 1), number)
            };
            let entry = self.start_or(
                new,
                environment,
                || self.sessions.take(),
                || chunk.is_stopping(),
            )?;
            match entry {
                Entry::Started(pass, (child, number)) => {
                    break self.new_session((pass, child), number);
                }
                // It makes room.
                Entry::Instead(session) if new => {
                    self.dismiss(session).map_err(ChunkError::Fatal)?
                }
                Entry::Instead(session) => {
                    if let Some(session) = self.if_fit(session)? {
                        return Ok(Ok(session));
                    }
                }
            }
        };
        let (session, printed) = match self.greet(session, interrupts)? {
            Ok(greeted) => greeted,
            Err(death) => return Ok(Err(death)),
        };
        let learnt = self.header.printed();
        if printed != learnt {
            return Err(ChunkError::Fatal(
                format!(
                    "a process of the command answers the header with {:?}, the first one did with {:?}",
                    String::from_utf8_lossy(&printed),
                    String::from_utf8_lossy(learnt)
                )
                .into(),
            ));
        }
        Ok(Ok(session))
    }

    fn new_session(&self, process: (Pass, Child), number: Number) -> Session {
        Session::new(process, number, Said::new(self.speaker()), self.answers())
    }

    /// Shows a new process the header: its answer, if there is to be one, or its death.
    fn greet(
        &self,
        mut session: Session,
        interrupts: Interrupts<'_>,
    ) -> Result<Result<(Session, Vec<u8>), Death>, ChunkError> {
        let header = self.header.sent();
        if header.is_empty() {
            return Ok(Ok((session, Vec::new())));
        }
        let mut feed = Feed::header(header);
        let answers = self.header.who() == Some(HeaderArg::Both);
        let limit = self.plan.timeout;
        let due = limit.map(|limit| session.begun + limit);
        loop {
            if !answers && feed.front().is_empty() {
                return Ok(Ok((session, Vec::new())));
            }
            let next = match answers {
                true if self.notes.slow.is_completed() => None,
                true => Some(session.begun + SLOW),
                // Only until all of it is sent.
                false => Some(Instant::now() + ALONE),
            };
            let until = due.into_iter().chain(next).min();
            match session
                .next_answer(&mut feed, Some(interrupts), until)
                .map_err(fatal)?
            {
                Step::Answer(printed) => {
                    let printed = printed.to_vec();
                    if !answers {
                        let what = "the command prints something for the header: --header both is for that";
                        return Err(ChunkError::Fatal(what.into()));
                    }
                    return Ok(Ok((session, printed)));
                }
                Step::Died => return Ok(Err(death(session).map_err(fatal)?)),
                Step::Interrupted => return Err(ChunkError::Stopped),
                Step::Late
                    if let Some(limit) = limit
                        && due.is_some_and(|due| Instant::now() >= due) =>
                {
                    session.stop().map_err(fatal)?;
                    return Ok(Err(Death {
                        why: Why::TimedOut(limit),
                        tail: session.said.tail(),
                    }));
                }
                Step::Late if answers => self.note(&self.notes.slow, || NO_ANSWER.to_owned()),
                Step::Late => {}
            }
        }
    }

    /// What a process answers to the header. The process is kept for whoever asks first.
    pub fn learn_by_session(&self) -> Result<Vec<u8>, BoxError> {
        let interrupts = self.stop.interrupts()?;
        let number = self.session_numbers.take();
        let greeted = self
            .start(&environment(&number, 1), || self.stop.is_aborted())
            .and_then(|process| self.greet(self.new_session(process, number), interrupts));
        match greeted {
            Ok(Ok((session, printed))) => {
                self.keep_session(session);
                Ok(printed)
            }
            Ok(Err(death)) => Err(Box::new(NoHeader {
                command: self.plan.command.shown(),
                what: match death.why {
                    Why::TimedOut(_) => death.why.to_string(),
                    why => format!("{why} without an answer"),
                },
                tail: death.tail,
            })),
            Err(ChunkError::Fatal(error)) => Err(error),
            Err(_) => Err("stopped".into()),
        }
    }
}

/// What a process that lives on is told.
fn environment(number: &Number, attempt: u32) -> Environment<'static> {
    Environment {
        chunk: None,
        record: None,
        input: None,
        worker: Some(number.number),
        attempt,
    }
}

/// The process is gone, or going.
pub fn death(mut session: Session) -> io::Result<Death> {
    let status = session.end_of_dying()?;
    Ok(Death {
        why: Why::Ended(status),
        tail: session.said.tail(),
    })
}

/// The system failed, not the command.
pub fn fatal(error: io::Error) -> ChunkError {
    ChunkError::Fatal(error.into())
}
