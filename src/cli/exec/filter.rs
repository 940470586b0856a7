//! The command as the work of a run.

use std::convert::Infallible;
use std::io::{self, Write};
use std::process::ExitStatus;
use std::sync::Once;
use std::sync::atomic::AtomicBool;

use inorder::{
    BoxError, Buffer, Chunk, ChunkError, Commit, Committed, Format, Process, Record, RunState,
    StopHandle,
};

use super::ExecPlan;
use super::child::Child;
use super::command::Environment;
use super::feed::{CR_ALONE, ends_with_cr_alone};
use super::gate::{Entry, Gate, NoStart, Pass};
use super::header::Header;
use super::result::Ends;
use super::sessions::Sessions;
use super::worker::{Numbers, Worker};
use crate::cli::args::HeaderArg;
use crate::cli::status::Status;
use crate::cli::voice::Speaker;

/// All pipes together should hold no more than this.
const PIPES: usize = 32 << 20;

/// The command as a process of the library.
pub struct Filter<'p> {
    pub plan: &'p ExecPlan,
    /// `None`: nobody is to hear of it.
    speaker: Option<Speaker>,
    pub stop: StopHandle,
    pub header: Header,
    pub ends: Ends,
    pub gate: Gate,
    numbers: Numbers,
    persistent: bool,
    pub sessions: Sessions,
    /// Of processes that live on.
    pub session_numbers: Numbers,
    /// One of them was seen to answer once and then to wait.
    pub answers_once: AtomicBool,
    pipe: usize,
    pub notes: Notes,
}

/// What is said once.
#[derive(Debug)]
pub struct Notes {
    pub outlived: Once,
    fewer: Once,
    pub slow: Once,
}

impl<'p> Filter<'p> {
    /// `stop`: what ends the run.
    pub fn new(plan: &'p ExecPlan, speaker: Option<Speaker>, stop: StopHandle) -> Filter<'p> {
        let threads = match plan.plan.run.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        // Makes its descriptors while there are some; who needs them says if there are none.
        let _ = stop.interrupts();
        Filter {
            plan,
            persistent: plan.persistent,
            sessions: Sessions::default(),
            session_numbers: Numbers::default(),
            answers_once: AtomicBool::new(false),
            speaker,
            stop,
            header: Header::new(plan.header),
            ends: Ends::of(plan.to),
            gate: Gate::default(),
            numbers: Numbers::default(),
            pipe: (PIPES / threads / 2).clamp(64 << 10, 1 << 20),
            notes: Notes {
                outlived: Once::new(),
                fewer: Once::new(),
                slow: Once::new(),
            },
        }
    }

    /// A process for each chunk, whatever the plan says.
    pub fn by_chunks(mut self) -> Self {
        self.persistent = false;
        self
    }

    pub fn speaker(&self) -> Option<Speaker> {
        self.speaker.clone()
    }

    /// The format of answers.
    pub fn answers(&self) -> &Format {
        &self.plan.answers
    }

    /// The end of an input's record.
    pub fn input_end(&self) -> &'static [u8] {
        Ends::of(self.plan.plan.format_name).end()
    }

    pub fn is_ok(&self, status: ExitStatus) -> bool {
        let listed = |code| self.plan.ok_status.iter().any(|ok| i32::from(*ok) == code);
        status.code().is_some_and(listed)
    }

    /// Starts a process; where the system has no room for it, when another has ended.
    pub fn start(
        &self,
        environment: &Environment<'_>,
        is_stopping: impl Fn() -> bool,
    ) -> Result<(Pass, Child), ChunkError> {
        let environment = || (*environment, ());
        match self.start_or(true, environment, || None::<Infallible>, is_stopping)? {
            Entry::Started(pass, (child, ())) => Ok((pass, child)),
            Entry::Instead(none) => match none {},
        }
    }

    /// The same, unless there is something `instead` of a process first. What `environment` is made with is given back with it.
    pub fn start_or<'e, N, I>(
        &self,
        new: bool,
        environment: impl Fn() -> (Environment<'e>, N),
        instead: impl Fn() -> Option<I>,
        is_stopping: impl Fn() -> bool,
    ) -> Result<Entry<(Child, N), I>, ChunkError> {
        let start = || {
            let (environment, made_with) = environment();
            let process = self.plan.command.start(&environment)?;
            Ok((Child::new(process, self.pipe)?, made_with))
        };
        match self.gate.start(new, start, instead, is_stopping) {
            Ok(started) => {
                if let Some(most) = self.gate.most() {
                    self.note(&self.notes.fewer, || {
                        format!("the system has no room for more: {most} commands run at a time")
                    });
                }
                Ok(started)
            }
            Err(NoStart::Stopped) => Err(ChunkError::Stopped),
            Err(NoStart::Failed(error)) => {
                let status = match error.kind() {
                    io::ErrorKind::NotFound
                    | io::ErrorKind::PermissionDenied
                    | io::ErrorKind::ExecutableFileBusy => Status::NotExecutable,
                    _ if rustix::io::Errno::from_io_error(&error)
                        == Some(rustix::io::Errno::NOEXEC) =>
                    {
                        Status::NotExecutable
                    }
                    _ => Status::Failed,
                };
                let error = self.plan.command.cannot_run(status, Some(&error));
                Err(ChunkError::Fatal(error.into()))
            }
        }
    }

    /// Says what is said once.
    pub fn note(&self, once: &Once, text: impl FnOnce() -> String) {
        once.call_once(|| {
            if let Some(speaker) = &self.speaker
                && !self.plan.plan.quiet
            {
                speaker.line(&text());
            }
        });
    }
}

impl Process for Filter<'_> {
    type State = Worker;

    fn start(&self) -> Result<Worker, BoxError> {
        Ok(Worker::new(self.numbers.take()))
    }

    fn header(&self, header: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
        let is_sent = matches!(self.header.who(), Some(HeaderArg::Both | HeaderArg::In));
        if self.persistent && is_sent && ends_with_cr_alone(header) {
            return Err(CR_ALONE.into());
        }
        match self.header.who() {
            Some(HeaderArg::Both) => {
                self.header.set_sent(header.raw());
                let printed = if self.persistent {
                    self.learn_by_session()?
                } else {
                    self.learn(header)?
                };
                out.write_all(&printed)?;
                self.header.set_printed(&printed);
            }
            Some(HeaderArg::In) => self.header.set_sent(header.raw()),
            Some(HeaderArg::Keep) => out.keep(header),
            Some(HeaderArg::None) | None => {}
        }
        Ok(())
    }

    fn finish(&self, _: &RunState, _: &mut Buffer) -> Result<(), BoxError> {
        self.dismiss_all()
    }

    fn record(&self, _: &mut Worker, _: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
        Err("a command works on chunks".into())
    }

    fn chunk(
        &self,
        worker: &mut Worker,
        chunk: &Chunk<'_>,
        out: &mut Buffer,
    ) -> Result<(), ChunkError> {
        if chunk.records().next().is_none() {
            // Blank lines alone are passed on as they are: no process is started for nothing.
            return chunk.each(out, |_, _| Ok(()));
        }
        if self.persistent {
            return self.talk(worker, chunk, out);
        }
        self.attempt(worker.number.number, chunk, out)
    }

    fn commit(&self, run: &mut RunState, chunk: &Committed<'_>) -> Commit {
        let printed = self.header.printed();
        let lacks_end = self.plan.plan.output_header
            && printed.last().is_some_and(|last| !self.ends.is_end(*last));
        self.ends.commit(run, chunk, lacks_end)
    }
}
