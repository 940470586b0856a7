//! The first bytes of compressed inputs, and what names promise.

use std::path::Path;

use super::Fault;

/// How an input is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

/// What the first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sniffed {
    Compressed(Compression),
    Plain,
    /// They may be the beginning of a magic.
    Unclear,
}

const ALL: [Compression; 4] = [
    Compression::Gzip,
    Compression::Zstd,
    Compression::Bzip2,
    Compression::Xz,
];

/// RFC 1952: identification and the only method, deflate.
const GZIP: &[u8] = b"\x1F\x8B\x08";
/// RFC 8878: a frame.
const ZSTD: &[u8] = b"\x28\xB5\x2F\xFD";
/// RFC 8878: a skippable frame, after a first byte of 0x50 to 0x5F.
const SKIPPABLE: &[u8] = b"\x2A\x4D\x18";
/// The xz file format, 2.1.1.1.
const XZ: &[u8] = b"\xFD7zXZ\0";
/// A bzip2 stream: `BZh`, a digit, and the mark of a block or of the stream's end.
const BZIP2: &[u8] = b"BZh";
const BZIP2_MARKS: [&[u8]; 2] = [b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90"];

impl Compression {
    /// Bytes of the longest magic.
    pub const LONGEST: usize = BZIP2.len() + 1 + BZIP2_MARKS[0].len();

    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
        }
    }

    /// What the end of a name promises.
    pub fn of_name(name: &Path) -> Option<Compression> {
        let extension = name.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "gz" | "gzip" | "bgz" | "bgzf" => Some(Compression::Gzip),
            "zst" | "zstd" => Some(Compression::Zstd),
            "bz2" | "bzip2" => Some(Compression::Bzip2),
            "xz" => Some(Compression::Xz),
            _ => None,
        }
    }

    /// How these first bytes of an input are compressed.
    pub fn of_start(start: &[u8]) -> Option<Compression> {
        ALL.into_iter().find(|kind| kind.begins(start))
    }

    /// Whether a member begins here.
    pub fn begins(self, bytes: &[u8]) -> bool {
        self.matches(bytes) == Some(true)
    }

    /// Whether these bytes and others behind them may be the beginning of a member.
    pub fn may_begin(self, bytes: &[u8]) -> bool {
        self.matches(bytes).is_none()
    }

    /// `None`: there are too few bytes to tell.
    fn matches(self, bytes: &[u8]) -> Option<bool> {
        match self {
            Compression::Gzip => prefix(bytes, GZIP),
            Compression::Xz => prefix(bytes, XZ),
            Compression::Zstd => match bytes.split_first() {
                Some((0x50..=0x5F, rest)) => prefix(rest, SKIPPABLE),
                _ => prefix(bytes, ZSTD),
            },
            Compression::Bzip2 => match prefix(bytes, BZIP2) {
                Some(true) => match &bytes[BZIP2.len()..] {
                    [] => None,
                    [b'1'..=b'9', mark @ ..] => {
                        let of = BZIP2_MARKS.map(|wanted| prefix(mark, wanted));
                        if of.contains(&Some(true)) {
                            Some(true)
                        } else if of.contains(&None) {
                            None
                        } else {
                            Some(false)
                        }
                    }
                    _ => Some(false),
                },
                other => other,
            },
        }
    }
}

/// Whether the bytes begin with `magic`; `None`: there are too few to tell.
fn prefix(bytes: &[u8], magic: &[u8]) -> Option<bool> {
    if bytes.len() < magic.len() {
        return if magic.starts_with(bytes) {
            None
        } else {
            Some(false)
        };
    }
    Some(bytes.starts_with(magic))
}

/// What the input is that begins with these bytes, all there are if it `ended`.
pub(super) fn sniff(start: &[u8], ended: bool) -> Sniffed {
    if let Some(kind) = Compression::of_start(start) {
        return Sniffed::Compressed(kind);
    }
    let unclear = !ended && ALL.into_iter().any(|kind| kind.may_begin(start));
    if unclear {
        Sniffed::Unclear
    } else {
        Sniffed::Plain
    }
}

/// An input whose name promises compression begins with no magic: if it is text, the name is wrong; if not, the bytes are.
pub(super) fn expect_text(named: Compression, start: &[u8], ended: bool) -> Result<(), Fault> {
    if ended && named.may_begin(start) {
        return Err(Fault::EndsEarly);
    }
    let start = &start[..start.len().min(4096)];
    let valid = match std::str::from_utf8(start) {
        Ok(_) => true,
        // A character that is cut off at the end.
        Err(error) => error.error_len().is_none() && error.valid_up_to() > 0,
    };
    let control = |byte: &u8| *byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0C | 0x1B);
    if !valid || start.iter().any(control) {
        return Err(Fault::NoMagic);
    }
    Ok(())
}
