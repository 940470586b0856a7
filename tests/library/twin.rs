//! Every run gives what the sequential one gives: output, error, counts, failures told.

use std::sync::Arc;

use inorder::{
    Buffer, Builder, Chunk, Error, ErrorKind, Format, Pipeline, Position, Process, Sink, Source,
    Summary,
};
use proptest::prelude::*;

use crate::generate::{Files, How, Place, Text, Way, What, how, inputs, what};
use crate::support::{ShortReads, WarmUp, check};
use crate::work::{Chunks, Each, Fate, Plan, Recorder, Writes, whole};

/// How a run came out.
#[derive(Debug, PartialEq)]
struct Came {
    /// `None`: there is no output.
    output: Option<Text>,
    end: Result<(), Failed>,
    counts: Vec<u64>,
    failures: Vec<String>,
}

#[derive(Debug, PartialEq)]
struct Failed {
    text: String,
    kind: ErrorKind,
    position: Option<Position>,
}

/// What does not depend on how a run was cut; after an error that is less.
fn counts(result: &Result<Summary, Error>) -> Vec<u64> {
    let of_all = |summary: &Summary| {
        vec![
            summary.records,
            summary.processed,
            summary.skipped,
            summary.rejected,
            summary.bytes_out,
        ]
    };
    match result {
        Ok(summary) => [
            of_all(summary),
            vec![summary.lines, summary.bytes_in, summary.retries],
        ]
        .concat(),
        Err(error) => of_all(error.summary().expect("there is a summary")),
    }
}

impl Files {
    fn source<'i>(&self, inputs: &'i [Text], way: &Way) -> Source<'i> {
        match (way, inputs) {
            (Way::Bytes, [Text(input)]) => Source::bytes(input),
            (Way::Reader(lengths), [Text(input)]) => Source::reader(ShortReads {
                bytes: input,
                lengths: lengths.clone(),
                reads: 0,
            }),
            _ => Source::files(&self.inputs),
        }
    }

    /// Runs a pipeline into memory or a file.
    fn run<P: Process>(&self, builder: Builder, inputs: &[Text], how: &How, process: &P) -> Came {
        let recorder = Recorder::new();
        let pipeline = builder.observe(Arc::clone(&recorder) as _).build().unwrap();
        let source = self.source(inputs, &how.way);
        let (result, output) = match how.place {
            Place::Memory => {
                let mut output = Vec::new();
                let result = pipeline.run(source, Sink::writer(&mut output), process);
                (result, Some(Text(output)))
            }
            Place::File => {
                let path = self.path("output");
                let result = pipeline.run(source, Sink::file(&path), process);
                let output = std::fs::read(&path).ok().map(Text);
                let _ = std::fs::remove_file(&path);
                (result, output)
            }
        };
        Came {
            output,
            counts: counts(&result),
            end: result.map(drop).map_err(|error| Failed {
                text: error.to_string(),
                kind: error.kind(),
                position: error.position().cloned(),
            }),
            failures: recorder.failures(),
        }
    }

    /// The twin: a plain loop that reads as much as it can.
    fn run_twin(&self, what: &What, inputs: &[Text], how: &How, plan: Plan) -> Came {
        let way = match &how.way {
            Way::Reader(_) => Way::Reader(vec![usize::MAX]),
            Way::Mapped => Way::Read,
            way => way.clone(),
        };
        let how = How { way, ..how.clone() };
        let each = Each {
            plan,
            warm_up: None,
        };
        self.run(what.builder().sequential(true), inputs, &how, &each)
    }
}

/// What must hold beside being equal to the twin.
fn check_bytes(what: &What, inputs: &[Text], plan: Plan, came: &Came) {
    let (Ok(()), Some(output), true) = (&came.end, &came.output, plan.never_fails()) else {
        return;
    };
    if what.limit == u64::MAX && came.failures.is_empty() {
        let bytes: usize = inputs.iter().map(|input| input.0.len()).sum();
        let lines = inputs
            .iter()
            .flat_map(|input| &input.0)
            .filter(|byte| **byte == b'\n')
            .count();
        assert_eq!(
            came.counts[5..7],
            [lines as u64, bytes as u64],
            "what was read"
        );
    }
    let ([input], true, true) = (inputs, what.keeps_all(), came.failures.is_empty()) else {
        return;
    };
    match plan.writes {
        Writes::Keep => assert_eq!(output, input),
        Writes::Upper => {
            assert_eq!(output.0.to_ascii_uppercase(), input.0.to_ascii_uppercase());
        }
        _ => {}
    }
}

#[test]
fn equals_the_sequential_twin() {
    let case = (inputs(), what(), how(), Plan::any());
    check(700, &case, |(inputs, what, how, plan)| {
        let files = Files::new(&inputs);
        let twin = files.run_twin(&what, &inputs, &how, plan);
        let each = Each {
            plan,
            warm_up: Some(WarmUp::default()),
        };
        let came = files.run(how.set(what.builder()), &inputs, &how, &each);
        assert_eq!(came, twin);
        check_bytes(&what, &inputs, plan, &came);
    });
}

/// Halving finds exactly the records that the twin, which works record by record, finds.
#[test]
fn a_failing_chunk_is_halved_to_its_failing_records() {
    let case = (inputs(), what(), how(), 0..400u64, any::<bool>());
    check(250, &case, |(inputs, what, how, rate, panicking)| {
        let what = What {
            skip: true,
            blank_lines: true,
            ..what
        };
        let plan = Plan {
            writes: Writes::Keep,
            failing: if panicking { 0 } else { rate },
            panicking: if panicking { rate } else { 0 },
        };
        let files = Files::new(&inputs);
        let twin = files.run_twin(&what, &inputs, &how, plan);
        let whole = whole(plan);
        let builder = how.set(what.builder()).max_failing_runs(0);
        let came = files.run(builder, &inputs, &how, &whole);
        let places = |failures: &[String]| -> Vec<String> {
            let cut = |failure: &String| failure.split_once(" }").unwrap().0.to_owned();
            failures.iter().map(cut).collect()
        };
        assert_eq!(came.output, twin.output);
        assert_eq!(came.end, twin.end);
        assert_eq!(came.counts, twin.counts);
        assert_eq!(places(&came.failures), places(&twin.failures));
    });
}

/// A chunk that is kept is its records, kept.
#[test]
fn a_kept_chunk_equals_its_kept_records() {
    let case = (inputs(), what(), how());
    check(250, &case, |(inputs, what, how)| {
        let plan = Plan {
            writes: Writes::Keep,
            failing: 0,
            panicking: 0,
        };
        let files = Files::new(&inputs);
        let twin = files.run_twin(&what, &inputs, &how, plan);
        let kept = Chunks(|chunk: &Chunk<'_>, out: &mut Buffer| {
            out.keep_chunk(chunk);
            Ok(())
        });
        let came = files.run(how.set(what.builder()), &inputs, &how, &kept);
        assert_eq!(came, twin);
    });
}

/// A blank line of NDJSON is no record, but no way of reading takes it if it is longer than a record may be.
#[test]
fn a_long_blank_line_is_too_long_however_it_is_read() {
    for (input, at) in [
        ("{}\n                \n{}\n", 3),
        ("{}\n1\n             ", 5),
    ] {
        for chunk_size in [1, 4, 20, 1 << 20] {
            for lengths in [vec![1], vec![5, 3], vec![usize::MAX]] {
                for sequential in [true, false] {
                    let builder = Pipeline::builder().format(Format::ndjson());
                    let builder = builder.chunk_size(chunk_size).sequential(sequential);
                    let pipeline = builder.max_record_size(10).build().unwrap();
                    let mut out = Vec::new();
                    let reader = ShortReads {
                        bytes: input.as_bytes(),
                        lengths: lengths.clone(),
                        reads: 0,
                    };
                    let error = pipeline
                        .run_each(
                            Source::reader(reader),
                            Sink::writer(&mut out),
                            |record, out| out.keep(record),
                        )
                        .unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::TooLong);
                    assert_eq!(error.position().unwrap().offset, at as u64);
                    assert_eq!(out, &input.as_bytes()[..at]);
                }
            }
        }
    }
}

/// The plans do what the tests above think they do.
#[test]
fn plans_fail_and_panic_now_and_then() {
    let plan = Plan {
        writes: Writes::Keep,
        failing: 300,
        panicking: 300,
    };
    let fates = std::sync::Mutex::new(Vec::new());
    let input = b"a\nb\nc\n".repeat(100);
    let pipeline = Pipeline::builder().build().unwrap();
    pipeline
        .run_each(Source::bytes(&input), Sink::discard(), |record, _| {
            fates.lock().unwrap().push(plan.fate(record));
        })
        .unwrap();
    let fates = fates.into_inner().unwrap();
    assert_eq!(fates.len(), 300);
    for fate in [Fate::Good, Fate::Fails, Fate::Panics] {
        assert!(fates.iter().filter(|each| **each == fate).count() > 50);
    }
}
