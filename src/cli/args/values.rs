//! Options that are one of several words.

use clap::ValueEnum;
use inorder::Format;

/// `--from`, `--to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Lines that end with LF
    Lines,
    /// Comma-separated values, quoted with "
    Csv,
    /// Tab-separated values, no quoting
    Tsv,
    /// One JSON value a line
    #[value(alias = "jsonl")]
    Ndjson,
    /// Records that end with a NUL byte
    Nul,
}

impl FormatArg {
    /// The library's format of this name.
    pub fn format(self) -> Format {
        match self {
            FormatArg::Lines => Format::lines(),
            FormatArg::Csv => Format::csv(),
            FormatArg::Tsv => Format::tsv(),
            FormatArg::Ndjson => Format::ndjson(),
            FormatArg::Nul => Format::nul(),
        }
    }

    /// Whether records have fields, separated by a delimiter.
    pub fn is_separated(self) -> bool {
        matches!(self, FormatArg::Csv | FormatArg::Tsv)
    }
}

/// `--decompress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DecompressArg {
    /// What is compressed
    Auto,
    /// Nothing: compressed bytes are records like any others
    None,
}

/// `--compress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompressArg {
    /// As the output's name says
    Auto,
    /// Not at all
    None,
    /// gzip members
    Gzip,
    /// zstd frames
    Zstd,
}

/// `--on-error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnErrorArg {
    /// It ends the run
    Stop,
    /// It is left out
    Skip,
    /// It is set aside (see --rejects)
    Reject,
}

/// `--progress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProgressArg {
    /// A bar on a terminal, nothing elsewhere
    Auto,
    /// Plain lines where there is no terminal
    Always,
    /// Nothing
    Never,
}
