//! Text in other encodings than UTF-8: inputs are decoded before they are cut, outputs encoded behind the work.
//!
//! Names, decoders and encoders are those of the [WHATWG Encoding Standard](https://encoding.spec.whatwg.org/).

mod transcoder;

#[cfg(all(test, feature = "encoding"))]
mod tests;

use std::borrow::Cow;

pub(crate) use transcoder::{Transcoder, Unencodable};

/// A character encoding of the WHATWG Encoding Standard.
#[cfg(feature = "encoding")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding(pub(crate) &'static encoding_rs::Encoding);

/// Without the feature there is none.
#[cfg(not(feature = "encoding"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Encoding(std::convert::Infallible);

/// Text of the pipeline in this encoding; bytes that are none stay as they are.
pub(crate) fn encoded(encoding: Option<Encoding>, text: &[u8]) -> Cow<'_, [u8]> {
    let Some(encoding) = encoding else {
        return Cow::Borrowed(text);
    };
    let mut transcoder = Transcoder::new(encoding);
    let mut bytes = Vec::new();
    transcoder.push(text, &mut bytes);
    match transcoder.settle(&mut bytes) {
        Ok(()) => Cow::Owned(bytes),
        Err(_) => Cow::Borrowed(text),
    }
}

#[cfg(not(feature = "encoding"))]
impl Encoding {
    pub fn name(self) -> &'static str {
        match self.0 {}
    }
}

/// UTF-8's byte order mark.
pub(crate) const MARK: &[u8] = b"\xEF\xBB\xBF";

#[cfg(feature = "encoding")]
impl Encoding {
    /// The encoding with this label, such as `utf-16le`, `windows-1252`, `shift_jis`, in any case. `latin1` is windows-1252 and
    /// `utf-16` is UTF-16LE there.
    ///
    /// ```
    /// use inorder::Encoding;
    /// assert_eq!(Encoding::for_label("Latin1").unwrap().name(), "windows-1252");
    /// assert!(Encoding::for_label("utf-99").is_none());
    /// ```
    pub fn for_label(label: &str) -> Option<Encoding> {
        encoding_rs::Encoding::for_label_no_replacement(label.as_bytes()).map(Encoding)
    }

    /// Its name in the standard.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// What may stand at the beginning of a text in this encoding, to tell the order of its bytes.
    pub(crate) fn mark(self) -> &'static [u8] {
        if self.0 == encoding_rs::UTF_16LE {
            b"\xFF\xFE"
        } else if self.0 == encoding_rs::UTF_16BE {
            b"\xFE\xFF"
        } else if self.0 == encoding_rs::UTF_8 {
            MARK
        } else {
            b""
        }
    }

    /// The mark of the same encoding in the other order of bytes, and its name. It would be read as U+FFFE, which is no character: whoever
    /// sees it has named the wrong one.
    pub(crate) fn opposite(self) -> Option<(&'static [u8], &'static str)> {
        if self.0 == encoding_rs::UTF_16LE {
            Some((b"\xFE\xFF", "UTF-16BE"))
        } else if self.0 == encoding_rs::UTF_16BE {
            Some((b"\xFF\xFE", "UTF-16LE"))
        } else {
            None
        }
    }
}
