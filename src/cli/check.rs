//! `inorder check`: counts and validates.

use std::fmt;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use inorder::{
    BoxError, Buffer, Chunk, ChunkError, Commit, Committed, Failure, FailureKind, Process, Record,
    RunState, Sink, Summary,
};
use serde::Serialize;

use super::args::FormatArg;
use super::cat::{CR_ONLY, starts_with_cr_lines};
use super::plan::{CheckPlan, InputName};
use super::run;
use super::stats::Place;
use super::status::{Status, message};
use super::units::counted;
use super::voice::Voice;
use super::{escape, json, streams};

/// Runs `check`.
pub fn check(plan: &CheckPlan, voice: &mut Voice) -> anyhow::Result<Status> {
    let process = Check::new(plan);
    let faults = Arc::new(Mutex::new(Vec::new()));
    let most = plan.faults;
    let collected = Arc::clone(&faults);
    let collect = move |failure: &Failure<'_>| {
        let mut faults = collected.lock().unwrap_or_else(PoisonError::into_inner);
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
    let faults = std::mem::take(&mut *faults.lock().unwrap_or_else(PoisonError::into_inner));
    let report = Report::of(plan, &process, faults, result.as_ref());
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
    Ok(Status::with_faults(summary.skipped))
}

/// What is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wrong {
    Fields {
        found: usize,
        expected: usize,
        header: bool,
    },
    Json(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Fields {
                found,
                expected,
                header,
            } => {
                let s = if *found == 1 { "" } else { "s" };
                let whose = if *header {
                    "the header"
                } else {
                    "the first record"
                };
                write!(f, "{found} field{s}, {whose} has {expected}")
            }
            Wrong::Json(what) => write!(f, "not JSON: {what}"),
        }
    }
}

impl std::error::Error for Wrong {}

/// The width of rows is not known yet.
const UNKNOWN: usize = usize::MAX;

/// The work of `check`: writes nothing, counts fields.
struct Check {
    kind: Kind,
    first_input: PathBuf,
    fields: AtomicU64,
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
            width: AtomicUsize::new(UNKNOWN),
            has_cr: AtomicBool::new(false),
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
            self.width.store(width, Relaxed);
            width
        })
    }

    fn rows(&self, chunk: &Chunk<'_>, out: &mut Buffer) -> Result<(), ChunkError> {
        let Some(expected) = self.width_for(chunk) else {
            // `commit` sends it back when its turn has come: the run's first record is known by then.
            out.note(b"width");
            return Ok(());
        };
        let header = chunk.header().is_some();
        let mut fields = 0;
        let done = chunk.each(out, |record, _| {
            let found = record.field_count();
            fields += found as u64;
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
        done
    }
}

impl Process for Check {
    type State = ();

    fn start(&self) -> Result<(), BoxError> {
        Ok(())
    }

    fn header(&self, header: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
        self.width.store(header.field_count(), Relaxed);
        Ok(())
    }

    fn record(&self, (): &mut (), record: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
        json::check(record.bytes()).map_err(|what| Wrong::Json(what).into())
    }

    fn chunk(&self, state: &mut (), chunk: &Chunk<'_>, out: &mut Buffer) -> Result<(), ChunkError> {
        match self.kind {
            Kind::Rows => self.rows(chunk, out),
            Kind::Json => chunk.each(out, |record, out| self.record(state, record, out)),
            // Records of any bytes are right, and the pipeline has counted them.
            Kind::Lines => {
                if chunk.first_number() == 1 && starts_with_cr_lines(chunk) {
                    self.has_cr.store(true, Relaxed);
                }
                Ok(())
            }
            Kind::Other => Ok(()),
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

/// A fault with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Fault {
    #[serde(flatten)]
    place: Place,
    kind: &'static str,
    error: String,
    #[serde(skip)]
    text: String,
}

impl Fault {
    fn of(failure: &Failure<'_>) -> Fault {
        let wrong = failure.error.downcast_ref::<Wrong>();
        let error = escape::line(&failure.error.to_string());
        Fault {
            place: Place::of(failure.position),
            kind: match (wrong, failure.kind) {
                (Some(Wrong::Fields { .. }), _) => "fields",
                (Some(Wrong::Json(_)), _) => "json",
                (None, FailureKind::Parse) => "parse",
                (None, FailureKind::Panic) => "panic",
                (None, _) => "other",
            },
            text: format!(
                "{}: {}: {error}",
                escape::name(&failure.position.input),
                failure.position
            ),
            error,
        }
    }
}

/// What `check` prints. Its names are part of the program's interface.
#[derive(Debug, Serialize)]
struct Report {
    schema: u32,
    inputs: Vec<String>,
    format: &'static str,
    /// The run went to its end.
    complete: bool,
    records: u64,
    /// Fields of all records; CSV and TSV only.
    fields: Option<u64>,
    /// Fields that each record must have; CSV and TSV only.
    columns: Option<usize>,
    lines: u64,
    bytes: u64,
    faults: u64,
    first_faults: Vec<Fault>,
    error: Option<String>,
}

impl Report {
    fn of(
        plan: &CheckPlan,
        process: &Check,
        first_faults: Vec<Fault>,
        result: Result<&Summary, &anyhow::Error>,
    ) -> Report {
        let nothing = Summary::default();
        let known = result
            .as_ref()
            .err()
            .and_then(|error| error.downcast_ref::<inorder::Error>());
        let summary = match &result {
            Ok(summary) => summary,
            Err(_) => known.and_then(inorder::Error::summary).unwrap_or(&nothing),
        };
        let rows = process.kind == Kind::Rows;
        let width = process.width.load(Relaxed);
        Report {
            schema: 1,
            inputs: plan.plan.inputs.iter().map(InputName::shown).collect(),
            format: match plan.plan.format_name {
                FormatArg::Lines => "lines",
                FormatArg::Csv => "csv",
                FormatArg::Tsv => "tsv",
                FormatArg::Ndjson => "ndjson",
                FormatArg::Nul => "nul",
            },
            complete: result.is_ok(),
            records: summary.records,
            fields: rows.then(|| process.fields.load(Relaxed)),
            columns: (rows && width != UNKNOWN).then_some(width),
            lines: summary.lines,
            bytes: summary.bytes_in,
            faults: summary.skipped,
            first_faults,
            error: result.err().map(|error| escape::line(&message(error))),
        }
    }

    fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for fault in &self.first_faults {
            text.push_str(&fault.text);
            text.push('\n');
        }
        if !self.complete {
            return text;
        }
        match self.faults.saturating_sub(self.first_faults.len() as u64) {
            0 => {}
            more => {
                let _ = writeln!(text, "and {}", counted(more, "more fault"));
            }
        }
        match self.inputs.as_slice() {
            [input] => text.push_str(input),
            inputs => {
                let _ = write!(text, "{} inputs", inputs.len());
            }
        }
        let _ = write!(
            text,
            ": {}, {}",
            self.format,
            counted(self.records, "record")
        );
        if let Some(columns) = self.columns {
            let _ = write!(text, " of {}", counted(columns as u64, "field"));
        }
        let _ = write!(
            text,
            ", {}, {}: ",
            counted(self.lines, "line"),
            counted(self.bytes, "byte")
        );
        match self.faults {
            0 => text.push_str("no faults\n"),
            faults => {
                let _ = writeln!(text, "{}", counted(faults, "fault"));
            }
        }
        text
    }
}
