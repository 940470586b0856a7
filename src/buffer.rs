//! Where the work on a chunk writes: its own bytes, and slices of the input that it keeps.

mod closed;
mod mark;
mod row;
mod settings;
mod spill;

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;

pub use row::RowError;
pub(crate) use settings::BufferSettings;

use crate::format::Dialect;
use crate::frame::{Chunk, fields};
use crate::input::Bytes;
use crate::record::Record;
use crate::text::Transcoder;
use settings::size_class;
use spill::Spill;

/// Shorter kept runs are copied: a slice of its own in a vectored write costs about as much as copying this.
const SMALLEST_SLICE: usize = 4096;

/// A buffer with less capacity than this is not worth shrinking.
const SLACK: usize = 1 << 20;

/// A read with less room than this goes to a place of this size first.
#[cfg(unix)]
const SMALLEST_READ: usize = 4096;

/// Slices of one chunk; more are copied, so that a vectored write stays one system call.
const MOST_SLICES: usize = 256;

/// What the work on a record writes. Nothing written drops the record; a failing record's writes are taken back.
///
/// [`io::Write`] adds exactly the bytes it is given; [`line`](Buffer::line), [`row`](Buffer::row) and
/// [`serialize`](Buffer::serialize) add the end of the input's record. Where that has none, because it is the input's last, they and
/// [`keep`](Buffer::keep) set an end between two things that follow each other, and none after the last one.
///
/// Output that outgrows its share of the memory goes to an unlinked temporary file. Where that can't take it, [`io::Write`], `flush`
/// included, fails from then on, and the run ends with that error whatever the work makes of it.
pub struct Buffer {
    own: Vec<u8>,
    spill: Spill,
    /// Slices of the input, by where they stand in the stream of own bytes.
    kept: Vec<Kept>,
    /// Kept records that touch each other, not yet decided to be copied or to be a slice.
    run: Range<usize>,
    input: Option<Bytes>,
    end: [u8; 2],
    end_len: usize,
    /// What was last written for this record lacks an end, because the record does.
    lacks_end: bool,
    mark: Option<Mark>,
    note: Vec<u8>,
    transcoder: Option<Transcoder>,
    settings: Arc<BufferSettings>,
}

struct Kept {
    at: u64,
    range: Range<usize>,
}

/// The state before a record's work began.
pub(crate) struct Mark {
    /// The record's place in its chunk.
    pub index: u64,
    pub span: Range<usize>,
    own: u64,
    kept: usize,
    run: Range<usize>,
    /// The note, if that is to be taken back too.
    note: Option<Vec<u8>>,
}

impl Buffer {
    pub(crate) fn new(input: Option<Bytes>, settings: Arc<BufferSettings>) -> Buffer {
        Buffer {
            own: settings
                .recycler
                .take(size_class(settings.expected.load(Ordering::Relaxed))),
            spill: Spill::default(),
            kept: Vec::new(),
            run: 0..0,
            input,
            end: [0; 2],
            end_len: 0,
            lacks_end: false,
            mark: None,
            note: Vec::new(),
            transcoder: settings.encoding.map(Transcoder::new),
            settings,
        }
    }

    /// Writes the record as it stands in the input, content and end, without a copy where the sink allows it.
    #[inline]
    pub fn keep(&mut self, record: &Record<'_>) {
        self.keep_bytes(record.raw, record.raw.len() == record.content);
    }

    /// Writes a whole chunk as it stands in the input: its records, and where the run passes them on its blank lines. For work
    /// that has nothing to do with single records; what [`keep`](Buffer::keep) would do for each of them. Where the output is encoded, a record
    /// that can't be is not known to be the one at fault.
    pub fn keep_chunk(&mut self, chunk: &Chunk<'_>) {
        if self.settings.blank_lines {
            self.keep_bytes(chunk.bytes(), !chunk.has_end());
        } else {
            for record in chunk.records() {
                self.keep(&record);
            }
        }
    }

    /// Writes `content` and the end of the input's record (none where the input's last record has none).
    #[inline]
    pub fn line(&mut self, content: &[u8]) {
        self.add_lacking_end();
        self.settle_run();
        self.add(content);
        self.push_end();
    }

    /// Writes a CSV record in the run's dialect, quoted only where needed, and the end of the input's record. The dialect is the
    /// [`output_format`](crate::Builder::output_format)'s; where that is no CSV or TSV, a comma and `"`.
    ///
    /// # Errors
    /// A row that the dialect can't express; then nothing is written. With quoting and doubled quotes, which are the default,
    /// every row can be.
    #[inline]
    pub fn row<I, F>(&mut self, row: I) -> Result<(), RowError>
    where
        I: IntoIterator<Item = F>,
        F: AsRef<[u8]>,
    {
        self.settle_run();
        let start = self.own.len();
        if self.lacks_end {
            self.add(self.settings.default_end);
        }
        let dialect = self.settings.dialect;
        let written = match &mut self.transcoder {
            None => fields::write_row(&mut self.own, dialect, row),
            Some(transcoder) => {
                let mut text = Vec::new();
                let written = fields::write_row(&mut text, dialect, row);
                transcoder.push(&text, &mut self.own);
                written
            }
        };
        if let Err(field) = written {
            self.own.truncate(start);
            return Err(RowError::at(field));
        }
        self.push_end();
        Ok(())
    }

    /// Writes a value as a CSV record in the run's dialect, by the `csv` crate's rules, and the end of the input's record.
    ///
    /// # Errors
    /// Those of [`csv::Writer::serialize`], and a row that the dialect can't express (see [`row`](Buffer::row)); then nothing is
    /// written.
    pub fn serialize<T: Serialize>(&mut self, value: &T) -> Result<(), csv::Error> {
        let mut writer = csv::WriterBuilder::new()
            .has_headers(false)
            // A writer zeroes its buffer each time it is made.
            .buffer_capacity(512)
            .from_writer(Vec::new());
        writer.serialize(value)?;
        let mut row = writer
            .into_inner()
            .map_err(|unflushed| unflushed.into_error())?;
        row.pop_if(|&mut last| last == b'\n');
        // Written again by `row`, which knows what the dialect can express.
        self.row(fields::fields(&row, Dialect::CSV))
            .map_err(|error| io::Error::other(error).into())
    }

    /// Leaves a note for [`Process::commit`](crate::Process::commit), which sees it in order; a later note replaces an
    /// earlier one. A chunk with a note keeps its input in memory until it is written, so that it can be run again.
    pub fn note(&mut self, note: &[u8]) {
        self.note.clear();
        self.note.extend_from_slice(note);
    }

    /// The note that was left last; empty if there is none, also at the start of an attempt that runs the chunk again.
    pub fn noted(&self) -> &[u8] {
        &self.note
    }

    /// Bytes written so far to this buffer.
    pub fn len(&self) -> u64 {
        let slices: usize = self.kept.iter().map(|kept| kept.range.len()).sum();
        self.own_len() + (slices + self.run.len()) as u64
    }

    /// Whether nothing is written so far.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The last byte written so far.
    pub fn last_byte(&self) -> Option<u8> {
        let input: &[u8] = self.input.as_deref().unwrap_or_default();
        let of_slice = |range: &Range<usize>| input.get(range.end - 1).copied();
        if !self.run.is_empty() {
            return of_slice(&self.run);
        }
        match self.kept.last() {
            Some(kept) if kept.at == self.own_len() => of_slice(&kept.range),
            _ => self.own.last().copied().or(self.spill.last),
        }
    }

    /// Writes what one `read` of a descriptor gives, straight into the buffer, and says how many bytes that is: 0 at its end.
    ///
    /// # Errors
    /// Those of the read, [`WouldBlock`](io::ErrorKind::WouldBlock) and [`Interrupted`](io::ErrorKind::Interrupted) among them, after which
    /// nothing is written; and that of a file that could not keep what was written before.
    #[cfg(unix)]
    pub fn read_from(&mut self, fd: impl std::os::fd::AsFd) -> io::Result<usize> {
        self.settle_run();
        let room = self.own.capacity() - self.own.len();
        // What is left of the room may well be all that is needed, or the end may be all that comes: growing waits for bytes.
        let n = if room < SMALLEST_READ {
            let mut few = [0; SMALLEST_READ];
            let n = rustix::io::read(fd, &mut few)?;
            self.own.extend_from_slice(&few[..n]);
            n
        } else {
            rustix::io::read(fd, rustix::buffer::spare_capacity(&mut self.own))?
        };
        self.spill_if_large();
        self.flush()?;
        Ok(n)
    }

    #[inline]
    fn own_len(&self) -> u64 {
        self.spill.len + self.own.len() as u64
    }

    #[inline]
    fn keep_bytes(&mut self, bytes: &[u8], lacks_end: bool) {
        self.add_lacking_end();
        self.lacks_end = lacks_end;
        if self.transcoder.is_some() {
            return self.push(bytes);
        }
        match self.place_of(bytes) {
            Some(place) if self.run.end == place.start && !self.run.is_empty() => {
                self.run.end = place.end;
            }
            Some(place) => {
                self.settle_run();
                self.run = place;
            }
            None => self.push(bytes),
        }
    }

    /// Where in the chunk these bytes lie, if they do.
    #[inline]
    fn place_of(&self, raw: &[u8]) -> Option<Range<usize>> {
        let chunk: &[u8] = self.input.as_deref()?;
        let start = (raw.as_ptr() as usize).checked_sub(chunk.as_ptr() as usize)?;
        let end = start.checked_add(raw.len())?;
        (end <= chunk.len()).then_some(start..end)
    }

    #[inline]
    fn add(&mut self, bytes: &[u8]) {
        match &mut self.transcoder {
            None => self.own.extend_from_slice(bytes),
            Some(transcoder) => transcoder.push(bytes, &mut self.own),
        }
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        self.settle_run();
        self.add(bytes);
        self.spill_if_large();
    }

    /// Ends what was last written for this record, if it has no end.
    #[inline]
    fn add_lacking_end(&mut self) {
        if self.lacks_end {
            self.push(self.settings.default_end);
            self.lacks_end = false;
        }
    }

    #[inline]
    fn push_end(&mut self) {
        self.lacks_end = self.end_len == 0;
        let end = self.end;
        self.add(&end[..self.end_len]);
        self.spill_if_large();
    }

    #[inline]
    fn settle_run(&mut self) {
        if !self.run.is_empty() {
            self.settle_run_now();
        }
    }

    fn settle_run_now(&mut self) {
        let run = std::mem::take(&mut self.run);
        if run.len() >= SMALLEST_SLICE && self.kept.len() < MOST_SLICES {
            self.kept.push(Kept {
                at: self.own_len(),
                range: run,
            });
        } else if let Some(input) = &self.input {
            self.own.extend_from_slice(&input[run]);
            self.spill_if_large();
        }
    }

    #[inline]
    fn spill_if_large(&mut self) {
        if self.own.len() >= self.settings.spill_at {
            self.spill_now();
        }
    }

    fn spill_now(&mut self) {
        if self.spill.failed.is_none()
            && let Err(error) = self.spill.append(&self.own, self.settings.near.as_deref())
        {
            self.spill.failed = Some(error);
        }
        // After a failed spill the run ends with that error; until then memory stays bounded.
        self.own.clear();
    }

    // What follows is for the worker that drives the chunk.
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let settings = Arc::clone(&self.settings);
        settings.recycler.give(std::mem::take(&mut self.own));
    }
}

impl Write for Buffer {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.lacks_end = false;
        self.push(bytes);
        self.flush()
    }

    /// Whether all that was written is kept: see [`Buffer`].
    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        match &self.spill.failed {
            None => Ok(()),
            Some(error) => Err(again(error)),
        }
    }
}

/// The same error once more.
#[cold]
fn again(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer").field("len", &self.len()).finish()
    }
}
