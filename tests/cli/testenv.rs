//! A folder of its own for each test, scripts that run in it, and what they did.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than any script takes on a busy machine: what takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A temporary folder with a copy of the sample data in `data/`. Scripts find the program as `inorder`.
pub struct TestEnv(TempDir);

impl TestEnv {
    pub fn new() -> TestEnv {
        let env = TestEnv(TempDir::new().unwrap());
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
        fs::create_dir(env.path("data")).unwrap();
        for file in fs::read_dir(data).unwrap().map(Result::unwrap) {
            fs::copy(file.path(), env.path("data").join(file.file_name())).unwrap();
        }
        fs::create_dir(env.path("bin")).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_inorder"), env.path("bin/inorder")).unwrap();
        env
    }

    pub fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.0.path().join(Path::new(name.as_ref()))
    }

    pub fn write(&self, name: impl AsRef<OsStr>, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub fn read(&self, name: impl AsRef<OsStr>) -> Vec<u8> {
        let path = self.path(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The names in a folder, hidden ones too; in the test's own without those that came with it.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(folder))
            .unwrap()
            .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| folder != "." || name != "data" && name != "bin")
            .collect();
        names.sort();
        names
    }

    /// A JSON file.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap()
    }

    /// The program with these arguments, nothing on its standard input.
    pub fn program<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_inorder"));
        command.args(args);
        self.prepare(&mut command);
        command
    }

    /// A bash script.
    pub fn script(&self, script: &str) -> Command {
        let mut command = Command::new("bash");
        command.arg("-c").arg(script);
        self.prepare(&mut command);
        command
    }

    fn prepare(&self, command: &mut Command) {
        let mut path = self.path("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        command
            .current_dir(self.0.path())
            .env("PATH", path)
            .env("TERM", "xterm")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .process_group(0);
    }

    /// Runs a bash script to its end.
    #[track_caller]
    pub fn run(&self, script: &str) -> Ran {
        finish(script, &mut self.script(script))
    }

    /// Whether a script that tries a tool or a right succeeds. If not the test is skipped, and the reason printed.
    pub fn can(&self, what: &str, script: &str) -> bool {
        let tried = self.run(script);
        if tried.status != Some(0) {
            skipped(&format!("{what}: {}", tried.err.trim()));
        }
        tried.status == Some(0)
    }

    /// Makes the folder `o` with a file `out` that an earlier run has left.
    pub fn old_output(&self) {
        fs::create_dir_all(self.path("o")).unwrap();
        self.write("o/out", "old");
    }

    /// Fails unless the folder `o` is as [`old_output`](TestEnv::old_output) left it.
    #[track_caller]
    pub fn is_untouched(&self, ran: &Ran) {
        assert_eq!(self.names("o"), ["out"], "{ran}");
        assert_eq!(self.read("o/out"), b"old", "{ran}");
    }
}

/// Says why a test did nothing, past the test harness, which keeps the words of tests that pass to itself.
pub fn skipped(reason: &str) {
    let _ = writeln!(io::stderr(), "skipped: {reason}");
}

/// Runs a command to its end; one that hangs is killed with its children.
#[track_caller]
pub fn finish(shown: &str, command: &mut Command) -> Ran {
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let group = Pid::from_child(&child);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(PATIENCE) {
        Ok(output) => Ran::of(shown, &output.unwrap()),
        Err(_) => {
            let _ = kill_process_group(group, Signal::KILL);
            let output = receiver.recv_timeout(PATIENCE);
            match output {
                Ok(output) => panic!("it hangs: {}", Ran::of(shown, &output.unwrap())),
                Err(_) => panic!("it hangs: $ {shown}"),
            }
        }
    }
}

/// What was run and what it did. The methods show all of it when they fail.
pub struct Ran {
    shown: String,
    /// `None`: ended by a signal.
    pub status: Option<i32>,
    pub signal: Option<i32>,
    pub bytes: Vec<u8>,
    pub out: String,
    pub err: String,
}

impl Ran {
    fn of(shown: &str, output: &Output) -> Ran {
        Ran {
            shown: shown.to_string(),
            status: output.status.code(),
            signal: output.status.signal(),
            bytes: output.stdout.clone(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub fn status(&self, status: i32) -> &Ran {
        assert_eq!(self.status, Some(status), "{self}");
        self
    }

    /// Status 0 and not a word.
    #[track_caller]
    pub fn quiet(&self) -> &Ran {
        self.status(0).err("")
    }

    #[track_caller]
    pub fn out(&self, out: impl AsRef<[u8]>) -> &Ran {
        assert!(
            self.bytes == out.as_ref(),
            "{self}\n--- wanted\n{}",
            cut(&String::from_utf8_lossy(out.as_ref()))
        );
        self
    }

    #[track_caller]
    pub fn err(&self, err: &str) -> &Ran {
        assert_eq!(self.err, err, "{self}");
        self
    }

    #[track_caller]
    pub fn has(&self, part: &str) -> &Ran {
        assert!(self.out.contains(part), "no {part:?} in\n{self}");
        self
    }

    #[track_caller]
    pub fn err_has(&self, part: &str) -> &Ran {
        assert!(self.err.contains(part), "no {part:?} in\n{self}");
        self
    }

    #[track_caller]
    pub fn err_lacks(&self, part: &str) -> &Ran {
        assert!(!self.err.contains(part), "{part:?} in\n{self}");
        self
    }

    #[track_caller]
    pub fn out_lacks(&self, part: &str) -> &Ran {
        assert!(!self.out.contains(part), "{part:?} in\n{self}");
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "$ {}", self.shown)?;
        match self.signal {
            Some(signal) => writeln!(f, "killed by signal {signal}")?,
            None => writeln!(f, "status {}", self.status.unwrap_or(-1))?,
        }
        write!(
            f,
            "--- out\n{}\n--- err\n{}",
            cut(&self.out),
            cut(&self.err)
        )
    }
}

/// As much of a text as is of use in a message.
fn cut(text: &str) -> String {
    match text.char_indices().nth(8000) {
        Some((end, _)) => format!("{}\n... {} bytes", &text[..end], text.len()),
        None => text.to_string(),
    }
}

/// The lines `1` to `last`.
pub fn numbers(last: u32) -> String {
    (1..=last).map(|number| format!("{number}\n")).collect()
}

/// Runs `inorder cat` with these options at each chunk size and number of threads, mapped and read: the input must
/// come out each time.
#[track_caller]
pub fn round_trip(env: &TestEnv, file: &str, options: &str, sizes: &[u32], threads: &[u32]) {
    let (sizes, threads) = (words(sizes), words(threads));
    env.run(&format!(
        "for size in {sizes}; do for threads in {threads}; do for way in '' --no-mmap; do
           options=\"--chunk-size $size -j $threads $way {options}\"
           eval \"inorder cat $options {file}\" > out.tmp && cmp {file} out.tmp || {{ echo \"with $options\" >&2; exit 1; }}
         done; done; done
         rm out.tmp"
    ))
    .quiet();
}

fn words(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    numbers.join(" ")
}
