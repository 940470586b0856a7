//! `inorder exec`: any command as a filter over chunks of records.

mod by_chunk;
mod child;
mod chunk_size;
mod command;
mod exchange;
mod failure;
mod feed;
mod filter;
mod gate;
mod header;
mod missing;
mod persistent;
mod plan;
mod ready;
mod result;
mod said;
mod sample;
mod session;
mod sessions;
mod talk;
mod verify;
mod worker;

use super::run::{self, shows_failures};
use super::status::Status;
use super::voice::Voice;
use filter::Filter;
pub use missing::hint;
pub use plan::ExecPlan;

/// Runs `exec`.
pub fn exec(mut plan: ExecPlan, voice: &mut Voice) -> anyhow::Result<Status> {
    plan.command.check()?;
    if let Some(size) = plan.verify {
        plan.plan.seen = verify::verify(&plan, size, voice)?;
    }
    let sink = plan.plan.sink(&plan.output);
    let filter = Filter::new(&plan, Some(voice.speaker()));
    let summary = run::run(
        &plan.plan,
        voice,
        sink,
        &filter,
        shows_failures(&plan.plan, voice),
    )?;
    Ok(Status::of_done(&summary))
}
