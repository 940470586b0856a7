//! What the text of the inputs is like: encoding, line ends, and what is odd in it. Chunk by chunk, on the workers.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use inorder::{Chunk, Encoding, Record};
use memchr::{memchr, memchr_iter};
use serde::Serialize;

use crate::cli::units::{counted, grouped};
use crate::cli::whole::Whole;

/// Scanned at a time, several times over: it stays in the nearest cache.
const BLOCK: usize = 4096;

/// So much of an input's beginning tells whether it is UTF-16.
const START: usize = 4096;

/// What was seen so far.
#[derive(Debug, Default)]
pub struct Text {
    /// Records end with NUL bytes, which tell nothing then.
    nul_ends: bool,
    not_ascii: AtomicBool,
    not_utf8: AtomicBool,
    mark: AtomicBool,
    utf16le: AtomicBool,
    utf16be: AtomicBool,
    nuls: AtomicU64,
    crs: AtomicU64,
    crlfs: AtomicU64,
    blank_lines: AtomicU64,
    longest: AtomicU64,
}

/// The same as it is reported. Its names are part of the program's interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TextReport {
    /// `ascii`, `utf-8`, `utf-16le`, `utf-16be`; `null`: none of these.
    pub encoding: Option<&'static str>,
    /// The encoding that it was decoded from.
    pub decoded_from: Option<&'static str>,
    pub byte_order_mark: bool,
    /// Lines that end with LF alone.
    pub lf: u64,
    pub crlf: u64,
    /// Carriage returns that no LF follows.
    pub lone_cr: u64,
    pub blank_lines: u64,
    pub nul_bytes: u64,
    /// Bytes of the longest record, its end left aside.
    pub longest_record: u64,
}

/// The chunk that was scanned last. What is given again of it, after a failing record, is not counted twice.
#[derive(Debug, Default)]
pub struct Scanned(Option<Whole>);

impl Scanned {
    /// Whether this is the rest of that chunk. Notes it down if not.
    fn has(&mut self, chunk: &Chunk<'_>) -> bool {
        let rest = self.0.is_some_and(|whole| whole.has(chunk));
        if !rest {
            self.0 = Some(Whole::of(chunk));
        }
        rest
    }
}

/// What was seen of the records of a chunk.
#[derive(Debug, Default)]
pub struct Records {
    /// Blank lines between them are not counted yet.
    first_time: bool,
    longest: usize,
    bytes: usize,
}

impl Records {
    #[inline]
    pub fn see(&mut self, record: &Record<'_>) {
        self.longest = self.longest.max(record.bytes().len());
        self.bytes += record.raw().len();
    }
}

impl Text {
    pub fn new(nul_ends: bool) -> Text {
        Text {
            nul_ends,
            ..Text::default()
        }
    }

    /// Looks at a chunk before its records are gone through.
    pub fn look_at(&self, chunk: &Chunk<'_>, scanned: &mut Scanned) -> Records {
        if scanned.has(chunk) {
            return Records::default();
        }
        let header = chunk.header_record().map_or(0, |header| header.raw().len());
        if chunk.offset() == (chunk.preamble().len() + header) as u64 {
            self.look_at_top(chunk);
        }
        self.scan(chunk.bytes());
        Records {
            first_time: true,
            ..Records::default()
        }
    }

    /// Takes what was seen of a chunk's records, or of some where one failed.
    pub fn add(&self, chunk: &Chunk<'_>, records: &Records) {
        self.record_of(records.longest);
        if records.first_time && records.bytes < chunk.bytes().len() {
            self.gaps(chunk);
        }
    }

    fn record_of(&self, len: usize) {
        self.longest.fetch_max(len as u64, Relaxed);
    }

    fn look_at_top(&self, chunk: &Chunk<'_>) {
        let preamble = chunk.preamble();
        let header = chunk.header_record();
        let header = header.as_ref().map_or(&[][..], |header| header.raw());
        self.scan(preamble);
        self.scan(header);
        let blank = count_ends(preamble);
        self.blank_lines.fetch_add(blank, Relaxed);
        if preamble.starts_with(b"\xEF\xBB\xBF") || chunk.bytes().starts_with(b"\xEF\xBB\xBF") {
            self.mark.store(true, Relaxed);
        }
        let first = &chunk.bytes()[..chunk.bytes().len().min(START)];
        match utf16(&[preamble, header, first].concat()) {
            _ if self.nul_ends => {}
            Some(Wide::Little) => self.utf16le.store(true, Relaxed),
            Some(Wide::Big) => self.utf16be.store(true, Relaxed),
            None => {}
        }
    }

    /// Counts what is seldom there.
    fn scan(&self, bytes: &[u8]) {
        let mut ascii = true;
        for block in bytes.chunks(BLOCK) {
            ascii &= block.is_ascii();
            if memchr(0, block).is_some() {
                let nuls = memchr_iter(0, block).count() as u64;
                self.nuls.fetch_add(nuls, Relaxed);
            }
        }
        if memchr(b'\r', bytes).is_some() {
            let crs = memchr_iter(b'\r', bytes).count() as u64;
            let followed = |&at: &usize| bytes.get(at + 1) == Some(&b'\n');
            let crlfs = memchr_iter(b'\r', bytes).filter(followed).count() as u64;
            self.crs.fetch_add(crs, Relaxed);
            self.crlfs.fetch_add(crlfs, Relaxed);
        }
        if !ascii {
            self.not_ascii.store(true, Relaxed);
            // Of two parts of one character neither is UTF-8, but chunks are cut at line ends.
            if std::str::from_utf8(bytes).is_err() {
                self.not_utf8.store(true, Relaxed);
            }
        }
    }

    /// Blank lines and the longest one, where they are the records.
    pub fn lines(&self, bytes: &[u8]) {
        let (mut start, mut blank, mut longest) = (0, 0, 0);
        for end in memchr_iter(b'\n', bytes) {
            let len = end - start;
            blank += u64::from(len == 0 || (len == 1 && bytes[start] == b'\r'));
            longest = longest.max(len);
            start = end + 1;
        }
        self.blank_lines.fetch_add(blank, Relaxed);
        self.record_of(longest.max(bytes.len() - start));
    }

    /// Blank lines between records.
    fn gaps(&self, chunk: &Chunk<'_>) {
        let (bytes, mut done, mut blank) = (chunk.bytes(), 0, 0);
        for record in chunk.records() {
            let start = (record.offset() - chunk.offset()) as usize;
            blank += count_ends(&bytes[done..start]);
            done = start + record.raw().len();
        }
        blank += count_ends(&bytes[done..]);
        self.blank_lines.fetch_add(blank, Relaxed);
    }

    pub fn report(&self, lines: u64, decoded_from: Option<Encoding>) -> TextReport {
        let crlf = self.crlfs.load(Relaxed);
        TextReport {
            encoding: if self.utf16le.load(Relaxed) {
                Some("utf-16le")
            } else if self.utf16be.load(Relaxed) {
                Some("utf-16be")
            } else if self.not_utf8.load(Relaxed) {
                None
            } else if self.not_ascii.load(Relaxed) {
                Some("utf-8")
            } else {
                Some("ascii")
            },
            decoded_from: decoded_from.map(Encoding::name),
            byte_order_mark: self.mark.load(Relaxed),
            lf: lines.saturating_sub(crlf),
            crlf,
            lone_cr: self.crs.load(Relaxed) - crlf,
            blank_lines: self.blank_lines.load(Relaxed),
            nul_bytes: self.nuls.load(Relaxed),
            longest_record: self.longest.load(Relaxed),
        }
    }
}

impl fmt::Display for TextReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.encoding, self.decoded_from) {
            (_, Some(name)) => write!(f, "text decoded from {name}")?,
            (Some("ascii"), None) => f.write_str("ASCII text")?,
            (Some(name), None) => write!(f, "{} text", name.to_ascii_uppercase())?,
            (None, None) => f.write_str("text that is not UTF-8")?,
        }
        if self.byte_order_mark {
            f.write_str(" with a byte order mark")?;
        }
        let ends = [
            (self.lf, "LF"),
            (self.crlf, "CR LF"),
            (self.lone_cr, "lone CR"),
        ];
        let mut ends = ends.iter().filter(|(count, _)| *count > 0);
        match (ends.next(), ends.next()) {
            (None, _) => f.write_str(", no line ends")?,
            (Some((_, name)), None) => write!(f, ", lines end with {name}")?,
            (Some(first), Some(second)) => {
                write!(f, ", line ends: {} {}", grouped(first.0), first.1)?;
                for (count, name) in std::iter::once(second).chain(ends) {
                    write!(f, ", {} {name}", grouped(*count))?;
                }
            }
        }
        let longest = counted(self.longest_record, "byte");
        write!(f, "; longest record {longest}")?;
        for (count, name) in [
            (self.blank_lines, "blank line"),
            (self.nul_bytes, "NUL byte"),
        ] {
            if count > 0 {
                write!(f, "; {}", counted(count, name))?;
            }
        }
        Ok(())
    }
}

/// Line ends: LF, CR LF as one, CR.
fn count_ends(bytes: &[u8]) -> u64 {
    let cr = |&at: &usize| bytes.get(at + 1) != Some(&b'\n');
    let crs = memchr_iter(b'\r', bytes).filter(cr).count();
    (memchr_iter(b'\n', bytes).count() + crs) as u64
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wide {
    Little,
    Big,
}

/// Whether an input that begins so is UTF-16: by its mark, or because every other byte of most characters is 0.
fn utf16(start: &[u8]) -> Option<Wide> {
    if start.starts_with(b"\xFF\xFE") {
        return Some(Wide::Little);
    }
    if start.starts_with(b"\xFE\xFF") {
        return Some(Wide::Big);
    }
    let units = start.len() / 2;
    let zeros = |at: usize| {
        let bytes = start.iter().skip(at).step_by(2).take(units);
        bytes.filter(|&&byte| byte == 0).count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    if units >= 2 && odd * 2 > units && even * 10 < units {
        Some(Wide::Little)
    } else if units >= 2 && even * 2 > units && odd * 10 < units {
        Some(Wide::Big)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf16_is_recognised() {
        let wide =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        assert_eq!(utf16(&wide("\u{FEFF}日本")), Some(Wide::Little));
        assert_eq!(utf16(&wide("id,name\n")), Some(Wide::Little));
        assert_eq!(utf16(&wide("id,name\n")[1..]), Some(Wide::Big));
        for bytes in [
            &b""[..],
            b"a\0",
            b"id,name\n1,2\n",
            b"\0\0\0\0\0\0",
            b"a\0b\0ccccccc",
        ] {
            assert_eq!(utf16(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn ends_of_all_kinds_are_counted() {
        assert_eq!(count_ends(b"\r\n\r\n\n"), 3);
        assert_eq!(count_ends(b"\r\r"), 2);
    }
}
