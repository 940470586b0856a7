//! `inorder check`: counts and validates.

mod report;
mod suggest;
mod text;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inorder::{
    BoxError, Buffer, Chunk, ChunkError, Commit, Committed, Failure, Process, Record, RunState,
    Sink,
};

use super::args::FormatArg;
use super::cat::{CR_ONLY, starts_with_cr_lines};
use super::names::InputName;
use super::plan::CheckPlan;
use super::run;
use super::status::Status;
use super::voice::Voice;
use super::{json, streams};
use report::{Fault, Fields, Report, Wrong};
use text::{Scanned, Text};

/// Runs `check`.
pub fn check(plan: &CheckPlan, voice: &mut Voice) -> anyhow::Result<Status> {
    let process = Check::new(plan);
    let faults = Arc::new(Mutex::new(Vec::new()));
    let most = plan.faults;
    let collected = Arc::clone(&faults);
    let collect = move |failure: &Failure<'_>| {
        let mut faults = lock(&collected);
        if faults.len() < most {
            faults.push(Fault::of(failure));
        }
    };
    let result = run::run(
        &plan.plan,
        voice,
        Sink::discard(),
        &process,
        Box::new(collect),
    );
    let faults = std::mem::take(&mut *lock(&faults));
    let report = Report::of(
        plan,
        process.counted(),
        &process.text,
        faults,
        result.as_ref(),
    );
    let text = if plan.json {
        report.json()?
    } else {
        report.text()
    };
    // A run that failed still tells what it found; its error is what matters.
    let printed = streams::print(text.as_bytes());
    let summary = result?;
    printed?;
    if summary.lines == 0 && process.has_cr.load(Relaxed) && !plan.plan.quiet {
        voice.line(CR_ONLY);
    }
    Ok(Status::of_done(&summary))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The width of rows is not known yet.
const UNKNOWN: usize = usize::MAX;

/// The work of `check`: writes nothing, counts fields.
struct Check {
    kind: Kind,
    first_input: PathBuf,
    fields: AtomicU64,
    text: Text,
    /// The header, or else the first record.
    first_row: Mutex<Vec<u8>>,
    /// How many fields a row must have.
    width: AtomicUsize,
    has_cr: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rows,
    Json,
    Lines,
    Other,
}

impl Check {
    fn new(plan: &CheckPlan) -> Check {
        Check {
            kind: match plan.plan.format_name {
                FormatArg::Csv | FormatArg::Tsv => Kind::Rows,
                FormatArg::Ndjson => Kind::Json,
                FormatArg::Lines => Kind::Lines,
                FormatArg::Nul => Kind::Other,
            },
            first_input: match &plan.plan.inputs[0] {
                InputName::Stdin => PathBuf::from("<stdin>"),
                InputName::Path(path) => path.clone(),
            },
            fields: AtomicU64::new(0),
            text: Text::new(plan.plan.format_name == FormatArg::Nul),
            first_row: Mutex::new(Vec::new()),
            width: AtomicUsize::new(UNKNOWN),
            has_cr: AtomicBool::new(false),
        }
    }

    /// The fields counted, and how many a row must have; nothing for formats without fields.
    fn counted(&self) -> Fields {
        let rows = self.kind == Kind::Rows;
        let width = self.width.load(Relaxed);
        Fields {
            all: rows.then(|| self.fields.load(Relaxed)),
            in_a_row: (rows && width != UNKNOWN).then_some(width),
            first: lock(&self.first_row).clone(),
        }
    }

    /// The number of fields that the rows of this chunk must have, `None` if it can't be known yet.
    fn width_for(&self, chunk: &Chunk<'_>) -> Option<usize> {
        if let Some(header) = chunk.header() {
            let width = header.fields().len();
            self.width.store(width, Relaxed);
            return Some(width);
        }
        let known = self.width.load(Relaxed);
        if known != UNKNOWN {
            return Some(known);
        }
        let Some(first) = chunk.records().next() else {
            return Some(0);
        };
        // What `commit` has sent back is the head of the order: no input before it had a record.
        let is_first = chunk.first_number() == 1 && chunk.input() == self.first_input;
        (is_first || chunk.attempt() > 0).then(|| {
            let width = first.field_count();
            *lock(&self.first_row) = first.bytes().to_vec();
            self.width.store(width, Relaxed);
            width
        })
    }

    fn rows(
        &self,
        chunk: &Chunk<'_>,
        scanned: &mut Scanned,
        out: &mut Buffer,
    ) -> Result<(), ChunkError> {
        let Some(expected) = self.width_for(chunk) else {
            // `commit` sends it back when its turn has come: the run's first record is known by then.
            out.note(b"width");
            return Ok(());
        };
        let header = chunk.header().is_some();
        let mut seen = self.text.look_at(chunk, scanned);
        let mut fields = 0;
        let done = chunk.each(out, |record, _| {
            let found = record.field_count();
            fields += found as u64;
            seen.see(record);
            if found == expected {
                Ok(())
            } else {
                Err(Wrong::Fields {
                    found,
                    expected,
                    header,
                }
                .into())
            }
        });
        self.fields.fetch_add(fields, Relaxed);
        self.text.add(chunk, &seen);
        done
    }
}

impl Process for Check {
    type State = Scanned;

    fn start(&self) -> Result<Scanned, BoxError> {
        Ok(Scanned::default())
    }

    fn header(&self, header: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
        self.width.store(header.field_count(), Relaxed);
        *lock(&self.first_row) = header.bytes().to_vec();
        Ok(())
    }

    fn record(&self, _: &mut Scanned, record: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
        json::check(record.bytes()).map_err(|what| Wrong::Json(what).into())
    }

    fn chunk(
        &self,
        scanned: &mut Scanned,
        chunk: &Chunk<'_>,
        out: &mut Buffer,
    ) -> Result<(), ChunkError> {
        if self.kind == Kind::Rows {
            return self.rows(chunk, scanned, out);
        }
        let mut seen = self.text.look_at(chunk, scanned);
        match self.kind {
            Kind::Rows => Ok(()),
            Kind::Json => {
                let done = chunk.each(out, |record, out| {
                    seen.see(record);
                    self.record(scanned, record, out)
                });
                self.text.add(chunk, &seen);
                done
            }
            // Records of any bytes are right, and the pipeline has counted them.
            Kind::Lines => {
                self.text.lines(chunk.bytes());
                if chunk.first_number() == 1 && starts_with_cr_lines(chunk) {
                    self.has_cr.store(true, Relaxed);
                }
                Ok(())
            }
            Kind::Other => {
                chunk.records().for_each(|record| seen.see(&record));
                self.text.add(chunk, &seen);
                Ok(())
            }
        }
    }

    fn commit(&self, _: &mut RunState, chunk: &Committed<'_>) -> Commit {
        if chunk.note.is_empty() {
            Commit::Write
        } else {
            Commit::RunAgain
        }
    }
}
