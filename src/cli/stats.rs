//! `--stats`: the figures of a run as JSON.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use inorder::{Position, Summary};
use serde::Serialize;

use super::names::OutputName;
use super::plan::Plan;
use super::status::{Status, interruption, message};
use super::{escape, streams};

/// Raised when a field is taken away or changes its meaning; new ones may come at any time.
const SCHEMA: u32 = 1;

/// The figures. Times are seconds, sizes bytes.
#[derive(Debug, Serialize)]
pub struct Stats {
    schema: u32,
    program: &'static str,
    version: &'static str,
    command: &'static str,
    outcome: &'static str,
    status: u8,
    error: Option<String>,
    position: Option<Place>,
    records: u64,
    processed: u64,
    skipped: u64,
    rejected: u64,
    lines: u64,
    bytes_in: u64,
    bytes_out: u64,
    chunks: u64,
    retries: u64,
    flaky_chunks: u64,
    seconds: f64,
    /// Processor time of the two threads that every run has once.
    reader_seconds: f64,
    writer_seconds: f64,
    threads: usize,
    peak_in_flight: u64,
    workers: Vec<Worker>,
    chunk_seconds: ChunkSeconds,
    resumed_from: Option<u64>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Worker {
    /// The share of the run's time that it worked.
    busy: f64,
    seconds: f64,
    chunks: u64,
}

#[derive(Debug, Serialize)]
struct ChunkSeconds {
    min: f64,
    mean: f64,
    max: f64,
}

/// A record's place in its input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    input: String,
    record: u64,
    line: u64,
    offset: u64,
}

impl Place {
    pub fn of(position: &Position) -> Place {
        Place {
            input: escape::name(&position.input),
            record: position.record,
            line: position.line,
            offset: position.offset,
        }
    }
}

impl Stats {
    /// The figures of a run that ended like this.
    pub fn of(plan: &Plan, result: Result<&Summary, &anyhow::Error>) -> Stats {
        let nothing = Summary::default();
        let (summary, status, error) = match result {
            Ok(summary) => (summary, Status::of_done(summary), None),
            Err(error) => {
                let known = error.downcast_ref::<inorder::Error>();
                let summary = known.and_then(inorder::Error::summary);
                (summary.unwrap_or(&nothing), Status::of(error), Some(error))
            }
        };
        let seconds = summary.elapsed.as_secs_f64();
        Stats {
            schema: SCHEMA,
            program: "inorder",
            version: env!("CARGO_PKG_VERSION"),
            command: plan.command,
            outcome: match (status, error) {
                (Status::Done, None) => "done",
                (Status::Done, Some(_)) => "reader_gone",
                (Status::Faults, _) => "done_with_faults",
                (Status::Refused, _) => "refused",
                (Status::Failed, Some(error)) if interruption(error).is_some() => "interrupted",
                (_, _) => "failed",
            },
            status: error
                .and_then(interruption)
                .unwrap_or_else(|| status.number()),
            error: error.map(|error| escape::line(&message(error))),
            position: error
                .and_then(|error| error.downcast_ref::<inorder::Error>()?.position())
                .map(Place::of),
            records: summary.records,
            processed: summary.processed,
            skipped: summary.skipped,
            rejected: summary.rejected,
            lines: summary.lines,
            bytes_in: summary.bytes_in,
            bytes_out: summary.bytes_out,
            chunks: summary.chunks,
            retries: summary.retries,
            flaky_chunks: summary.flaky_chunks,
            seconds,
            reader_seconds: summary.reader_time.as_secs_f64(),
            writer_seconds: summary.writer_time.as_secs_f64(),
            threads: summary.threads,
            peak_in_flight: summary.peak_in_flight,
            workers: summary
                .workers
                .iter()
                .map(|worker| Worker {
                    busy: share(worker.busy.as_secs_f64(), seconds),
                    seconds: worker.busy.as_secs_f64(),
                    chunks: worker.chunks,
                })
                .collect(),
            chunk_seconds: ChunkSeconds {
                min: summary.chunk_times.min.as_secs_f64(),
                mean: summary.chunk_times.mean.as_secs_f64(),
                max: summary.chunk_times.max.as_secs_f64(),
            },
            resumed_from: summary.resumed_from,
            notes: summary.notes.clone(),
        }
    }
}

/// In thousandths: more digits would only pretend.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        (part / whole * 1000.0).round().min(1000.0) / 1000.0
    } else {
        0.0
    }
}

/// Where figures go. Opened before the run, so that a path that can't be written is found before any work is done.
#[derive(Debug)]
pub struct StatsFile {
    name: OutputName,
    file: Option<File>,
}

impl StatsFile {
    pub fn open(name: &OutputName) -> anyhow::Result<StatsFile> {
        let file = match name {
            OutputName::Stdout => None,
            OutputName::Path(path) => {
                // What it holds stays until there is something new.
                let opened = OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(path);
                Some(opened.with_context(|| cannot_write(path))?)
            }
        };
        Ok(StatsFile {
            name: name.clone(),
            file,
        })
    }

    pub fn write(self, stats: &Stats) -> anyhow::Result<()> {
        let mut json = serde_json::to_vec_pretty(stats)?;
        json.push(b'\n');
        match (self.name, self.file) {
            (OutputName::Path(path), Some(file)) => {
                replace(file, &json).with_context(|| cannot_write(&path))
            }
            _ => streams::print(&json),
        }
    }
}

fn cannot_write(path: &Path) -> String {
    format!("{}: cannot be written", escape::name(path))
}

fn replace(mut file: File, bytes: &[u8]) -> io::Result<()> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::plan::tests::cat_plan;

    #[test]
    fn of_a_failed_run() {
        let plan = cat_plan("inorder cat a.csv -o out");
        let error = anyhow::anyhow!("no\nluck");
        let stats = serde_json::to_value(Stats::of(&plan, Err(&error))).unwrap();
        assert_eq!(stats["schema"], 1);
        assert_eq!(stats["command"], "cat");
        assert_eq!(stats["outcome"], "failed");
        assert_eq!(stats["status"], 1);
        assert_eq!(stats["error"], "no\\nluck");
        assert_eq!(stats["records"], 0);
    }

    #[test]
    fn of_a_finished_run() {
        let plan = cat_plan("inorder cat a.csv -o out");
        let stats = Stats::of(&plan, Ok(&Summary::default()));
        assert_eq!(
            (stats.outcome, stats.status, stats.error),
            ("done", 0, None)
        );
    }

    #[test]
    fn shares_are_shares() {
        assert_eq!(share(0.5, 1.0), 0.5);
        assert_eq!(share(1.0001, 1.0), 1.0);
        assert_eq!(share(0.0, 0.0), 0.0);
    }
}
