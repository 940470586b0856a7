//! The fields of one CSV record, read and written.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};

use super::csv::closing;
use super::scan::masks::{BLOCK, equal, masks};
use crate::format::Dialect;

mod row;
pub(crate) use row::write_row;

/// The fields of one CSV record (its content without the end), unquoted, as the `csv` crate reads them.
pub(crate) fn fields(content: &[u8], dialect: Dialect) -> FieldIter<'_> {
    FieldIter {
        content,
        dialect,
        pos: 0,
        mask: 0,
        masked: 0,
        unmasked: 0,
    }
}

/// A count of so many bytes fits a byte.
const COUNTED: usize = 255;

/// As many as `fields` gives.
pub(crate) fn count_fields(content: &[u8], dialect: Dialect) -> usize {
    let Some(quote) = dialect.quote else {
        return memchr_iter(dialect.delimiter, content).count() + 1;
    };
    // One pass for both: records are short, so that what a search costs to start matters.
    // All in bytes, so that the compiler makes vector code of it.
    let (mut delimiters, mut quotes) = (0, 0u8);
    for block in content.chunks(COUNTED) {
        let mut count = 0u8;
        for &byte in block {
            count += u8::from(byte == dialect.delimiter);
            quotes |= u8::from(byte == quote);
        }
        delimiters += usize::from(count);
    }
    if quotes == 0 {
        return delimiters + 1;
    }
    let mut fields = fields(content, dialect);
    let mut count = 0;
    while fields.next_at_hand().is_some() || fields.next_field().is_some() {
        count += 1;
    }
    count
}

/// See `fields`. A field is borrowed unless its parts must be joined.
#[derive(Debug, Clone)]
pub(crate) struct FieldIter<'a> {
    content: &'a [u8],
    dialect: Dialect,
    /// Where the next field starts: behind a delimiter, or one behind the content after the last field.
    pos: usize,
    /// The delimiters at or after `pos` in the block from `masked` on, those inside quotes included.
    mask: u64,
    masked: usize,
    /// Where the next block starts; `mask` knows the delimiters before it.
    unmasked: usize,
}

enum Field<'a> {
    Plain(&'a [u8]),
    /// With its quotes: a doubled one is among them, or text follows the closing one.
    Quoted(&'a [u8]),
}

impl<'a> FieldIter<'a> {
    /// The next field, if it is plain and its end known.
    #[inline(always)]
    fn next_at_hand(&mut self) -> Option<&'a [u8]> {
        if self.mask == 0 {
            return None;
        }
        let end = self.masked + self.mask.trailing_zeros() as usize;
        let field = &self.content[self.pos..end];
        if !field.is_empty() && Some(field[0]) == self.dialect.quote {
            return None;
        }
        self.mask &= self.mask - 1;
        self.pos = end + 1;
        Some(field)
    }

    #[inline(never)]
    fn next_field(&mut self) -> Option<Field<'a>> {
        let content = self.content;
        let start = self.pos;
        if start > content.len() {
            return None;
        }
        if let Some(quote) = self.dialect.quote
            && content.get(start) == Some(&quote)
        {
            return Some(self.quoted(start, quote));
        }
        let end = self.next_delimiter();
        self.pos = end + 1;
        Some(Field::Plain(&content[start..end]))
    }

    #[inline]
    fn quoted(&mut self, open: usize, quote: u8) -> Field<'a> {
        let content = self.content;
        let Some(close) = closing(content, open + 1, quote, false) else {
            self.skip_to(content.len() + 1);
            return Field::Plain(&content[open + 1..]);
        };
        let end = close + 1;
        match content.get(end) {
            Some(next) if *next != self.dialect.delimiter => {
                self.quoted_in_parts(open, close, quote)
            }
            _ => {
                self.skip_to(end + 1);
                Field::Plain(&content[open + 1..close])
            }
        }
    }

    /// A quote or text follows the first quote after the opening one, at `close`.
    fn quoted_in_parts(&mut self, open: usize, close: usize, quote: u8) -> Field<'a> {
        let content = self.content;
        let close = closing(content, close, quote, self.dialect.doubling).unwrap_or(content.len());
        self.skip_to(close + 1);
        let end = if close < content.len() {
            self.next_delimiter()
        } else {
            close
        };
        self.pos = end + 1;
        Field::Quoted(&content[open..end])
    }

    /// The next field starts at `pos`: the delimiters before it lie inside quotes, or are given.
    #[inline]
    fn skip_to(&mut self, pos: usize) {
        self.pos = pos;
        if pos < self.unmasked {
            self.mask &= u64::MAX << (pos - self.masked);
        } else {
            self.mask = 0;
            self.unmasked = pos.min(self.content.len());
        }
    }

    /// The first delimiter that was not yet given or skipped, or the end of the content.
    #[inline]
    fn next_delimiter(&mut self) -> usize {
        while self.mask == 0 {
            if self.unmasked == self.content.len() {
                return self.content.len();
            }
            self.masked = self.unmasked;
            self.unmasked = self.content.len().min(self.masked + BLOCK);
            let delimiter = self.dialect.delimiter;
            [self.mask] = masks(self.content, self.masked, self.unmasked, |block| {
                [equal(block, delimiter)]
            });
        }
        let found = self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        self.masked + found
    }
}

impl<'a> Iterator for FieldIter<'a> {
    type Item = Cow<'a, [u8]>;

    #[inline]
    fn next(&mut self) -> Option<Cow<'a, [u8]>> {
        if let Some(field) = self.next_at_hand() {
            return Some(Cow::Borrowed(field));
        }
        Some(match self.next_field()? {
            Field::Plain(field) => Cow::Borrowed(field),
            Field::Quoted(field) => Cow::Owned(unquote(field, self.dialect)),
        })
    }
}

impl std::iter::FusedIterator for FieldIter<'_> {}

/// What a field stands for that starts with a quote.
fn unquote(field: &[u8], dialect: Dialect) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let Some((quote, mut rest)) = field.split_first() else {
        return out;
    };
    while let Some(i) = memchr(*quote, rest) {
        let doubled = dialect.doubling && rest.get(i + 1) == Some(quote);
        if !doubled {
            out.extend_from_slice(&rest[..i]);
            rest = &rest[i + 1..];
            break;
        }
        out.extend_from_slice(&rest[..=i]);
        rest = &rest[i + 2..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests;
