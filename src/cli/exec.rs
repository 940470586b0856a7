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
mod sent;
mod session;
mod sessions;
mod talk;
mod verify;
mod worker;

use super::run::{self, Control, shows_failures};
use super::status::Status;
use super::voice::Voice;
use filter::Filter;
pub use missing::hint;
pub use plan::ExecPlan;
use sample::Sample;

/// Runs `exec`.
pub fn exec(mut plan: ExecPlan, voice: &mut Voice) -> anyhow::Result<Status> {
    plan.command.check()?;
    // While standard input is read for it no command runs, and a signal ends the program as ever.
    let sample = match plan.verify {
        Some(size) => sample::take(&plan.plan, size)?,
        None => Sample::default(),
    };
    plan.plan.seen = sample.seen;
    let control = Control::new(&plan.plan, voice);
    if !sample.bytes.is_empty() {
        verify::verify(&plan, sample.bytes, voice, &control.stop)?;
    }
    let sink = plan.plan.sink(&plan.output);
    let filter = Filter::new(&plan, Some(voice.speaker()), control.stop.clone());
    let summary = run::run_under(
        &control,
        &plan.plan,
        voice,
        sink,
        &filter,
        shows_failures(&plan.plan, voice),
    )?;
    Ok(Status::of_done(&summary))
}
