//! `--persistent`: a process for each worker, which answers every record.
//!
//! Records are given out ahead of the answers; the k-th answer is the k-th record's. When a process dies, the records that it has
//! not answered are given to a new one. A process gets its first record alone: so it is known which record it was that a
//! process died of, and a record is charged with a death only if it was alone.

use std::io::{self, Write};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use inorder::{BoxError, Buffer, Chunk, ChunkError, Interrupts, Record};

use super::command::Environment;
use super::failure::{CommandFailed, Why};
use super::feed::Feed;
use super::filter::Filter;
use super::header::NoHeader;
use super::said::Said;
use super::session::{Session, Step};
use super::worker::Worker;
use crate::cli::args::HeaderArg;

/// After so long without a first answer a note says what may be wrong.
const SLOW: Duration = Duration::from_secs(5);
/// So long a process may take to end when it gets no more.
pub const FAREWELL: Duration = Duration::from_secs(2);
/// So long a first answer is the only one: whatever answers twice mostly does so at once.
const ALONE: Duration = Duration::from_millis(10);
/// So many deaths in a row without one answer end the run.
const MOST_DEATHS: u32 = 5;

/// Said when there is no first answer.
const NO_ANSWER: &str = "no answer from the command for 5 s. With --persistent each record must get one answer at once; many \
     programs hold theirs back until there are more. This helps: python3 -u, jq --unbuffered, sed -u, grep --line-buffered, \
     mlr --records-per-batch 1, fflush() in awk, $| = 1 in perl, else stdbuf -oL COMMAND";

const TOO_MANY: &str = "gave more answers than it got records";

/// How a process died.
pub struct Death {
    pub status: ExitStatus,
    pub tail: String,
}

/// One chunk, and the process that it is talked over with.
struct Talk<'t, 'c> {
    filter: &'t Filter<'t>,
    worker: &'t mut Worker,
    chunk: &'t Chunk<'c>,
    interrupts: Interrupts<'c>,
    feed: Feed<'c>,
    /// The record of which the last process died, or one before it.
    suspect: Option<u64>,
}

impl Filter<'_> {
    /// Works on a chunk with the worker's process.
    pub fn talk(
        &self,
        worker: &mut Worker,
        chunk: &Chunk<'_>,
        out: &mut Buffer,
    ) -> Result<(), ChunkError> {
        let interrupts = chunk.interrupts().map_err(fatal)?;
        if let Some(session) = &mut worker.session {
            if session.says_more(Duration::ZERO).map_err(fatal)? {
                // It is too late to say of which record.
                return Err(ChunkError::Fatal(format!("the command {TOO_MANY}").into()));
            }
            if !session.lives() {
                worker.session = None;
            }
        }
        let mut talk = Talk {
            filter: self,
            feed: Feed::new(chunk, 0, self.input_end()),
            worker,
            chunk,
            interrupts,
            suspect: None,
        };
        talk.allow();
        let first = chunk.first_number();
        chunk.try_each(out, |record, out| {
            talk.answer(record, record.number() - first, out)
        })?;
        talk.end()
    }

    /// Starts a process for the worker, and shows it the header. `None`: it died of it.
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

impl Talk<'_, '_> {
    /// Gets the answer of record `index` of the chunk.
    fn answer(
        &mut self,
        record: &Record<'_>,
        index: u64,
        out: &mut Buffer,
    ) -> Result<(), ChunkError> {
        let notes = &self.filter.notes;
        let limit = self.filter.plan.timeout;
        let due = limit.map(|limit| Instant::now() + limit);
        loop {
            if self.worker.session.is_none()
                && let Err(death) = self.start(index)?
            {
                self.died(death, record.number())?;
                continue;
            }
            let Some(session) = &mut self.worker.session else {
                continue;
            };
            let waits = session.answered == 0 && !notes.slow.is_completed();
            let note_at = waits.then(|| session.begun + SLOW);
            let until = due.into_iter().chain(note_at).min();
            let step = session.next_answer(&mut self.feed, Some(self.interrupts), until);
            match step.map_err(fatal)? {
                Step::Answer(answer) => {
                    out.write_all(answer).map_err(fatal)?;
                    return self.answered();
                }
                Step::Late => match limit {
                    Some(limit) if due.is_some_and(|due| Instant::now() >= due) => {
                        return Err(self.timed_out(limit, record.number()));
                    }
                    _ => self.filter.note(&notes.slow, || NO_ANSWER.to_owned()),
                },
                Step::Interrupted => {
                    self.worker.session = None;
                    return Err(ChunkError::Stopped);
                }
                Step::Died => {
                    if let Some(session) = self.worker.session.take() {
                        self.died(death(session).map_err(fatal)?, record.number())?;
                    }
                }
            }
        }
    }

    /// A new process, which gets the records from this one on.
    fn start(&mut self, index: u64) -> Result<Result<(), Death>, ChunkError> {
        let printed = match self.filter.start_session(self.worker, Some(self.chunk))? {
            Ok(printed) => printed,
            Err(death) => return Ok(Err(death)),
        };
        let learnt = self.filter.header.printed();
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
        self.feed = Feed::new(self.chunk, index, self.filter.input_end());
        self.allow();
        Ok(Ok(()))
    }

    /// How many records the process may get now.
    fn allow(&mut self) {
        let Some(session) = &self.worker.session else {
            return;
        };
        let recycle = self.filter.plan.recycle.unwrap_or(u64::MAX);
        let left = recycle.saturating_sub(session.answered + self.feed.owed);
        self.feed.allowed = if session.answered == 0 {
            left.min(1)
        } else {
            left
        };
    }

    fn answered(&mut self) -> Result<(), ChunkError> {
        self.feed.owed -= 1;
        self.worker.deaths = 0;
        self.suspect = None;
        let Some(session) = &mut self.worker.session else {
            return Ok(());
        };
        session.answered += 1;
        if session.answered == 1 && self.worker.started == 1 {
            let more = session.says_more(ALONE).map_err(fatal)?;
            if more {
                return self.too_many();
            }
        }
        if Some(session.answered) == self.filter.plan.recycle {
            session.end(FAREWELL).map_err(fatal)?;
            let more = session.says_more(Duration::ZERO).map_err(fatal)?;
            if more {
                return self.too_many();
            }
            self.worker.session = None;
            return Ok(());
        }
        self.allow();
        Ok(())
    }

    /// The process died before it answered this record.
    fn died(&mut self, death: Death, record: u64) -> Result<(), ChunkError> {
        self.worker.session = None;
        self.worker.deaths += 1;
        let failed = CommandFailed {
            why: Why::Died(death.status),
            records: (record, record),
            tail: death.tail,
            hint: "",
        };
        if self.worker.deaths >= MOST_DEATHS {
            let what = format!("{MOST_DEATHS} times in a row without one answer: {failed}");
            return Err(ChunkError::Fatal(what.into()));
        }
        if self.suspect == Some(record) {
            return Err(failed.into());
        }
        self.suspect = Some(record);
        Ok(())
    }

    /// The process did not answer this record in time.
    fn timed_out(&mut self, limit: Duration, record: u64) -> ChunkError {
        let mut tail = String::new();
        if let Some(mut session) = self.worker.session.take() {
            if let Err(error) = session.stop() {
                return fatal(error);
            }
            tail = session.said.tail();
        }
        CommandFailed {
            why: Why::TimedOut(limit),
            records: (record, record),
            tail,
            hint: "",
        }
        .into()
    }

    /// All records are answered.
    fn end(&mut self) -> Result<(), ChunkError> {
        let more = match &mut self.worker.session {
            Some(session) => session.says_more(Duration::ZERO).map_err(fatal)?,
            None => false,
        };
        if more { self.too_many() } else { Ok(()) }
    }

    fn too_many(&mut self) -> Result<(), ChunkError> {
        let session = self.worker.session.take();
        let first = self.chunk.first_number();
        let count = self.chunk.records().count() as u64;
        Err(ChunkError::from(CommandFailed {
            why: Why::Wrong(TOO_MANY.to_owned()),
            records: (first, first + count.saturating_sub(1)),
            tail: session
                .map(|session| session.said.tail())
                .unwrap_or_default(),
            hint: "",
        }))
    }
}

/// The process is gone, or going.
fn death(mut session: Session) -> io::Result<Death> {
    let status = session.end(Duration::from_millis(200))?;
    Ok(Death {
        status,
        tail: session.said.tail(),
    })
}

fn fatal(error: io::Error) -> ChunkError {
    ChunkError::Fatal(error.into())
}
