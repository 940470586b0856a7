//! Writes big test files on standard output: rows that look like flights, the same for the same seed.
//!
//! ```sh
//! cargo run --release --example generate -- --format quoted --size 1GB --seed 1 > big.csv
//! ```

mod rows;

use std::io::{self, Write};
use std::process::ExitCode;

use rows::{Format, Rows};

const HELP: &str = "\
Writes a big test file on standard output: rows that look like flights, 19 columns, about 90 bytes each.

Usage: generate [--format FORMAT] [--size SIZE | --rows N] [--seed N]

  --format FORMAT  csv (no quotes), quoted (CSV with quotes, some around line breaks, in about
                   every tenth row), ndjson or lines [default: csv]
  --size SIZE      stop after the row that reaches SIZE bytes; k, M, G and KiB, MiB, GiB are powers
                   of 1024, kB, MB, GB of 1000 [default: 1GB]
  --rows N         stop after N rows (the header is none)
  --seed N         which rows: the same seed gives the same bytes [default: 1]
";

/// Rows are written in pieces of about this many bytes.
const PIECE: usize = 1 << 20;

/// What was asked for on the command line.
struct Options {
    format: Format,
    seed: u64,
    size: u64,
    rows: u64,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("generate: {message}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match generate(&options, io::stdout().lock()) {
        // Whoever reads has enough: `generate | head` is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("generate: standard output: {error}");
            ExitCode::FAILURE
        }
        Ok(()) => ExitCode::SUCCESS,
    }
}

fn generate(options: &Options, mut out: impl Write) -> io::Result<()> {
    let mut rows = Rows::new(options.format, options.seed);
    let mut piece = Vec::with_capacity(PIECE + 1024);
    let mut written = 0;
    let mut left = options.rows;
    rows.header(&mut piece);
    while left > 0 && written + (piece.len() as u64) < options.size {
        rows.row(&mut piece);
        left -= 1;
        if piece.len() >= PIECE {
            out.write_all(&piece)?;
            written += piece.len() as u64;
            piece.clear();
        }
    }
    out.write_all(&piece)?;
    out.flush()
}

/// `None`: help was asked for.
fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut format = Format::Csv;
    let (mut size, mut rows, mut seed) = (None, None, 1);
    while let Some(name) = arguments.next() {
        if matches!(name.as_str(), "-h" | "--help") {
            return Ok(None);
        }
        let mut value = || arguments.next().ok_or(format!("{name} needs a value"));
        match name.as_str() {
            "--format" => format = parse_format(&value()?)?,
            "--size" => size = Some(parse_size(&value()?)?),
            "--rows" => rows = Some(parse_number(&value()?)?),
            "--seed" => seed = parse_number(&value()?)?,
            _ => return Err(format!("unknown option {name:?}")),
        }
    }
    let default_size = if rows.is_some() {
        u64::MAX
    } else {
        1_000_000_000
    };
    Ok(Some(Options {
        format,
        seed,
        size: size.unwrap_or(default_size),
        rows: rows.unwrap_or(u64::MAX),
    }))
}

fn parse_format(text: &str) -> Result<Format, String> {
    match text {
        "csv" => Ok(Format::Csv),
        "quoted" => Ok(Format::Quoted),
        "ndjson" => Ok(Format::Ndjson),
        "lines" => Ok(Format::Lines),
        _ => Err(format!("unknown format {text:?}")),
    }
}

fn parse_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("not a number: {text:?}"))
}

fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit: u64 = match &text[digits.len()..] {
        "" | "B" => 1,
        "k" | "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err(format!("not a size: {text:?}")),
    };
    parse_number(digits)?
        .checked_mul(unit)
        .ok_or(format!("too large: {text:?}"))
}
