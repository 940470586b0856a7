//! The start of the input, to try the command on.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use inorder::{
    BoxError, Buffer, Chunk, ChunkError, OnError, Pipeline, Process, Record, Sink, Source,
};

use crate::cli::names::InputName;
use crate::cli::plan::Plan;
use crate::cli::status::usage;

/// Whole records from the start of the input.
#[derive(Debug, Default)]
pub struct Sample {
    /// The header, if there is one, and then the records.
    pub bytes: Vec<u8>,
    /// What had to be read of standard input for it, which does not come again.
    pub seen: Vec<u8>,
}

/// Takes records of about `size` bytes.
pub fn take(plan: &Plan, size: usize) -> anyhow::Result<Sample> {
    let pipeline = plan
        .trial()
        .sequential(true)
        .chunk_size(size)
        .chunk_records(u64::MAX)
        .on_error(OnError::Stop)
        .build()?;
    let sample = Taken::default();
    let seen = Mutex::default();
    let source = match &plan.inputs[0] {
        InputName::Path(path) => {
            if path
                .metadata()
                .is_ok_and(|found| !found.is_file() && !found.is_dir())
            {
                return Err(usage(
                    "--verify reads the start of the input twice: that takes a file or standard input",
                ));
            }
            Source::file(path)
        }
        InputName::Stdin => {
            let stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
            if stdin.metadata()?.is_file() {
                Source::stdin()
            } else {
                Source::reader(Tee {
                    from: stdin,
                    seen: &seen,
                })
            }
        }
    };
    read(&pipeline, source, &sample)?;
    Ok(Sample {
        bytes: sample
            .0
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
        seen: seen.into_inner().unwrap_or_else(PoisonError::into_inner),
    })
}

fn read(pipeline: &Pipeline, source: Source<'_>, sample: &Taken) -> anyhow::Result<()> {
    match pipeline.run(source, Sink::discard(), sample) {
        Err(error) if !is_enough(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Collects the header and the first chunk.
#[derive(Debug, Default)]
struct Taken(Mutex<Vec<u8>>);

impl Taken {
    fn add(&self, bytes: &[u8]) {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.extend_from_slice(bytes);
    }
}

impl Process for Taken {
    type State = ();

    fn start(&self) -> Result<(), BoxError> {
        Ok(())
    }

    fn header(&self, header: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
        self.add(header.raw());
        Ok(())
    }

    fn record(&self, (): &mut (), _: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
        Ok(())
    }

    fn chunk(&self, (): &mut (), chunk: &Chunk<'_>, _: &mut Buffer) -> Result<(), ChunkError> {
        self.add(chunk.bytes());
        Err(ChunkError::Fatal(Box::new(Enough)))
    }
}

/// Ends the reading.
#[derive(Debug)]
struct Enough;

impl std::fmt::Display for Enough {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("enough was read")
    }
}

impl std::error::Error for Enough {}

fn is_enough(error: &inorder::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<Enough>())
}

/// Reads, and remembers what was read.
struct Tee<'s> {
    from: File,
    seen: &'s Mutex<Vec<u8>>,
}

impl Read for Tee<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(bytes)?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.extend_from_slice(&bytes[..n]);
        Ok(n)
    }
}
