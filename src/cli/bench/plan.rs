//! What `bench` is to do.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;
use std::thread::available_parallelism;

use anyhow::Context;
use clap::{Parser, ValueEnum};

use crate::cli::args::{BenchArgs, Cli, Command};
use crate::cli::escape;
use crate::cli::plan::CatPlan;
use crate::cli::status::usage;

/// The plan of `bench`.
#[derive(Debug)]
pub struct BenchPlan {
    pub input: PathBuf,
    pub bytes: u64,
    pub work: String,
    /// What each run is told, after its command's name.
    pub options: Vec<OsString>,
    pub threads: Vec<usize>,
    pub runs: usize,
    pub json: bool,
    pub plot: Option<PathBuf>,
    pub quiet: bool,
}

impl BenchPlan {
    pub fn new(args: BenchArgs) -> anyhow::Result<BenchPlan> {
        let shown = escape::name(&args.input);
        let metadata = args
            .input
            .metadata()
            .with_context(|| format!("{shown}: cannot be opened"))?;
        if !metadata.is_file() {
            return Err(usage(format!(
                "{shown}: bench reads its input many times: name a regular file"
            )));
        }
        if args.work.may_fail() {
            return Err(usage("bench is for work that does not fail"));
        }
        let options = options(&args);
        check(&options)?;
        Ok(BenchPlan {
            bytes: metadata.len(),
            work: args.work.to_string(),
            options,
            threads: match args.threads {
                Some(typed) => typed.into_iter().map(usize::from).collect(),
                None => usual_threads(),
            },
            runs: args.runs.into(),
            json: args.json,
            plot: args.plot,
            quiet: args.quiet,
            input: args.input,
        })
    }
}

/// One, and twice as many until there is one for each core.
fn usual_threads() -> Vec<usize> {
    let cores = available_parallelism().map_or(1, NonZero::get);
    let doubled = std::iter::successors(Some(1), |threads| Some(threads * 2));
    let mut threads: Vec<usize> = doubled.take_while(|threads| *threads < cores).collect();
    threads.push(cores);
    threads
}

/// The options as `cat` and the plain loop take them.
fn options(args: &BenchArgs) -> Vec<OsString> {
    let mut options: Vec<OsString> = vec!["--quiet".into(), "--work".into()];
    options.push(args.work.to_string().into());
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            options.push(name.into());
            options.push(value.into());
        }
    };
    let format = args.from.and_then(|format| format.to_possible_value());
    add("--from", format.map(|format| format.get_name().to_string()));
    let character = |byte: u8| format!("\\x{byte:02x}");
    add("--delimiter", args.dialect.delimiter.map(character));
    add("--quote", args.dialect.quote.map(character));
    add("--memory", args.memory.map(|bytes| bytes.to_string()));
    add("--records", args.records.map(|number| number.to_string()));
    add(
        "--chunk-size",
        args.chunk_size.map(|bytes| bytes.to_string()),
    );
    for (name, given) in [
        ("--no-quoting", args.dialect.no_quoting),
        ("--no-header", args.no_header),
        ("--no-mmap", args.no_mmap),
    ] {
        if given {
            options.push(name.into());
        }
    }
    // So that no name is taken for an option.
    options.push("--".into());
    options.push(args.input.clone().into());
    options
}

/// Finds before the first run what a run would refuse.
fn check(options: &[OsString]) -> anyhow::Result<()> {
    let words = ["inorder", "cat"].map(OsString::from);
    let typed = words.iter().chain(options);
    if let Command::Cat(args) = Cli::try_parse_from(typed)?.command {
        CatPlan::new(args)?;
    }
    Ok(())
}
