//! `inorder cat`: the inputs joined, unchanged, with time spent on every record if asked for.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use inorder::{BoxError, Buffer, Chunk, ChunkError, Process, Record};

use super::args::FormatArg;
use super::plan::CatPlan;
use super::run::{self, shows_failures};
use super::status::Status;
use super::voice::Voice;
use super::work::Work;

/// Runs `cat`.
pub fn cat(plan: &CatPlan, voice: &mut Voice) -> anyhow::Result<Status> {
    let sink = plan.plan.sink(&plan.output);
    let process = Cat {
        work: &plan.work,
        lines: plan.plan.format_name == FormatArg::Lines,
        // A record that can't be encoded is to fail alone.
        as_it_stands: plan.work.is_none() && !plan.plan.encodes(),
        has_cr: AtomicBool::new(false),
    };
    let summary = run::run(
        &plan.plan,
        voice,
        sink,
        &process,
        shows_failures(&plan.plan, voice),
    )?;
    if summary.lines == 0 && process.has_cr.load(Relaxed) && !plan.plan.quiet {
        voice.line(CR_ONLY);
    }
    Ok(Status::of_done(&summary))
}

/// Said when an input of lines has no LF but carriage returns.
pub const CR_ONLY: &str = "there is no LF in the input but there are carriage returns: only LF ends a line \
     (--from csv takes both; tr '\\r' '\\n' mends the file)";

struct Cat<'a> {
    work: &'a Work,
    lines: bool,
    as_it_stands: bool,
    has_cr: AtomicBool,
}

impl Process for Cat<'_> {
    type State = ();

    fn start(&self) -> Result<(), BoxError> {
        Ok(())
    }

    fn record(&self, (): &mut (), record: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
        self.work.spend(record.number(), record.attempt())?;
        out.keep(record);
        Ok(())
    }

    fn chunk(&self, state: &mut (), chunk: &Chunk<'_>, out: &mut Buffer) -> Result<(), ChunkError> {
        if self.lines && chunk.first_number() == 1 && starts_with_cr_lines(chunk) {
            self.has_cr.store(true, Relaxed);
        }
        if self.as_it_stands {
            out.keep_chunk(chunk);
            return Ok(());
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
