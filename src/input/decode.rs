//! Compressed inputs: told by their first bytes, unpacked ahead of the framing in constant memory.
//!
//! A file is any number of members (gzip), frames (zstd, skippable ones too) or streams (bzip2, xz), one after the
//! other; what they hold is joined. After the last one may stand zero bytes, as tapes and fixed-size stores leave them;
//! anything else is an error. Decoders hand out bytes before they have seen the checksum behind them: only what is
//! published at the end of a run is known to be right.

#[cfg(feature = "bzip2")]
mod bzip2;
mod fault;
#[cfg(feature = "gzip")]
mod gzip;
mod magic;
#[cfg(feature = "xz")]
mod xz;
#[cfg(feature = "zstd")]
mod zstd;

#[cfg(test)]
mod tests;

use std::path::Path;

use super::InputError;
use super::tap::{Got, Raw, Tap};
use crate::error::escaped;
pub(crate) use fault::{DecodeError, Fault};
pub(crate) use magic::Compression;
use magic::Sniffed;

/// Compressed bytes read at a time.
const BLOCK: usize = 128 << 10;

/// One kind of decoder, for one member after the other.
trait Decode: Send {
    /// Goes on decoding. All of `input` is taken unless `output` is full or the member ends.
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, Fault>;

    /// Makes it ready for the next member.
    fn renew(&mut self) -> Result<(), Fault>;
}

/// What one step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    read: usize,
    written: usize,
    /// The member is complete.
    ended: bool,
}

/// A decoder of this kind that takes about so many bytes of memory for its window at most.
fn decoder(compression: Compression, memory: usize) -> Result<Box<dyn Decode>, Fault> {
    #[cfg(not(any(feature = "zstd", feature = "xz")))]
    let _ = memory;
    match compression {
        #[cfg(feature = "gzip")]
        Compression::Gzip => Ok(Box::new(gzip::Gzip::new())),
        #[cfg(feature = "zstd")]
        Compression::Zstd => Ok(Box::new(zstd::Zstd::new(memory)?)),
        #[cfg(feature = "bzip2")]
        Compression::Bzip2 => Ok(Box::new(bzip2::Bzip2::new())),
        #[cfg(feature = "xz")]
        Compression::Xz => Ok(Box::new(xz::Xz::new(memory)?)),
        #[allow(unreachable_patterns, reason = "where all features are on")]
        _ => Err(Fault::NotBuiltIn),
    }
}

/// Whether a regular file with these first bytes is not simply to be mapped: it is compressed, or its name says so.
pub(super) fn is_for_decoder(start: &[u8], name: &Path) -> bool {
    Compression::of_start(start).is_some() || Compression::of_name(name).is_some()
}

/// What to say about a file that is not what its name says.
pub(super) fn disagree(name: &Path, compression: Option<Compression>) -> Option<String> {
    let named = Compression::of_name(name);
    let shown = escaped(name);
    match (named, compression) {
        (Some(named), None) => {
            let named = named.name();
            Some(format!(
                "{shown}: named like {named}, but not compressed: read as it is"
            ))
        }
        (Some(named), Some(kind)) if named != kind => {
            let (named, kind) = (named.name(), kind.name());
            Some(format!("{shown}: named like {named}, but it is {kind}"))
        }
        (None, Some(kind)) if name.extension().is_some() => {
            let kind = kind.name();
            Some(format!(
                "{shown}: compressed ({kind}), although its name does not say so"
            ))
        }
        _ => None,
    }
}

/// An input that may be compressed.
pub(super) struct Unpacked<'a> {
    raw: Raw<'a>,
    state: State,
    /// Bytes that were read and not taken yet are `buffer[start..filled]`.
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    raw_ended: bool,
    /// Of `buffer[start]`, in the input.
    at: u64,
    memory: usize,
    /// What the input's name promises.
    named: Option<Compression>,
    /// Comes after the bytes that were read with it.
    late: Option<InputError>,
}

enum State {
    /// What there is may be the beginning of a magic.
    Sniffing,
    /// The bytes are what they are.
    Plain,
    /// Inside a member. The decoder may have more to give without being given more if `pending`.
    Member {
        kind: Compression,
        decoder: Box<dyn Decode>,
        pending: bool,
    },
    /// After a member, and so many zero bytes.
    Between {
        kind: Compression,
        decoder: Box<dyn Decode>,
        zeros: u64,
    },
    Ended,
}

impl<'a> Unpacked<'a> {
    /// Looks at what `raw` brings. `memory`: see [`decoder`].
    pub fn new(raw: Raw<'a>, name: &Path, memory: usize) -> Unpacked<'a> {
        Unpacked {
            raw,
            state: State::Sniffing,
            buffer: Vec::new(),
            start: 0,
            filled: 0,
            raw_ended: false,
            at: 0,
            memory,
            named: Compression::of_name(name),
            late: None,
        }
    }

    fn held(&self) -> &[u8] {
        &self.buffer[self.start..self.filled]
    }

    fn take(&mut self, bytes: usize) {
        self.start += bytes;
        self.at += bytes as u64;
    }

    /// Whether the bytes at hand tell what the input is.
    fn sniff(&mut self) -> Result<bool, InputError> {
        match magic::sniff(self.held(), self.raw_ended) {
            Sniffed::Unclear => return Ok(false),
            Sniffed::Plain => {
                if let Some(named) = self.named {
                    magic::expect_text(named, self.held(), self.raw_ended)
                        .map_err(|fault| self.failed(named, fault))?;
                }
                self.state = State::Plain;
            }
            Sniffed::Compressed(kind) => {
                let decoder =
                    decoder(kind, self.memory).map_err(|fault| self.failed(kind, fault))?;
                self.state = State::Member {
                    kind,
                    decoder,
                    pending: false,
                };
            }
        }
        Ok(true)
    }

    /// One read of what is not taken yet; its beginning stays.
    fn fill(&mut self) -> Result<(), InputError> {
        if self.buffer.is_empty() {
            self.buffer.resize(BLOCK, 0);
        }
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.start = 0;
        let got = self.raw.read(&mut self.buffer[self.filled..])?;
        self.filled += got.bytes;
        self.raw_ended = got.ended;
        Ok(())
    }

    fn failed(&self, kind: Compression, fault: Fault) -> InputError {
        DecodeError {
            compression: kind,
            fault,
            offset: self.at,
        }
        .into()
    }

    /// Hands on bytes that are not compressed.
    fn pass(&mut self, rest: &mut [u8]) -> Result<Got, InputError> {
        let held = self.held();
        if held.is_empty() && !self.raw_ended {
            return self.raw.read(rest);
        }
        let n = held.len().min(rest.len());
        rest[..n].copy_from_slice(&held[..n]);
        self.take(n);
        Ok(Got {
            bytes: n,
            ended: self.raw_ended && self.held().is_empty(),
        })
    }

    /// Goes on with the next member, or finds that there is none. Whether it is known.
    fn go_on(&mut self) -> Result<bool, InputError> {
        let State::Between {
            kind,
            decoder,
            zeros,
        } = &mut self.state
        else {
            return Ok(true);
        };
        let kind = *kind;
        let held = &self.buffer[self.start..self.filled];
        let padding = held.iter().take_while(|&&byte| byte == 0).count();
        *zeros += padding as u64;
        let zeros = *zeros;
        let held = &held[padding..];
        let fault = if held.is_empty() {
            if self.raw_ended {
                self.state = State::Ended;
            }
            self.take(padding);
            return Ok(self.raw_ended);
        } else if zeros > 0 && (kind != Compression::Xz || !zeros.is_multiple_of(4)) {
            // Of these formats only xz allows padding between two streams, in fours.
            Some(Fault::Garbage)
        } else if kind.begins(held) {
            decoder.renew().err()
        } else if kind.may_begin(held) && !self.raw_ended {
            self.take(padding);
            return Ok(false);
        } else if kind.may_begin(held) {
            Some(Fault::EndsEarly)
        } else {
            Some(Fault::Garbage)
        };
        self.take(padding);
        if let Some(fault) = fault {
            return Err(self.failed(kind, fault));
        }
        if let State::Between { kind, decoder, .. } =
            std::mem::replace(&mut self.state, State::Ended)
        {
            self.state = State::Member {
                kind,
                decoder,
                pending: false,
            };
        }
        Ok(true)
    }

    /// One step inside a member.
    fn decode(&mut self, rest: &mut [u8]) -> Result<Got, InputError> {
        let State::Member {
            kind,
            decoder,
            pending,
        } = &mut self.state
        else {
            return Ok(NOTHING);
        };
        let kind = *kind;
        let held = &self.buffer[self.start..self.filled];
        let given = held.len();
        let step = match decoder.step(held, rest) {
            Ok(step) => step,
            Err(fault) => return Err(self.failed(kind, fault)),
        };
        *pending = step.written == rest.len() && !step.ended;
        self.take(step.read);
        if step.written == 0 && !step.ended {
            if step.read < given {
                return Err(self.failed(kind, Fault::Damaged));
            }
            if self.raw_ended {
                return Err(self.failed(kind, Fault::EndsEarly));
            }
        }
        if step.ended
            && let State::Member { kind, decoder, .. } =
                std::mem::replace(&mut self.state, State::Ended)
        {
            self.state = State::Between {
                kind,
                decoder,
                zeros: 0,
            };
            // So that the end is known with the last bytes, where it can be.
            self.late = self.go_on().err();
        }
        Ok(Got {
            bytes: step.written,
            ended: matches!(self.state, State::Ended),
        })
    }
}

impl Tap for Unpacked<'_> {
    fn settle(&mut self) -> Result<Option<Compression>, InputError> {
        while matches!(self.state, State::Sniffing) {
            if !self.sniff()? {
                self.raw.wait(false)?;
                self.fill()?;
            }
        }
        Ok(match &self.state {
            State::Member { kind, .. } | State::Between { kind, .. } => Some(*kind),
            State::Sniffing | State::Plain | State::Ended => None,
        })
    }

    fn wait(&mut self, busy: bool) -> Result<bool, InputError> {
        let goes_on = match &self.state {
            State::Sniffing => false,
            State::Plain => !self.held().is_empty() || self.raw_ended,
            State::Member { pending, .. } => *pending || !self.held().is_empty() || self.raw_ended,
            State::Between { .. } => self.raw_ended || self.late.is_some(),
            State::Ended => true,
        };
        if goes_on {
            return Ok(false);
        }
        self.raw.wait(busy)
    }

    fn read(&mut self, rest: &mut [u8]) -> Result<Got, InputError> {
        if let Some(error) = self.late.take() {
            return Err(error);
        }
        match &self.state {
            State::Sniffing => {
                self.fill()?;
                self.sniff()?;
                Ok(NOTHING)
            }
            State::Plain => self.pass(rest),
            State::Member { pending, .. } => {
                if !pending && self.held().is_empty() && !self.raw_ended {
                    self.fill()?;
                    if self.held().is_empty() && !self.raw_ended {
                        return Ok(NOTHING);
                    }
                }
                self.decode(rest)
            }
            State::Between { .. } => {
                if !self.raw_ended {
                    self.fill()?;
                }
                self.go_on()?;
                Ok(Got {
                    bytes: 0,
                    ended: matches!(self.state, State::Ended),
                })
            }
            State::Ended => Ok(Got {
                bytes: 0,
                ended: true,
            }),
        }
    }
}

const NOTHING: Got = Got {
    bytes: 0,
    ended: false,
};
