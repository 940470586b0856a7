//! The figures of `bench`, as a table and as JSON.

use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Duration;

use indicatif::BinaryBytes;
use serde::Serialize;

use super::plan::BenchPlan;
use super::runner::{Figures, Way};
use crate::cli::escape;
use crate::cli::units::grouped;

/// Raised when a field is taken away or changes its meaning; new ones may come at any time.
const SCHEMA: u32 = 1;

/// Times are seconds, sizes bytes.
#[derive(Debug, Serialize)]
pub struct Report {
    schema: u32,
    program: &'static str,
    version: &'static str,
    cores: usize,
    input: String,
    bytes: u64,
    work: String,
    runs: usize,
    pub ways: Vec<Row>,
}

/// One way.
#[derive(Debug, Serialize)]
pub struct Row {
    #[serde(serialize_with = "shown")]
    pub way: Way,
    pub threads: usize,
    seconds: Vec<f64>,
    min: f64,
    median: f64,
    cpu: f64,
    /// How many times as fast as the plain loop, by the minima.
    pub speed_up: f64,
    /// The speed-up a thread.
    efficiency: f64,
    peak_resident: u64,
    bytes_out: u64,
    hash: String,
    /// Whether every run wrote what the plain loop wrote.
    equal: bool,
}

fn shown<S: serde::Serializer>(way: &Way, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(way)
}

impl Report {
    pub fn new(plan: &BenchPlan, figures: Vec<Figures>) -> Report {
        let plain = figures.first().map(|plain| (least(plain), plain.hash));
        let (time, hash) = plain.unwrap_or_default();
        Report {
            schema: SCHEMA,
            program: "inorder",
            version: env!("CARGO_PKG_VERSION"),
            cores: available_parallelism().map_or(1, NonZero::get),
            input: escape::name(&plan.input),
            bytes: plan.bytes,
            work: plan.work.clone(),
            runs: plan.runs,
            ways: figures
                .into_iter()
                .map(|figures| Row::new(figures, time, hash))
                .collect(),
        }
    }

    /// A way whose output is not the plain loop's.
    pub fn different(&self) -> Option<Way> {
        self.ways.iter().find(|row| !row.equal).map(|row| row.way)
    }

    pub fn title(&self) -> String {
        format!(
            "--work {} on {} ({} bytes), {} cores, {} runs",
            self.work,
            self.input,
            grouped(self.bytes),
            self.cores,
            self.runs
        )
    }

    pub fn table(&self) -> String {
        let heads = [
            "way",
            "min",
            "median",
            "cpu",
            "speed-up",
            "efficiency",
            "peak memory",
            "output",
        ];
        let rows: Vec<[String; 8]> = self.ways.iter().map(Row::cells).collect();
        let mut table = self.title();
        table.push_str("\n\n");
        let widths: Vec<usize> = (0..heads.len())
            .map(|column| {
                let cells = rows.iter().map(|row| row[column].len());
                cells.max().unwrap_or(0).max(heads[column].len())
            })
            .collect();
        let mut line = |cells: [&str; 8]| {
            for (column, cell) in cells.iter().enumerate() {
                let width = widths[column];
                // Words to the left, figures to the right.
                let padded = match column {
                    0 => format!("{cell:<width$}"),
                    7 => format!("  {cell}"),
                    _ => format!("  {cell:>width$}"),
                };
                table.push_str(&padded);
            }
            table.push('\n');
        };
        line(heads);
        for row in &rows {
            line(std::array::from_fn(|column| row[column].as_str()));
        }
        table
    }
}

impl Row {
    fn new(figures: Figures, plain: Duration, hash: u64) -> Row {
        let min = least(&figures);
        let mut seconds: Vec<f64> = figures.times.iter().map(Duration::as_secs_f64).collect();
        seconds.sort_by(f64::total_cmp);
        let threads = figures.way.threads();
        let speed_up = plain.as_secs_f64() / min.as_secs_f64();
        Row {
            way: figures.way,
            threads,
            min: min.as_secs_f64(),
            median: median(&seconds),
            cpu: figures.cpu.as_secs_f64(),
            speed_up,
            efficiency: speed_up / threads as f64,
            peak_resident: figures.peak,
            bytes_out: figures.bytes,
            hash: format!("{:016x}", figures.hash),
            equal: figures.hash == hash,
            seconds,
        }
    }

    fn cells(&self) -> [String; 8] {
        [
            self.way.to_string(),
            time(self.min),
            time(self.median),
            time(self.cpu),
            format!("{:.2} x", self.speed_up),
            format!("{:.0} %", self.efficiency * 100.0),
            BinaryBytes(self.peak_resident).to_string(),
            if self.equal { "equal" } else { "DIFFERS" }.to_string(),
        ]
    }
}

fn least(figures: &Figures) -> Duration {
    figures.times.iter().min().copied().unwrap_or_default()
}

/// Of sorted times.
fn median(sorted: &[f64]) -> f64 {
    let (low, high) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    match (sorted.get(low), sorted.get(high)) {
        (Some(low), Some(high)) => (low + high) / 2.0,
        _ => 0.0,
    }
}

fn time(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1000.0)
    } else {
        format!("{seconds:.3} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(way: Way, millis: &[u64], hash: u64) -> Figures {
        Figures {
            way,
            times: millis.iter().copied().map(Duration::from_millis).collect(),
            cpu: Duration::from_millis(1500),
            peak: 5 << 20,
            bytes: 31,
            hash,
        }
    }

    fn report(hash: u64) -> Report {
        let plan = BenchPlan {
            input: "in.csv".into(),
            bytes: 1000,
            work: "fib:3".to_string(),
            options: Vec::new(),
            threads: vec![2],
            runs: 3,
            json: false,
            plot: None,
            quiet: false,
        };
        Report::new(
            &plan,
            vec![
                figures(Way::Plain, &[900, 1000, 800], 7),
                figures(Way::Threads(2), &[500, 400, 700], hash),
            ],
        )
    }

    #[test]
    fn figures_of_the_ways() {
        let report = report(7);
        let row = &report.ways[1];
        assert_eq!((row.min, row.median, row.threads), (0.4, 0.5, 2));
        assert_eq!((row.speed_up, row.efficiency), (2.0, 1.0));
        assert_eq!(report.different(), None);
        let table = report.table();
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[0].starts_with("--work fib:3 on in.csv (1,000 bytes), "));
        assert_eq!(
            lines[4],
            "-j 2        400.0 ms  500.0 ms  1.500 s    2.00 x       100 %     5.00 MiB  equal"
        );
    }

    #[test]
    fn another_output_is_told() {
        let report = report(8);
        assert_eq!(report.different(), Some(Way::Threads(2)));
        assert!(report.table().contains("DIFFERS"));
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[1.0, 2.0, 9.0]), 2.0);
        assert_eq!(median(&[1.0, 2.0]), 1.5);
    }
}
