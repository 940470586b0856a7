//! The mapped input is cut short while a run is at it.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::bench::{Place, Row, Seed, cases};
use crate::modes::simple_modes;

const RECORDS: usize = 8000;

pub fn run(seed: &mut Seed, rows: &mut Vec<Row>) {
    for (target, resumes) in [
        ("a file", false),
        ("standard output", false),
        ("a file, --resume", true),
    ] {
        let mut row = Row::new(format!("the input cut short, to {target}"));
        let mut missed = 0;
        while row.tried < cases(200) / 2 && missed < 1000 {
            let mode = &seed.pick(simple_modes());
            let place = Place::new(mode, RECORDS);
            let input = place.path(mode.name_of_input);
            let whole = fs::read(&input).expect("the input can be read");
            fs::write(place.path("out"), "old").expect("the old output can be written");
            let to_stdout = target == "standard output";
            let mut options = vec!["-j", "2", "--on-error", "reject"];
            if resumes {
                options.extend(["--resume", "--checkpoint-every", "1ms"]);
            }
            let mut command = place.command(&[], mode, &options);
            if to_stdout {
                let out = File::create(place.path("stdout")).expect("a file");
                let words = mode.words(&options);
                let at = words.iter().position(|word| *word == "-o").expect("-o");
                let words = [&words[..at], &words[at + 2..]].concat();
                command = place.command(&[], mode, &[]);
                let program = command.get_program().to_owned();
                let folder = place.folder().to_owned();
                command = std::process::Command::new(program);
                command.args(words).current_dir(folder).stdin(Stdio::null());
                command.stdout(out).stderr(Stdio::piped());
            }
            let child = command.spawn().expect("the program can be started");
            thread::sleep(seed.time(Duration::from_millis(120)));
            let size = seed.below(whole.len() as u64);
            let file = File::options().write(true).open(&input);
            let cut = file.and_then(|file| file.set_len(size));
            cut.expect("the input can be cut");
            let ran = child.wait_with_output().expect("a child can be waited for");
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            let out = fs::read(place.path("out")).unwrap_or_default();
            let published = [
                out.clone(),
                fs::read(place.path("stdout")).unwrap_or_default(),
            ];
            let is_done = matches!(ran.status.code(), Some(0 | 3));
            if is_done {
                // It was faster, or had not begun when the input became short.
                missed += 1;
            }
            let result = if ran.status.signal().is_some() {
                Err(format!("{}", ran.status))
            } else if published.iter().any(|bytes| bytes.contains(&0)) {
                Err("a NUL byte".to_owned())
            } else if is_done {
                continue;
            } else if !said.contains("input shrank") {
                Err(format!("{}: {said}", ran.status))
            } else if out != b"old" {
                Err("the output was published".to_owned())
            } else {
                Ok(())
            };
            row.count(result);
        }
        row.done(rows);
    }
}
