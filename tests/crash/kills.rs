//! `kill -9` at random moments, several times a run.

use std::time::{Duration, Instant};

use crate::bench::{Place, Row, Seed, cases};
use crate::modes::modes;

const RECORDS: usize = 4000;

const WAYS: [&[&str]; 5] = [
    &["-j", "1"],
    &["-j", "2"],
    &["-j", "4", "--no-mmap"],
    &["-j", "3", "--memory", "1M"],
    &["--sequential"],
];

pub fn run(seed: &mut Seed, rows: &mut Vec<Row>) {
    for mode in modes() {
        let mut row = Row::new(format!("kill -9 at random moments: {}", mode.name));
        let place = Place::new(mode, RECORDS);
        let start = Instant::now();
        let whole = match place.finish(mode, &["-j", "2"]) {
            Ok(whole) => whole,
            Err(wrong) => {
                row.count(Err(wrong));
                row.done(rows);
                continue;
            }
        };
        let long = start.elapsed();
        for _ in 0..cases(200) {
            let mut killed = 0;
            for _ in 0..1 + seed.below(5) {
                let every = *seed.pick(&["1ms", "5ms", "30ms"]);
                let resume = ["--resume", "--checkpoint-every", every];
                let options = [seed.pick(&WAYS), &resume[..]].concat();
                let after = seed.time(long.min(Duration::from_millis(400)));
                let status = place.kill(mode, &options, after);
                if status.code().is_some() {
                    break;
                }
                killed += 1;
            }
            let last = [seed.pick(&WAYS), &["--resume"][..]].concat();
            let came = place.finish(mode, &last);
            let same = came.and_then(|came| came.is(&whole));
            row.count(same.map_err(|wrong| format!("after {killed} kills: {wrong}")));
            place.empty(mode);
        }
        row.done(rows);
    }
}
