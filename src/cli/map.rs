//! `inorder map`: a jq filter on every record.

mod args;
mod columns;
mod fault;
mod filter;
mod functions;
mod json;
mod kept;
mod layout;
mod plan;
mod print;
mod rows;
mod same;
mod value;
mod variables;
mod work;

pub use args::MapArgs;
pub use plan::MapPlan;

use columns::Columns;
use filter::{Complaint, Filter};
use layout::Layout;
use work::Map;

use super::run::{self, shows_failures};
use super::status::Status;
use super::voice::Voice;

/// Runs `map`.
pub fn map(plan: &MapPlan, voice: &mut Voice) -> anyhow::Result<Status> {
    let filter = match compiled(plan)? {
        Ok(filter) => filter,
        Err(complaint) => {
            show(&complaint, &plan.filter, voice);
            return Ok(Status::Usage);
        }
    };
    let sink = plan.plan.sink(&plan.output);
    let given = plan.columns.as_ref();
    let given = given.map(|names| Layout::named(names.iter().map(String::as_bytes)));
    let columns = Columns::new(plan.output_format.clone(), plan.headed, given);
    let process = Map {
        filter,
        variables: &plan.variables,
        from: plan.plan.format_name,
        to: plan.to,
        columns: plan.to.is_separated().then_some(columns),
        keeps: plan.keeps,
        strings: plan.strings,
        sort_keys: plan.sort_keys,
        speaker: voice.speaker(),
    };
    let shows = shows_failures(&plan.plan, voice);
    let summary = run::run(&plan.plan, voice, sink, &process, shows)?;
    Ok(Status::of_done(&summary))
}

/// Compiles the filter, on a thread whose stack takes as long a one as a command line does.
fn compiled(plan: &MapPlan) -> anyhow::Result<Result<Filter, Complaint>> {
    std::thread::scope(|scope| {
        let compile = || Filter::compile(&plan.filter, &plan.variables.names);
        let thread = std::thread::Builder::new().stack_size(plan::STACK);
        let thread = thread.spawn_scoped(scope, compile)?;
        thread
            .join()
            .map_err(|_| anyhow::anyhow!("the filter can't be compiled"))
    })
}

/// Shows what is wrong with a filter, with the line and a caret below the place.
fn show(complaint: &Complaint, code: &str, voice: &Voice) {
    let (before, rest) = code.split_at(complaint.place.start.min(code.len()));
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let number = before.matches('\n').count() + 1;
    let line_end = code.len() - rest.len() + rest.find('\n').unwrap_or(rest.len());
    let column = before[line_start..].chars().count();
    voice.line(&format!(
        "the filter does not compile, line {number}, column {}: {}",
        column + 1,
        complaint.what
    ));
    let speaker = voice.speaker();
    let line = code[line_start..line_end].replace('\t', " ");
    speaker.quote(&format!("  {line}"));
    let wide = code[complaint.place.clone()]
        .lines()
        .next()
        .map_or(0, |found| found.chars().count());
    let carets = "^".repeat(wide.max(1));
    speaker.quote(&format!("  {}{carets}", " ".repeat(column)));
}
