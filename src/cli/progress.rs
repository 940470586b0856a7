//! Progress: a board of figures that the run keeps up to date, and what is shown of it.

use std::collections::VecDeque;
use std::env;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use indicatif::{DecimalBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use inorder::{Progress, Started};

use super::args::ProgressArg;
use super::units::{counted, grouped};

/// How often the bar is drawn.
const BAR: Duration = Duration::from_millis(100);
/// How often plain lines are written.
const LINES: Duration = Duration::from_secs(5);
/// The time over which the rate is measured.
const RATE: Duration = Duration::from_secs(5);
/// Narrower terminals get the text alone.
const BAR_WIDTH: u16 = 60;

/// The figures last reported, written by the run and read by the ticker.
#[derive(Debug)]
pub struct Board {
    start: Instant,
    /// 0 if not known.
    total: AtomicU64,
    memory: AtomicU64,
    records: AtomicU64,
    bytes_in: AtomicU64,
    failed: AtomicU64,
    in_flight: AtomicU64,
    /// When the head of the order last moved, in milliseconds since the start.
    moved: AtomicU64,
}

impl Board {
    pub fn new() -> Board {
        Board {
            start: Instant::now(),
            total: AtomicU64::new(0),
            memory: AtomicU64::new(0),
            records: AtomicU64::new(0),
            bytes_in: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            moved: AtomicU64::new(0),
        }
    }

    pub fn started(&self, run: &Started) {
        self.total.store(run.total_bytes.unwrap_or(0), Relaxed);
        self.memory.store(run.memory, Relaxed);
    }

    pub fn progress(&self, progress: &Progress) {
        self.records.store(progress.records, Relaxed);
        self.bytes_in.store(progress.bytes_in, Relaxed);
        self.failed.store(progress.failed, Relaxed);
        self.in_flight.store(progress.in_flight, Relaxed);
        self.moved.store(millis(self.start.elapsed()), Relaxed);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What is shown, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// A bar that is drawn over.
    Bar,
    /// A line every few seconds.
    Lines,
    /// A line when the run seems to hang.
    Stalls,
    Nothing,
}

impl Manner {
    /// What follows from the option and from where standard error goes. `on_terminal`: the result itself goes to a
    /// terminal, where a bar would garble it.
    pub fn of(progress: ProgressArg, on_terminal: bool) -> Manner {
        let dumb = env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let can_draw = io::stderr().is_terminal() && !dumb;
        match progress {
            ProgressArg::Never => Manner::Nothing,
            ProgressArg::Auto if can_draw && !on_terminal => Manner::Bar,
            ProgressArg::Auto => Manner::Stalls,
            ProgressArg::Always if can_draw => Manner::Bar,
            ProgressArg::Always => Manner::Lines,
        }
    }
}

/// Shows a board. Belongs to the thread that writes to standard error.
pub struct Ticker {
    board: Arc<Board>,
    manner: Manner,
    bar: Option<ProgressBar>,
    wide: bool,
    rate: Rate,
    next_line: Duration,
    stall: Stall,
}

impl Ticker {
    pub fn new(board: Arc<Board>, manner: Manner) -> Ticker {
        let stall = match manner {
            // The bar itself says it, for as long as it lasts.
            Manner::Bar => Stall::new(Duration::from_secs(5), Duration::ZERO),
            _ => Stall::new(Duration::from_secs(60), Duration::from_secs(600)),
        };
        Ticker {
            board,
            manner,
            bar: None,
            wide: false,
            rate: Rate::default(),
            next_line: LINES,
            stall,
        }
    }

    /// How long to wait before the next tick.
    pub fn pause(&self) -> Duration {
        match self.manner {
            Manner::Bar => BAR,
            Manner::Lines | Manner::Stalls => Duration::from_secs(1),
            Manner::Nothing => Duration::from_secs(3600),
        }
    }

    /// Looks at the board: draws the bar, or gives a line to write.
    pub fn tick(&mut self) -> Option<String> {
        let now = self.board.start.elapsed();
        let figures = Figures::of(&self.board, now);
        self.rate.add(now, figures.bytes_in);
        let stalled = !figures.idle() && self.stall.due(figures.still_for);
        match self.manner {
            Manner::Nothing => None,
            Manner::Bar => {
                let mut text = figures.text(self.rate.per_second());
                if stalled {
                    text = format!("{}; {text}", figures.waiting());
                }
                self.draw(&figures, text);
                None
            }
            Manner::Lines if now >= self.next_line => {
                self.next_line = now + LINES;
                Some(figures.text(self.rate.per_second()))
            }
            _ => stalled.then(|| figures.waiting()),
        }
    }

    fn draw(&mut self, figures: &Figures, text: String) {
        let bar = self.bar.get_or_insert_with(|| {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(20))
        });
        let wide = figures.total > 0 && console_width() >= BAR_WIDTH;
        if wide != self.wide || bar.length().is_none() {
            self.wide = wide;
            let template = if wide {
                "[{bar:10}] {wide_msg}"
            } else {
                "{wide_msg}"
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_length(figures.total.max(1));
        }
        bar.set_position(figures.bytes_in.min(figures.total));
        bar.set_message(text);
    }

    /// Writes something else on standard error, the bar out of its way.
    pub fn aside(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Takes the bar away, its last state drawn before.
    pub fn end(mut self) {
        if self.bar.is_some() {
            self.tick();
        }
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(unix)]
fn console_width() -> u16 {
    match rustix::termios::tcgetwinsize(rustix::stdio::stderr()) {
        Ok(size) if size.ws_col > 0 => size.ws_col,
        _ => 80,
    }
}

#[cfg(not(unix))]
fn console_width() -> u16 {
    80
}

/// The board at one moment.
#[derive(Debug, Clone, PartialEq)]
struct Figures {
    total: u64,
    memory: u64,
    records: u64,
    bytes_in: u64,
    failed: u64,
    in_flight: u64,
    still_for: Duration,
}

impl Figures {
    fn of(board: &Board, now: Duration) -> Figures {
        let moved = Duration::from_millis(board.moved.load(Relaxed));
        Figures {
            total: board.total.load(Relaxed),
            memory: board.memory.load(Relaxed),
            records: board.records.load(Relaxed),
            bytes_in: board.bytes_in.load(Relaxed),
            failed: board.failed.load(Relaxed),
            in_flight: board.in_flight.load(Relaxed),
            still_for: now.saturating_sub(moved),
        }
    }

    /// One line of all figures, the weightiest first: a narrow terminal cuts it.
    fn text(&self, per_second: Option<f64>) -> String {
        let mut text = String::new();
        if let Some(share) =
            (self.bytes_in.min(self.total) as u128 * 100).checked_div(self.total.into())
        {
            text = format!("{share}% of {}, ", DecimalBytes(self.total));
        } else if self.bytes_in > 0 {
            text = format!("{}, ", DecimalBytes(self.bytes_in));
        }
        text.push_str(&counted(self.records, "record"));
        if self.failed > 0 {
            text.push_str(&format!(", {} failed", grouped(self.failed)));
        }
        if let Some(per_second) = per_second {
            text.push_str(&format!(", {}/s", DecimalBytes(per_second as u64)));
            if let Some(left) = self.left(per_second) {
                text.push_str(&format!(", {} left", humantime::format_duration(left)));
            }
        }
        if self.memory > 0 {
            let mebibytes = |bytes| (bytes as f64 / (1 << 20) as f64 * 10.0).round() / 10.0;
            text.push_str(&format!(
                ", {}/{} MiB in flight",
                mebibytes(self.in_flight),
                mebibytes(self.memory)
            ));
        }
        text
    }

    /// All that was read is written: it is the input that is waited for.
    fn idle(&self) -> bool {
        self.records > 0 && self.in_flight == 0
    }

    fn left(&self, per_second: f64) -> Option<Duration> {
        let bytes = self.total.checked_sub(self.bytes_in)?;
        let seconds = (bytes as f64 / per_second).ceil();
        // Beyond a month it is no information.
        (self.total > 0 && seconds < 30.0 * 86_400.0).then(|| Duration::from_secs(seconds as u64))
    }

    fn waiting(&self) -> String {
        format!(
            "waiting for record {} for {}",
            grouped(self.records + 1),
            humantime::format_duration(Duration::from_secs(self.still_for.as_secs()))
        )
    }
}

/// Bytes a second over the last few seconds.
#[derive(Debug, Default)]
struct Rate {
    samples: VecDeque<(Duration, u64)>,
}

impl Rate {
    fn add(&mut self, now: Duration, bytes: u64) {
        self.samples.push_back((now, bytes));
        while self.samples.len() > 2 && now - self.samples[1].0 >= RATE {
            self.samples.pop_front();
        }
    }

    /// `None` while nothing moves.
    fn per_second(&self) -> Option<f64> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let seconds = (last.0 - first.0).as_secs_f64();
        (seconds > 0.0 && last.1 > first.1).then(|| (last.1 - first.1) as f64 / seconds)
    }
}

/// Decides when to say that the head of the order does not move: after a while, and then again after a longer one.
#[derive(Debug)]
struct Stall {
    first: Duration,
    again: Duration,
    next: Duration,
}

impl Stall {
    fn new(first: Duration, again: Duration) -> Stall {
        Stall {
            first,
            again,
            next: first,
        }
    }

    fn due(&mut self, still_for: Duration) -> bool {
        if still_for < self.first {
            self.next = self.first;
            return false;
        }
        if still_for < self.next {
            return false;
        }
        self.next = still_for + self.again;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        Figures {
            total: 2_000_000_000,
            memory: 64 << 20,
            records: 1_234_567,
            bytes_in: 500_000_000,
            failed: 0,
            in_flight: 12 << 20,
            still_for: Duration::from_secs(12),
        }
    }

    #[test]
    fn the_line() {
        assert_eq!(
            figures().text(Some(100e6)),
            "25% of 2.00 GB, 1,234,567 records, 100.00 MB/s, 15s left, 12/64 MiB in flight"
        );
        let stream = Figures {
            total: 0,
            memory: 0,
            failed: 3,
            ..figures()
        };
        assert_eq!(stream.text(None), "500.00 MB, 1,234,567 records, 3 failed");
        assert_eq!(figures().waiting(), "waiting for record 1,234,568 for 12s");
    }

    #[test]
    fn the_share_never_exceeds_100() {
        let grown = Figures {
            bytes_in: 3_000_000_000,
            ..figures()
        };
        assert!(grown.text(None).starts_with("100% of"));
        assert_eq!(grown.left(1.0), None);
    }

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let mut rate = Rate::default();
        assert_eq!(rate.per_second(), None);
        for second in 0..100 {
            let bytes = if second < 50 {
                second
            } else {
                50 + (second - 50) * 1000
            };
            rate.add(Duration::from_secs(second), bytes);
        }
        assert_eq!(rate.per_second(), Some(1000.0));
        assert!(rate.samples.len() < 10);
        for second in 100..110 {
            rate.add(Duration::from_secs(second), 1_000_000);
        }
        assert_eq!(rate.per_second(), None);
    }

    #[test]
    fn a_stall_is_said_once_and_then_seldom() {
        let mut stall = Stall::new(Duration::from_secs(60), Duration::from_secs(600));
        let said: Vec<u64> = (0..2000)
            .filter(|&second| stall.due(Duration::from_secs(second)))
            .collect();
        assert_eq!(said, [60, 660, 1260, 1860]);
        assert!(!stall.due(Duration::ZERO));
        assert!(stall.due(Duration::from_secs(60)));
    }

    #[test]
    fn a_board_in_plain_lines() {
        let board = Arc::new(Board::new());
        let mut ticker = Ticker::new(Arc::clone(&board), Manner::Lines);
        assert_eq!(ticker.tick(), None);
        ticker.next_line = Duration::ZERO;
        board.records.store(7, Relaxed);
        assert_eq!(ticker.tick().as_deref(), Some("7 records"));
        assert_eq!(ticker.tick(), None);
    }
}
