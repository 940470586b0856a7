//! What to do: the plan that follows from what was typed. Everything that can be refused without opening an input is
//! refused here.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use inorder::{Builder, Format, OnError, Pipeline, Source};

use super::args::{
    CatArgs, CheckArgs, FormatArg, InputArgs, OnErrorArg, ProgressArg, RunArgs, ShowArgs,
};
use super::status::usage;
use super::work::Work;
use super::{escape, same, streams};

/// What every command that reads records does.
#[derive(Debug)]
pub struct Plan {
    pub command: &'static str,
    pub inputs: Vec<InputName>,
    pub format_name: FormatArg,
    pub format: Format,
    pub limit: Option<u64>,
    pub skip_lines: u64,
    pub map: bool,
    pub output_header: bool,
    pub skip_failed: bool,
    pub run: RunArgs,
    pub progress: ProgressArg,
    pub quiet: bool,
    pub stats: Option<OutputName>,
    /// The command ends with a report of its own.
    pub has_report: bool,
    /// The result goes to a terminal while the run is going on.
    pub result_on_terminal: bool,
}

/// The plan of `cat`.
#[derive(Debug)]
pub struct CatPlan {
    pub plan: Plan,
    pub output: OutputName,
    pub work: Work,
}

/// The plan of `check`.
#[derive(Debug)]
pub struct CheckPlan {
    pub plan: Plan,
    pub faults: usize,
    pub json: bool,
}

/// Where records come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputName {
    Stdin,
    Path(PathBuf),
}

/// Where bytes go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputName {
    Stdout,
    Path(PathBuf),
}

impl InputName {
    fn typed(name: PathBuf) -> InputName {
        if name.as_os_str() == "-" {
            InputName::Stdin
        } else {
            InputName::Path(name)
        }
    }

    /// The name as it is shown.
    pub fn shown(&self) -> String {
        match self {
            InputName::Stdin => "<stdin>".to_string(),
            InputName::Path(path) => escape::name(path),
        }
    }
}

impl OutputName {
    fn typed(name: PathBuf) -> OutputName {
        // The other names of standard output, so that all of them behave as `-` does.
        let names = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
        if names.iter().any(|known| name.as_os_str() == *known) {
            OutputName::Stdout
        } else {
            OutputName::Path(name)
        }
    }

    fn path(&self) -> Option<&Path> {
        match self {
            OutputName::Stdout => None,
            OutputName::Path(path) => Some(path),
        }
    }
}

impl CatPlan {
    pub fn new(args: CatArgs) -> anyhow::Result<CatPlan> {
        let output = OutputName::typed(args.output);
        let mut plan = Plan::new("cat", args.input, args.run, args.show)?;
        plan.output_header = !args.no_output_header;
        plan.skip_failed = args.on_error == OnErrorArg::Skip;
        plan.result_on_terminal = output == OutputName::Stdout && io::stdout().is_terminal();
        plan.refuse_clashes(&output)?;
        Ok(CatPlan {
            plan,
            output,
            work: args.work,
        })
    }
}

impl CheckPlan {
    pub fn new(args: CheckArgs) -> anyhow::Result<CheckPlan> {
        let mut plan = Plan::new("check", args.input, args.run, args.show)?;
        plan.skip_failed = true;
        plan.has_report = true;
        plan.refuse_clashes(&OutputName::Stdout)?;
        Ok(CheckPlan {
            plan,
            faults: usize::try_from(args.faults).unwrap_or(usize::MAX),
            json: args.json,
        })
    }
}

impl Plan {
    fn new(
        command: &'static str,
        input: InputArgs,
        run: RunArgs,
        show: ShowArgs,
    ) -> anyhow::Result<Plan> {
        let inputs = inputs(input.inputs, input.files0_from.as_deref())?;
        let format_name = input.from.unwrap_or_else(|| match &inputs[0] {
            InputName::Stdin => FormatArg::Lines,
            InputName::Path(path) => format_of_name(path).unwrap_or(FormatArg::Lines),
        });
        let separated = matches!(format_name, FormatArg::Csv | FormatArg::Tsv);
        let typed_dialect = input.delimiter.is_some() || input.quote.is_some() || input.no_quoting;
        if typed_dialect && !separated {
            return Err(usage(
                "--delimiter, --quote and --no-quoting are for CSV and TSV: add --from csv",
            ));
        }
        let mut format = match format_name {
            FormatArg::Lines => Format::lines(),
            FormatArg::Nul => Format::nul(),
            FormatArg::Ndjson => Format::ndjson(),
            FormatArg::Csv => Format::csv(),
            FormatArg::Tsv => Format::tsv(),
        };
        if let Some(delimiter) = input.delimiter {
            format = format.delimiter(delimiter);
        }
        if input.quote.is_some() || input.no_quoting {
            format = format.quote(input.quote);
        }
        Ok(Plan {
            command,
            inputs,
            format_name,
            format: format.header(!input.no_header),
            limit: input.limit,
            skip_lines: input.skip_lines,
            map: !input.no_mmap,
            output_header: true,
            skip_failed: false,
            run,
            progress: show.progress,
            quiet: show.quiet,
            stats: show.stats.map(OutputName::typed),
            has_report: false,
            result_on_terminal: false,
        })
    }

    /// Refuses streams that are closed and files that would be overwritten while they are needed.
    fn refuse_clashes(&self, result: &OutputName) -> anyhow::Result<()> {
        if *result == OutputName::Stdout {
            same::refuse_input_as_stdout(&self.inputs)?;
        }
        match &self.stats {
            Some(OutputName::Stdout) if *result == OutputName::Stdout => {
                return Err(usage(
                    "--stats can't go to standard output, where the result goes",
                ));
            }
            Some(OutputName::Path(stats)) => {
                same::refuse_stats_over(stats, &self.inputs, result.path())?;
            }
            _ => {}
        }
        if *result == OutputName::Stdout || self.stats == Some(OutputName::Stdout) {
            streams::need_output()?;
        }
        if self.inputs.contains(&InputName::Stdin) {
            streams::need_input()?;
        }
        Ok(())
    }

    /// The library's pipeline for this plan, but for its observer.
    pub fn pipeline(&self) -> Builder {
        let mut builder = Pipeline::builder()
            .format(self.format.clone())
            .threads(self.run.threads)
            .skip_lines(self.skip_lines)
            .output_header(self.output_header)
            .sequential(self.run.sequential)
            .on_error(if self.skip_failed {
                OnError::Skip
            } else {
                OnError::Stop
            });
        if let Some(bytes) = self.run.memory {
            builder = builder.memory(bytes);
        }
        if let Some(bytes) = self.run.chunk_size {
            builder = builder.chunk_size(bytes);
        }
        if let Some(records) = self.run.records {
            builder = builder.chunk_records(records);
        }
        if let Some(bytes) = self.run.max_record_size {
            builder = builder.max_record_size(bytes);
        }
        if let Some(records) = self.limit {
            builder = builder.limit(records);
        }
        if self.map {
            builder = mapped(builder);
        }
        builder
    }

    /// The library's source for this plan.
    pub fn source(&self) -> Source<'static> {
        if let [InputName::Stdin] = self.inputs.as_slice() {
            return Source::stdin();
        }
        Source::files(self.inputs.iter().map(|input| match input {
            InputName::Stdin => PathBuf::from("/dev/stdin"),
            InputName::Path(path) => path.clone(),
        }))
    }
}

#[allow(unsafe_code)]
fn mapped(builder: Builder) -> Builder {
    // SAFETY: nobody can promise that the file stays as it is; the run checks its size and time before bytes leave and
    // before the output is published, and `guard_mapped_reads` in main turns a page that is gone into an error.
    unsafe { builder.memory_map(true) }
}

/// The inputs in their order: at least one.
fn inputs(named: Vec<PathBuf>, list: Option<&Path>) -> anyhow::Result<Vec<InputName>> {
    let names = match list {
        Some(list) => names_from(list)?,
        None => named,
    };
    let mut inputs: Vec<InputName> = names.into_iter().map(InputName::typed).collect();
    if inputs.is_empty() {
        inputs.push(InputName::Stdin);
    }
    if inputs
        .iter()
        .filter(|input| **input == InputName::Stdin)
        .count()
        > 1
    {
        return Err(usage("standard input is named more than once"));
    }
    Ok(inputs)
}

/// The names in the list, each ended by a NUL byte.
fn names_from(list: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let shown = escape::name(list);
    let mut bytes = Vec::new();
    let read = if list.as_os_str() == "-" {
        streams::need_input()?;
        io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        fs::File::open(list).and_then(|mut file| file.read_to_end(&mut bytes).map(drop))
    };
    read.with_context(|| format!("{shown}: cannot be read"))?;
    let names: Vec<PathBuf> = bytes
        .strip_suffix(b"\0")
        .unwrap_or(&bytes)
        .split(|byte| *byte == 0)
        .map(path_of)
        .collect::<Option<_>>()
        .ok_or_else(|| usage(format!("{shown}: a name is not valid on this system")))?;
    if bytes.is_empty() || names.iter().any(|name| name.as_os_str().is_empty()) {
        return Err(usage(format!(
            "{shown}: no name, or an empty one, in the list"
        )));
    }
    if list.as_os_str() == "-" && names.iter().any(|name| name.as_os_str() == "-") {
        return Err(usage(
            "the list on standard input can't name standard input",
        ));
    }
    Ok(names)
}

#[cfg(unix)]
fn path_of(name: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

#[cfg(not(unix))]
fn path_of(name: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(name).ok().map(PathBuf::from)
}

/// The format that a name tells, the suffix of a compression left aside.
fn format_of_name(name: &Path) -> Option<FormatArg> {
    let suffix = |name: &Path| {
        let suffix = name.extension().and_then(OsStr::to_str);
        suffix.map(str::to_ascii_lowercase)
    };
    let outer = suffix(name)?;
    let inner = match outer.as_str() {
        "gz" | "bgz" | "zst" | "bz2" | "xz" => suffix(Path::new(name.file_stem()?))?,
        _ => outer,
    };
    match inner.as_str() {
        "csv" => Some(FormatArg::Csv),
        "tsv" | "tab" => Some(FormatArg::Tsv),
        "ndjson" | "jsonl" | "json" => Some(FormatArg::Ndjson),
        _ => None,
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::cli::args::{Cli, Command};
    use clap::Parser;

    fn cat(line: &str) -> anyhow::Result<CatPlan> {
        match Cli::try_parse_from(line.split(' ')).unwrap().command {
            Command::Cat(args) => CatPlan::new(args),
            _ => panic!("{line}"),
        }
    }

    /// The plan of a line of words.
    pub fn cat_plan(line: &str) -> Plan {
        cat(line).unwrap().plan
    }

    #[test]
    fn formats_by_name() {
        for (name, format) in [
            ("a.csv", Some(FormatArg::Csv)),
            ("dir.csv/a", None),
            ("A.CSV", Some(FormatArg::Csv)),
            ("a.tsv", Some(FormatArg::Tsv)),
            ("a.tab", Some(FormatArg::Tsv)),
            ("a.ndjson", Some(FormatArg::Ndjson)),
            ("a.jsonl.zst", Some(FormatArg::Ndjson)),
            ("a.json", Some(FormatArg::Ndjson)),
            ("a.csv.gz", Some(FormatArg::Csv)),
            ("a.gz", None),
            ("a.csv.txt", None),
            ("csv", None),
            (".csv", None),
            ("", None),
        ] {
            assert_eq!(format_of_name(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn the_first_input_decides_the_format() {
        let format = |line| cat(line).unwrap().plan.format;
        assert_eq!(format("inorder cat a.csv b.tsv -o out"), Format::csv());
        assert_eq!(format("inorder cat - b.csv -o out"), Format::lines());
        assert_eq!(format("inorder cat -o out"), Format::lines());
        assert_eq!(format("inorder cat --from tsv a.csv -o out"), Format::tsv());
    }

    #[test]
    fn dialects() {
        let format = |line| cat(line).unwrap().plan.format;
        assert_eq!(
            format("inorder cat -d ; --quote ' --no-header a.csv -o out"),
            Format::csv()
                .delimiter(b';')
                .quote(Some(b'\''))
                .header(false)
        );
        assert_eq!(
            format("inorder cat --no-quoting a.csv -o out"),
            Format::csv().quote(None)
        );
        assert_eq!(
            format("inorder cat --quote \" a.tsv -o out"),
            Format::tsv().quote(Some(b'"'))
        );
        assert!(cat("inorder cat -d ; a.txt -o out").is_err());
    }

    #[test]
    fn names_of_standard_streams() {
        let plan = cat("inorder cat - a -o /dev/stdout --stats s.json").unwrap();
        assert_eq!(plan.output, OutputName::Stdout);
        assert_eq!(plan.plan.inputs[0], InputName::Stdin);
        assert!(cat("inorder cat - - -o out").is_err());
        assert!(cat("inorder cat a --stats -").is_err());
        assert!(cat("inorder cat a -o out --stats -").is_ok());
        assert!(cat("inorder cat a -o out --stats out").is_err());
    }
}
