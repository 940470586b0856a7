//! What `map` is to do.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use inorder::{Format, Preamble};

use super::args::{MapArgs, RefusedArgs};
use super::variables::Variables;
use crate::cli::args::FormatArg;
use crate::cli::dialect::Dialect;
use crate::cli::escape;
use crate::cli::names::{OutputName, format_of_name};
use crate::cli::plan::Plan;
use crate::cli::status::usage;

/// jaq recurses with the depth of values and of a filter's own definitions; what is not used of this is no memory.
pub const STACK: usize = 256 << 20;

/// The plan of `map`.
#[derive(Debug)]
pub struct MapPlan {
    pub plan: Plan,
    pub output: OutputName,
    pub filter: String,
    pub variables: Variables,
    pub to: FormatArg,
    pub output_format: Format,
    /// A record that comes back unchanged can be written as it stands.
    pub keeps: bool,
    /// CSV and TSV: whether a header is written.
    pub headed: bool,
    pub columns: Option<Vec<String>>,
    pub strings: bool,
    pub sort_keys: bool,
}

impl MapPlan {
    pub fn new(mut args: MapArgs) -> anyhow::Result<MapPlan> {
        refuse(&args.refused)?;
        let filter = take_filter(&mut args)?;
        let typed = std::mem::take(&mut args.input.dialect);
        let no_output_header = args.output.no_output_header;
        let mut plan = Plan::new("map", FormatArg::Ndjson, args.input, args.run, args.show)?;
        let output = plan.with_result(args.output, args.failures)?;
        if plan.failures.retries() {
            return Err(usage(
                "--retries is no use to map: a filter that fails on a record fails on it each time",
            ));
        }
        let from = plan.format_name;
        let to = match (args.result.to, args.result.raw_output) {
            (Some(to), _) => to,
            (None, true) => FormatArg::Lines,
            (None, false) => output.path().and_then(format_of_name).unwrap_or(from),
        };
        let output_format = match typed.apply(from, &plan.format) {
            Some(format) => {
                plan.format = format;
                if to == from {
                    plan.format.clone()
                } else {
                    to.format()
                }
            }
            // The input has no dialect: it is the output's.
            None => typed
                .apply(to, &to.format())
                .ok_or_else(|| usage(Dialect::REFUSED))?,
        };
        let keeps = to == from && !args.result.sort_keys;
        let rows = to.is_separated();
        if args.result.columns.is_some() && !rows {
            return Err(usage("--columns is for CSV and TSV: add --to csv"));
        }
        plan.output_format = Some(output_format.clone());
        plan.rate = args.pace.rate;
        plan.blank_lines = false;
        plan.stack_size = Some(STACK);
        // The library tells of the input's header only where one is written.
        plan.output_header = rows && !no_output_header;
        plan.preamble = if rows && from.is_separated() {
            Preamble::Mark
        } else {
            Preamble::Drop
        };
        let variables = Variables::new(&args.variables)?;
        let columns = args.result.columns.as_deref().map(columns).transpose()?;
        plan.depends_on("filter", &filter);
        plan.depends_on("variables", variables.typed());
        if let Some(environment) = Variables::environment_of(&filter) {
            plan.depends_on("environment", environment);
        }
        plan.depends_on("columns", format!("{columns:?}"));
        plan.depends_on("strings", args.strings);
        plan.depends_on("sort-keys", args.result.sort_keys);
        Ok(MapPlan {
            headed: plan.output_header,
            variables,
            filter,
            output,
            to,
            output_format,
            keeps,
            columns,
            strings: args.strings,
            sort_keys: args.result.sort_keys,
            plan,
        })
    }
}

fn refuse(args: &RefusedArgs) -> anyhow::Result<()> {
    let why = "a filter of map sees one record at a time: pipe the output of map into jq";
    match args {
        RefusedArgs {
            null_input: true, ..
        } => Err(usage(format!(
            "--null-input needs the whole stream, and {why}"
        ))),
        RefusedArgs { slurp: true, .. } => {
            Err(usage(format!("--slurp needs the whole stream, and {why}")))
        }
        RefusedArgs {
            raw_input: true, ..
        } => Err(usage("--raw-input is written --from lines here")),
        _ => Ok(()),
    }
}

/// The text of the filter: typed, or in a file; then the first positional argument is an input.
fn take_filter(args: &mut MapArgs) -> anyhow::Result<String> {
    if let Some(path) = &args.variables.from_file {
        let shown = escape::name(path);
        if let Some(first) = args.filter.take() {
            args.input.inputs.insert(0, PathBuf::from(first));
        }
        let bytes = fs::read(path).with_context(|| format!("{shown}: cannot be read"))?;
        return String::from_utf8(bytes)
            .map_err(|_| usage(format!("{shown}: the filter is not UTF-8")));
    }
    let filter = args.filter.take().map(OsString::into_string);
    let filter = filter.or_else(|| {
        // As in jq `--args` may stand before the filter.
        let values = &mut args.variables;
        let first = [&mut values.args, &mut values.jsonargs]
            .into_iter()
            .find(|values| !values.is_empty())?;
        Some(Ok(first.remove(0)))
    });
    match filter {
        Some(Ok(filter)) => Ok(filter),
        Some(Err(_)) => Err(usage("the filter is not UTF-8")),
        None => Err(usage("there is no filter")),
    }
}

/// The names in `--columns`: a record of CSV.
fn columns(typed: &str) -> anyhow::Result<Vec<String>> {
    let refused = || usage("--columns takes names, separated by commas, quoted as in CSV");
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.has_headers(false).from_reader(typed.as_bytes());
    let names = match reader.records().next() {
        Some(Ok(names)) => names,
        _ => return Err(refused()),
    };
    if reader.records().next().is_some() {
        return Err(refused());
    }
    let names: Vec<String> = names.iter().map(str::to_owned).collect();
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            return Err(usage(format!(
                "--columns names {} twice",
                escape::line(name)
            )));
        }
    }
    Ok(names)
}
