//! A run of whole records: the unit of work.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::control::Control;
use crate::error::BoxError;
use crate::format::Framing;
use crate::frame::spans::{Span, Spans};
use crate::input::{Bytes, Watch};
use crate::process::ChunkError;
use crate::record::{Header, Record};
use crate::sync::Mutex;

/// A chunk as the reader cut it.
#[derive(Debug, Clone)]
pub(crate) struct Framed {
    pub bytes: Bytes,
    pub place: Place,
}

/// Where a chunk stands in the inputs.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub input: Arc<InputInfo>,
    /// Of its first byte in its input.
    pub offset: u64,
    /// Records of its input before it.
    pub first: u64,
    pub records: u64,
    /// How many bytes at its end the input lacks.
    pub added: usize,
    /// Where the quote stands that the end of the input left open; its record is the last one.
    pub unclosed: Option<usize>,
    /// How often the ordered stage has sent the chunk back.
    pub attempt: u32,
}

/// What the chunks of one input share.
#[derive(Debug)]
pub(crate) struct InputInfo {
    pub index: usize,
    pub name: Arc<Path>,
    pub framing: Framing,
    pub header: Option<Header>,
    /// What stands before the header, or before the first record where there is none.
    pub preamble: Vec<u8>,
    /// LF bytes in the preamble and the header.
    pub top_lines: u64,
    pub watch: Option<Mutex<Watch>>,
}

impl InputInfo {
    /// Bytes before the first chunk.
    pub fn top_bytes(&self) -> u64 {
        let header = self.header.as_ref().map_or(0, |header| header.raw().len());
        (self.preamble.len() + header) as u64
    }
}

impl Framed {
    /// The bytes that the input has.
    pub fn own_bytes(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - self.place.added]
    }

    /// The whole chunk, for the work.
    pub fn view<'c>(&'c self, control: &'c Control) -> Chunk<'c> {
        Chunk {
            framed: self,
            control,
            range: 0..self.bytes.len(),
            first: self.place.first,
            attempt: self.place.attempt,
        }
    }
}

/// A run of whole records of one input, as [`Process::chunk`](crate::Process::chunk) gets it: a chunk as it was cut, or
/// a part of one when some of its records have failed.
#[derive(Clone)]
pub struct Chunk<'c> {
    framed: &'c Framed,
    control: &'c Control,
    range: Range<usize>,
    first: u64,
    attempt: u32,
}

impl<'c> Chunk<'c> {
    /// All bytes: records, and blank lines that are none.
    pub fn bytes(&self) -> &'c [u8] {
        &self.framed.bytes[self.range.clone()]
    }

    /// The records.
    pub fn records(&self) -> impl Iterator<Item = Record<'c>> + use<'c> {
        let chunk = self.clone();
        self.spans()
            .zip(0..)
            .map(move |(span, index)| chunk.record(&span, index))
    }

    /// Whether the last record has an end, as all but the input's last one do.
    pub(crate) fn has_end(&self) -> bool {
        self.framed.place.input.framing.ends(self.bytes())
    }

    /// The number of the first record in its input, from 1.
    pub fn first_number(&self) -> u64 {
        self.first + 1
    }

    /// The byte offset of the first byte in its input, from 0.
    pub fn offset(&self) -> u64 {
        self.framed.place.offset + self.range.start as u64
    }

    /// The input's header.
    pub fn header(&self) -> Option<&'c Header> {
        self.framed.place.input.header.as_ref()
    }

    /// The header as a record, e.g. to [`keep`](Buffer::keep) it.
    pub fn header_record(&self) -> Option<Record<'c>> {
        let input = &self.framed.place.input;
        input
            .header
            .as_ref()
            .map(|header| header.as_record(&input.name))
    }

    /// The input's name: its path, or `<stdin>`, `<reader>`, `<bytes>`.
    pub fn input(&self) -> &'c Path {
        &self.framed.place.input.name
    }

    /// How often the chunk has been worked on before, from 0. Where one record failed and is tried again with those that follow it, this is
    /// how often that record, the first, was tried.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Calls `work` for each record in turn, passes on blank lines (where the run keeps them), and sees to it that what a
    /// failing record wrote can be taken back.
    ///
    /// # Errors
    /// [`ChunkError::Record`] with the first error that `work` returns, [`ChunkError::Stopped`] if the run is stopping.
    #[inline]
    pub fn each<W>(&self, out: &mut Buffer, mut work: W) -> Result<(), ChunkError>
    where
        W: FnMut(&Record<'_>, &mut Buffer) -> Result<(), BoxError>,
    {
        let mut done = self.range.start;
        for (span, index) in self.spans().zip(0..) {
            if self.control.is_stopped() {
                return Err(ChunkError::Stopped);
            }
            let record = self.record(&span, index);
            let place = self.range.start + span.start..self.range.start + span.end;
            out.gap(done..place.start);
            done = place.end;
            out.begin(index, place, record.end());
            work(&record, out).map_err(|error| ChunkError::Record(index, error))?;
        }
        out.end();
        out.gap(done..self.range.end);
        Ok(())
    }

    #[inline]
    pub(crate) fn spans(&self) -> Spans<'c> {
        Spans::new(self.bytes(), self.framed.place.input.framing)
    }

    /// The records, and in NDJSON the blank lines too.
    pub(crate) fn lines(&self) -> Spans<'c> {
        match self.framed.place.input.framing {
            Framing::Ndjson => Spans::new(self.bytes(), Framing::Lines),
            _ => self.spans(),
        }
    }

    #[inline]
    fn record(&self, span: &Span, index: u64) -> Record<'c> {
        Record {
            raw: &self.bytes()[span.start..span.end],
            content: span.content_end - span.start,
            number: self.first + index + 1,
            offset: self.offset() + span.start as u64,
            framing: self.framed.place.input.framing,
            header: self.framed.place.input.header.as_ref(),
            input: &self.framed.place.input.name,
            attempt: match index {
                0 => self.attempt,
                _ => self.framed.place.attempt,
            },
        }
    }

    /// A part of the whole chunk, from its `index`-th record on, that was tried so often.
    pub(crate) fn part(&self, range: Range<usize>, index: u64, tries: u32) -> Chunk<'c> {
        Chunk {
            range,
            first: self.first + index,
            attempt: self.attempt + tries,
            ..self.clone()
        }
    }
}

impl std::fmt::Debug for Chunk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chunk")
            .field("input", &self.input())
            .field("first_number", &self.first_number())
            .field("bytes", &self.range.len())
            .finish()
    }
}
