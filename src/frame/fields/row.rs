//! Writing one CSV record, quoted only where needed.

use memchr::memchr_iter;

use crate::format::Dialect;
use crate::frame::scan::words::{matches, short_word};

/// Appends the fields to `out`, with delimiters between them and no record end. A field is quoted if it holds the delimiter,
/// the quote, CR or LF; a record of one empty field is a pair of quotes, as else it would be a blank line.
///
/// `Err` is the index of a field that the dialect can't express, and leaves `out` as it was: without quotes, one that would
/// need them; with quotes but no doubling, one that needs them and holds one.
pub(crate) fn write_row<I, F>(out: &mut Vec<u8>, dialect: Dialect, fields: I) -> Result<(), usize>
where
    I: IntoIterator<Item = F>,
    F: AsRef<[u8]>,
{
    let start = out.len();
    for (index, field) in fields.into_iter().enumerate() {
        if write_field(out, dialect, field.as_ref()).is_none() {
            out.truncate(start);
            return Err(index);
        }
    }
    // The delimiter behind the last field.
    if out.len() > start {
        out.pop();
    }
    if out.len() == start {
        let quote = dialect.quote.ok_or(0usize)?;
        out.extend([quote, quote]);
    }
    Ok(())
}

/// Appends the field and a delimiter.
#[inline]
fn write_field(out: &mut Vec<u8>, dialect: Dialect, field: &[u8]) -> Option<()> {
    let start = out.len();
    let n = field.len();
    if n < 8 {
        let word = short_word(field);
        // A zero byte that stands for a missing one may look special; then the slow way decides.
        if !is_special(word, dialect) {
            // Eight bytes are written whatever the length: cheaper than a copy of unknown length.
            let word = word | u64::from(dialect.delimiter) << (8 * n);
            out.extend_from_slice(&word.to_le_bytes());
            out.truncate(start + n + 1);
            return Some(());
        }
    } else if !holds_special(field, dialect) {
        out.extend_from_slice(field);
        out.push(dialect.delimiter);
        return Some(());
    }
    write_special_field(out, dialect, field)
}

/// The word holds a byte that needs quotes.
#[inline(always)]
fn is_special(word: u64, dialect: Dialect) -> bool {
    let quote = dialect.quote.unwrap_or(b'\n');
    matches(word, dialect.delimiter)
        | matches(word, quote)
        | matches(word, b'\n')
        | matches(word, b'\r')
        != 0
}

/// As `is_special`, for eight bytes and more.
#[inline]
fn holds_special(field: &[u8], dialect: Dialect) -> bool {
    let last = field
        .last_chunk::<8>()
        .map_or(0, |w| u64::from_le_bytes(*w));
    is_special(last, dialect)
        || field
            .as_chunks::<8>()
            .0
            .iter()
            .any(|w| is_special(u64::from_le_bytes(*w), dialect))
}

#[cold]
fn write_special_field(out: &mut Vec<u8>, dialect: Dialect, field: &[u8]) -> Option<()> {
    let Dialect {
        delimiter,
        quote,
        doubling,
    } = dialect;
    let breaks = field
        .iter()
        .any(|b| *b == delimiter || *b == b'\r' || *b == b'\n');
    let quotes = quote.is_some_and(|quote| field.contains(&quote));
    // Without doubling, a quote is plain text where none can open.
    let bare = !breaks && (!quotes || !doubling && field.first().copied() != quote);
    if bare {
        out.extend_from_slice(field);
        out.push(delimiter);
        return Some(());
    }
    let quote = quote?;
    if quotes && !doubling {
        return None;
    }
    out.push(quote);
    let mut from = 0;
    for i in memchr_iter(quote, field) {
        out.extend_from_slice(&field[from..=i]);
        from = i;
    }
    out.extend_from_slice(&field[from..]);
    out.extend([quote, delimiter]);
    Some(())
}
