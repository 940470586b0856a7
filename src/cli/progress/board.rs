//! The figures that a run keeps up to date, and the line they make.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use indicatif::DecimalBytes;
use inorder::{Progress, Started, Working};

use super::desks::Desks;
use crate::cli::units::{counted, grouped};

/// The figures last reported, written by the run and read by the ticker.
#[derive(Debug)]
pub struct Board {
    start: Instant,
    /// 0 if not known.
    total: AtomicU64,
    memory: AtomicU64,
    records: AtomicU64,
    bytes_in: AtomicU64,
    /// The same as the inputs lie in their files.
    of_files: AtomicU64,
    failed: AtomicU64,
    in_flight: AtomicU64,
    /// When the head of the order last moved, in milliseconds since the start.
    moved: AtomicU64,
    desks: Desks,
}

impl Board {
    pub fn new() -> Board {
        Board {
            start: Instant::now(),
            total: AtomicU64::new(0),
            memory: AtomicU64::new(0),
            records: AtomicU64::new(0),
            bytes_in: AtomicU64::new(0),
            of_files: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            desks: Desks::default(),
        }
    }

    /// Time since the board was made.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub fn started(&self, run: &Started) {
        self.total.store(run.total_bytes.unwrap_or(0), Relaxed);
        self.memory.store(run.memory, Relaxed);
        self.desks.set_up(run.threads);
    }

    pub fn progress(&self, progress: &Progress) {
        self.records.store(progress.records, Relaxed);
        self.bytes_in.store(progress.bytes_in, Relaxed);
        self.of_files.store(progress.bytes_of_files, Relaxed);
        self.failed.store(progress.failed, Relaxed);
        self.in_flight.store(progress.in_flight, Relaxed);
        self.moved.store(millis(self.start.elapsed()), Relaxed);
    }
}

impl Board {
    pub fn working(&self, worker: usize, on: Option<&Working<'_>>) {
        self.desks.working(worker, on);
    }

    /// How far the run is, and what each worker works on.
    #[cfg_attr(not(unix), allow(dead_code, reason = "a signal asks for it"))]
    pub fn report(&self) -> Vec<String> {
        let now = self.elapsed();
        let figures = Figures::of(self, now);
        let seconds = now.as_secs_f64();
        let per_second = (figures.bytes_in > 0).then(|| figures.bytes_in as f64 / seconds);
        let mut lines = vec![figures.text(per_second)];
        lines.extend(self.desks.lines());
        lines
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The board at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    pub total: u64,
    memory: u64,
    records: u64,
    pub bytes_in: u64,
    pub of_files: u64,
    failed: u64,
    in_flight: u64,
    /// A worker is at work.
    busy: bool,
    pub still_for: Duration,
}

impl Figures {
    pub fn of(board: &Board, now: Duration) -> Figures {
        let moved = Duration::from_millis(board.moved.load(Relaxed));
        Figures {
            total: board.total.load(Relaxed),
            memory: board.memory.load(Relaxed),
            records: board.records.load(Relaxed),
            bytes_in: board.bytes_in.load(Relaxed),
            of_files: board.of_files.load(Relaxed),
            failed: board.failed.load(Relaxed),
            in_flight: board.in_flight.load(Relaxed),
            busy: board.desks.any_busy(),
            still_for: now.saturating_sub(moved),
        }
    }

    /// One line of all figures, the weightiest first: a narrow terminal cuts it.
    pub fn text(&self, per_second: Option<f64>) -> String {
        let mut text = String::new();
        if let Some(share) =
            (self.of_files.min(self.total) as u128 * 100).checked_div(self.total.into())
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
    pub fn idle(&self) -> bool {
        self.records > 0 && self.in_flight == 0 && !self.busy
    }

    fn left(&self, per_second: f64) -> Option<Duration> {
        let of_files = self.total.checked_sub(self.of_files)?;
        let bytes = of_files as f64 * (self.bytes_in as f64 / self.of_files.max(1) as f64);
        let seconds = (bytes / per_second).ceil();
        // Beyond a month it is no information.
        (self.total > 0 && seconds < 30.0 * 86_400.0).then(|| Duration::from_secs(seconds as u64))
    }

    pub fn waiting(&self) -> String {
        format!(
            "waiting for record {} for {}",
            grouped(self.records + 1),
            humantime::format_duration(Duration::from_secs(self.still_for.as_secs()))
        )
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
            of_files: 500_000_000,
            failed: 0,
            in_flight: 12 << 20,
            busy: true,
            still_for: Duration::from_secs(12),
        }
    }

    #[test]
    fn the_line() {
        assert_eq!(
            figures().text(Some(100e6)),
            "25% of 2.00 GB, 1,234,567 records, 100.00 MB/s, 15s left, 12/64 MiB in flight"
        );
        let packed = Figures {
            total: 400_000_000,
            of_files: 100_000_000,
            ..figures()
        };
        assert_eq!(
            packed.text(Some(100e6)),
            "25% of 400.00 MB, 1,234,567 records, 100.00 MB/s, 15s left, 12/64 MiB in flight"
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
            of_files: 3_000_000_000,
            ..figures()
        };
        assert!(grown.text(None).starts_with("100% of"));
        assert_eq!(grown.left(1.0), None);
    }
}
