//! What becomes of records that fail, from what was typed.

use std::path::PathBuf;
use std::time::Duration;

use inorder::{Builder, Compress, OnError, Rejects, Retry};

use super::args::{FailureArgs, OnErrorArg};
use super::compression::by_name;
use super::status::usage;

/// What becomes of records that fail.
#[derive(Debug)]
pub struct Failures {
    pub on_error: OnErrorArg,
    pub rejects: Option<PathBuf>,
    /// What is set aside.
    compress: Option<Compress>,
    pub max_errors: Option<u64>,
    /// A command whose work gives the same each time refuses any.
    pub retries: u32,
    pub retry_delay: Duration,
    pub max_failing_runs: Option<u64>,
}

impl Default for Failures {
    fn default() -> Failures {
        Failures {
            on_error: OnErrorArg::Stop,
            rejects: None,
            compress: None,
            max_errors: None,
            retries: 0,
            retry_delay: Duration::ZERO,
            max_failing_runs: None,
        }
    }
}

impl Failures {
    pub fn new(args: FailureArgs) -> anyhow::Result<Failures> {
        let on_error = match (args.on_error, &args.rejects) {
            (Some(OnErrorArg::Reject), None) => {
                return Err(usage(
                    "--on-error reject needs --rejects PATH, the place for the records",
                ));
            }
            (Some(OnErrorArg::Stop | OnErrorArg::Skip), Some(_)) => {
                return Err(usage(
                    "--rejects means --on-error reject, and can't go with another",
                ));
            }
            (_, Some(path)) if path.as_os_str() == "-" => {
                return Err(usage("--rejects needs a file: it writes two, side by side"));
            }
            (_, Some(_)) => OnErrorArg::Reject,
            (typed, None) => typed.unwrap_or(OnErrorArg::Stop),
        };
        let compress = args.rejects.as_deref().map(by_name).transpose()?;
        Ok(Failures {
            on_error,
            rejects: args.rejects,
            compress: compress.flatten(),
            max_errors: args.max_errors,
            retries: args.retries,
            retry_delay: args.retry_delay,
            max_failing_runs: Some(args.max_failing_runs),
        })
    }

    /// Whether what fails is tried again, which not every command can do.
    pub fn retries(&self) -> bool {
        self.retries > 0
    }

    /// Sets the library's pipeline accordingly.
    pub fn set(&self, builder: Builder) -> Builder {
        let on_error = match (self.on_error, &self.rejects) {
            (OnErrorArg::Stop, _) => OnError::Stop,
            (OnErrorArg::Reject, Some(path)) => {
                let rejects = Rejects::file(path);
                OnError::Reject(match self.compress {
                    Some(compress) => rejects.compress(compress),
                    None => rejects,
                })
            }
            (OnErrorArg::Skip | OnErrorArg::Reject, _) => OnError::Skip,
        };
        let mut builder = builder
            .on_error(on_error)
            .retry(Retry::new(self.retries).delay(self.retry_delay));
        if let Some(records) = self.max_errors {
            builder = builder.max_errors(records);
        }
        if let Some(runs) = self.max_failing_runs {
            builder = builder.max_failing_runs(runs);
        }
        builder
    }
}

#[cfg(test)]
mod tests {
    use crate::cli::args::{Cli, Command, OnErrorArg};
    use crate::cli::plan::CatPlan;
    use clap::Parser;

    fn on_error(options: &str) -> Result<OnErrorArg, String> {
        let line = format!("inorder cat a -o out {options}");
        match Cli::try_parse_from(line.split_whitespace())
            .unwrap()
            .command
        {
            Command::Cat(args) => CatPlan::new(args)
                .map(|plan| plan.plan.failures.on_error)
                .map_err(|error| error.to_string()),
            _ => panic!("{line}"),
        }
    }

    #[test]
    fn rejects_mean_reject() {
        assert_eq!(on_error(""), Ok(OnErrorArg::Stop));
        assert_eq!(on_error("--on-error skip"), Ok(OnErrorArg::Skip));
        assert_eq!(on_error("--rejects bad"), Ok(OnErrorArg::Reject));
        assert_eq!(
            on_error("--rejects bad --on-error reject"),
            Ok(OnErrorArg::Reject)
        );
        for options in [
            "--on-error reject",
            "--rejects bad --on-error skip",
            "--rejects bad --on-error stop",
            "--rejects -",
            "--rejects .",
            "--rejects /dev/null",
            "--rejects out",
            "--rejects bad --stats bad.errors.ndjson",
        ] {
            assert!(on_error(options).is_err(), "{options}");
        }
    }
}
