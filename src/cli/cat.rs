//! `inorder cat`: the inputs joined, unchanged, with time spent on every record if asked for.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use inorder::{BoxError, Buffer, Chunk, ChunkError, Failure, Process, Record};

use super::args::FormatArg;
use super::escape;
use super::plan::CatPlan;
use super::run::{self, OnFailure};
use super::status::Status;
use super::voice::Voice;
use super::work::Work;

/// Left-out records of which each gets a line; the summary counts the rest.
const SHOWN_FAILURES: u64 = 10;

/// Runs `cat`.
pub fn cat(plan: &CatPlan, voice: &mut Voice) -> anyhow::Result<Status> {
    let sink = plan.plan.sink(&plan.output);
    let process = Cat {
        work: &plan.work,
        lines: plan.plan.format_name == FormatArg::Lines,
        has_cr: AtomicBool::new(false),
    };
    let summary = run::run(&plan.plan, voice, sink, &process, shows_failures(voice))?;
    if summary.lines == 0 && process.has_cr.load(Relaxed) && !plan.plan.quiet {
        voice.line(CR_ONLY);
    }
    Ok(Status::with_faults(summary.skipped))
}

/// Said when an input of lines has no LF but carriage returns.
pub const CR_ONLY: &str = "there is no LF in the input but there are carriage returns: only LF ends a line \
     (--from csv takes both; tr '\\r' '\\n' mends the file)";

/// Says the first failures.
fn shows_failures(voice: &Voice) -> OnFailure {
    let speaker = voice.speaker();
    let seen = AtomicU64::new(0);
    Box::new(
        move |failure: &Failure<'_>| match seen.fetch_add(1, Relaxed) {
            n if n < SHOWN_FAILURES => speaker.line(&describe(failure)),
            SHOWN_FAILURES => {
                speaker.line("more records were skipped; only the first 10 are shown")
            }
            _ => {}
        },
    )
}

/// `PATH: skipped, record N (line L, byte B): cause`.
fn describe(failure: &Failure<'_>) -> String {
    format!(
        "{}: skipped, {}: {}",
        escape::name(&failure.position.input),
        failure.position,
        failure.error
    )
}

struct Cat<'a> {
    work: &'a Work,
    lines: bool,
    has_cr: AtomicBool,
}

impl Process for Cat<'_> {
    type State = ();

    fn start(&self) -> Result<(), BoxError> {
        Ok(())
    }

    fn record(&self, (): &mut (), record: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
        self.work.spend(record.number())?;
        out.keep(record);
        Ok(())
    }

    fn chunk(&self, state: &mut (), chunk: &Chunk<'_>, out: &mut Buffer) -> Result<(), ChunkError> {
        if self.lines && chunk.first_number() == 1 && starts_with_cr_lines(chunk) {
            self.has_cr.store(true, Relaxed);
        }
        chunk.each(out, |record, out| self.record(state, record, out))
    }
}

/// Whether the chunk's first record has a carriage return in it.
pub fn starts_with_cr_lines(chunk: &Chunk<'_>) -> bool {
    chunk
        .records()
        .next()
        .is_some_and(|record| record.bytes().contains(&b'\r'))
}
