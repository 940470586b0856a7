//! The chunk that was worked on last. A record that fails has the process called again for the rest of it.

use inorder::Chunk;

/// A chunk, or a part of one, by its place in the run.
#[derive(Debug, Clone, Copy)]
pub struct Whole {
    seq: u64,
    /// Where it begins in its input.
    pub start: u64,
    end: u64,
}

impl Whole {
    pub fn of(chunk: &Chunk<'_>) -> Whole {
        Whole {
            seq: chunk.seq(),
            start: chunk.offset(),
            end: chunk.offset() + chunk.bytes().len() as u64,
        }
    }

    /// Whether all of that chunk is among this: it is the same one, or a part of it. A sequence number stands for one run of bytes.
    pub fn has(&self, chunk: &Chunk<'_>) -> bool {
        let part = Whole::of(chunk);
        part.seq == self.seq && self.start <= part.start && part.end <= self.end
    }
}
