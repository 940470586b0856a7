//! What was typed of a dialect.

use inorder::Format;

use super::args::{FormatArg, InputArgs};

/// What was typed of a dialect.
#[derive(Debug)]
pub struct Dialect {
    delimiter: Option<u8>,
    quote: Option<u8>,
    no_quoting: bool,
}

impl Dialect {
    pub const REFUSED: &str =
        "--delimiter, --quote and --no-quoting are for CSV and TSV: add --from csv";

    /// Takes it out of the options of the input.
    pub fn take(input: &mut InputArgs) -> Dialect {
        Dialect {
            delimiter: input.delimiter.take(),
            quote: input.quote.take(),
            no_quoting: std::mem::take(&mut input.no_quoting),
        }
    }

    /// The format in this dialect; `None` if one was typed and the format has none.
    pub fn apply(&self, name: FormatArg, format: &Format) -> Option<Format> {
        let mut format = format.clone();
        let typed = self.delimiter.is_some() || self.quote.is_some() || self.no_quoting;
        if typed && !name.is_separated() {
            return None;
        }
        if let Some(delimiter) = self.delimiter {
            format = format.delimiter(delimiter);
        }
        if self.quote.is_some() || self.no_quoting {
            format = format.quote(self.quote);
        }
        Some(format)
    }
}
