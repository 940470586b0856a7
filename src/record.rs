//! One record of the input, and the header that names its fields.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::format::{Dialect, Framing};
use crate::frame::fields;

/// A record: a line, a CSV row that may span lines, a JSON text.
#[derive(Debug, Clone, Copy)]
pub struct Record<'c> {
    pub(crate) raw: &'c [u8],
    pub(crate) content: usize,
    pub(crate) number: u64,
    pub(crate) offset: u64,
    pub(crate) framing: Framing,
    pub(crate) header: Option<&'c Header>,
    pub(crate) input: &'c Path,
    pub(crate) attempt: u32,
}

impl<'c> Record<'c> {
    /// The content, without its end.
    pub fn bytes(&self) -> &'c [u8] {
        &self.raw[..self.content]
    }

    /// The end: LF, CRLF, CR or NUL by the format; empty where the input's last record has none.
    pub fn end(&self) -> &'c [u8] {
        &self.raw[self.content..]
    }

    /// Content and end.
    pub fn raw(&self) -> &'c [u8] {
        self.raw
    }

    /// The fields of a CSV or TSV record, unquoted, as the `csv` crate reads them. A record of another format is one field.
    pub fn fields(&self) -> Fields<'c> {
        match self.framing {
            Framing::Csv(dialect) => Fields(Kind::Csv(fields::fields(self.bytes(), dialect))),
            Framing::Lines | Framing::Nul | Framing::Ndjson => {
                Fields(Kind::Whole(Some(self.bytes())))
            }
        }
    }

    /// How many fields [`fields`](Record::fields) gives, without unquoting them.
    pub fn field_count(&self) -> usize {
        match self.framing {
            Framing::Csv(dialect) => fields::count_fields(self.bytes(), dialect),
            Framing::Lines | Framing::Nul | Framing::Ndjson => 1,
        }
    }

    /// The field in the first column that the header calls `name`; `None` without a header, without such a column, or
    /// where the record is too short.
    pub fn get(&self, name: &str) -> Option<Cow<'c, [u8]>> {
        let column = self.header?.position(name)?;
        self.fields().nth(column)
    }

    /// The record as a value, by the `csv` crate's rules: by the header's names where there is a header, else by position.
    ///
    /// # Errors
    /// Those of [`csv::ByteRecord::deserialize`].
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T, csv::Error> {
        let record: csv::ByteRecord = self.fields().collect();
        record.deserialize(self.header.map(|header| &header.record))
    }

    /// The header of this record's input.
    pub fn header(&self) -> Option<&'c Header> {
        self.header
    }

    /// The record's number in its input, from 1; the header is not counted. A header's own number is 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The byte offset in its input at which the record begins, from 0.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The input's name: its path, or `<stdin>`, `<reader>`, `<bytes>`.
    pub fn input(&self) -> &'c Path {
        self.input
    }

    /// How often this record was tried before: see [`Retry`](crate::Retry).
    pub fn attempt(&self) -> u32 {
        self.attempt
    }
}

/// Iterates over a record's fields: see [`Record::fields`].
#[derive(Debug, Clone)]
pub struct Fields<'c>(Kind<'c>);

#[derive(Debug, Clone)]
enum Kind<'c> {
    Csv(fields::FieldIter<'c>),
    Whole(Option<&'c [u8]>),
}

impl<'c> Iterator for Fields<'c> {
    type Item = Cow<'c, [u8]>;

    #[inline]
    fn next(&mut self) -> Option<Cow<'c, [u8]>> {
        match &mut self.0 {
            Kind::Csv(fields) => fields.next(),
            Kind::Whole(whole) => whole.take().map(Cow::Borrowed),
        }
    }
}

/// The header of a CSV or TSV input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    raw: Vec<u8>,
    content: usize,
    offset: u64,
    record: csv::ByteRecord,
    columns: HashMap<Vec<u8>, usize>,
    dialect: Dialect,
}

impl Header {
    pub(crate) fn new(raw: Vec<u8>, content: usize, offset: u64, dialect: Dialect) -> Header {
        let record: csv::ByteRecord = fields::fields(&raw[..content], dialect).collect();
        let mut columns = HashMap::new();
        for (column, name) in record.iter().enumerate() {
            columns.entry(name.to_vec()).or_insert(column);
        }
        Header {
            raw,
            content,
            offset,
            record,
            columns,
            dialect,
        }
    }

    /// The column names, unquoted.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.record.iter()
    }

    /// The first column of this name, from 0.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.get(name.as_bytes()).copied()
    }

    /// The header as it stands in the input, with its end.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Whether both name the same columns in the same order.
    pub(crate) fn same_fields(&self, other: &Header) -> bool {
        self.record == other.record
    }

    /// The header as a record of its input.
    pub(crate) fn as_record<'c>(&'c self, input: &'c Path) -> Record<'c> {
        Record {
            raw: &self.raw,
            content: self.content,
            number: 0,
            offset: self.offset,
            framing: Framing::Csv(self.dialect),
            header: Some(self),
            input,
            attempt: 0,
        }
    }
}
