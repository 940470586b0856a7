//! Inputs: bytes come in here, from mapped windows of a file or from reads.
//!
//! An [`Input`] shows the bytes that are not framed yet as one slice, its *front*. [`Input::more`] makes the
//! front longer, [`Input::take`] cuts a chunk off it. Both ways of reading give the same bytes: a mapping that the
//! system refuses is replaced by reads at the same offset.
//!
//! A regular file is processed up to the length it had when it was opened. A [`Watch`] tells the ordered stage
//! whether it was changed meanwhile.
//!
//! Compressed inputs are unpacked on the way ([`decode`]); from there on their bytes, and offsets, are those unpacked.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::checksum::Digest;
use crate::text::Encoding;

mod ahead;
mod bytes;
mod decode;
#[cfg(unix)]
#[allow(unsafe_code)]
mod mapped;
mod recycler;
mod regular;
mod source;
mod stream;
mod tap;
mod text;
mod waker;
mod watch;

#[cfg(test)]
mod tests;

pub(crate) use ahead::Ahead;
pub(crate) use bytes::Bytes;
pub(crate) use decode::Compression;
#[cfg(unix)]
pub use mapped::guard::{GuardedGroup, guard_group, guard_mapped_reads, kill_guarded_groups};
#[cfg(unix)]
pub(crate) use mapped::guard::{GuardedLeft, GuardedTemporary, guard_left, guard_temporary};
pub(crate) use recycler::Recycler;
pub(crate) use source::Origin;
pub use source::Source;
pub(crate) use text::Malformed;
pub(crate) use waker::Waker;
pub(crate) use watch::{Grown, Watch};

use decode::Unpacked;
#[cfg(unix)]
use mapped::{Mapped, map_pages};
use source::Opened;
use stream::Stream;
use tap::{Feed, Raw, Tap};
use text::Told;

/// How an input is opened.
#[derive(Debug, Clone)]
#[cfg_attr(not(unix), allow(dead_code))]
pub(crate) struct OpenOptions {
    /// Map regular files instead of reading them. Whoever sets it promises what `memory_map` asks for.
    pub map: bool,
    /// Bytes of one mapped window, made larger when one record needs it.
    pub window: usize,
    /// Bytes of the buffer that a stream is read into, made larger when one record needs it.
    pub block: usize,
    /// Unpack compressed inputs; a decoder may take so much memory for its window.
    pub decoder: Option<usize>,
    /// The encoding of the text, which is decoded to UTF-8.
    pub encoding: Option<Encoding>,
}

/// What [`Input::more`] achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum More {
    /// The front is at least as long as wanted, and more may follow.
    Ready,
    /// The stream has nothing more for now. The front is shorter than wanted, not empty, and has grown since
    /// the last time this was said.
    Drained,
    /// Nothing follows the front, which may be empty, shorter or longer than wanted. Said as soon as it is known,
    /// and from then on.
    End,
}

/// Why an input can't go on.
#[derive(Debug)]
pub(crate) enum InputError {
    /// A read failed, at the end of the front.
    Io(io::Error),
    /// The file had `from` bytes when it was opened and has `to` now.
    Shrank { from: u64, to: u64 },
    /// The file was written to, other than by appending.
    Modified,
    /// The [`Waker`] was woken, or the output that it watches was closed.
    Stopped,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InputError::Io(error) => error.fmt(f),
            InputError::Shrank { from, to } => {
                write!(f, "input shrank from {from} to {to} bytes")
            }
            InputError::Modified => f.write_str("input was modified while being read"),
            InputError::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for InputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            InputError::Io(error) => error.source(),
            _ => None,
        }
    }
}

impl From<io::Error> for InputError {
    fn from(error: io::Error) -> Self {
        InputError::Io(error)
    }
}

/// One open input.
pub(crate) struct Input<'a> {
    way: Way<'a>,
    watch: Option<Watch>,
    decodes: bool,
    told: Told,
    recycler: Arc<Recycler>,
    waker: Waker,
    #[cfg(unix)]
    block: usize,
}

/// How the bytes come in.
enum Way<'a> {
    #[cfg(unix)]
    Mapped(Mapped),
    Stream(Stream<'a>),
}

impl<'a> Input<'a> {
    /// Opens `origin`. Of a regular file the first bytes are read for its [`Watch`]; nothing else is read yet.
    pub fn open(
        origin: Origin<'a>,
        options: &OpenOptions,
        recycler: &Arc<Recycler>,
        waker: &Waker,
    ) -> io::Result<Input<'a>> {
        let name = origin.name();
        let opened = origin.open()?;
        let told = Told::default();
        let stream = |tap: Box<dyn Tap + 'a>| {
            #[cfg(feature = "encoding")]
            let tap = match options.encoding {
                Some(encoding) => Box::new(text::Text::new(tap, encoding, told.clone())),
                None => tap,
            };
            Way::Stream(Stream::new(
                tap,
                0,
                options.block,
                recycler.clone(),
                waker.clone(),
            ))
        };
        let raw = |feed| Raw::new(feed, 0, waker.clone());
        // What it is shows when it is read.
        let unknown = |raw: Raw<'a>| match options.decoder {
            Some(memory) => stream(Box::new(Unpacked::new(raw, &name, memory))),
            None => stream(Box::new(raw)),
        };
        let (way, watch) = match opened {
            Opened::Regular(regular) => match Watch::new(regular.clone()) {
                Ok(mut watch) => {
                    let way = match options.decoder {
                        Some(memory) if decode::is_for_decoder(watch.first(), &name) => {
                            let raw = raw(Feed::Regular(regular)).noting(Some(watch.decoded()));
                            stream(Box::new(Unpacked::new(raw, &name, memory)))
                        }
                        _ if options.encoding.is_some() => {
                            let raw = raw(Feed::Regular(regular)).noting(Some(watch.decoded()));
                            stream(Box::new(raw))
                        }
                        #[cfg(unix)]
                        _ if options.map => {
                            Way::Mapped(Mapped::new(&name, regular, options.window, map_pages))
                        }
                        _ => stream(Box::new(raw(Feed::Regular(regular)))),
                    };
                    (way, Some(watch))
                }
                // Some file systems of user space call a file regular that can only be read in sequence.
                Err(error) if error.kind() == io::ErrorKind::NotSeekable => {
                    (unknown(raw(Feed::File(regular.file))), None)
                }
                Err(error) => return Err(error),
            },
            Opened::Ahead(ahead) => {
                let (watch, blocks) = ahead.into_parts();
                (stream(Box::new(blocks)), Some(watch))
            }
            Opened::Stream(file) => (unknown(raw(Feed::pipe(file))), None),
            #[cfg(unix)]
            Opened::StreamAfter(bytes, file) => {
                (unknown(raw(Feed::pipe(file)).begin_with(bytes)), None)
            }
            Opened::Reader(reader) => (unknown(raw(Feed::Reader(reader))), None),
            Opened::Slice(bytes) => (unknown(raw(Feed::Slice(bytes))), None),
        };
        Ok(Input {
            way,
            watch,
            told,
            decodes: options.decoder.is_some(),
            recycler: recycler.clone(),
            waker: waker.clone(),
            #[cfg(unix)]
            block: options.block,
        })
    }

    /// Waits until it is known how the input is compressed: while its first bytes may become a magic.
    pub fn settle(&mut self) -> Result<Option<Compression>, InputError> {
        match &mut self.way {
            #[cfg(unix)]
            Way::Mapped(_) => Ok(None),
            Way::Stream(stream) => stream.settle(),
        }
    }

    /// The places before this offset whose bytes meant nothing in the input's encoding, which were not taken before.
    pub fn malformed_before(&self, end: u64) -> Vec<Malformed> {
        self.told.take_before(end)
    }

    /// Whether a byte order mark was taken off.
    pub fn had_mark(&self) -> bool {
        self.told.mark()
    }

    /// What to say about a file whose name and content disagree.
    pub fn note(&self, name: &Path, compression: Option<Compression>) -> Option<String> {
        let looked = self.decodes && self.watch.is_some();
        looked
            .then(|| decode::disagree(name, compression))
            .flatten()
    }

    /// The unframed bytes at hand.
    pub fn front(&self) -> &[u8] {
        match &self.way {
            #[cfg(unix)]
            Way::Mapped(mapped) => mapped.front(),
            Way::Stream(stream) => stream.front(),
        }
    }

    /// Offset of the front's first byte in the input. The first byte read has offset 0, also where standard
    /// input is a file that was read in part before.
    pub fn offset(&self) -> u64 {
        match &self.way {
            #[cfg(unix)]
            Way::Mapped(mapped) => mapped.offset(),
            Way::Stream(stream) => stream.offset(),
        }
    }

    /// How many bytes a regular file has, as seen when it was opened.
    #[cfg(test)]
    pub fn size(&self) -> Option<u64> {
        self.watch.as_ref().map(Watch::size)
    }

    /// What the ordered stage needs to see whether a regular file was changed.
    pub fn watch(&self) -> Option<Watch> {
        self.watch.clone()
    }

    /// Makes the front at least `want` bytes long, if the input has as many. Waits for streams; a wait for a pipe,
    /// a terminal or the like ends when the waker is woken, one inside a caller's reader does not.
    pub fn more(&mut self, want: usize) -> Result<More, InputError> {
        if self.waker.is_woken() {
            return Err(InputError::Stopped);
        }
        match &mut self.way {
            #[cfg(unix)]
            Way::Mapped(mapped) => match mapped.more(want)? {
                Some(more) => Ok(more),
                None => {
                    self.read_instead();
                    self.more(want)
                }
            },
            Way::Stream(stream) => stream.more(want),
        }
    }

    /// Goes on with reads where a mapping was refused.
    #[cfg(unix)]
    fn read_instead(&mut self) {
        if let Way::Mapped(mapped) = &self.way {
            let feed = Feed::Regular(mapped.regular().clone());
            let raw = Raw::new(feed, mapped.offset(), self.waker.clone());
            self.way = Way::Stream(Stream::new(
                Box::new(raw),
                mapped.offset(),
                self.block,
                self.recycler.clone(),
                self.waker.clone(),
            ));
        }
    }

    /// Goes on at this offset, which is not before the front. With `sum`, and where an input can't jump, the bytes on the way are read;
    /// `sum` gets them. Whether the input has as many.
    pub fn go_to(&mut self, offset: u64, mut sum: Option<&mut Digest>) -> Result<bool, InputError> {
        if sum.is_none() {
            match &mut self.way {
                #[cfg(unix)]
                Way::Mapped(mapped) => mapped.jump(offset),
                Way::Stream(stream) => stream.jump(offset),
            }
        }
        while self.offset() < offset {
            if self.front().is_empty() && self.more(1)? == More::End && self.front().is_empty() {
                return Ok(false);
            }
            let left = usize::try_from(offset - self.offset()).unwrap_or(usize::MAX);
            let taken = self.take(left.min(self.front().len()));
            if let Some(sum) = &mut sum {
                sum.update(&taken);
            }
        }
        Ok(true)
    }

    /// Cuts the first `n` bytes off the front, which must have as many.
    pub fn take(&mut self, n: usize) -> Bytes {
        if n == 0 {
            return Bytes::from_vec(Vec::new(), &self.recycler);
        }
        match &mut self.way {
            #[cfg(unix)]
            Way::Mapped(mapped) => mapped.take(n),
            Way::Stream(stream) => stream.take(n),
        }
    }
}
