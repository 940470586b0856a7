//! What the crash tests share: random numbers from a seed, a folder with a run in it, what came out of it, rows of the table.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::modes::Mode;

/// Random numbers (splitmix64).
pub struct Seed {
    first: u64,
    now: u64,
}

impl Seed {
    pub fn new() -> Seed {
        let first = match std::env::var("INORDER_SEED") {
            Ok(seed) => seed.parse().expect("INORDER_SEED is a number"),
            Err(_) => RandomState::new().hash_one(0),
        };
        Seed { first, now: first }
    }

    pub fn first(&self) -> u64 {
        self.first
    }

    /// Below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.now = self.now.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.now;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    pub fn time(&mut self, most: Duration) -> Duration {
        Duration::from_micros(self.below(most.as_micros() as u64 + 1))
    }

    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len() as u64) as usize]
    }
}

/// `INORDER_CASES`, or so many.
pub fn cases(usual: u64) -> u64 {
    std::env::var("INORDER_CASES").map_or(usual, |cases| {
        cases.parse().expect("INORDER_CASES is a number")
    })
}

/// One line of the table.
pub struct Row {
    pub name: String,
    pub tried: u64,
    pub identical: u64,
}

impl Row {
    pub fn new(name: impl Into<String>) -> Row {
        Row {
            name: name.into(),
            tried: 0,
            identical: 0,
        }
    }

    /// Its cases are tried.
    pub fn done(self, rows: &mut Vec<Row>) {
        println!("{}: {} of {}", self.name, self.identical, self.tried);
        rows.push(self);
    }

    /// Counts a case; what is wrong with it is shown.
    pub fn count(&mut self, result: Result<(), String>) {
        self.tried += 1;
        match result {
            Ok(()) => self.identical += 1,
            Err(wrong) => println!("{}: {wrong}", self.name),
        }
    }
}

pub fn skipped(what: &str, why: &str) {
    println!("skipped: {what}: {why}");
}

/// A folder with the inputs of a mode.
pub struct Place {
    folder: PathBuf,
    _temporary: Option<TempDir>,
}

/// What a run leaves, and its counters.
#[derive(PartialEq)]
pub struct Came {
    files: Vec<(String, Option<Vec<u8>>)>,
    counters: Vec<Value>,
    status: Option<i32>,
}

const FILES: [&str; 3] = ["out", "bad", "bad.errors.ndjson"];

const COUNTERS: [&str; 7] = [
    "records",
    "processed",
    "skipped",
    "rejected",
    "lines",
    "bytes_in",
    "bytes_out",
];

impl Place {
    pub fn new(mode: &Mode, records: usize) -> Place {
        let folder = TempDir::new().expect("a temporary folder");
        let place = Place {
            folder: folder.path().to_owned(),
            _temporary: Some(folder),
        };
        place.fill(mode, records);
        place
    }

    /// In a folder that is there.
    pub fn at(folder: PathBuf) -> Place {
        Place {
            folder,
            _temporary: None,
        }
    }

    pub fn fill(&self, mode: &Mode, records: usize) {
        let input = (mode.input)(records);
        fs::write(self.path(mode.name_of_input), input).expect("the input can be written");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The mode's command, behind others, e.g. one that traces it.
    pub fn command(&self, before: &[&str], mode: &Mode, options: &[&str]) -> Command {
        let words: Vec<&str> = before
            .iter()
            .chain(&[env!("CARGO_BIN_EXE_inorder")])
            .copied()
            .collect();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .args(mode.words(options))
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub fn run(&self, before: &[&str], mode: &Mode, options: &[&str]) -> Output {
        self.command(before, mode, options)
            .output()
            .expect("the program can be started")
    }

    /// Goes on to the end; what came out is taken away.
    pub fn finish(&self, mode: &Mode, options: &[&str]) -> Result<Came, String> {
        let options = [&["--stats", "stats.json"], options].concat();
        let ran = self.run(&[], mode, &options);
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        if !matches!(ran.status.code(), Some(0 | 3)) {
            return Err(format!("the last run: {}: {said}", ran.status));
        }
        let stats = fs::read(self.path("stats.json")).map_err(|error| error.to_string())?;
        let stats: Value = serde_json::from_slice(&stats).map_err(|error| error.to_string())?;
        let files = FILES.map(|name| (name.to_owned(), fs::read(self.path(name)).ok()));
        let came = Came {
            files: files.into(),
            counters: COUNTERS.map(|name| stats[name].clone()).into(),
            status: ran.status.code(),
        };
        self.clean(mode)?;
        Ok(came)
    }

    /// Takes all but the input away. What a whole run should not have left is an error.
    fn clean(&self, mode: &Mode) -> Result<(), String> {
        let known = [&FILES[..], &["stats.json", "trace", mode.name_of_input]].concat();
        for entry in fs::read_dir(&self.folder).map_err(|error| error.to_string())? {
            let name = entry.map_err(|error| error.to_string())?.file_name();
            let name = name.to_string_lossy().into_owned();
            if name == mode.name_of_input || name == "lost+found" {
                continue;
            }
            let _ = fs::remove_file(self.path(&name));
            if !known.contains(&name.as_str()) {
                return Err(format!("{name} was left"));
            }
        }
        Ok(())
    }

    /// Takes all but the input away.
    pub fn empty(&self, mode: &Mode) {
        // What is there is expected.
        let _ = self.clean(mode);
        let _ = self.clean(mode);
    }

    /// Starts it, and kills it after that time. How it ended.
    pub fn kill(&self, mode: &Mode, options: &[&str], after: Duration) -> ExitStatus {
        let mut child = self
            .command(&[], mode, options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program can be started");
        let start = Instant::now();
        while start.elapsed() < after {
            if let Some(status) = child.try_wait().expect("a child can be waited for") {
                return status;
            }
            thread::sleep(Duration::from_micros(500));
        }
        child.kill().expect("a child can be killed");
        child.wait().expect("a child can be waited for")
    }
}

impl Came {
    /// Whether it is what a whole run gives.
    pub fn is(&self, whole: &Came) -> Result<(), String> {
        for ((name, one), (_, two)) in self.files.iter().zip(&whole.files) {
            if one != two {
                let length = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(Vec::len);
                let (one, two) = (length(one), length(two));
                return Err(format!("{name} differs: {one:?} and {two:?} bytes"));
            }
        }
        if self.counters != whole.counters {
            let (one, two) = (&self.counters, &whole.counters);
            return Err(format!("counters differ: {one:?} and {two:?}"));
        }
        match self.status == whole.status {
            true => Ok(()),
            false => Err(format!("status {:?}, not {:?}", self.status, whole.status)),
        }
    }

    /// Whether these are its files.
    pub fn has(&self, files: &[Option<Vec<u8>>]) -> bool {
        self.files.iter().map(|(_, bytes)| bytes).eq(files)
    }
}
