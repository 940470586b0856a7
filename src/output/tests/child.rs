//! The tests' own program, started again as another process: with another umask or user, or to be killed.

use std::process::{Command, Stdio};

use super::*;

/// The variable that tells a started test program what to do: the name of a role, and a path.
const ROLE: &str = "INORDER_TEST_ROLE";
const PATH: &str = "INORDER_TEST_PATH";

/// A command, given as the words before it, that runs this test program in `role` on `path`.
pub(super) fn command(before: &[&str], role: &str, path: &Path) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = match before {
        [] => Command::new(&program),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(&program);
            command
        }
    };
    let (_, this) = module_path!().split_once("::").unwrap();
    command
        .args([
            "--exact",
            &format!("{this}::child"),
            "--nocapture",
            "--test-threads=1",
        ])
        .envs([(ROLE, role.as_ref()), (PATH, path.as_os_str())])
        .stdin(Stdio::null());
    command
}

/// Runs the child to its end; returns what it reported: `ok`, or the words of the error.
pub(super) fn run(before: &[&str], role: &str, path: &Path) -> String {
    let output = command(before, role, path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match said.lines().find_map(|line| line.strip_prefix("child: ")) {
        Some(report) => report.to_string(),
        None => panic!("the child did not report: {output:?}"),
    }
}

/// Whether the child can be started behind these words at all; tells why when it cannot.
pub(super) fn works(before: &[&str]) -> bool {
    let folder = folder();
    let output = command(before, "nothing", folder.path()).output();
    let works = output
        .as_ref()
        .is_ok_and(|output| String::from_utf8_lossy(&output.stderr).contains("child: ok"));
    if !works {
        eprintln!("skipped: {before:?} does not work here: {output:?}");
    }
    works
}

/// Words before a command that make it run without root's rights; none are needed for others.
pub(super) fn as_nobody() -> Option<&'static [&'static str]> {
    const SETPRIV: &[&str] = &[
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    match rustix::process::geteuid().is_root() {
        false => Some(&[]),
        true => works(SETPRIV).then_some(SETPRIV),
    }
}

/// What a started program does; an ordinary run of the tests has no role.
#[test]
fn child() {
    let (Some(role), Some(path)) = (std::env::var_os(ROLE), std::env::var_os(PATH)) else {
        return;
    };
    let path = Path::new(&path);
    let result = match role.to_str() {
        Some("nothing") => Ok(()),
        Some("publish") => play(path, open_either),
        Some("publish-named") => play(path, try_named),
        Some("stdout") => play(path, |_| Output::open(Sink::stdout())),
        Some("stdout-to") => with_stdout_to(path, || play(path, |_| Output::open(Sink::stdout()))),
        Some("named-stdout-to") => {
            with_stdout_to(path, || play(Path::new("/dev/stdout"), open_either))
        }
        Some("for-ever") => for_ever(path, open_either),
        Some("for-ever-named") => for_ever(path, try_named),
        _ => panic!("unknown role {role:?}"),
    };
    match result {
        Ok(()) => eprintln!("\nchild: ok"),
        Err(error) => eprintln!(
            "\nchild: {}: {error}: {}",
            error.path.display(),
            error.source
        ),
    }
}

/// Acts with standard output on `path`: the test program itself must not see it.
fn with_stdout_to<T>(path: &Path, act: impl FnOnce() -> T) -> T {
    let before = direct::stdout().unwrap();
    let file = fs::File::options()
        .write(true)
        .open(path)
        .or_else(|_| fs::File::open(path));
    rustix::stdio::dup2_stdout(file.unwrap()).unwrap();
    let result = act();
    rustix::stdio::dup2_stdout(before).unwrap();
    result
}

type Open = fn(&Path) -> Result<Output<'static>, OutputError>;

fn open_either(path: &Path) -> Result<Output<'static>, OutputError> {
    Output::open(Sink::file(path))
}

/// Writes 64 KiB, in two writes.
fn play(path: &Path, open: Open) -> Result<(), OutputError> {
    let mut output = open(path)?;
    for _ in 0..2 {
        write(&mut output, &[b'x'; 32 << 10])?;
    }
    output.finish()
}

fn for_ever(path: &Path, open: Open) -> Result<(), OutputError> {
    loop {
        play(path, open)?;
    }
}
