//! What is made of a chunk before its records are gone through. A record that fails has the process called again for the rest: that finds it
//! here, or the work on a chunk would grow with the square of its failures.

use bytes::Bytes;
use inorder::Chunk;

use super::rows::Rows;
use crate::cli::whole::Whole;

/// Of one chunk of a run.
pub struct Kept {
    whole: Whole,
    /// The chunk's bytes, of which strings are slices.
    pub slab: Bytes,
    pub rows: Rows,
}

impl Kept {
    pub fn of(chunk: &Chunk<'_>, strings: bool) -> Kept {
        Kept {
            whole: Whole::of(chunk),
            slab: Bytes::copy_from_slice(chunk.bytes()),
            rows: Rows::new(chunk.header(), strings),
        }
    }

    /// Whether all of this is of that chunk.
    pub fn has(&self, chunk: &Chunk<'_>) -> bool {
        self.whole.has(chunk)
    }

    /// Where the slab begins in the chunk's input.
    pub fn start(&self) -> u64 {
        self.whole.start
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::time::Duration;

    use inorder::{BoxError, Buffer, ChunkError, OnError, Pipeline, Process, Record, Retry};
    use inorder::{Sink, Source};

    use super::*;

    /// Every other record fails, and half of these only once.
    #[derive(Default)]
    struct Fails {
        made: AtomicU64,
        calls: AtomicU64,
    }

    impl Process for Fails {
        type State = Option<Kept>;

        fn start(&self) -> Result<Option<Kept>, BoxError> {
            Ok(None)
        }

        fn record(
            &self,
            _: &mut Option<Kept>,
            _: &Record<'_>,
            _: &mut Buffer,
        ) -> Result<(), BoxError> {
            unreachable!("the chunk is worked on")
        }

        fn chunk(
            &self,
            state: &mut Option<Kept>,
            chunk: &Chunk<'_>,
            out: &mut Buffer,
        ) -> Result<(), ChunkError> {
            self.calls.fetch_add(1, Relaxed);
            let kept = state.take().filter(|kept| kept.has(chunk));
            let kept = state.insert(kept.unwrap_or_else(|| {
                self.made.fetch_add(1, Relaxed);
                Kept::of(chunk, false)
            }));
            let start = (chunk.offset() - kept.start()) as usize;
            let end = start + chunk.bytes().len();
            assert_eq!(&kept.slab[start..end], chunk.bytes());
            chunk.each(out, |record, out| {
                out.keep(record);
                match (record.number() % 4, record.attempt()) {
                    (1, _) | (3, 0) => Err("planned".into()),
                    _ => Ok(()),
                }
            })
        }
    }

    #[test]
    fn the_rest_of_a_chunk_finds_what_was_made_of_it() {
        let input: String = (0..1000).map(|n| format!("{n}\n")).collect();
        for (delay, threads) in [(0, 1), (0, 3), (1, 1)] {
            let fails = Fails::default();
            let mut out = Vec::new();
            let retry = Retry::new(1).delay(Duration::from_micros(delay));
            let builder = Pipeline::builder().on_error(OnError::Skip).retry(retry);
            let pipeline = builder.threads(threads).sequential(threads == 1);
            let pipeline = pipeline.chunk_size(500).build().unwrap();
            let source = Source::bytes(input.as_bytes());
            let summary = pipeline
                .run(source, Sink::writer(&mut out), &fails)
                .unwrap();
            assert_eq!((summary.skipped, summary.records), (250, 1000));
            assert!(fails.calls.load(Relaxed) > 700);
            assert_eq!(fails.made.load(Relaxed), summary.chunks);
        }
    }
}
