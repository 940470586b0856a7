//! `inorder bench`: the plain loop against one thread and several, run in turn, as processes of their own.

mod plain;
mod plan;
mod plot;
mod report;
mod runner;

use std::fs::File;
use std::io::{IsTerminal, Write, stderr};
use std::path::Path;

use anyhow::{Context, bail};

use super::status::Status;
use super::voice::Voice;
use super::{escape, streams};
use report::Report;
use runner::Runner;

pub use plain::plain_loop;
pub use plan::BenchPlan;

/// Runs `bench`.
pub fn bench(plan: &BenchPlan, voice: &Voice) -> anyhow::Result<Status> {
    streams::need_output()?;
    let tells = !plan.quiet && stderr().is_terminal();
    let mut runner = Runner::new(plan)?;
    for round in 0..=plan.runs {
        if tells {
            voice.line(&match round {
                0 => "a first round that is not counted".to_string(),
                round => format!("round {round} of {}", plan.runs),
            });
        }
        runner.round(round > 0)?;
    }
    let report = Report::new(plan, runner.into_figures());
    if plan.json {
        let mut json = serde_json::to_vec_pretty(&report)?;
        json.push(b'\n');
        streams::print(&json)?;
    } else {
        streams::print(report.table().as_bytes())?;
    }
    if let Some(path) = &plan.plot {
        write(path, &plot::speed_up(&report)?)?;
    }
    if let Some(way) = report.different() {
        bail!("{way} wrote something else than the plain loop");
    }
    Ok(Status::Done)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    File::create(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("{}: cannot be written", escape::name(path)))
}
