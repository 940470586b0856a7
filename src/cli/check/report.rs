//! What `check` has found, as text and as JSON.

use std::fmt;
use std::fmt::Write;

use inorder::{Failure, FailureKind, Summary};
use serde::Serialize;

use crate::cli::args::FormatArg;
use crate::cli::escape;
use crate::cli::names::InputName;
use crate::cli::plan::CheckPlan;
use crate::cli::stats::Place;
use crate::cli::status::message;
use crate::cli::units::counted;

use super::suggest::suggestions;
use super::text::{Text, TextReport};

/// What is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
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

/// Fields, where the format has some.
#[derive(Debug, Clone)]
pub struct Fields {
    pub all: Option<u64>,
    pub in_a_row: Option<usize>,
    /// The header, or else the first record.
    pub first: Vec<u8>,
}

/// A fault with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    #[serde(flatten)]
    place: Place,
    kind: &'static str,
    error: String,
    #[serde(skip)]
    text: String,
}

impl Fault {
    pub fn of(failure: &Failure<'_>) -> Fault {
        let wrong = failure.error.downcast_ref::<Wrong>();
        let error = escape::line(&failure.error.to_string());
        Fault {
            place: Place::of(failure.position),
            kind: match (wrong, failure.kind) {
                (Some(Wrong::Fields { .. }), _) => "fields",
                (Some(Wrong::Json(_)), _) => "json",
                (None, FailureKind::Parse) => "parse",
                (None, FailureKind::Panic) => "panic",
                (None, FailureKind::Encoding) => "encoding",
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
pub struct Report {
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
    text: TextReport,
    /// Options that may fit the input better.
    suggestions: Vec<String>,
    faults: u64,
    first_faults: Vec<Fault>,
    error: Option<String>,
}

impl Report {
    pub fn of(
        plan: &CheckPlan,
        fields: Fields,
        text: &Text,
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
        let text = text.report(summary.lines, plan.plan.encoding);
        Report {
            schema: 1,
            suggestions: suggestions(plan.plan.format_name, &fields, &text),
            text,
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
            fields: fields.all,
            columns: fields.in_a_row,
            lines: summary.lines,
            bytes: summary.bytes_in,
            faults: summary.skipped,
            first_faults,
            error: result.err().map(|error| escape::line(&message(error))),
        }
    }

    pub fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        for fault in &self.first_faults {
            text.push_str(&fault.text);
            text.push('\n');
        }
        if !self.complete {
            self.try_out(&mut text);
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
        if self.records > 0 {
            let _ = writeln!(text, "  {}", self.text);
        }
        self.try_out(&mut text);
        text
    }

    fn try_out(&self, text: &mut String) {
        for suggestion in &self.suggestions {
            let _ = writeln!(text, "  try {suggestion}");
        }
    }
}
