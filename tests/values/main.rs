//! Ordered values from any iterator: what the guarantees say, on random runs, under faults, inside other thread pools.
//!
//! `INORDER_CASES` is the number of random cases; `INORDER_SEED` repeats a failed test's. The tests take turns, because
//! some of them count the threads of the process.

#[allow(dead_code, reason = "the library's tests share more than is used here")]
#[path = "../library/support.rs"]
mod support;

mod random;
mod threads;

mod bounds;
mod examples;
mod faults;
mod flow;
mod pools;
mod same;
