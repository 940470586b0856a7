//! What to do: the plan that follows from what was typed. Everything that can be refused without opening an input is
//! refused here.

mod build;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use inorder::{Compress, Encoding, Format, Preamble, Resume};

use super::args::{
    CatArgs, CheckArgs, DecompressArg, FailureArgs, FormatArg, InputArgs, OnErrorArg, OutputArgs,
    ProgressArg, RunArgs, ShowArgs,
};
use super::compression::compression;
use super::dialect::Dialect;
use super::failures::Failures;
use super::names::{InputName, OutputName, format_of_name, inputs};
use super::status::usage;
use super::units::Rate;
use super::work::Work;
use super::{same, streams};

/// What every command that reads records does.
#[derive(Debug)]
pub struct Plan {
    pub command: &'static str,
    pub inputs: Vec<InputName>,
    pub format_name: FormatArg,
    pub format: Format,
    pub limit: Option<u64>,
    pub rate: Option<Rate>,
    pub skip_lines: u64,
    pub map: bool,
    pub decompress: bool,
    pub decoder_memory: Option<usize>,
    pub encoding: Option<Encoding>,
    pub output_encoding: Option<Encoding>,
    pub output_header: bool,
    pub compress: Option<Compress>,
    pub failures: Failures,
    /// The run can be continued.
    pub resume: Option<Resume>,
    /// What is in flight may take so long after a signal.
    pub grace: Duration,
    /// What an earlier run left beside the output, where this one does not go on with it.
    pub left_behind: Option<PathBuf>,
    /// Where it is not the input's.
    pub output_format: Option<Format>,
    pub blank_lines: bool,
    pub preamble: Preamble,
    pub stack_size: Option<usize>,
    pub run: RunArgs,
    pub progress: ProgressArg,
    pub quiet: bool,
    pub stats: Option<OutputName>,
    /// The command ends with a report of its own.
    pub has_report: bool,
    /// What was read of standard input before the run.
    pub seen: Vec<u8>,
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

impl CatPlan {
    pub fn new(args: CatArgs) -> anyhow::Result<CatPlan> {
        let mut plan = Plan::new("cat", FormatArg::Lines, args.input, args.run, args.show)?;
        plan.rate = args.pace.rate;
        let output = plan.with_result(args.output, args.failures)?;
        plan.depends_on("work", &args.work);
        Ok(CatPlan {
            plan,
            output,
            work: args.work,
        })
    }
}

impl CheckPlan {
    pub fn new(args: CheckArgs) -> anyhow::Result<CheckPlan> {
        let mut plan = Plan::new("check", FormatArg::Lines, args.input, args.run, args.show)?;
        plan.failures.on_error = OnErrorArg::Skip;
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
    /// `default_format`: of an input whose name tells none.
    pub fn new(
        command: &'static str,
        default_format: FormatArg,
        input: InputArgs,
        run: RunArgs,
        show: ShowArgs,
    ) -> anyhow::Result<Plan> {
        let inputs = inputs(input.inputs, input.files0_from.as_deref())?;
        let format_name = input.from.unwrap_or_else(|| match &inputs[0] {
            InputName::Stdin => default_format,
            InputName::Path(path) => format_of_name(path).unwrap_or(default_format),
        });
        let format = input.dialect.apply(format_name, &format_name.format());
        let format = format.ok_or_else(|| usage(Dialect::REFUSED))?;
        Ok(Plan {
            command,
            inputs,
            format_name,
            format: format.header(!input.no_header),
            limit: input.limit,
            rate: None,
            skip_lines: input.skip_lines,
            map: !input.no_mmap,
            decompress: input.decompress == DecompressArg::Auto,
            decoder_memory: input.decoder_memory,
            encoding: input.encoding,
            output_encoding: None,
            output_header: true,
            compress: None,
            failures: Failures::default(),
            resume: None,
            grace: Duration::ZERO,
            left_behind: None,
            output_format: None,
            blank_lines: true,
            preamble: Preamble::Keep,
            stack_size: None,
            run,
            progress: show.progress,
            quiet: show.quiet,
            stats: show.stats.map(OutputName::typed),
            has_report: false,
            seen: Vec::new(),
            result_on_terminal: false,
        })
    }

    /// What a run that is continued must have in common with the one before, beside what the library sees to.
    pub fn depends_on(&mut self, name: &str, value: impl std::fmt::Display) {
        self.resume = self
            .resume
            .take()
            .map(|resume| resume.setting(name, value.to_string()));
    }

    /// For the commands that write a result: where it goes, and what becomes of records that fail.
    pub fn with_result(
        &mut self,
        output: OutputArgs,
        failures: FailureArgs,
    ) -> anyhow::Result<OutputName> {
        let name = OutputName::typed(output.output);
        self.output_header = !output.no_output_header;
        self.output_encoding = output.output_encoding;
        self.compress = compression(name.path(), output.compress, output.level)?;
        self.failures = Failures::new(failures)?;
        self.result_on_terminal = name == OutputName::Stdout && io::stdout().is_terminal();
        self.refuse_clashes(&name)?;
        let typed = output.resume;
        if typed.resume || typed.restart {
            let resume = Resume::new(self.command).restart(typed.restart);
            self.resume = Some(resume.every(typed.checkpoint_every));
        } else {
            self.left_behind = name.path().and_then(left_behind);
        }
        // What is begun is worth finishing where it is not lost.
        if self.resume.is_some() || name == OutputName::Stdout {
            self.grace = typed.grace;
        }
        Ok(name)
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
        if let Some(rejects) = &self.failures.rejects {
            let stats = self.stats.as_ref().and_then(OutputName::path);
            same::refuse_rejects_over(rejects, &self.inputs, &[result.path(), stats])?;
        }
        if *result == OutputName::Stdout || self.stats == Some(OutputName::Stdout) {
            streams::need_output()?;
        }
        if self.inputs.contains(&InputName::Stdin) {
            streams::need_input()?;
        }
        Ok(())
    }
}

/// What an interrupted run left of an output, beside the file itself where the path leads to it by a link.
fn left_behind(output: &Path) -> Option<PathBuf> {
    let followed = output.canonicalize();
    let output = match &followed {
        Ok(file) if output.is_symlink() => file,
        _ => output,
    };
    [".part", ".checkpoint"].into_iter().find_map(|end| {
        let mut name = output.as_os_str().to_owned();
        name.push(end);
        let path = PathBuf::from(name);
        path.symlink_metadata().is_ok().then_some(path)
    })
}

#[cfg(test)]
pub mod tests;
