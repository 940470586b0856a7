//! One run of the library's pipeline, with what is shown and kept of it: what the commands have in common.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use indicatif::DecimalBytes;
use inorder::{Failure, Observer, Process, Progress, Sink, Started, StopHandle, Summary, Working};

use super::args::ProgressArg;
use super::escape;
use super::plan::Plan;
use super::progress::{Board, Manner, Ticker};
#[cfg(unix)]
use super::signals::Answers;
use super::stats::{Stats, StatsFile};
use super::status::{Status, message};
use super::units::{counted, grouped};
use super::voice::{Speaker, Voice};

/// Shorter runs are not worth a hint on how to make them shorter.
const LONG: Duration = Duration::from_secs(2);

/// Is told of each record that failed, in input order.
pub type OnFailure = Box<dyn Fn(&Failure<'_>) + Send + Sync>;

/// What a run is watched and ended by.
pub struct Control {
    board: Arc<Board>,
    pub stop: StopHandle,
    #[cfg(unix)]
    _answers: Option<Answers>,
}

impl Control {
    /// From now on signals are answered.
    pub fn new(plan: &Plan, voice: &Voice) -> Control {
        let (board, stop) = (Arc::new(Board::new()), StopHandle::default());
        #[cfg(not(unix))]
        let _ = (plan, voice);
        Control {
            #[cfg(unix)]
            _answers: Answers::start(
                Arc::clone(&board),
                voice.speaker(),
                stop.clone(),
                plan.grace,
            ),
            board,
            stop,
        }
    }
}

/// Runs the plan. Failures go to `on_failure`, the result to `sink`, everything else to standard error and `--stats`.
pub fn run<P: Process>(
    plan: &Plan,
    voice: &mut Voice,
    sink: Sink<'_>,
    process: &P,
    on_failure: OnFailure,
) -> anyhow::Result<Summary> {
    let control = Control::new(plan, voice);
    run_under(&control, plan, voice, sink, process, on_failure)
}

/// The same, under a control that is there already.
pub fn run_under<P: Process>(
    control: &Control,
    plan: &Plan,
    voice: &mut Voice,
    sink: Sink<'_>,
    process: &P,
    on_failure: OnFailure,
) -> anyhow::Result<Summary> {
    let stats = plan.stats.as_ref().map(StatsFile::open).transpose()?;
    let board = &control.board;
    let reporter = Reporter {
        board: Arc::clone(board),
        notes: (!plan.quiet).then(|| voice.speaker()),
        on_failure,
    };
    if let Some(path) = &plan.left_behind
        && !plan.quiet
    {
        voice.line(&format!(
            "{}: left by an interrupted run, and left alone by this one (--resume goes on with it, --restart throws it away)",
            escape::name(path)
        ));
    }
    let manner = Manner::of(plan.progress, plan.result_on_terminal);
    if manner != Manner::Nothing {
        voice.show(Ticker::new(Arc::clone(board), manner));
    }
    let pipeline = plan
        .pipeline()
        .observe(Arc::new(reporter))
        .stop_handle(control.stop.clone())
        .build()?;
    let result = pipeline
        .run(plan.source(), sink, process)
        .map_err(anyhow::Error::from);
    voice.settle();
    finish(plan, voice, stats, result)
}

/// The summary and the figures of a run that has ended.
fn finish(
    plan: &Plan,
    voice: &Voice,
    stats: Option<StatsFile>,
    result: anyhow::Result<Summary>,
) -> anyhow::Result<Summary> {
    if let Ok(summary) = &result
        && !plan.quiet
        && let Some(text) = few_chunks(summary)
    {
        voice.line(&text);
    }
    if let Some(text) = summary_line(plan, &result) {
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
                voice.line(&message(&second));
            }
            Err(error)
        }
    }
}

/// A hint when workers had nothing to do.
fn few_chunks(summary: &Summary) -> Option<String> {
    let idle = summary.elapsed > LONG
        && summary.chunks < summary.threads as u64
        && summary.chunks < summary.records;
    idle.then(|| {
        format!(
            "{} workers had {} between them: a smaller -N (records in a chunk) keeps all of them busy",
            summary.threads,
            counted(summary.chunks, "chunk")
        )
    })
}

/// The run in one line: on a terminal, on request, and when not all went well.
fn summary_line(plan: &Plan, result: &anyhow::Result<Summary>) -> Option<String> {
    let (summary, status) = match result {
        Ok(summary) => (summary, Status::of_done(summary)),
        Err(error) => (
            error.downcast_ref::<inorder::Error>()?.summary()?,
            Status::of(error),
        ),
    };
    let wanted = match plan.progress {
        ProgressArg::Always => true,
        ProgressArg::Auto => io::stderr().is_terminal() && !plan.result_on_terminal,
        ProgressArg::Never => false,
    };
    // The report of `check` says it all when there was one.
    let needed = status == Status::Failed || status == Status::Faults && !plan.has_report;
    (!plan.quiet && (wanted || needed)).then(|| describe(summary, plan.has_report))
}

/// `has_report`: the records are told elsewhere, and nothing is written.
fn describe(summary: &Summary, has_report: bool) -> String {
    let seconds = summary.elapsed.as_secs_f64();
    let read = DecimalBytes(summary.bytes_in);
    let mut text = if has_report {
        format!("{read} read")
    } else {
        let records = counted(summary.records, "record");
        let told = |count: u64, what: &str| match count {
            0 => String::new(),
            count => format!(", {} {what}", grouped(count)),
        };
        let skipped = told(summary.skipped, "skipped");
        let rejected = told(summary.rejected, "rejected");
        let retries = match summary.retries {
            0 => String::new(),
            retries => format!(", {}", counted_retries(retries)),
        };
        let written = DecimalBytes(summary.bytes_out);
        let resumed = match summary.resumed_from {
            None => String::new(),
            Some(done) => format!(" ({} of them before this run)", grouped(done)),
        };
        format!("{records}{resumed}{skipped}{rejected}{retries}, {read} read, {written} written")
    };
    text.push_str(&format!(", {seconds:.2} s"));
    // A rate over less than this says nothing, nor does one over what an earlier run has done.
    if seconds >= 0.01 && summary.resumed_from.is_none() {
        let per_second = summary.bytes_in as f64 / seconds;
        text.push_str(&format!(", {}/s", DecimalBytes(per_second as u64)));
    }
    text
}

fn counted_retries(retries: u64) -> String {
    match retries {
        1 => "1 retry".to_owned(),
        retries => format!("{} retries", grouped(retries)),
    }
}

/// Records left out or set aside of which each gets a line; the summary counts the rest.
const SHOWN_FAILURES: u64 = 10;

/// Says the first failures. With rejects all of them are told there.
pub fn shows_failures(plan: &Plan, voice: &Voice) -> OnFailure {
    if plan.failures.rejects.is_some() {
        return Box::new(|_| ());
    }
    let speaker = voice.speaker();
    let seen = AtomicU64::new(0);
    Box::new(
        move |failure: &Failure<'_>| match seen.fetch_add(1, Relaxed) {
            n if n < SHOWN_FAILURES => speaker.line(&skipped_line(failure)),
            SHOWN_FAILURES => {
                speaker.line("more records were skipped; only the first 10 are shown")
            }
            _ => {}
        },
    )
}

/// `PATH: skipped, record N (line L, byte B): cause`.
fn skipped_line(failure: &Failure<'_>) -> String {
    format!(
        "{}: skipped, {}: {}",
        escape::name(&failure.position.input),
        failure.position,
        failure.error
    )
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

    fn working(&self, worker: usize, on: Option<&Working<'_>>) {
        self.board.working(worker, on);
    }

    fn note(&self, note: &str) {
        if let Some(speaker) = &self.notes {
            speaker.line(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::plan::tests::cat_plan;

    fn summary() -> Summary {
        let mut summary = Summary::default();
        summary.records = 1000;
        summary.bytes_in = 5_000_000;
        summary.bytes_out = 4_000_000;
        summary.chunks = 3;
        summary.threads = 8;
        summary.elapsed = Duration::from_millis(2500);
        summary
    }

    #[test]
    fn a_run_in_one_line() {
        assert_eq!(
            describe(&summary(), false),
            "1,000 records, 5.00 MB read, 4.00 MB written, 2.50 s, 2.00 MB/s"
        );
        let mut quick = summary();
        quick.skipped = 7;
        quick.elapsed = Duration::from_millis(1);
        assert_eq!(
            describe(&quick, false),
            "1,000 records, 7 skipped, 5.00 MB read, 4.00 MB written, 0.00 s"
        );
        let mut resumed = summary();
        resumed.resumed_from = Some(400);
        assert_eq!(
            describe(&resumed, false),
            "1,000 records (400 of them before this run), 5.00 MB read, 4.00 MB written, 2.50 s"
        );
        quick.skipped = 0;
        quick.rejected = 2;
        quick.retries = 1;
        assert_eq!(
            describe(&quick, false),
            "1,000 records, 2 rejected, 1 retry, 5.00 MB read, 4.00 MB written, 0.00 s"
        );
        assert_eq!(describe(&quick, true), "5.00 MB read, 0.00 s");
    }

    #[test]
    fn the_summary_comes_when_it_is_wanted_or_needed() {
        let shown = |line: &str, summary: Summary| summary_line(&cat_plan(line), &Ok(summary));
        assert_eq!(
            shown("inorder cat a -o b --progress never", summary()),
            None
        );
        assert!(shown("inorder cat a -o b --progress always", summary()).is_some());
        assert_eq!(
            shown("inorder cat a -o b --progress always -q", summary()),
            None
        );
        let mut faulty = summary();
        faulty.skipped = 1;
        assert!(shown("inorder cat a -o b --progress never", faulty).is_some());
        let plan = cat_plan("inorder cat a -o b --progress always");
        assert_eq!(summary_line(&plan, &Err(anyhow::anyhow!("no"))), None);
    }

    #[test]
    fn idle_workers_get_a_hint() {
        assert!(few_chunks(&summary()).is_some_and(|hint| hint.contains("8 workers had 3 chunks")));
        for change in [
            |summary: &mut Summary| summary.elapsed = LONG,
            |summary: &mut Summary| summary.chunks = 8,
            |summary: &mut Summary| summary.records = 3,
        ] {
            let mut other = summary();
            change(&mut other);
            assert_eq!(few_chunks(&other), None);
        }
    }
}
