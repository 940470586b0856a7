//! Work on records that depends on nothing but the record, so that every run of it must give the same.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::sync::{Arc, Mutex};

use inorder::{BoxError, Buffer, Chunk, ChunkError, Failure, Observer, Process, Record};
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{PLANNED, WarmUp};

/// What is written for a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Writes {
    Keep,
    Upper,
    Row,
    Nothing,
    /// Twenty times what was read.
    Much,
    /// One thing or several, by the record.
    Mixed,
}

/// The work: what is written, and how many records in a thousand fail or panic.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub writes: Writes,
    pub failing: u64,
    pub panicking: u64,
}

impl Plan {
    pub fn never_fails(&self) -> bool {
        self.failing == 0 && self.panicking == 0
    }

    pub fn any() -> BoxedStrategy<Plan> {
        let writes = select(vec![
            Writes::Keep,
            Writes::Keep,
            Writes::Upper,
            Writes::Row,
            Writes::Nothing,
            Writes::Much,
            Writes::Mixed,
            Writes::Mixed,
        ]);
        let rate = || select(vec![0u64, 0, 0, 10, 300]);
        (writes, rate(), rate())
            .prop_map(|(writes, failing, panicking)| Plan {
                writes,
                failing,
                panicking,
            })
            .boxed()
    }

    pub fn fate(&self, record: &Record<'_>) -> Fate {
        match hash(record) % 1000 {
            fate if fate < self.failing => Fate::Fails,
            fate if fate < self.failing + self.panicking => Fate::Panics,
            _ => Fate::Good,
        }
    }

    fn write(&self, record: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
        match self.writes {
            Writes::Keep => out.keep(record),
            Writes::Upper => out.line(&record.bytes().to_ascii_uppercase()),
            Writes::Row => out.row(record.fields())?,
            Writes::Nothing => {}
            Writes::Much => {
                for _ in 0..20 {
                    out.write_all(record.raw())?;
                }
            }
            Writes::Mixed => {
                let hash = hash(record) / 1000;
                for step in 0..hash % 4 {
                    match (hash >> (2 * step)) % 4 {
                        0 => out.keep(record),
                        1 => out.write_all(&record.bytes()[..record.bytes().len() / 2])?,
                        2 => out.line(record.bytes()),
                        _ => out.row([&b"x"[..], record.end(), b"y"]).or_else(|_| {
                            out.keep(record);
                            Ok::<(), BoxError>(())
                        })?,
                    }
                }
            }
        }
        Ok(())
    }

    fn work(&self, record: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
        match self.fate(record) {
            Fate::Good => self.write(record, out),
            // Something is written first, which must be taken back.
            Fate::Fails => {
                self.write(record, out)?;
                out.keep(record);
                Err(format!("no luck with {} bytes", record.bytes().len()).into())
            }
            Fate::Panics => {
                out.keep(record);
                out.write_all(b"junk")?;
                panic!("{PLANNED} at byte {}", record.offset());
            }
        }
    }
}

/// What becomes of a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    Good,
    Fails,
    Panics,
}

pub fn hash(record: &Record<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (record.bytes(), record.number()).hash(&mut hasher);
    hasher.finish()
}

/// The plan as a process that works on each record.
pub struct Each {
    pub plan: Plan,
    pub warm_up: Option<WarmUp>,
}

impl Process for Each {
    type State = u64;

    fn start(&self) -> Result<u64, BoxError> {
        Ok(0)
    }

    fn record(
        &self,
        worked: &mut u64,
        record: &Record<'_>,
        out: &mut Buffer,
    ) -> Result<(), BoxError> {
        *worked += 1;
        if let Some(warm_up) = &self.warm_up {
            warm_up.once();
            if hash(record).is_multiple_of(50) {
                std::thread::yield_now();
            }
        }
        self.plan.work(record, out)
    }
}

/// Work on whole chunks that does not say which record is at fault. What is written is the chunk as it is.
pub fn whole(
    plan: Plan,
) -> Chunks<impl Fn(&Chunk<'_>, &mut Buffer) -> Result<(), ChunkError> + Sync> {
    let warm_up = WarmUp::default();
    Chunks(move |chunk: &Chunk<'_>, out: &mut Buffer| {
        warm_up.once();
        let half = chunk.bytes().len() / 2;
        let io = |error: std::io::Error| ChunkError::Whole(error.into());
        out.write_all(&chunk.bytes()[..half]).map_err(io)?;
        for record in chunk.records() {
            match plan.fate(&record) {
                Fate::Good => {}
                Fate::Fails => return Err(ChunkError::Whole("no luck".into())),
                Fate::Panics => panic!("{PLANNED} in a chunk"),
            }
        }
        out.write_all(&chunk.bytes()[half..]).map_err(io)
    })
}

/// Notes down what it is told of failures.
#[derive(Default)]
pub struct Recorder(Mutex<Vec<String>>);

impl Recorder {
    pub fn new() -> Arc<Recorder> {
        Arc::default()
    }

    pub fn failures(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Recorder {
    fn failed(&self, failure: &Failure<'_>) {
        let Failure {
            position,
            kind,
            error,
            attempts,
            ..
        } = failure;
        let line = format!("{position:?} {kind:?} {error} after {attempts}");
        self.0.lock().unwrap().push(line);
    }
}

/// Does this with each chunk.
pub struct Chunks<F>(pub F);

impl<F> Process for Chunks<F>
where
    F: Fn(&Chunk<'_>, &mut Buffer) -> Result<(), ChunkError> + Sync,
{
    type State = ();

    fn start(&self) -> Result<(), BoxError> {
        Ok(())
    }

    fn record(&self, (): &mut (), _: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
        unreachable!("it works on chunks")
    }

    fn chunk(&self, (): &mut (), chunk: &Chunk<'_>, out: &mut Buffer) -> Result<(), ChunkError> {
        (self.0)(chunk, out)
    }
}
