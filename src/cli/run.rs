//! One run of the library's pipeline, with what is shown and kept of it: what `cat` and `check` have in common.

use std::io::{self, IsTerminal};
use std::sync::Arc;

use indicatif::{DecimalBytes, HumanCount};
use inorder::{Failure, Observer, Process, Progress, Sink, Started, Summary};

use super::args::ProgressArg;
use super::plan::Plan;
use super::progress::{Board, Manner, Ticker};
use super::stats::{Stats, StatsFile};
use super::status::Status;
use super::voice::{Speaker, Voice};

/// Is told of each record that failed, in input order.
pub type OnFailure = Box<dyn Fn(&Failure<'_>) + Send + Sync>;

/// Runs the plan. Failures go to `on_failure`, the result to `sink`, everything else to standard error and `--stats`.
pub fn run<P: Process>(
    plan: &Plan,
    voice: &mut Voice,
    sink: Sink<'_>,
    process: &P,
    on_failure: OnFailure,
) -> anyhow::Result<Summary> {
    let stats = plan.stats.as_ref().map(StatsFile::open).transpose()?;
    let board = Arc::new(Board::new());
    let reporter = Reporter {
        board: Arc::clone(&board),
        notes: (!plan.quiet).then(|| voice.speaker()),
        on_failure,
    };
    let manner = Manner::of(plan.progress, plan.result_on_terminal);
    if manner != Manner::Nothing {
        voice.show(Ticker::new(board, manner));
    }
    let result = plan
        .pipeline()
        .observe(Arc::new(reporter))
        .build()
        .and_then(|pipeline| pipeline.run(plan.source(), sink, process))
        .map_err(anyhow::Error::from);
    voice.settle();
    finish(plan, voice, manner, stats, result)
}

/// The summary and the figures of a run that has ended.
fn finish(
    plan: &Plan,
    voice: &Voice,
    manner: Manner,
    stats: Option<StatsFile>,
    result: anyhow::Result<Summary>,
) -> anyhow::Result<Summary> {
    if let Some(text) = summary_line(plan, manner, &result) {
        voice.line(&text);
    }
    let written = match stats {
        Some(stats) => stats.write(&Stats::of(plan, result.as_ref())),
        None => Ok(()),
    };
    match (result, written) {
        (Ok(summary), Ok(())) => Ok(summary),
        (Ok(_), Err(error)) => Err(error),
        (Err(error), written) => {
            if let Err(second) = written {
                voice.line(&format!("{second:#}"));
            }
            Err(error)
        }
    }
}

/// The run in one line: on a terminal, on request, and when not all went well.
fn summary_line(plan: &Plan, manner: Manner, result: &anyhow::Result<Summary>) -> Option<String> {
    let (summary, status) = match result {
        Ok(summary) => (
            summary,
            Status::with_faults(summary.skipped + summary.rejected),
        ),
        Err(error) => (
            error.downcast_ref::<inorder::Error>()?.summary()?,
            Status::of(error),
        ),
    };
    let wanted = match manner {
        Manner::Bar => io::stderr().is_terminal(),
        _ => plan.progress == ProgressArg::Always,
    };
    let needed = matches!(status, Status::Failed | Status::Faults);
    (!plan.quiet && (wanted || needed)).then(|| describe(summary))
}

fn describe(summary: &Summary) -> String {
    let seconds = summary.elapsed.as_secs_f64();
    let mut text = format!("{} records", HumanCount(summary.records));
    if summary.skipped > 0 {
        text.push_str(&format!(", {} skipped", HumanCount(summary.skipped)));
    }
    text.push_str(&format!(
        ", {} read, {} written, {seconds:.2} s",
        DecimalBytes(summary.bytes_in),
        DecimalBytes(summary.bytes_out)
    ));
    // A rate over less than this says nothing.
    if seconds >= 0.01 {
        let per_second = summary.bytes_in as f64 / seconds;
        text.push_str(&format!(", {}/s", DecimalBytes(per_second as u64)));
    }
    text
}

/// What the library reports to.
struct Reporter {
    board: Arc<Board>,
    notes: Option<Speaker>,
    on_failure: OnFailure,
}

impl Observer for Reporter {
    fn started(&self, run: &Started) {
        self.board.started(run);
    }

    fn progress(&self, progress: &Progress) {
        self.board.progress(progress);
    }

    fn failed(&self, failure: &Failure<'_>) {
        (self.on_failure)(failure);
    }

    fn note(&self, note: &str) {
        if let Some(speaker) = &self.notes {
            speaker.line(note);
        }
    }
}
