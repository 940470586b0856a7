//! Work on the records of a file (lines, CSV, NDJSON) on every core; results in input order, memory constant.
//!
//! ```text
//!  input ──► frame ──► order: reserve a slot ──► ready list ──► pool ──► slot filled ──► order: next in sequence ──► output
//!  mapped    chunks of   (waits while the         (at most       rayon    (never waits)    (gives its bytes back      writer thread,
//!  windows   whole       byte budget is full)     `threads`      workers                   after the write)           file / stdout
//!  or reads  records                              started)       steal
//!  └──────────── reader's thread ────────────┘                                             └──────── writer's thread ────────┘
//! ```
//!
//! What holds, for every number of threads, chunk size, memory budget and timing:
//!
//! - **Order**: the output is what a plain loop over the records would write. So are errors: the first failure in input order is the one
//!   returned, after everything before it is written.
//! - **Memory**: at most [`Builder::memory`] bytes are in flight; a slow record or a slow sink stops the reader.
//! - **Framing**: a CSV record ends where the `csv` crate ends it, quoted line ends included; no guess, no sample. Bytes that the work
//!   leaves alone stay as they are.
//! - **Whole or nothing**: a file appears under its name only when it is complete.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let (input, output) = (folder.path().join("in.txt"), folder.path().join("out.txt"));
//! # std::fs::write(&input, "one\ntwo\n")?;
//! let summary = inorder::process_file(&input, &output, |record, out| {
//!     out.line(&record.bytes().to_ascii_uppercase());
//! })?;
//! assert_eq!(summary.records, 2);
//! # assert_eq!(std::fs::read(&output)?, b"ONE\nTWO\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Pipeline::builder`] has the settings: formats, threads, memory, what happens when a record fails.

#![deny(missing_docs)]

mod pipeline;

mod checksum;
mod control;
mod error;
mod escape;
mod format;
mod latch;
mod process;
mod progress;
mod resume;
mod retry;
mod summary;
mod sync;
mod text;

mod buffer;
mod record;

// In the data's way.
mod frame;
mod input;
mod order;
mod output;

mod pool;
mod values;

#[cfg(feature = "parts")]
#[doc(hidden)]
pub mod parts;

pub use buffer::{Buffer, RowError};
pub use control::StopHandle;
pub use error::{BoxError, Error, ErrorKind, FailureKind, Fault, Position, Untrusted};
pub use format::Format;
#[cfg(unix)]
pub use frame::Interrupts;
pub use frame::{Chunk, Splitter, Stopping};
pub use input::Source;
#[cfg(unix)]
pub use input::{GuardedGroup, guard_group, guard_mapped_reads, kill_guarded_groups};
#[cfg(any(feature = "gzip", feature = "zstd"))]
pub use output::{Compress, LevelError};
pub use output::{Rejects, Sink};
pub use pipeline::{Builder, OnError, Pipeline, Preamble, RecordMap, Records, process_file};
pub use process::{ChunkError, Commit, Committed, Outcome, Process, RunState};
pub use progress::{Failure, Observer, Progress, Started, Working};
pub use record::{Fields, Header, Record};
pub use resume::Resume;
pub use retry::Retry;
pub use summary::{ChunkTimes, Summary, WorkerSummary};
#[cfg(feature = "encoding")]
pub use text::Encoding;
pub use values::{InOrder, LocalMap, Map, Ordered, ScopedMap, TryMap};

/// The README's code is tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
