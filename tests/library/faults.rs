//! What fails or panics around the library: no hang, no abort, the right kind of error, everything before it written.

mod panics;
mod reader;
mod sink;
mod start;
mod stop;

use inorder::{Builder, Pipeline};

/// A pipeline that cuts small chunks, in a plain loop or parallel.
fn small_chunks(sequential: bool) -> Builder {
    Pipeline::builder()
        .threads(3)
        .chunk_size(16)
        .sequential(sequential)
}

/// Lines, numbered.
fn lines(count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|n| format!("line {n}\n").into_bytes())
        .collect()
}
