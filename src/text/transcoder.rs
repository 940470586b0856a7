//! From UTF-8, as the work writes it, to the output's encoding.

use std::fmt;

use super::Encoding;

/// Encodes what the work on a chunk writes, record by record, in pieces of any size.
pub(crate) struct Transcoder {
    encoding: Encoding,
    #[cfg(feature = "encoding")]
    encoder: Option<encoding_rs::Encoder>,
    /// The beginning of a character that is not complete.
    tail: Vec<u8>,
    /// What stands in the way of the record at work.
    failed: Option<Unencodable>,
}

/// Something can't be written in the output's encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unencodable {
    /// The encoding has no such character.
    #[cfg_attr(not(feature = "encoding"), allow(dead_code))]
    Character(char, Encoding),
    /// What was written is no UTF-8.
    Utf8,
}

impl fmt::Display for Unencodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Unencodable::Character(character, encoding) => write!(
                f,
                "the output's encoding, {}, has no U+{:04X}",
                encoding.name(),
                u32::from(character)
            ),
            Unencodable::Utf8 => f.write_str("not UTF-8, so it can't be encoded for the output"),
        }
    }
}

impl std::error::Error for Unencodable {}

impl Transcoder {
    pub fn new(encoding: Encoding) -> Transcoder {
        Transcoder {
            encoding,
            #[cfg(feature = "encoding")]
            encoder: None,
            tail: Vec::new(),
            failed: None,
        }
    }

    /// Encodes `bytes` to the end of `out`; what fails is told by [`settle`](Transcoder::settle).
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.failed.is_some() {
            return;
        }
        if self.tail.is_empty() {
            self.push_whole(bytes, out);
        } else {
            let mut joined = std::mem::take(&mut self.tail);
            joined.extend_from_slice(bytes);
            self.push_whole(&joined, out);
        }
    }

    fn push_whole(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let (valid, rest, broken) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, &[][..], false),
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                let valid = std::str::from_utf8(valid).unwrap_or_default();
                (valid, rest, error.error_len().is_some())
            }
        };
        self.encode(valid, out);
        if broken {
            self.failed.get_or_insert(Unencodable::Utf8);
        } else {
            self.tail.extend_from_slice(rest);
        }
    }

    /// A record ends here. What stands in the way of it, if something does.
    pub fn settle(&mut self, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        if !self.tail.is_empty() {
            self.failed.get_or_insert(Unencodable::Utf8);
        }
        self.finish(out);
        let failed = self.failed.take();
        self.tail.clear();
        failed.map_or(Ok(()), Err)
    }

    /// What was written since the last record ended is taken back.
    pub fn reset(&mut self) {
        self.tail.clear();
        self.failed = None;
        #[cfg(feature = "encoding")]
        {
            self.encoder = None;
        }
    }

    #[cfg(not(feature = "encoding"))]
    fn encode(&mut self, _: &str, _: &mut Vec<u8>) {
        match self.encoding.0 {}
    }

    #[cfg(not(feature = "encoding"))]
    fn finish(&mut self, _: &mut Vec<u8>) {
        match self.encoding.0 {}
    }

    #[cfg(feature = "encoding")]
    fn encode(&mut self, text: &str, out: &mut Vec<u8>) {
        use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};
        let encoding = self.encoding.0;
        // The standard's encoder for UTF-16 writes UTF-8.
        if encoding == UTF_8 {
            out.extend_from_slice(text.as_bytes());
        } else if encoding == UTF_16LE {
            out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        } else if encoding == UTF_16BE {
            out.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
        } else {
            self.encode_by_table(text, out, false);
        }
    }

    /// Brings an encoding with states back to its first one, so that no record depends on the one before it.
    #[cfg(feature = "encoding")]
    fn finish(&mut self, out: &mut Vec<u8>) {
        if self.encoder.is_some() && self.encoding.0 == encoding_rs::ISO_2022_JP {
            self.encode_by_table("", out, true);
            self.encoder = None;
        }
    }

    #[cfg(feature = "encoding")]
    fn encode_by_table(&mut self, mut text: &str, out: &mut Vec<u8>, last: bool) {
        use encoding_rs::EncoderResult;
        let encoding = self.encoding;
        let encoder = self.encoder.get_or_insert_with(|| encoding.0.new_encoder());
        loop {
            let most = encoder.max_buffer_length_from_utf8_without_replacement(text.len());
            out.reserve(most.unwrap_or(text.len()).max(16));
            let (result, read) =
                encoder.encode_from_utf8_to_vec_without_replacement(text, out, last);
            text = &text[read..];
            match result {
                EncoderResult::InputEmpty => return,
                EncoderResult::OutputFull => {}
                EncoderResult::Unmappable(character) => {
                    self.failed
                        .get_or_insert(Unencodable::Character(character, encoding));
                    return;
                }
            }
        }
    }
}
