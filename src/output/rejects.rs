//! Failing records set aside: as they were, to be mended and run again, and a row of JSON for each that says what is wrong.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, IoSlice, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::pack::Compress;
use super::{Outlet, Output, OutputError, Sink};
#[cfg(unix)]
use super::{
    checkpoint::{OutputState, RejectsState},
    part::Part,
};
use crate::error::escaped;
use crate::escape::cut;
use crate::progress::Failure;
use crate::sync::{Mutex, lock};

/// Where failing records go with [`OnError::Reject`](crate::OnError::Reject).
///
/// The records are written as they stand in the input, in its order, after the header of the first of them, if it has one: so that they can be
/// mended and run again. A line end that the last record of an input lacks is added where another record follows.
///
/// For each there is a row of JSON in the errors file, one a line:
///
/// ```json
/// {"input":"in.csv","record":3,"line":4,"offset":57,"attempts":1,"kind":"work","error":"no column dep_delay"}
/// ```
///
/// Record and line count from 1, the byte offset from 0, all within the input. The kind is that of [`FailureKind::name`], the error's text is
/// cut at 4 KiB. A name that is not UTF-8 is escaped.
///
/// [`FailureKind::name`]: crate::FailureKind::name
#[derive(Clone)]
pub struct Rejects {
    records: Goal,
    errors: Goal,
    compress: Option<Compress>,
}

/// One of the two places.
#[derive(Clone)]
enum Goal {
    File(PathBuf),
    Writer(Shared),
}

/// A writer that the settings of a run hold, so that a pipeline can run more than once.
#[derive(Clone)]
struct Shared(Arc<Mutex<Box<dyn Write + Send>>>);

impl Rejects {
    /// A file for the records, and one of that name with `.errors.ndjson` behind it for the rows. Both appear under their names at the end of
    /// the run, also of one that fails; empty, if no record failed. What stood there before is replaced.
    pub fn file(path: impl Into<PathBuf>) -> Rejects {
        let path = path.into();
        let errors = Rejects::errors_path(&path);
        Rejects {
            records: Goal::File(path),
            errors: Goal::File(errors),
            compress: None,
        }
    }

    /// Writers for the records and for the rows. All runs of a pipeline write to the same; they are flushed at the end of each.
    pub fn writers(
        records: impl Write + Send + 'static,
        errors: impl Write + Send + 'static,
    ) -> Rejects {
        Rejects {
            records: Goal::Writer(Shared::new(records)),
            errors: Goal::Writer(Shared::new(errors)),
            compress: None,
        }
    }

    /// Compresses the records as [`Sink::compress`] does. The rows stay plain text.
    #[cfg(any(feature = "gzip", feature = "zstd"))]
    #[must_use]
    pub fn compress(mut self, compress: Compress) -> Rejects {
        self.compress = Some(compress);
        self
    }

    pub(crate) fn compression(&self) -> Option<Compress> {
        self.compress
    }

    /// The path of the records, if they go to a file.
    #[cfg(unix)]
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.records {
            Goal::File(path) => Some(path),
            Goal::Writer(_) => None,
        }
    }

    /// The path of the rows that belong to a file of records: `PATH.errors.ndjson`.
    pub fn errors_path(path: &Path) -> PathBuf {
        let mut name = OsString::from(path);
        name.push(".errors.ndjson");
        PathBuf::from(name)
    }
}

impl fmt::Debug for Rejects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejects")
            .field("records", &self.records)
            .field("errors", &self.errors)
            .field("compress", &self.compress)
            .finish()
    }
}

impl fmt::Debug for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Goal::File(path) => path.fmt(f),
            Goal::Writer(_) => f.write_str("<writer>"),
        }
    }
}

impl Goal {
    fn open(&self) -> Result<Output<'static>, OutputError> {
        Output::open(match self {
            Goal::File(path) => Sink::file(path),
            Goal::Writer(writer) => Sink::writer(writer.clone()),
        })
    }
}

impl Shared {
    fn new(writer: impl Write + Send + 'static) -> Shared {
        Shared(Arc::new(Mutex::new(Box::new(writer))))
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).write(bytes)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        lock(&self.0).write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        lock(&self.0).flush()
    }
}

/// The rejects of one run, open.
pub(crate) struct OpenRejects {
    records: Side,
    errors: Side,
    /// The record set aside last has no end.
    lacks_end: bool,
}

/// One of the two outputs, and what is not written to it yet.
struct Side {
    output: Outlet<'static>,
    waiting: Vec<u8>,
    /// Whether anything was written or waits.
    begun: bool,
}

/// As many bytes may wait: a failing record alone is not worth a system call.
const WAITING: usize = 64 << 10;

impl Side {
    fn open(goal: &Goal, compress: Option<Compress>) -> Result<Side, OutputError> {
        Ok(Side {
            output: Outlet::new(goal.open()?, compress, None),
            waiting: Vec::new(),
            begun: false,
        })
    }

    #[cfg(unix)]
    fn of_part(path: &Path, part: Part, state: &OutputState, compress: Option<Compress>) -> Side {
        let mut output = Outlet::new(Output::of_part(path, part), compress, None);
        output.take_up(state);
        Side {
            begun: state.file.length > 0 || !state.pending.is_empty(),
            output,
            waiting: Vec::new(),
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        self.begun |= !bytes.is_empty();
    }

    /// Writes what waits, and nothing more after that.
    #[cfg(unix)]
    fn complete(&mut self) -> Result<(), OutputError> {
        self.write()?;
        self.output.complete()
    }

    fn finish(mut self) -> Result<(), OutputError> {
        self.write()?;
        self.output.finish()
    }

    fn write(&mut self) -> Result<(), OutputError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.output.write_all(&mut [IoSlice::new(&self.waiting)])?;
        self.waiting.clear();
        Ok(())
    }
}

/// What a format's records need to follow each other.
pub(crate) struct Ends<'a> {
    /// Stands before the first record.
    pub header: &'a [u8],
    /// Whether these bytes end as a record does.
    pub ends: &'a dyn Fn(&[u8]) -> bool,
    /// The end that is added where one is missing.
    pub end: &'a [u8],
}

impl OpenRejects {
    pub fn open(rejects: &Rejects) -> Result<OpenRejects, OutputError> {
        Ok(OpenRejects {
            records: Side::open(&rejects.records, rejects.compress)?,
            errors: Side::open(&rejects.errors, None)?,
            lacks_end: false,
        })
    }

    /// Goes on with what an earlier run set aside.
    #[cfg(unix)]
    pub fn of_parts(
        path: &Path,
        [records, errors]: [Part; 2],
        state: &RejectsState,
        compress: Option<Compress>,
    ) -> OpenRejects {
        let errors_path = Rejects::errors_path(path);
        OpenRejects {
            records: Side::of_part(path, records, &state.records, compress),
            errors: Side::of_part(&errors_path, errors, &state.errors, None),
            lacks_end: state.lacks_end,
        }
    }

    /// The two files, where a later run can go on with them.
    #[cfg(unix)]
    pub fn parts(&self) -> Option<[&Part; 2]> {
        Some([self.records.output.part()?, self.errors.output.part()?])
    }

    /// What a later run needs to know, once what waits is written.
    #[cfg(unix)]
    pub fn state(&mut self) -> Result<Option<RejectsState>, OutputError> {
        let states = (self.records.output.state()?, self.errors.output.state()?);
        let (Some(records), Some(errors)) = states else {
            return Ok(None);
        };
        Ok(Some(RejectsState {
            path: self.records.output.name().as_os_str().to_owned(),
            compress: self.records.output.compress().map(Compress::named),
            records,
            errors,
            lacks_end: self.lacks_end,
        }))
    }

    /// Sets a record aside.
    pub fn add(
        &mut self,
        record: &[u8],
        ends: &Ends<'_>,
        failure: &Failure<'_>,
        text: &str,
    ) -> Result<(), OutputError> {
        if !self.records.begun {
            self.push(ends.header, ends);
        }
        self.push(record, ends);
        // A vector takes all that is written to it.
        let _ = write_row(&mut self.errors.waiting, failure, text);
        if self.records.waiting.len().max(self.errors.waiting.len()) < WAITING {
            return Ok(());
        }
        self.write()
    }

    fn push(&mut self, bytes: &[u8], ends: &Ends<'_>) {
        if bytes.is_empty() {
            return;
        }
        if self.lacks_end {
            self.records.push(ends.end);
        }
        self.lacks_end = !(ends.ends)(bytes);
        self.records.push(bytes);
    }

    /// Writes what waits.
    pub fn write(&mut self) -> Result<(), OutputError> {
        self.records.write()?;
        self.errors.write()
    }

    /// Writes what waits, and nothing more after that.
    #[cfg(unix)]
    pub fn complete(&mut self) -> Result<(), OutputError> {
        self.records.complete()?;
        self.errors.complete()
    }

    /// Writes what waits, and gives both files their names. If one of them fails the other is kept all the same.
    pub fn finish(self) -> Result<(), OutputError> {
        let (records, errors) = (self.records.finish(), self.errors.finish());
        records.and(errors)
    }
}

fn write_row(row: &mut Vec<u8>, failure: &Failure<'_>, text: &str) -> io::Result<()> {
    let position = failure.position;
    let input = match position.input.to_str() {
        Some(name) => name.to_owned(),
        None => escaped(&position.input),
    };
    row.extend_from_slice(b"{\"input\":");
    serde_json::to_writer(&mut *row, &input)?;
    write!(
        row,
        ",\"record\":{},\"line\":{},\"offset\":{},\"attempts\":{},\"kind\":\"{}\",\"error\":",
        position.record,
        position.line,
        position.offset,
        failure.attempts,
        failure.kind.name()
    )?;
    serde_json::to_writer(&mut *row, cut(text))?;
    row.extend_from_slice(b"}\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{FailureKind, Position};

    fn failure<'a>(position: &'a Position, error: &'a io::Error) -> Failure<'a> {
        Failure {
            position,
            records: 1,
            kind: FailureKind::Parse,
            error,
            attempts: 2,
        }
    }

    #[test]
    fn a_row_is_one_line_of_json() {
        let position = Position {
            input: "a \"b\"\n.csv".into(),
            record: 3,
            line: 4,
            offset: 57,
        };
        let error = io::Error::other("unused");
        let mut row = Vec::new();
        write_row(&mut row, &failure(&position, &error), "two\nlines\u{7}").unwrap();
        assert_eq!(
            String::from_utf8(row).unwrap(),
            "{\"input\":\"a \\\"b\\\"\\n.csv\",\"record\":3,\"line\":4,\"offset\":57,\"attempts\":2,\"kind\":\"parse\",\
             \"error\":\"two\\nlines\\u0007\"}\n"
        );
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"a".repeat(5000)).len(), 4096);
        let cut = cut(&"日".repeat(2000)).len();
        assert!(cut <= 4096 && cut > 4090 && cut.is_multiple_of(3));
    }

    #[test]
    fn ends_are_added_between_records_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bad");
        let position = Position {
            input: "in".into(),
            record: 1,
            line: 1,
            offset: 0,
        };
        let error = io::Error::other("no");
        let ends = Ends {
            header: b"h\r\n",
            ends: &|bytes| bytes.ends_with(b"\n"),
            end: b"\n",
        };
        let mut open = OpenRejects::open(&Rejects::file(&path)).unwrap();
        for record in ["a\n", "b", "c", "d\r\n", "e"] {
            let failure = failure(&position, &error);
            open.add(record.as_bytes(), &ends, &failure, "no").unwrap();
        }
        assert!(!path.exists());
        open.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"h\r\na\nb\nc\nd\r\ne");
        let rows = std::fs::read_to_string(Rejects::errors_path(&path)).unwrap();
        assert_eq!(rows.lines().count(), 5);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
