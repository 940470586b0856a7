//! Decisions in order: `commit` sees each chunk in its turn, may have it run again, write before it, give up.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use inorder::{
    BoxError, Buffer, Chunk, ChunkError, Commit, Committed, ErrorKind, Pipeline, Process, Record,
    RunState, Sink, Source,
};
use proptest::prelude::*;

use crate::generate::{input, what};
use crate::support::{WarmUp, check, quiet_panics};

/// Every chunk leaves a note with its attempt; some are run again up to three times, some get bytes before them.
struct Decides {
    warm_up: Option<WarmUp>,
    salt: u64,
    fail_at: Option<u64>,
    seen: Mutex<Vec<(u64, u64, u64)>>,
}

fn hash(salt: u64, seq: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (salt, seq).hash(&mut hasher);
    hasher.finish()
}

impl Process for Decides {
    type State = ();

    fn start(&self) -> Result<(), BoxError> {
        Ok(())
    }

    fn record(&self, (): &mut (), record: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
        if let Some(warm_up) = &self.warm_up {
            warm_up.once();
        }
        out.keep(record);
        Ok(())
    }

    fn chunk(&self, state: &mut (), chunk: &Chunk<'_>, out: &mut Buffer) -> Result<(), ChunkError> {
        out.note(format!("attempt {}", chunk.attempt()).as_bytes());
        chunk.each(out, |record, out| self.record(state, record, out))
    }

    fn commit(&self, run: &mut RunState, chunk: &Committed<'_>) -> Commit {
        let hash = hash(self.salt, chunk.seq);
        // The state counts the attempts that this chunk still gets.
        let left = match run.get() {
            [] => hash % 4,
            [left, ..] => u64::from(*left),
        };
        let attempt = hash % 4 - left;
        assert_eq!(chunk.note, format!("attempt {attempt}").as_bytes());
        if left > 0 {
            run.set([left as u8 - 1]);
            return Commit::RunAgain;
        }
        run.set([]);
        self.seen
            .lock()
            .unwrap()
            .push((chunk.seq, chunk.processed, chunk.bytes_out));
        match (hash / 4) % 5 {
            _ if self.fail_at == Some(chunk.seq) => Commit::Fail("enough".into()),
            0 => Commit::WriteAfter(format!("<{}>", chunk.seq).into_bytes()),
            1 => Commit::WriteAfter(Vec::new()),
            _ => Commit::Write,
        }
    }
}

/// A fixed chunk is a function of the input, so the decisions are the same in every run.
#[test]
fn decisions_are_those_of_the_sequential_twin() {
    let case = (
        (input(), what()),
        1..9usize,
        prop_oneof![1..60usize, Just(5000)],
        prop_oneof![Just(0usize), Just(1)],
        any::<u64>(),
        proptest::option::weighted(0.3, 0..20u64),
    );
    check(
        300,
        &case,
        |((input, what), threads, size, memory, salt, fail_at)| {
            let run = |sequential: bool| {
                let process = Decides {
                    warm_up: (!sequential).then(WarmUp::default),
                    salt,
                    fail_at,
                    seen: Mutex::default(),
                };
                let builder = what.builder().threads(threads).chunk_size(size);
                let builder = builder.memory(memory).sequential(sequential);
                let mut out = Vec::new();
                let pipeline = builder.build().unwrap();
                let result =
                    pipeline.run(Source::bytes(&input.0), Sink::writer(&mut out), &process);
                let came = match result {
                    Ok(summary) => Ok((summary.chunks, summary.retries, summary.bytes_out)),
                    Err(error) => Err((error.kind(), error.to_string())),
                };
                (out, came, process.seen.into_inner().unwrap())
            };
            let (twin, parallel) = (run(true), run(false));
            assert_eq!(parallel, twin);
            for (n, (seq, ..)) in parallel.2.iter().enumerate() {
                assert_eq!(*seq, n as u64);
            }
        },
    );
}

/// Without a note the input is gone: the run ends, it does not guess.
#[test]
fn a_chunk_without_a_note_cannot_run_again() {
    struct Forgets(WarmUp);
    impl Process for Forgets {
        type State = ();
        fn start(&self) -> Result<(), BoxError> {
            Ok(())
        }
        fn record(&self, (): &mut (), _: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
            self.0.once();
            out.line(b"x");
            Ok(())
        }
        fn commit(&self, _: &mut RunState, chunk: &Committed<'_>) -> Commit {
            match chunk.seq {
                5 => Commit::RunAgain,
                _ => Commit::Write,
            }
        }
    }
    for sequential in [true, false] {
        let builder = Pipeline::builder().sequential(sequential).threads(2);
        let pipeline = builder.chunk_size(2).build().unwrap();
        let mut out = Vec::new();
        let source = Source::bytes(b"a\nb\nc\nd\ne\nf\ng\nh\n");
        let forgets = Forgets(WarmUp::default());
        let error = pipeline
            .run(source, Sink::writer(&mut out), &forgets)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Process);
        assert_eq!(out, b"x\nx\nx\nx\nx\n");
    }
}

/// A panic in `commit` gives up the run, at that chunk.
#[test]
fn a_panic_in_commit_ends_the_run_in_its_place() {
    struct Panics(WarmUp);
    impl Process for Panics {
        type State = ();
        fn start(&self) -> Result<(), BoxError> {
            Ok(())
        }
        fn record(
            &self,
            (): &mut (),
            record: &Record<'_>,
            out: &mut Buffer,
        ) -> Result<(), BoxError> {
            self.0.once();
            out.keep(record);
            Ok(())
        }
        fn commit(&self, _: &mut RunState, chunk: &Committed<'_>) -> Commit {
            assert!(chunk.seq < 3, "planned");
            Commit::Write
        }
    }
    quiet_panics();
    for sequential in [true, false] {
        let builder = Pipeline::builder().sequential(sequential).threads(2);
        let pipeline = builder.chunk_size(2).build().unwrap();
        let mut out = Vec::new();
        let source = Source::bytes(b"a\nb\nc\nd\ne\nf\n");
        let panics = Panics(WarmUp::default());
        let error = pipeline
            .run(source, Sink::writer(&mut out), &panics)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Process);
        assert_eq!(
            error.to_string(),
            "<bytes>: the run was given up, record 4 (line 4, byte 6): panicked: planned"
        );
        assert_eq!(out, b"a\nb\nc\n");
    }
}
