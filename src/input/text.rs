//! Inputs in other encodings than UTF-8, decoded ahead of the framing.
//!
//! A byte order mark of the named encoding is taken off; one of UTF-16 in the other order of bytes is an error, any other is a character,
//! or malformed. Bytes without a meaning become U+FFFD, and are noted down: the record that they are in fails, so none of these gets out.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::sync::{Mutex, lock};
use crate::text::Encoding;

/// Bytes of the source that mean nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// Of the U+FFFD in their place, in the decoded input.
    pub at: u64,
    /// Of the first of them, in the source.
    pub source: u64,
    bytes: [u8; 4],
    len: u8,
    encoding: Encoding,
}

impl Malformed {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.bytes() {
            write!(f, "{byte:02X} ")?;
        }
        let (source, name) = (self.source, self.encoding.name());
        write!(f, "at byte {source} of the source is not {name}")
    }
}

impl std::error::Error for Malformed {}

/// What the decoder tells the framing. Clones belong together.
#[derive(Debug, Clone, Default)]
pub(super) struct Told(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    malformed: VecDeque<Malformed>,
    mark: bool,
}

impl Told {
    /// Takes the malformed places before this one, in the decoded input.
    pub fn take_before(&self, end: u64) -> Vec<Malformed> {
        let malformed = &mut lock(&self.0).malformed;
        let n = malformed.partition_point(|place| place.at < end);
        malformed.drain(..n).collect()
    }

    /// Whether the source began with a byte order mark.
    pub fn mark(&self) -> bool {
        lock(&self.0).mark
    }
}

#[cfg(feature = "encoding")]
pub(super) use decoding::Text;

#[cfg(feature = "encoding")]
mod decoding {
    use encoding_rs::{Decoder, DecoderResult};

    use super::{Malformed, Told};
    use crate::input::InputError;
    use crate::input::decode::Compression;
    use crate::input::tap::{Got, Tap};
    use crate::sync::lock;
    use crate::text::Encoding;

    /// Bytes of the source read, and of text decoded, at a time.
    const BLOCK: usize = 64 << 10;

    /// Bytes that are kept behind those that were decoded: a malformed sequence is known only some bytes later.
    const HISTORY: usize = 16;

    /// What stands for them: U+FFFD.
    const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();

    /// A stream of text.
    pub(in crate::input) struct Text<'a> {
        inner: Box<dyn Tap + 'a>,
        inner_ended: bool,
        encoding: Encoding,
        decoder: Decoder,
        /// Not decoded yet is `raw[start..filled]`.
        raw: Vec<u8>,
        start: usize,
        filled: usize,
        /// Of `raw[start]`, in the source.
        source: u64,
        /// Not handed on yet is `text[given..decoded]`, which ends at `at` in the decoded input.
        text: Vec<u8>,
        given: usize,
        decoded: usize,
        at: u64,
        ended: bool,
        told: Told,
    }

    impl<'a> Text<'a> {
        pub fn new(inner: Box<dyn Tap + 'a>, encoding: Encoding, told: Told) -> Text<'a> {
            Text {
                inner,
                inner_ended: false,
                encoding,
                decoder: encoding.0.new_decoder_with_bom_removal(),
                raw: vec![0; BLOCK],
                start: 0,
                filled: 0,
                source: 0,
                text: vec![0; BLOCK],
                given: 0,
                decoded: 0,
                at: 0,
                ended: false,
                told,
            }
        }

        fn fill(&mut self) -> Result<(), InputError> {
            let kept = self.start.saturating_sub(HISTORY);
            self.raw.copy_within(kept..self.filled, 0);
            self.filled -= kept;
            self.start -= kept;
            let got = self.inner.read(&mut self.raw[self.filled..])?;
            self.filled += got.bytes;
            self.inner_ended = got.ended;
            Ok(())
        }

        /// Decodes what is at hand, or a block of it.
        fn decode(&mut self) {
            self.given = 0;
            self.decoded = 0;
            loop {
                let (result, read, written) = self.decoder.decode_to_utf8_without_replacement(
                    &self.raw[self.start..self.filled],
                    &mut self.text[self.decoded..BLOCK - REPLACEMENT.len()],
                    self.inner_ended,
                );
                self.decoded += written;
                self.start += read;
                self.source += read as u64;
                self.at += written as u64;
                match result {
                    DecoderResult::InputEmpty => {
                        self.ended = self.inner_ended;
                        return;
                    }
                    DecoderResult::OutputFull => return,
                    DecoderResult::Malformed(len, extra) => self.replace(len, usize::from(extra)),
                }
                if self.decoded >= BLOCK - REPLACEMENT.len() {
                    return;
                }
            }
        }

        /// So many bytes, before the `extra` last ones taken, mean nothing.
        fn replace(&mut self, len: u8, extra: usize) {
            let n = usize::from(len).min(4);
            let end = self.start.saturating_sub(extra);
            let begin = end.saturating_sub(n);
            let mut bytes = [0; 4];
            bytes[..end - begin].copy_from_slice(&self.raw[begin..end]);
            lock(&self.told.0).malformed.push_back(Malformed {
                at: self.at,
                source: self.source - (extra + n) as u64,
                bytes,
                len: (end - begin) as u8,
                encoding: self.encoding,
            });
            let end = self.decoded + REPLACEMENT.len();
            self.text[self.decoded..end].copy_from_slice(REPLACEMENT);
            self.decoded = end;
            self.at += REPLACEMENT.len() as u64;
        }
    }

    impl Tap for Text<'_> {
        /// Waits also until it is known whether there is a mark.
        fn settle(&mut self) -> Result<Option<Compression>, InputError> {
            let compression = self.inner.settle()?;
            let mark = self.encoding.mark();
            let opposite = self.encoding.opposite();
            loop {
                let start = &self.raw[..self.filled];
                let begins = |mark: &[u8]| start.len() < mark.len() && mark.starts_with(start);
                let unclear = begins(mark) || opposite.is_some_and(|(mark, _)| begins(mark));
                if !unclear || self.inner_ended {
                    if let Some((mark, name)) = opposite
                        && start.starts_with(mark)
                    {
                        return Err(InputError::Io(std::io::Error::new(
                            std::io::ErrorKind::InvalidData,
                            format!(
                                "the text begins with the byte order mark of {name}, not of {}",
                                self.encoding.name()
                            ),
                        )));
                    }
                    lock(&self.told.0).mark = !mark.is_empty() && start.starts_with(mark);
                    return Ok(compression);
                }
                self.inner.wait(false)?;
                self.fill()?;
            }
        }

        fn wait(&mut self, busy: bool) -> Result<bool, InputError> {
            let at_hand = self.given < self.decoded || self.start < self.filled;
            if at_hand || self.inner_ended {
                return Ok(false);
            }
            self.inner.wait(busy)
        }

        fn read(&mut self, rest: &mut [u8]) -> Result<Got, InputError> {
            if self.given == self.decoded && !self.ended {
                if self.start == self.filled && !self.inner_ended {
                    self.fill()?;
                }
                self.decode();
            }
            let text = &self.text[self.given..self.decoded];
            let n = text.len().min(rest.len());
            rest[..n].copy_from_slice(&text[..n]);
            self.given += n;
            Ok(Got {
                bytes: n,
                ended: self.ended && self.given == self.decoded,
            })
        }
    }
}
