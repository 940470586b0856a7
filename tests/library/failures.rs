//! Failures of records and chunks: set aside, tried again, halved, limited.

mod mixes;
mod rejects;
mod retries;
mod runs;
mod shelf;
