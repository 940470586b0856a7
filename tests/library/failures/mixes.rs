//! Random mixes of panics, errors, luck at a later attempt, slow records, policies, limits and threads: what comes out is what the
//! sequential twin gives.

use std::io::Write;
use std::time::Duration;

use inorder::{
    BoxError, Buffer, Builder, Chunk, ChunkError, FailureKind, Fault, OnError, Process, Record,
    Retry, Source,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::shelf::{Came, Shelf};
use crate::generate::{How, Text, Way, What, how, input, what};
use crate::support::{PLANNED, ShortReads, WarmUp, check};
use crate::work::hash;

/// What happens to failing records, and how many there are in a thousand.
#[derive(Debug, Clone, Copy)]
struct Mix {
    policy: &'static str,
    max_errors: Option<u64>,
    retries: u32,
    delay: Duration,
    max_failing_runs: u64,
    failing: u64,
    panicking: u64,
    /// Of those that fail, those that do so only at first.
    lucky: u64,
    whole: bool,
}

fn mix() -> BoxedStrategy<Mix> {
    let rate = || select(vec![0u64, 5, 50, 300]);
    let policy = (
        select(vec!["stop", "skip", "reject", "reject"]),
        select(vec![None, None, Some(0), Some(1), Some(4)]),
        0..4u32,
        select(vec![0u64, 0, 20, 300]).prop_map(Duration::from_micros),
        select(vec![0u64, 2, 5, 64]),
    );
    (
        policy,
        rate(),
        rate(),
        select(vec![0u64, 500, 1000]),
        any::<bool>(),
    )
        .prop_map(|(policy, failing, panicking, lucky, whole)| Mix {
            policy: policy.0,
            max_errors: policy.1,
            retries: policy.2,
            delay: policy.3,
            max_failing_runs: policy.4,
            failing,
            panicking,
            lucky,
            whole,
        })
        .boxed()
}

impl Mix {
    fn set(&self, builder: Builder, shelf: &Shelf) -> Builder {
        let on_error = match self.policy {
            "stop" => OnError::Stop,
            "skip" => OnError::Skip,
            _ => shelf.on_error(),
        };
        let retry = Retry::new(self.retries)
            .delay(self.delay)
            .when(|error| !error.to_string().contains("hopeless"));
        builder
            .on_error(on_error)
            .max_errors(self.max_errors.unwrap_or(u64::MAX))
            .retry(retry)
            .max_failing_runs(self.max_failing_runs)
    }

    /// Whether this record fails at this attempt.
    fn fate(&self, record: &Record<'_>, attempt: u32) -> Result<(), BoxError> {
        let hash = hash(record);
        if (hash >> 40).is_multiple_of(60) {
            std::thread::sleep(Duration::from_micros(150));
        }
        let bad = hash % 1000;
        if bad >= self.failing + self.panicking {
            return Ok(());
        }
        if (hash >> 20) % 1000 < self.lucky && u64::from(attempt) > (hash >> 32) % 3 {
            return Ok(());
        }
        if bad >= self.failing {
            panic!("{PLANNED} at byte {}", record.offset());
        }
        Err(match hash % 3 {
            0 => "hopeless".into(),
            1 => Fault::new(FailureKind::Command, "exited 3").into(),
            _ => "no luck".into(),
        })
    }
}

struct Mixed {
    mix: Mix,
    warm_up: Option<WarmUp>,
}

impl Process for Mixed {
    type State = ();

    fn start(&self) -> Result<(), BoxError> {
        Ok(())
    }

    fn record(&self, (): &mut (), record: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
        if let Some(warm_up) = &self.warm_up {
            warm_up.once();
        }
        if hash(record).is_multiple_of(2) {
            out.keep(record);
        } else {
            out.line(b"changed");
        }
        self.mix.fate(record, record.attempt())
    }

    fn chunk(&self, state: &mut (), chunk: &Chunk<'_>, out: &mut Buffer) -> Result<(), ChunkError> {
        if !self.mix.whole {
            return chunk.each(out, |record, out| self.record(state, record, out));
        }
        if let Some(warm_up) = &self.warm_up {
            warm_up.once();
        }
        out.write_all(chunk.bytes())
            .map_err(|error| ChunkError::Whole(error.into()))?;
        for record in chunk.records() {
            self.mix
                .fate(&record, chunk.attempt())
                .map_err(ChunkError::Whole)?;
        }
        Ok(())
    }
}

fn source<'i>(Text(input): &'i Text, way: &Way) -> Source<'i> {
    match way {
        Way::Reader(lengths) => Source::reader(ShortReads {
            bytes: input,
            lengths: lengths.clone(),
            reads: 0,
        }),
        _ => Source::bytes(input),
    }
}

#[test]
fn equal_the_sequential_twin() {
    let case = (input(), what(), how(), mix());
    check(300, &case, |(input, what, how, mix)| {
        equals_twin(&input, &what, &how, mix);
    });
}

fn equals_twin(input: &Text, what: &What, how: &How, mix: Mix) {
    let mut how = how.clone();
    if mix.whole {
        // Which attempts there are depends on how the input is cut.
        how.chunk_size = Some(how.chunk_size.unwrap_or(64));
    }
    let run = |builder: Builder, way: &Way, warm_up| {
        let shelf = Shelf::default();
        let process = Mixed { mix, warm_up };
        let builder = mix.set(builder, &shelf);
        Came::of(builder, &shelf, source(input, way), &process)
    };
    let twin = what.builder().sequential(true);
    let twin = match mix.whole {
        true => how.set(twin),
        false => twin,
    };
    let twin = run(twin, &Way::Bytes, None);
    let came = run(how.set(what.builder()), &how.way, Some(WarmUp::default()));
    // What the way of reading is called.
    let named = |text: &Text| {
        let text = String::from_utf8_lossy(&text.0).replace("<reader>", "<bytes>");
        Text(text.into_bytes())
    };
    let came = Came {
        errors: named(&came.errors),
        told: came
            .told
            .iter()
            .map(|line| line.replace("<reader>", "<bytes>"))
            .collect(),
        end: came.end.map_err(|(text, kind, position)| {
            let position = position.map(|mut position| {
                position.input = "<bytes>".into();
                position
            });
            (text.replace("<reader>", "<bytes>"), kind, position)
        }),
        ..came
    };
    assert_eq!(came, twin);
    let rows = came.errors.0.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(rows as u64, came.counts[3], "a row for each");
}
