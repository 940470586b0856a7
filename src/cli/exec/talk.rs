//! A chunk's records are talked over with a process, which answers each.
//!
//! Records are given out ahead of the answers; the k-th answer is the k-th record's. When a process dies, the records that it has
//! not answered are given to a new one. A process gets its first record alone: so it is known which record it was that a
//! process died of, and a record is charged with a death only if it was alone.

use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use inorder::{Buffer, Chunk, ChunkError, Interrupts, Record, Untrusted};

use super::failure::{CommandFailed, Why};
use super::feed::{CR_ALONE, Feed, ends_with_cr_alone};
use super::filter::Filter;
use super::persistent::{ALONE, Death, NO_ANSWER, SLOW, death, fatal};
use super::session::{Session, Step};
use super::sessions::{Surplus, TOO_MANY};
use super::worker::Worker;

/// So many records in a row of which processes died, or so many processes that died of the header, without one answer between them end
/// the run.
const MOST_DEATHS: u32 = 5;

/// One chunk, and the process that it is talked over with.
struct Talk<'t, 'c> {
    filter: &'t Filter<'t>,
    worker: &'t mut Worker,
    session: Option<Session>,
    chunk: &'t Chunk<'c>,
    interrupts: Interrupts<'c>,
    feed: Feed<'c>,
    /// The record of which the last process died, or one before it.
    suspect: Option<u64>,
    /// A process that was at this chunk alone gave an answer too many.
    surplus: bool,
}

impl Filter<'_> {
    /// Works on a chunk with the worker's process.
    pub fn talk(
        &self,
        worker: &mut Worker,
        chunk: &Chunk<'_>,
        out: &mut Buffer,
    ) -> Result<(), ChunkError> {
        let mut talk = Talk {
            filter: self,
            session: self.idle_session()?,
            feed: Feed::new(chunk, 0, self.input_end()),
            worker,
            chunk,
            interrupts: chunk.interrupts().map_err(fatal)?,
            suspect: None,
            surplus: false,
        };
        talk.allow();
        let first = chunk.first_number();
        let result = chunk.try_each(out, |record, out| {
            talk.answer(record, record.number() - first, out)
        });
        let result = result.and_then(|()| talk.end());
        // One with answers owing would give them to the next chunk.
        if let Some(mut session) = talk.session.take()
            && talk.feed.owed == 0
        {
            session.is_old |= session.answered > 0;
            self.keep_session(session);
        }
        result
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
        if ends_with_cr_alone(record) {
            return Err(ChunkError::Whole(CR_ALONE.into()));
        }
        let notes = &self.filter.notes;
        let limit = self.filter.plan.timeout;
        let mut due = limit.map(|limit| Instant::now() + limit);
        loop {
            if self.session.is_none() {
                let asked = Instant::now();
                if let Err(death) = self.start(index)? {
                    self.died_of_header(death)?;
                    continue;
                }
                // A start counts, the wait for a place does not.
                let begun = self.session.as_ref().map(|session| session.begun);
                let since = begun.filter(|begun| *begun >= asked);
                due = limit.map(|limit| since.unwrap_or_else(Instant::now) + limit);
            }
            let Some(session) = &mut self.session else {
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
                    self.session = None;
                    return Err(ChunkError::Stopped);
                }
                Step::Died => {
                    if let Some(session) = self.session.take() {
                        self.died(death(session).map_err(fatal)?, record.number())?;
                    }
                }
            }
        }
    }

    /// Another process, which gets the records from this one on.
    fn start(&mut self, index: u64) -> Result<Result<(), Death>, ChunkError> {
        // One that has worked for long may die of that, not of the record.
        let new = self.suspect.is_some();
        match self.filter.session(self.worker, self.chunk, new)? {
            Ok(session) => self.session = Some(session),
            Err(death) => return Ok(Err(death)),
        }
        self.feed = Feed::new(self.chunk, index, self.filter.input_end());
        self.allow();
        Ok(Ok(()))
    }

    /// How many records the process may get now.
    fn allow(&mut self) {
        let Some(session) = &self.session else {
            return;
        };
        let recycle = self.filter.plan.recycle.unwrap_or(u64::MAX);
        let left = recycle.saturating_sub(session.answered + self.feed.owed);
        // Alone: so it is known of which record it dies.
        self.feed.allowed = if session.answered == 0 || self.suspect.is_some() {
            left.min(1)
        } else {
            left
        };
    }

    fn answered(&mut self) -> Result<(), ChunkError> {
        self.feed.owed -= 1;
        self.worker.answered();
        self.suspect = None;
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        session.answered += 1;
        if session.answered == 1 && !self.filter.answers_once.load(Relaxed) {
            if session.says_more(ALONE).map_err(fatal)? {
                return self.too_many();
            }
            self.filter.answers_once.store(true, Relaxed);
        }
        if Some(session.answered) == self.filter.plan.recycle {
            return self.recycle();
        }
        self.allow();
        Ok(())
    }

    /// The process has answered all that it is to get.
    fn recycle(&mut self) -> Result<(), ChunkError> {
        if let Some(session) = self.session.take() {
            let is_old = session.is_old;
            match self.filter.dismiss(session) {
                // The whole chunk has failed, which is said at its end.
                Err(error) if error.is::<Untrusted>() && !is_old => self.surplus = true,
                dismissed => dismissed.map_err(ChunkError::Fatal)?,
            }
        }
        Ok(())
    }

    /// The process died before it answered this record.
    fn died(&mut self, death: Death, record: u64) -> Result<(), ChunkError> {
        self.session = None;
        self.worker.deaths += 1;
        if self.suspect != Some(record) {
            self.suspect = Some(record);
            return Ok(());
        }
        let failed = CommandFailed {
            why: death.why.with_answers_owing(),
            records: (record, record),
            tail: death.tail,
            hint: "",
        };
        self.worker.charge(self.chunk.seq(), record);
        if self.worker.charged >= MOST_DEATHS {
            let what = format!("{MOST_DEATHS} records in a row without one answer: {failed}");
            return Err(ChunkError::Fatal(what.into()));
        }
        Err(failed.into())
    }

    /// The process died before it got a record: none is at fault.
    fn died_of_header(&mut self, death: Death) -> Result<(), ChunkError> {
        self.worker.deaths += 1;
        self.worker.header_deaths += 1;
        if self.worker.header_deaths < MOST_DEATHS {
            return Ok(());
        }
        let failed = CommandFailed {
            why: death.why,
            records: (0, 0),
            tail: death.tail,
            hint: " without an answer to the header",
        };
        let what = format!("{MOST_DEATHS} times in a row without one answer: {failed}");
        Err(ChunkError::Fatal(what.into()))
    }

    /// The process did not answer this record in time.
    fn timed_out(&mut self, limit: Duration, record: u64) -> ChunkError {
        let mut tail = String::new();
        if let Some(mut session) = self.session.take() {
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
        if let Some(session) = &mut self.session
            && session.says_more(Duration::ZERO).map_err(fatal)?
        {
            if let Some(surplus) = session.surplus().filter(|_| session.is_old) {
                return Err(ChunkError::Fatal(Surplus::error(surplus).into()));
            }
            self.surplus = true;
        }
        if self.surplus {
            self.too_many()
        } else {
            Ok(())
        }
    }

    /// A process that has worked on this chunk alone gave more answers than it got records.
    fn too_many(&mut self) -> Result<(), ChunkError> {
        let session = self.session.take();
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
