//! What each worker works on.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use inorder::Working;

use crate::cli::escape;
use crate::cli::units::grouped;

/// A desk for each worker. A worker changes its own twice a chunk.
#[derive(Debug, Default)]
pub struct Desks(OnceLock<Vec<Mutex<Desk>>>);

#[derive(Debug, Default)]
struct Desk {
    /// Since when there is work on it.
    since: Option<Instant>,
    input: PathBuf,
    first: u64,
    records: u64,
}

impl Desks {
    /// So many workers will come.
    pub fn set_up(&self, workers: usize) {
        self.0
            .get_or_init(|| (0..workers.max(1)).map(|_| Mutex::default()).collect());
    }

    pub fn working(&self, worker: usize, on: Option<&Working<'_>>) {
        let Some(desk) = self.0.get().and_then(|desks| desks.get(worker)) else {
            return;
        };
        let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
        desk.since = on.map(|_| Instant::now());
        if let Some(on) = on {
            if desk.input != on.input {
                desk.input = on.input.to_owned();
            }
            (desk.first, desk.records) = (on.first, on.records);
        }
    }

    /// Whether there is work on one of them.
    pub fn any_busy(&self) -> bool {
        let mut desks = self.0.get().into_iter().flatten();
        desks.any(|desk| {
            let desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
            desk.since.is_some()
        })
    }

    /// A line for each worker.
    #[cfg_attr(not(unix), allow(dead_code, reason = "a signal asks for it"))]
    pub fn lines(&self) -> Vec<String> {
        let desks = self.0.get().into_iter().flatten();
        desks
            .enumerate()
            .map(|(worker, desk)| {
                let desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
                format!("worker {worker}: {}", desk.describe(Instant::now()))
            })
            .collect()
    }
}

impl Desk {
    #[cfg_attr(not(unix), allow(dead_code, reason = "a signal asks for it"))]
    fn describe(&self, now: Instant) -> String {
        let Some(since) = self.since else {
            return "no work".to_owned();
        };
        let time = Duration::from_millis(now.duration_since(since).as_millis() as u64);
        let records = match self.records {
            0 | 1 => format!("record {}", grouped(self.first)),
            records => format!(
                "records {} to {}",
                grouped(self.first),
                grouped(self.first + records - 1)
            ),
        };
        let input = escape::name(&self.input);
        let time = humantime::format_duration(time);
        format!("{records} of {input}, for {time}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_a_desk() {
        let now = Instant::now();
        let mut desk = Desk::default();
        assert_eq!(desk.describe(now), "no work");
        desk.since = Some(now);
        desk.input = "in.csv".into();
        (desk.first, desk.records) = (1001, 500);
        assert_eq!(
            desk.describe(now + Duration::from_millis(2500)),
            "records 1,001 to 1,500 of in.csv, for 2s 500ms"
        );
        desk.records = 1;
        assert_eq!(desk.describe(now), "record 1,001 of in.csv, for 0s");
    }
}
