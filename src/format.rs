//! What a record is: the input's format and, for CSV, its dialect.

use crate::buffer::RowError;
use crate::frame::fields::write_row;

/// How the input is cut into records.
///
/// | format | a record ends with | blank lines |
/// | --- | --- | --- |
/// | [`lines`](Format::lines) | LF (a CR before it belongs to the end) | are records |
/// | [`nul`](Format::nul) | a NUL byte | are records |
/// | [`ndjson`](Format::ndjson) | LF (a CR before it belongs to the end) | are no records, if empty or only space, tab, CR |
/// | [`csv`](Format::csv), [`tsv`](Format::tsv) | LF, CR or CRLF outside quotes ([RFC 4180], read leniently) | are no records |
///
/// The last record may lack its end.
///
/// [RFC 4180]: https://www.rfc-editor.org/rfc/rfc4180
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    pub(crate) framing: Framing,
    pub(crate) header: bool,
}

/// The rule by which records are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Lines,
    Nul,
    Ndjson,
    Csv(Dialect),
}

impl Framing {
    /// Whether these bytes end as records of this framing do.
    pub fn ends(self, bytes: &[u8]) -> bool {
        match (bytes.last(), self) {
            (None, _) => true,
            (Some(&last), Framing::Nul) => last == 0,
            (Some(&last), Framing::Csv(_)) => matches!(last, b'\n' | b'\r'),
            (Some(&last), Framing::Lines | Framing::Ndjson) => last == b'\n',
        }
    }
}

/// A CSV dialect: see [`Format::delimiter`], [`Format::quote`], [`Format::doubling`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub delimiter: u8,
    pub quote: Option<u8>,
    pub doubling: bool,
}

impl Dialect {
    /// A comma, `"` with doubling.
    pub const CSV: Dialect = Dialect {
        delimiter: b',',
        quote: Some(b'"'),
        doubling: true,
    };
}

/// What becomes of a record's end in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// It stays.
    Input,
    /// LF and CRLF stay, others become LF.
    Lines,
    /// All become NUL.
    Nul,
}

impl Ends {
    /// The end that stands for this one.
    #[inline]
    pub fn of(self, end: &[u8]) -> &[u8] {
        match (self, end) {
            (_, []) | (Ends::Input, _) | (Ends::Lines, b"\n" | b"\r\n") => end,
            (Ends::Lines, _) => b"\n",
            (Ends::Nul, _) => b"\0",
        }
    }
}

impl Format {
    /// Lines that end with LF.
    pub fn lines() -> Format {
        Format {
            framing: Framing::Lines,
            header: false,
        }
    }

    /// Records that end with a NUL byte, as `find -print0` writes them.
    pub fn nul() -> Format {
        Format {
            framing: Framing::Nul,
            header: false,
        }
    }

    /// One JSON value a line. The framing does not look into the values.
    pub fn ndjson() -> Format {
        Format {
            framing: Framing::Ndjson,
            header: false,
        }
    }

    /// CSV: comma, `"` with doubling, a header.
    pub fn csv() -> Format {
        Format::separated(b',', Some(b'"'))
    }

    /// TSV: tab, no quoting, a header.
    pub fn tsv() -> Format {
        Format::separated(b'\t', None)
    }

    fn separated(delimiter: u8, quote: Option<u8>) -> Format {
        Format {
            framing: Framing::Csv(Dialect {
                delimiter,
                quote,
                doubling: true,
            }),
            header: true,
        }
    }

    /// The byte between two fields of CSV or TSV; other formats have none and ignore it.
    pub fn delimiter(mut self, delimiter: u8) -> Format {
        if let Framing::Csv(dialect) = &mut self.framing {
            dialect.delimiter = delimiter;
        }
        self
    }

    /// The byte that quotes a field of CSV or TSV, or `None` for no quoting.
    pub fn quote(mut self, quote: Option<u8>) -> Format {
        if let Framing::Csv(dialect) = &mut self.framing {
            dialect.quote = quote;
        }
        self
    }

    /// Whether two quotes inside a quoted field are one quote of data (the default).
    pub fn doubling(mut self, doubling: bool) -> Format {
        if let Framing::Csv(dialect) = &mut self.framing {
            dialect.doubling = doubling;
        }
        self
    }

    /// Whether the first record of CSV or TSV is a header (the default); other formats have none.
    pub fn header(mut self, header: bool) -> Format {
        if matches!(self.framing, Framing::Csv(_)) {
            self.header = header;
        }
        self
    }

    /// The fields as a record of CSV or TSV, without its end, quoted only where needed; other formats write CSV.
    ///
    /// # Errors
    /// A row that the dialect can't express, as of [`Buffer::row`](crate::Buffer::row).
    pub fn row<I, F>(&self, row: I) -> Result<Vec<u8>, RowError>
    where
        I: IntoIterator<Item = F>,
        F: AsRef<[u8]>,
    {
        let mut bytes = Vec::new();
        let dialect = self.dialect().unwrap_or(Dialect::CSV);
        write_row(&mut bytes, dialect, row).map_err(RowError::at)?;
        Ok(bytes)
    }

    pub(crate) fn dialect(&self) -> Option<Dialect> {
        match self.framing {
            Framing::Csv(dialect) => Some(dialect),
            Framing::Lines | Framing::Nul | Framing::Ndjson => None,
        }
    }

    /// The ends of records that are written in this format and were read in another.
    pub(crate) fn ends_for(&self, input: &Format) -> Ends {
        match (self.framing, input.framing) {
            (Framing::Nul, Framing::Nul) | (Framing::Csv(_), Framing::Csv(_)) => Ends::Input,
            (Framing::Nul, _) => Ends::Nul,
            (_, Framing::Nul | Framing::Csv(_)) => Ends::Lines,
            (_, Framing::Lines | Framing::Ndjson) => Ends::Input,
        }
    }

    /// The end of a record where the input's has none: between two inputs of which the first lacks its last one, and between two
    /// lines that are written for such a record.
    pub(crate) fn default_end(&self) -> &'static [u8] {
        match self.framing {
            Framing::Nul => b"\0",
            Framing::Lines | Framing::Ndjson | Framing::Csv(_) => b"\n",
        }
    }

    /// Whether these bytes end as records of this format do.
    pub(crate) fn ends(&self, bytes: &[u8]) -> bool {
        self.framing.ends(bytes)
    }

    /// Why the format can't be used, if so.
    pub(crate) fn refuse(&self) -> Option<String> {
        let dialect = self.dialect()?;
        let bad = |byte: u8| matches!(byte, b'\r' | b'\n') || byte > 0x7f;
        if bad(dialect.delimiter) {
            return Some("the delimiter can't be CR, LF or a byte above 0x7F".into());
        }
        match dialect.quote {
            Some(quote) if bad(quote) => {
                Some("the quote can't be CR, LF or a byte above 0x7F".into())
            }
            Some(quote) if quote == dialect.delimiter => {
                Some("the delimiter and the quote are the same byte".into())
            }
            _ => None,
        }
    }
}
