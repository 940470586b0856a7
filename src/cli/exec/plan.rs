//! The plan of `exec` that follows from what was typed.

use std::time::Duration;

use inorder::{Format, Preamble};

use super::command::Command;
use super::{chunk_size, missing};
use crate::cli::args::{ExecArgs, FormatArg, HeaderArg};
use crate::cli::names::{OutputName, format_of_name};
use crate::cli::plan::Plan;
use crate::cli::status::usage;

/// What `exec` does.
#[derive(Debug)]
pub struct ExecPlan {
    pub plan: Plan,
    pub output: OutputName,
    pub command: Command,
    /// What the command prints.
    pub to: FormatArg,
    /// `None`: the input has no header.
    pub header: Option<HeaderArg>,
    pub ok_status: Vec<u8>,
    /// Of one attempt, or of one record's.
    pub timeout: Option<Duration>,
    /// The format of the answers that it gives.
    pub answers: Format,
    /// A process answers many records.
    pub persistent: bool,
    /// But no more than this.
    pub recycle: Option<u64>,
    /// So much of the input's start is tried before the run.
    pub verify: Option<usize>,
}

impl ExecPlan {
    pub fn new(args: ExecArgs) -> anyhow::Result<ExecPlan> {
        let command = match args.shell {
            Some(script) => Command::shell(script),
            None if args.command.is_empty() => return Err(missing::command(&args.input.inputs)),
            None => Command::new(args.command),
        };
        let no_header = args.input.no_header;
        let mut plan = Plan::new("exec", FormatArg::Lines, args.input, args.run, args.show)?;
        plan.rate = args.pace.rate;
        let output = plan.with_result(args.output, args.failures)?;
        let header = match plan.format_name {
            FormatArg::Csv | FormatArg::Tsv if !no_header => {
                Some(args.header.unwrap_or(HeaderArg::Both))
            }
            _ if args.header.is_some() => {
                return Err(usage(
                    "--header is for CSV and TSV with a header: add --from csv",
                ));
            }
            _ => None,
        };
        match header {
            Some(HeaderArg::In | HeaderArg::None) => plan.output_header = false,
            // Of the lines before it the command knows nothing.
            Some(HeaderArg::Both) if plan.skip_lines > 0 => plan.preamble = Preamble::Mark,
            _ => {}
        }
        let to = args.to.or_else(|| format_of_name(output.path()?));
        let to = to.unwrap_or(plan.format_name);
        if !args.persistent {
            // Where a chunk ends shows in what the command does: that must not depend on timing.
            let size = chunk_size::of(
                plan.source().size(plan.decompress),
                plan.run.records.is_some(),
            );
            if (plan.run.chunk_size, plan.run.records) == (None, None) {
                let memory = chunk_size::memory(size, plan.run.threads);
                plan.run.memory.get_or_insert(memory);
            }
            plan.run.chunk_size.get_or_insert(size);
        }
        let answers = if to == plan.format_name {
            plan.format.clone()
        } else {
            to.format()
        };
        plan.depends_on("command", format!("{command:?}"));
        plan.depends_on("to", format!("{to:?}"));
        plan.depends_on("command header", format!("{header:?}"));
        plan.depends_on("ok-status", format!("{:?}", args.ok_status));
        plan.depends_on("persistent", args.persistent);
        if !args.persistent {
            plan.depends_on("chunk-size", format!("{:?}", plan.run.chunk_size));
            plan.depends_on("records in a chunk", format!("{:?}", plan.run.records));
            // No chunk has more records than a second.
            plan.depends_on("rate", format!("{:?}", plan.rate));
        }
        Ok(ExecPlan {
            plan,
            output,
            command,
            to,
            header,
            ok_status: args.ok_status,
            timeout: args.timeout,
            answers,
            persistent: args.persistent,
            recycle: args.recycle,
            verify: args.verify,
        })
    }
}
