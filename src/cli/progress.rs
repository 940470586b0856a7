//! Progress: what is shown of the figures that a run keeps up to date.

mod board;
mod desks;
mod pace;

use std::env;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::ProgressArg;
pub use board::Board;
use board::Figures;
use pace::{Rate, Stall};

/// How often the bar is drawn.
const BAR: Duration = Duration::from_millis(100);
/// How often plain lines are written.
const LINES: Duration = Duration::from_secs(5);
/// Narrower terminals get the text alone.
const BAR_WIDTH: u16 = 60;

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
        let now = self.board.elapsed();
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
        bar.set_position(figures.of_files.min(figures.total));
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

#[cfg(test)]
mod tests {
    use super::*;
    use inorder::Progress;

    #[test]
    fn a_board_in_plain_lines() {
        let board = Arc::new(Board::new());
        let mut ticker = Ticker::new(Arc::clone(&board), Manner::Lines);
        assert_eq!(ticker.tick(), None);
        ticker.next_line = Duration::ZERO;
        let mut progress = Progress::default();
        progress.records = 7;
        board.progress(&progress);
        assert_eq!(ticker.tick().as_deref(), Some("7 records"));
        assert_eq!(ticker.tick(), None);
    }
}
