//! A run that is stopped, or killed, any number of times, at any records, and gone on with by other threads, chunks and limits: it gives what a
//! run gives that was never interrupted.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use inorder::{
    BoxError, Buffer, Builder, Chunk, ChunkError, Commit, Committed, Error, ErrorKind, OnError,
    Process, Record, Rejects, Resume, RunState, Sink, Source, StopHandle, Summary,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::generate::{Files, How, Text, What, how, inputs, what};
use crate::support::{WarmUp, check};
use crate::work::{Each, Plan};

/// One try, but for the last.
#[derive(Debug, Clone)]
struct Try {
    how: How,
    /// As many records are begun, then it ends.
    records: u64,
    end: End,
    /// A failing record ends it earlier.
    stops: bool,
    /// The state is saved behind every chunk, or at the end only.
    eager: bool,
    then: Then,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Drain,
    Abort,
    /// What is in the files at that moment is all that is left.
    Kill,
}

/// What happens between two tries.
#[derive(Debug, Clone, Copy)]
enum Then {
    Nothing,
    /// The inputs are other files of the same bytes.
    Copies,
    /// More reached the parts than was counted.
    Torn,
}

fn tries() -> BoxedStrategy<Vec<Try>> {
    let try_ = (
        how(),
        prop_oneof![0..4u64, 0..60u64, 0..2000u64],
        select(vec![End::Drain, End::Abort, End::Kill, End::Kill]),
        any::<bool>(),
        any::<bool>(),
        select(vec![Then::Nothing, Then::Copies, Then::Torn]),
    );
    let try_ = try_.prop_map(|(how, records, end, stops, eager, then)| Try {
        how,
        records,
        end,
        stops,
        eager,
        then,
    });
    vec(try_, 0..6).boxed()
}

/// The work, that ends the run at some record, and puts a line before the first output, as work does that learns from it what comes.
struct Stopping<'s> {
    inner: Each,
    calls: AtomicU64,
    at: u64,
    stop: Box<dyn Fn() + Send + Sync + 's>,
}

impl Stopping<'_> {
    fn call(&self) {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.at {
            (self.stop)();
        }
    }
}

impl Process for Stopping<'_> {
    type State = <Each as Process>::State;

    fn start(&self) -> Result<Self::State, BoxError> {
        self.inner.start()
    }

    fn record(
        &self,
        state: &mut Self::State,
        record: &Record<'_>,
        out: &mut Buffer,
    ) -> Result<(), BoxError> {
        self.call();
        self.inner.record(state, record, out)
    }

    fn chunk(
        &self,
        state: &mut Self::State,
        chunk: &Chunk<'_>,
        out: &mut Buffer,
    ) -> Result<(), ChunkError> {
        if let Some(warm_up) = &self.inner.warm_up {
            warm_up.once();
        }
        chunk.each(out, |record, out| self.record(state, record, out))
    }

    fn commit(&self, run: &mut RunState, chunk: &Committed<'_>) -> Commit {
        if !run.get().is_empty() || chunk.bytes_out == 0 {
            return Commit::Write;
        }
        run.set("seen");
        Commit::WriteAfter(b"first\n".to_vec())
    }
}

/// What a run left.
#[derive(Debug, PartialEq)]
struct Came {
    output: Option<Text>,
    /// Of a run that went to its end: one that failed keeps them for the next try. Where none was set aside there need be no files.
    rejects: [Text; 2],
    end: Result<Vec<u64>, (String, ErrorKind)>,
    notes: Vec<String>,
}

impl Files {
    fn on_error(&self, what: &What) -> OnError {
        match what.skip {
            true => OnError::Reject(Rejects::file(self.path("bad"))),
            false => OnError::Stop,
        }
    }

    fn resume(
        &self,
        builder: Builder,
        process: impl FnOnce(StopHandle) -> Stopping<'static>,
    ) -> Result<Summary, Error> {
        let pipeline = builder.build().unwrap();
        let process = process(pipeline.stop_handle());
        pipeline.run(
            Source::files(&self.inputs),
            Sink::file(self.path("out")),
            &process,
        )
    }

    fn take(&self, result: Result<Summary, Error>) -> Came {
        let take = |name: &str| {
            let bytes = std::fs::read(self.path(name)).ok();
            let _ = std::fs::remove_file(self.path(name));
            bytes.map(Text)
        };
        let rejects = [take("bad"), take("bad.errors.ndjson")];
        let none = || Text(Vec::new());
        Came {
            output: take("out"),
            rejects: rejects.map(|file| file.filter(|_| result.is_ok()).unwrap_or_else(none)),
            notes: result
                .as_ref()
                .map_or(Vec::new(), |summary| summary.notes.clone()),
            end: match result {
                Ok(summary) => Ok(vec![
                    summary.records,
                    summary.processed,
                    summary.skipped,
                    summary.rejected,
                    summary.lines,
                    summary.bytes_in,
                    summary.bytes_out,
                ]),
                Err(error) => Err((error.to_string(), error.kind())),
            },
        }
    }

    fn left(&self) -> Vec<OsString> {
        let names = std::fs::read_dir(self.folder.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name());
        names
            .filter(|name| !name.to_string_lossy().starts_with("input-"))
            .collect()
    }
}

/// What a kill would leave: the checkpoint first, for the parts only grow.
fn snapshot(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let names = [
        "out.checkpoint",
        "out.part",
        "bad.part",
        "bad.errors.ndjson.part",
    ];
    let paths = names.map(|name| folder.join(name));
    let read = |path: PathBuf| Some((path.clone(), std::fs::read(path).ok()?));
    paths.into_iter().filter_map(read).collect()
}

fn go_on(files: &Files, what: &What, plan: Plan, tries: &[Try], last: &How) -> Came {
    let resume = Resume::new("test").every(Duration::ZERO);
    for try_ in tries {
        let killed = Mutex::new(None);
        let killed = std::sync::Arc::new(killed);
        let every = match try_.eager {
            true => Duration::ZERO,
            false => Duration::from_secs(3600),
        };
        let policy = match try_.stops {
            true => OnError::Stop,
            false => files.on_error(what),
        };
        let builder = try_
            .how
            .set(what.builder().on_error(policy))
            .resume(resume.clone().every(every));
        let folder = files.folder.path().to_owned();
        let result = files.resume(builder, |handle| {
            let killed = std::sync::Arc::clone(&killed);
            let end = try_.end;
            Stopping {
                inner: Each {
                    plan,
                    warm_up: Some(WarmUp::default()),
                },
                calls: AtomicU64::new(0),
                at: try_.records,
                stop: Box::new(move || match end {
                    End::Drain => handle.drain(),
                    End::Abort => handle.abort(),
                    End::Kill => {
                        *killed.lock().unwrap() = Some(snapshot(&folder));
                        handle.abort();
                    }
                }),
            }
        });
        let killed = killed.lock().unwrap().take();
        let published = result.is_ok() || files.path("out").exists();
        if published {
            // The stop came too late, or never.
            return files.take(result);
        }
        if let Some(left) = killed {
            for name in files.left() {
                std::fs::remove_file(files.folder.path().join(name)).unwrap();
            }
            for (path, bytes) in left {
                std::fs::write(path, bytes).unwrap();
            }
        }
        match try_.then {
            Then::Nothing => {}
            Then::Copies => {
                for input in &files.inputs {
                    let bytes = std::fs::read(input).unwrap();
                    std::fs::remove_file(input).unwrap();
                    std::fs::write(input, bytes).unwrap();
                }
            }
            Then::Torn => {
                for (path, mut bytes) in snapshot(files.folder.path()) {
                    if path.extension().is_some_and(|end| end == "part") {
                        bytes.extend_from_slice(b"torn");
                        std::fs::write(path, bytes).unwrap();
                    }
                }
            }
        }
    }
    let builder = last.set(what.builder().on_error(files.on_error(what)));
    let result = files.resume(builder.resume(resume), |_| Stopping {
        inner: Each {
            plan,
            warm_up: Some(WarmUp::default()),
        },
        calls: AtomicU64::new(0),
        at: u64::MAX,
        stop: Box::new(|| ()),
    });
    files.take(result)
}

fn test(what: &What, inputs: &[Text], plan: Plan, tries: &[Try], last: &How) {
    let files = Files::new(inputs);
    let builder = what
        .builder()
        .on_error(files.on_error(what))
        .sequential(true);
    let whole = files.resume(builder, |_| Stopping {
        inner: Each {
            plan,
            warm_up: None,
        },
        calls: AtomicU64::new(0),
        at: u64::MAX,
        stop: Box::new(|| ()),
    });
    let whole = files.take(whole);
    assert_eq!(files.left(), Vec::<OsString>::new());
    let came = go_on(&files, what, plan, tries, last);
    assert_eq!(came, whole);
    if came.end.is_ok() {
        assert_eq!(files.left(), Vec::<OsString>::new());
    }
}

#[test]
fn interrupted_runs_give_what_whole_ones_give() {
    let strategy = (what(), inputs(), Plan::any(), tries(), how());
    check(40, &strategy, |(what, inputs, plan, tries, last)| {
        test(&what, &inputs, plan, &tries, &last);
    });
}

#[test]
#[ignore = "long: run it with INORDER_CASES"]
fn many_interrupted_runs_give_what_whole_ones_give() {
    let strategy = (what(), inputs(), Plan::any(), tries(), how());
    check(10_000, &strategy, |(what, inputs, plan, tries, last)| {
        test(&what, &inputs, plan, &tries, &last);
    });
}
