//! Each call of a small run as the one at which it is killed, or which fails.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use crate::bench::{Place, Row, Seed, skipped};
use crate::modes::{Mode, modes, simple_modes};

const RECORDS: usize = 120;

/// As many calls of one kind are tried on one thread.
const MOST: usize = 200;

const CLASSES: [&str; 6] = [
    "write,writev,pwrite64,pwritev,pwritev2",
    "fsync,fdatasync",
    "rename,renameat,renameat2",
    "link,linkat",
    "unlink,unlinkat",
    "openat,ftruncate",
];

/// The counts are those of a thread: so that the calls of each thread have their turn, runs that save their state often and at the end only,
/// from the beginning and from an earlier one's state.
const EVERY: [&str; 2] = ["1ms", "1h"];

pub fn kills(_: &mut Seed, rows: &mut Vec<Row>) {
    if !can_trace() {
        return;
    }
    for mode in modes() {
        for class in CLASSES {
            let name = format!("a kill at each {}: {}", class_name(class), mode.name);
            let mut row = Row::new(name);
            each(mode, class, "signal=KILL", &mut row);
            row.done(rows);
        }
    }
}

pub fn faults(_: &mut Seed, rows: &mut Vec<Row>) {
    if !can_trace() {
        return;
    }
    for mode in simple_modes() {
        for (class, error) in [
            (CLASSES[0], "error=ENOSPC"),
            (CLASSES[1], "error=EIO"),
            (CLASSES[2], "error=EIO"),
            ("read,pread64,preadv,preadv2", "error=EIO"),
        ] {
            let class_name = class_name(class);
            let mut row = Row::new(format!("{error} at each {class_name}: {}", mode.name));
            each(mode, class, error, &mut row);
            row.done(rows);
        }
    }
}

fn class_name(class: &str) -> &str {
    class.split(',').next().unwrap_or(class)
}

fn can_trace() -> bool {
    let tried = Command::new("strace")
        .args([
            "-f",
            "-o",
            "/dev/null",
            "-e",
            "inject=fsync:error=EIO",
            "true",
        ])
        .status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        skipped("each call", "strace is missing or may not trace");
    }
    can
}

/// The N-th call of the class, for all N.
fn each(mode: &Mode, class: &str, what: &str, row: &mut Row) {
    let place = Place::new(mode, RECORDS);
    let whole = match place.finish(mode, &["-j", "2"]) {
        Ok(whole) => whole,
        Err(wrong) => return row.count(Err(wrong)),
    };
    for every in EVERY {
        for begun in [false, true] {
            // Loading the program reads and opens too, and is of no interest.
            let mut untouched = 0;
            for n in 1..=MOST {
                let resume = ["-j", "2", "--resume", "--checkpoint-every", every];
                if begun {
                    place.kill(
                        mode,
                        &["-j", "2", "--resume", "--checkpoint-every", "1ms"],
                        Duration::from_millis(6),
                    );
                }
                let inject = format!("inject={class}:{what}:when={n}");
                let trace = format!("trace={class}");
                let strace = [
                    "strace", "-qq", "-f", "-o", "trace", "-e", &trace, "-e", &inject,
                ];
                let ran = place.run(&strace, mode, &resume);
                let traced = fs::read(place.path("trace")).unwrap_or_default();
                let traced = String::from_utf8_lossy(&traced);
                let injected = traced.contains("INJECTED") || ran.status.signal() == Some(9);
                let said = String::from_utf8_lossy(&ran.stderr);
                let status = ran.status;
                let wrong = match (what.starts_with("error"), status.code()) {
                    _ if said.contains("panicked") => Some("it panicked"),
                    (true, None) => Some("a signal ended it"),
                    (true, Some(2 | 4)) => Some("the status is wrong"),
                    _ => None,
                };
                let came = place.finish(mode, &["--resume"]);
                let same = match wrong {
                    Some(wrong) => Err(wrong.to_owned()),
                    None => came.and_then(|came| came.is(&whole)),
                };
                if injected || same.is_err() {
                    let case = format!("call {n}, every {every}, begun {begun}");
                    row.count(same.map_err(|wrong| format!("{case}: {wrong} ({status}: {said})")));
                    untouched = 0;
                } else {
                    untouched += 1;
                }
                place.empty(mode);
                // Runs differ a little in how many calls they make.
                if untouched == 3 {
                    break;
                }
            }
        }
    }
}
