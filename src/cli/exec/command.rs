//! The command that is run: what it is called, whether it is there, what it finds in its environment.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};

use rustix::fs::{Access, access};

use super::gate::is_scarcity;
use super::missing::quoted;
use crate::cli::status::{CannotRun, Status};

/// The program and its arguments.
#[derive(Debug, Clone)]
pub struct Command {
    words: Vec<OsString>,
}

/// What a process is told about what it works on.
#[derive(Debug, Clone, Copy)]
pub struct Environment<'e> {
    /// From 0; a header belongs to none.
    pub chunk: Option<u64>,
    /// The first record's number, from 1; 0 is the header.
    pub record: Option<u64>,
    pub input: Option<&'e Path>,
    /// From 0.
    pub worker: Option<usize>,
    /// From 1.
    pub attempt: u32,
}

/// How much of a command is shown.
const SHOWN: usize = 60;

impl Command {
    /// `words` is not empty.
    pub fn new(words: Vec<OsString>) -> Command {
        Command { words }
    }

    /// A script for `sh`.
    pub fn shell(script: OsString) -> Command {
        Command {
            words: vec!["sh".into(), "-c".into(), script],
        }
    }

    /// The program's name, as it was typed.
    pub fn name(&self) -> &OsStr {
        &self.words[0]
    }

    /// Program and arguments, as a message shows them.
    pub fn shown(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        let line = words.join(" ");
        match line.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}...", &line[..end]),
            None => line,
        }
    }

    /// An error if the program is not there or can't be run, so that this is known before the first chunk.
    pub fn check(&self) -> anyhow::Result<()> {
        find(self.name()).map_err(|status| self.cannot_run(status, None).into())
    }

    /// Starts a process with pipes to all of its streams, in a group of its own, with the default signals. (The standard
    /// library gives SIGPIPE, which is ignored here, back to it.)
    pub fn start(&self, environment: &Environment<'_>) -> io::Result<process::Child> {
        let mut command = process::Command::new(self.name());
        command
            .args(&self.words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut tell = |name, value: Option<OsString>| {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        };
        let number = |number: u64| OsString::from(number.to_string());
        tell("INORDER_CHUNK", environment.chunk.map(number));
        tell("INORDER_RECORD", environment.record.map(number));
        tell("INORDER_INPUT", environment.input.map(OsString::from));
        tell(
            "INORDER_WORKER",
            environment.worker.map(|worker| number(worker as u64)),
        );
        tell("INORDER_ATTEMPT", Some(number(environment.attempt.into())));
        command.spawn()
    }

    /// Why the process could not be started. `None`: that it is not there, or may not be run, was found beforehand.
    pub fn cannot_run(&self, status: Status, error: Option<&io::Error>) -> CannotRun {
        let name = quoted(self.name());
        let message = match (status, error) {
            (Status::NotFound, None) => format!("{name}: command not found"),
            (_, None) => format!("{name}: command is not executable"),
            (Status::Failed, Some(error)) if is_scarcity(error) => format!(
                "{name}: command can't be started, not even alone: {error}; raise the limit (ulimit -a), or use fewer workers (-j)"
            ),
            (_, Some(error)) => format!("{name}: command can't be started: {error}"),
        };
        CannotRun { status, message }
    }
}

/// Looks for a program as the system does that starts it: a name with a slash is a path, another is looked for in `PATH`.
pub fn find(name: &OsStr) -> Result<(), Status> {
    if name.as_encoded_bytes().contains(&b'/') {
        return executable(Path::new(name));
    }
    let path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut found = Err(Status::NotFound);
    for folder in env::split_paths(&path) {
        let folder = if folder.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            folder
        };
        match executable(&folder.join(name)) {
            Ok(()) => return Ok(()),
            Err(Status::NotExecutable) => found = Err(Status::NotExecutable),
            Err(_) => {}
        }
    }
    found
}

fn executable(path: &Path) -> Result<(), Status> {
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(Status::NotExecutable),
        Err(_) => Err(Status::NotFound),
        Ok(data) if data.is_file() && access(path, Access::EXEC_OK).is_ok() => Ok(()),
        Ok(_) => Err(Status::NotExecutable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_for() {
        let find = |name: &str| find(OsStr::new(name));
        assert_eq!(find("sh"), Ok(()));
        assert_eq!(find("/bin/sh"), Ok(()));
        assert_eq!(find("no such program"), Err(Status::NotFound));
        assert_eq!(find("./no/such"), Err(Status::NotFound));
        assert_eq!(find("/etc/passwd"), Err(Status::NotExecutable));
        assert_eq!(find("/"), Err(Status::NotExecutable));
    }

    #[test]
    fn long_commands_are_cut() {
        let command = Command::shell("x".repeat(100).into());
        assert_eq!(command.shown(), format!("sh -c {}...", "x".repeat(54)));
    }
}
