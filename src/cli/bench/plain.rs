//! The plain loop: read a record, work, write it. What one would write without this program.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};

use anyhow::Context;
use memchr::memchr_iter;

use crate::cli::args::{CatArgs, FormatArg};
use crate::cli::escape;
use crate::cli::names::InputName;
use crate::cli::plan::CatPlan;
use crate::cli::status::{Status, StdoutError, usage};

/// As much as a careful author would give a reader and a writer.
const BUFFER: usize = 64 << 10;

/// Runs the loop over one file, to standard output.
pub fn plain_loop(args: CatArgs) -> anyhow::Result<Status> {
    let (quote, no_quoting) = (args.input.dialect.quote, args.input.dialect.no_quoting);
    let has_header = !args.input.no_header;
    let plan = CatPlan::new(args)?;
    let [InputName::Path(path)] = &plan.plan.inputs[..] else {
        return Err(usage("the plain loop takes one file"));
    };
    let file =
        File::open(path).with_context(|| format!("{}: cannot be opened", escape::name(path)));
    let mut input = BufReader::with_capacity(BUFFER, file?);
    let mut output = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    let format = plan.plan.format_name;
    let separated = matches!(format, FormatArg::Csv | FormatArg::Tsv);
    let mut records = Records {
        end: if format == FormatArg::Nul { 0 } else { b'\n' },
        quote: match quote {
            _ if no_quoting || !separated => None,
            None if format == FormatArg::Csv => Some(b'"'),
            typed => typed,
        },
        record: Vec::new(),
    };
    let mut is_header = separated && has_header;
    let mut number = 0;
    while records.read(&mut input)? {
        let record = &records.record;
        let is_blank = (separated || format == FormatArg::Ndjson) && record.trim_ascii().is_empty();
        if !is_blank && !std::mem::take(&mut is_header) {
            number += 1;
            plan.work.spend(number, 0)?;
        }
        output.write_all(record).map_err(StdoutError)?;
    }
    output.flush().map_err(StdoutError)?;
    Ok(Status::Done)
}

/// Reads records: lines, and where there are quotes as many lines as it takes until all are closed.
struct Records {
    end: u8,
    quote: Option<u8>,
    record: Vec<u8>,
}

impl Records {
    fn read(&mut self, input: &mut impl BufRead) -> io::Result<bool> {
        self.record.clear();
        let mut quotes = 0;
        loop {
            let start = self.record.len();
            if input.read_until(self.end, &mut self.record)? == 0 {
                break;
            }
            let Some(quote) = self.quote else { break };
            quotes += memchr_iter(quote, &self.record[start..]).count();
            if quotes % 2 == 0 {
                break;
            }
        }
        Ok(!self.record.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(quote: Option<u8>, mut input: &[u8]) -> Vec<String> {
        let mut records = Records {
            end: b'\n',
            quote,
            record: Vec::new(),
        };
        let mut all = Vec::new();
        while records.read(&mut input).unwrap() {
            all.push(String::from_utf8(records.record.clone()).unwrap());
        }
        all
    }

    #[test]
    fn records_end_outside_quotes() {
        let input = b"a,b\n\"x\n\"\"y\",2\n\n3";
        assert_eq!(
            records(Some(b'"'), input),
            ["a,b\n", "\"x\n\"\"y\",2\n", "\n", "3"]
        );
        assert_eq!(records(None, b"\"a\nb"), ["\"a\n", "b"]);
    }
}
