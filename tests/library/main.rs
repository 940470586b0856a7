//! The library from outside: what its guarantees say, on random inputs, under faults, inside other thread pools.
//!
//! `INORDER_CASES` is the number of random cases (of repeated runs, in [`pools`]); `INORDER_SEED` repeats a failed test's.

// `memory_map` asks for a promise; no file here changes while it is read.
#![allow(unsafe_code)]

mod generate;
mod support;
mod waits;
mod work;

mod commit;
mod csv_records;
mod failures;
mod faults;
#[cfg(unix)]
mod mapped;
mod memory;
mod output;
mod pools;
mod records;
#[cfg(unix)]
mod resume;
mod spill;
mod twin;
