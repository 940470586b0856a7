//! The processes that live on, between the chunks that they work on: each goes to the worker that asks next.

use std::error::Error;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use inorder::{BoxError, ChunkError, Untrusted};

use super::failure::Why;
use super::filter::Filter;
use super::persistent::fatal;
use super::result::first_line;
use super::session::Session;

/// Those that wait for work. Dropped, they are killed.
#[derive(Default)]
pub struct Sessions(Mutex<Vec<Session>>);

impl Sessions {
    pub fn take(&self) -> Option<Session> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn put(&self, session: Session) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(session);
    }
}

/// A process gave more answers than it got records, and it is too late to say since when: each answer since can be another record's.
#[derive(Debug)]
pub struct Surplus {
    /// The first line of what was too much.
    line: String,
}

/// Said of a command that does.
pub const TOO_MANY: &str = "gave more answers than it got records";

impl Surplus {
    pub fn error(printed: &[u8]) -> Untrusted {
        let line = first_line(printed);
        Untrusted::new(Surplus { line })
    }
}

impl fmt::Display for Surplus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the command {TOO_MANY}, and the results before may be those of other records; at last it printed {:?}. With --persistent \
             it must print one answer for each record, and nothing else, at its end neither: --verify compares",
            self.line
        )
    }
}

impl Error for Surplus {}

impl Filter<'_> {
    /// A process that waits for work.
    pub fn idle_session(&self) -> Result<Option<Session>, ChunkError> {
        while let Some(session) = self.sessions.take() {
            if let Some(session) = self.if_fit(session)? {
                return Ok(Some(session));
            }
        }
        Ok(None)
    }

    /// A process that has waited, if it is still there.
    pub fn if_fit(&self, mut session: Session) -> Result<Option<Session>, ChunkError> {
        let more = session.says_more(Duration::ZERO).map_err(fatal)?;
        if !more && session.lives() {
            return Ok(Some(session));
        }
        self.dismiss(session).map_err(ChunkError::Fatal)?;
        Ok(None)
    }

    /// For whoever asks next.
    pub fn keep_session(&self, session: Session) {
        self.sessions.put(session);
        self.gate.look_again();
    }

    /// Sends all away. Whether each gave as many answers as it got records shows only now: one that is at its last record can still
    /// have an answer too many to give.
    pub fn dismiss_all(&self) -> Result<(), BoxError> {
        let mut sessions: Vec<Session> = std::iter::from_fn(|| self.sessions.take()).collect();
        // They end side by side.
        for session in &mut sessions {
            session.close();
        }
        let mut said = Ok(());
        for session in sessions {
            said = said.and(self.dismiss(session));
        }
        said
    }

    /// Lets a process end, which was given no more than it has answered.
    pub fn dismiss(&self, mut session: Session) -> Result<(), BoxError> {
        let status = session.end(self.stop.interrupts()?)?;
        if let Some(surplus) = session.surplus() {
            return Err(Surplus::error(surplus).into());
        }
        if self.stop.is_aborted() {
            return Err("stopped".into());
        }
        let Some(speaker) = self.speaker() else {
            return Ok(());
        };
        if session.had_to_die {
            speaker.line("the command did not end when it got no more records: it was killed");
        } else if !status.success() {
            speaker.line(&format!(
                "after its last answer the command {}",
                Why::Ended(status)
            ));
        }
        Ok(())
    }
}
