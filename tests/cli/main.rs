//! The program as a user meets it: run on real files, streams and devices, under the faults that befall them.
//!
//! The tests of faults carry the number of the fault's row (A: input, C: output, F: resources), those of cases that
//! were reported for other tools the number of the case. A test that needs a tool or a right that is missing here
//! says so on standard error and passes.
#![cfg(unix)]

mod testenv;

mod bench;
mod cases;
mod changing;
mod command;
mod compressed;
mod encodings;
mod exec;
mod failures;
mod figures;
mod input;
mod map;
mod output;
mod packed;
mod publish;
mod resources;
mod voice;
