//! Rejects in memory, and how a run came out.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use inorder::{
    Builder, Error, ErrorKind, Failure, Observer, OnError, Position, Process, Rejects, Sink,
    Source, Summary,
};

use crate::generate::Text;

/// A writer whose bytes can be looked at.
#[derive(Clone, Default)]
pub struct Page(Arc<Mutex<Vec<u8>>>);

impl Page {
    pub fn text(&self) -> Text {
        Text(self.0.lock().unwrap().clone())
    }
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is set aside, and what the observer is told.
#[derive(Clone, Default)]
pub struct Shelf {
    pub records: Page,
    pub errors: Page,
    told: Arc<Mutex<Vec<String>>>,
}

impl Shelf {
    pub fn on_error(&self) -> OnError {
        OnError::Reject(Rejects::writers(self.records.clone(), self.errors.clone()))
    }

    fn tell(&self, what: &str, failure: &Failure<'_>) {
        let Failure {
            position,
            records,
            kind,
            error,
            attempts,
            ..
        } = failure;
        let line = format!("{what} {position:?} {records} {kind:?} {error} {attempts}");
        self.told.lock().unwrap().push(line);
    }
}

impl Observer for Shelf {
    fn failed(&self, failure: &Failure<'_>) {
        self.tell("failed", failure);
    }

    fn retried(&self, failure: &Failure<'_>) {
        self.tell("retried", failure);
    }
}

/// How a run came out.
#[derive(Debug, PartialEq)]
pub struct Came {
    pub output: Text,
    pub rejects: Text,
    pub errors: Text,
    pub told: Vec<String>,
    pub end: Result<(), (String, ErrorKind, Option<Position>)>,
    /// Records read, processed, skipped, rejected.
    pub counts: [u64; 4],
    /// What is known of a run that went to its end: bytes written, retries, flaky chunks.
    pub more: Option<[u64; 3]>,
}

impl Came {
    /// Runs a pipeline into memory.
    pub fn of<P: Process>(
        builder: Builder,
        shelf: &Shelf,
        source: Source<'_>,
        process: &P,
    ) -> Came {
        let pipeline = builder.observe(Arc::new(shelf.clone())).build().unwrap();
        let mut output = Vec::new();
        let result = pipeline.run(source, Sink::writer(&mut output), process);
        let summary = summary_of(&result);
        let counts = [
            summary.records,
            summary.processed,
            summary.skipped,
            summary.rejected,
        ];
        assert_eq!(counts[0], counts[1..].iter().sum::<u64>(), "all are there");
        let more = |summary: &Summary| [summary.bytes_out, summary.retries, summary.flaky_chunks];
        Came {
            output: Text(output),
            rejects: shelf.records.text(),
            errors: shelf.errors.text(),
            told: shelf.told.lock().unwrap().clone(),
            counts,
            more: result.as_ref().ok().map(more),
            end: result
                .map(drop)
                .map_err(|error| (error.to_string(), error.kind(), error.position().cloned())),
        }
    }
}

fn summary_of(result: &Result<Summary, Error>) -> &Summary {
    match result {
        Ok(summary) => summary,
        Err(error) => error.summary().expect("there is a summary"),
    }
}
