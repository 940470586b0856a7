//! What was typed of a dialect.

use clap::Args;
use inorder::Format;

use super::args::FormatArg;
use super::units;

/// Options of the input that a dialect is made of.
#[derive(Debug, Default, Args)]
pub struct Dialect {
    /// The byte between two fields; `tab`, `\t` and `\x01` are understood [default: comma for csv, tab for tsv]
    #[arg(short, long, value_name = "CHAR", value_parser = units::character, allow_hyphen_values = true)]
    #[arg(help_heading = "Input")]
    pub delimiter: Option<u8>,
    /// The byte that quotes a field [default: " for csv, none for tsv]
    #[arg(long, value_name = "CHAR", value_parser = units::character, allow_hyphen_values = true)]
    #[arg(help_heading = "Input")]
    pub quote: Option<u8>,
    /// Quotes are plain data
    #[arg(long, conflicts_with = "quote", help_heading = "Input")]
    pub no_quoting: bool,
}

impl Dialect {
    pub const REFUSED: &str =
        "--delimiter, --quote and --no-quoting are for CSV and TSV: add --from csv";

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
