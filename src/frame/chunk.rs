//! A run of whole records: the unit of work.

use std::borrow::Cow;
use std::ops::Range;
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::control::Control;
use crate::error::BoxError;
use crate::format::Framing;
use crate::frame::spans::{Span, Spans};
use crate::input::{Bytes, Grown, InputError, Malformed, Watch};
use crate::output::checkpoint::Identity;
use crate::process::ChunkError;
use crate::record::{Header, Record};
use crate::sync::{Mutex, lock};
use crate::text::{Encoding, Transcoder};

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
    /// Its LF bytes, without `added`.
    pub lines: u64,
    /// Chunks before it.
    pub seq: u64,
    /// How many bytes at its end the input lacks.
    pub added: usize,
    /// Where the quote stands that the end of the input left open; its record is the last one.
    pub unclosed: Option<usize>,
    /// Where bytes meant nothing in the input's encoding.
    pub malformed: Vec<Malformed>,
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
    /// What a later run recognises a regular file by.
    pub identity: Option<Identity>,
    /// Of its text, which was decoded.
    pub encoding: Option<Encoding>,
    /// Something worth knowing about the input.
    pub note: Option<String>,
    /// `None`: it can't be looked at, or needs not be any more.
    pub watch: Mutex<Option<Watch>>,
}

impl InputInfo {
    pub fn is_watched(&self) -> bool {
        lock(&self.watch).is_some()
    }

    /// Whether the input is still what it was: see [`Watch::check`].
    pub fn check(&self, tail: &[u8], end: u64) -> Result<Option<Grown>, InputError> {
        let mut watch = lock(&self.watch);
        watch
            .as_mut()
            .map_or(Ok(None), |watch| watch.check(tail, end))
    }

    /// Bytes of the file behind those up to `end`: as many, or where the file is decoded, what was read of it.
    pub fn bytes_of_file(&self, end: u64) -> u64 {
        let watch = lock(&self.watch);
        watch.as_ref().and_then(Watch::read_of_file).unwrap_or(end)
    }

    /// Bytes before the first chunk.
    pub fn top_bytes(&self) -> u64 {
        let header = self.header.as_ref().map_or(0, |header| header.raw().len());
        (self.preamble.len() + header) as u64
    }
}

impl Place {
    /// Memory that it holds beside itself.
    pub fn held(&self) -> usize {
        self.malformed.capacity() * size_of::<Malformed>()
    }
}

impl Framed {
    /// Memory that it holds.
    pub fn held(&self) -> usize {
        self.bytes.len() + self.place.held()
    }

    /// The bytes that the input has.
    pub fn own_bytes(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - self.place.added]
    }

    /// The bytes that a part of the chunk has in the source: decoded text is encoded again, what was malformed is as it was.
    pub fn source(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        let text = &self.bytes[range.clone()];
        let Some(encoding) = self.place.input.encoding else {
            return Cow::Borrowed(text);
        };
        let mut transcoder = Transcoder::new(encoding);
        let (mut source, mut done) = (Vec::new(), range.start);
        let at = |malformed: &Malformed| (malformed.at - self.place.offset) as usize;
        let all = &self.place.malformed;
        let first = all.partition_point(|malformed| at(malformed) < range.start);
        for malformed in &all[first..] {
            let at = at(malformed);
            if at >= range.end {
                break;
            }
            transcoder.push(&self.bytes[done..at], &mut source);
            source.extend_from_slice(malformed.bytes());
            done = at + char::REPLACEMENT_CHARACTER.len_utf8();
        }
        transcoder.push(&self.bytes[done..range.end], &mut source);
        // Decoded text can be encoded.
        let _ = transcoder.settle(&mut source);
        Cow::Owned(source)
    }

    /// The whole chunk, for the work.
    pub fn view<'c>(&'c self, control: &'c Arc<Control>) -> Chunk<'c> {
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
    control: &'c Arc<Control>,
    range: Range<usize>,
    first: u64,
    attempt: u32,
}

impl<'c> Chunk<'c> {
    /// All bytes: records, and blank lines that are none.
    pub fn bytes(&self) -> &'c [u8] {
        &self.framed.bytes[self.range.clone()]
    }

    /// The regular file that the bytes are mapped from, and the offset in it of their first: for system calls that move bytes
    /// between descriptors without a copy, such as `splice`. `None` where the bytes were read or decoded, or got an end that the file
    /// lacks.
    #[cfg(unix)]
    pub fn mapped_from(&self) -> Option<(BorrowedFd<'c>, u64)> {
        let (file, offset) = self.framed.bytes.mapped_from(self.range.start)?;
        Some((file.as_fd(), offset))
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

    /// The sequence number of the chunk (of the whole one, if this is a part), from 0.
    pub fn seq(&self) -> u64 {
        self.framed.place.seq
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

    /// What stands in the input before its header, or before its first record where there is none: a UTF-8 byte order mark, skipped
    /// and blank lines.
    pub fn preamble(&self) -> &'c [u8] {
        &self.framed.place.input.preamble
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

    /// Whether the run is stopping: then work that takes long should return [`ChunkError::Stopped`]. [`each`](Chunk::each) asks
    /// before every record.
    pub fn is_stopping(&self) -> bool {
        self.control.is_stopped()
    }

    /// The same for what outlives the chunk, such as a state that is dropped at the end of the run.
    pub fn stopping(&self) -> Stopping {
        Stopping(Arc::clone(self.control))
    }

    /// What should end a wait of the work, so that a run which stops need not wait for it.
    ///
    /// # Errors
    /// If there are no descriptors left.
    #[cfg(unix)]
    pub fn interrupts(&self) -> std::io::Result<Interrupts<'c>> {
        Ok(Interrupts {
            stop: self.control.stopped.readable()?,
            output: self.control.waker.watched(),
        })
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
        self.try_each(out, |record, out| {
            work(record, out).map_err(ChunkError::Whole)
        })
    }

    /// As [`each`](Chunk::each), for work that can also end in its middle because the run is stopping, or give the run up.
    ///
    /// # Errors
    /// [`ChunkError::Record`] where `work` returns [`ChunkError::Whole`] or [`ChunkError::Record`] (whose index does not matter);
    /// else what it returns. What the record wrote is taken back.
    #[inline]
    pub fn try_each<W>(&self, out: &mut Buffer, mut work: W) -> Result<(), ChunkError>
    where
        W: FnMut(&Record<'_>, &mut Buffer) -> Result<(), ChunkError>,
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
            let worked = work(&record, out);
            let worked = worked.and_then(|()| out.settle_text().map_err(ChunkError::Whole));
            if let Err(error) = worked {
                return Err(match error {
                    ChunkError::Whole(error) | ChunkError::Record(_, error) => {
                        ChunkError::Record(index, error)
                    }
                    ChunkError::Stopped => {
                        out.forget(index);
                        ChunkError::Stopped
                    }
                    fatal @ ChunkError::Fatal(_) => fatal,
                });
            }
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

/// Whether a run is stopping: see [`Chunk::stopping`].
#[derive(Debug, Clone)]
pub struct Stopping(Arc<Control>);

impl Stopping {
    /// As [`Chunk::is_stopping`]. A run that fails, or whose output nobody reads any more, is stopping too.
    pub fn is_stopping(&self) -> bool {
        self.0.is_stopped()
    }
}

/// Descriptors for work that waits in `poll`, beside those that it waits for. If one of them reports anything, the work should
/// return [`ChunkError::Stopped`]. See [`Chunk::interrupts`].
#[cfg(unix)]
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Interrupts<'c> {
    /// Becomes readable when the run is stopping, and stays so. Nothing is to be read from it.
    pub stop: BorrowedFd<'c>,
    /// The output, where it is a pipe or a socket, to be polled for no event: it reports an error or a hang-up when nobody can
    /// read it any more.
    pub output: Option<BorrowedFd<'c>>,
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
