//! The guard ends its process, so each test runs itself as a child.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Output, Stdio};
use std::sync::Barrier;
use std::thread;

use super::*;
use crate::input::{Bytes, Input, More, OpenOptions, Origin, Recycler, Waker};

const FOLDER: &str = "INORDER_TEST_GUARD";
const LEN: u64 = 400_000;

/// Runs the test of that name again, with a folder that has an input file.
fn run(test: &str, folder: &Path) -> Output {
    let mut file = File::create(folder.join("in\nput")).unwrap();
    file.write_all(&vec![b'x'; LEN as usize]).unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            &format!("input::mapped::guard::tests::{test}"),
            "--nocapture",
        ])
        .env(FOLDER, folder)
        .output()
        .unwrap()
}

/// The folder, in the child.
fn child() -> Option<std::path::PathBuf> {
    std::env::var_os(FOLDER).map(Into::into)
}

fn open(folder: &Path, window: usize) -> Input<'static> {
    let options = OpenOptions {
        map: true,
        window,
        block: 4096,
        decoder: None,
        encoding: None,
    };
    let origin = Origin::Path(folder.join("in\nput"));
    let recycler = Arc::new(Recycler::new(1, 1 << 20));
    Input::open(origin, &options, &recycler, &Waker::default()).unwrap()
}

/// A mapped chunk of all of a file that is then cut short.
fn chunk_of_a_shrunk_file(folder: &Path) -> Bytes {
    let mut input = open(folder, 1 << 20);
    assert_eq!(input.more(1).unwrap(), More::End);
    let bytes = input.take(LEN as usize);
    let file = File::options()
        .write(true)
        .open(folder.join("in\nput"))
        .unwrap();
    file.set_len(5000).unwrap();
    bytes
}

fn touch(bytes: &[u8]) {
    let sum: u64 = bytes.iter().map(|byte| u64::from(*byte)).sum();
    println!("survived, {sum}");
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_shrunk_file_is_told_and_everything_cleaned_up() {
    if let Some(folder) = child() {
        guard_mapped_reads();
        guard_mapped_reads();
        drop(guard_temporary(
            &folder.join("a longer name that was set before"),
        ));
        let _temporary = guard_temporary(&folder.join("temporary")).unwrap();
        assert!(guard_temporary(&folder.join("another's")).is_none());
        let mut group = Command::new("sh");
        group
            .args(["-c", "sleep 1000 & echo; wait"])
            .process_group(0);
        let mut shell = group.stdout(Stdio::piped()).spawn().unwrap();
        shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let id = shell.id() as i32;
        let other = guard_group(id + 1_000_000);
        std::mem::forget(guard_group(id));
        drop(other);
        fs::write(folder.join("group"), id.to_string()).unwrap();
        touch(&chunk_of_a_shrunk_file(&folder));
        shell.kill().unwrap();
        shell.wait().unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("temporary"), "half").unwrap();
    let output = run(
        "a_shrunk_file_is_told_and_everything_cleaned_up",
        folder.path(),
    );
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let path = folder.path().display();
    let expected = format!(
        "inorder: {path}/in\\nput: input shrank while it was read; no output file was made or changed\n"
    );
    assert!(message(&output).ends_with(&expected), "{output:?}");
    assert!(!folder.path().join("temporary").exists());
    let group = fs::read_to_string(folder.path().join("group")).unwrap();
    let group = rustix::process::Pid::from_raw(group.parse().unwrap()).unwrap();
    // Killed children stay until whoever inherits them has waited for them.
    let gone = || rustix::process::test_kill_process_group(group).is_err();
    assert!((0..200).any(|_| {
        thread::sleep(std::time::Duration::from_millis(10));
        gone() || only_zombies(group.as_raw_nonzero().get())
    }));
}

#[test]
fn what_is_left_is_named() {
    if let Some(folder) = child() {
        guard_mapped_reads();
        drop(guard_left(Path::new("other"), Path::new("one's")));
        let _left = guard_left(Path::new("o\nut.part"), Path::new("out.checkpoint")).unwrap();
        assert!(guard_left(Path::new("another's"), Path::new("files")).is_none());
        touch(&chunk_of_a_shrunk_file(&folder));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = run("what_is_left_is_named", folder.path());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let expected = "input shrank while it was read; o\\nut.part and out.checkpoint keep what is done, \
                    to be gone on from with the input as it was\n";
    assert!(message(&output).ends_with(expected), "{output:?}");
}

/// Where nobody waits for orphans they stay as zombies.
fn only_zombies(group: i32) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
        .filter_map(|stat| {
            let rest = stat.rsplit_once(") ")?.1.to_owned();
            let mut fields = rest.split(' ');
            let state = fields.next()?.to_owned();
            (fields.nth(1)? == group.to_string()).then_some(state)
        })
        .all(|state| state == "Z")
}

#[test]
fn faults_of_many_threads_are_told_once() {
    if let Some(folder) = child() {
        guard_mapped_reads();
        let bytes = chunk_of_a_shrunk_file(&folder);
        let barrier = Barrier::new(4);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    barrier.wait();
                    touch(&bytes);
                });
            }
        });
        return;
    }
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let output = run("faults_of_many_threads_are_told_once", folder.path());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(message(&output).matches("shrank").count(), 1, "{output:?}");
    }
}

#[test]
fn a_fault_elsewhere_kills_as_before() {
    if let Some(folder) = child() {
        let bytes = chunk_of_a_shrunk_file(&folder);
        guard_mapped_reads();
        touch(&bytes);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = run("a_fault_elsewhere_kills_as_before", folder.path());
    assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{output:?}");
    assert!(!message(&output).contains("shrank"));
}

#[test]
fn a_sent_signal_kills_as_before() {
    if child().is_some() {
        guard_mapped_reads();
        let me = rustix::process::getpid();
        rustix::process::kill_process(me, rustix::process::Signal::BUS).unwrap();
        thread::sleep(std::time::Duration::from_secs(5));
        println!("survived");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = run("a_sent_signal_kills_as_before", folder.path());
    assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{output:?}");
}

#[test]
fn the_zeros_at_the_end_of_the_last_page_raise_nothing() {
    if let Some(folder) = child() {
        guard_mapped_reads();
        let bytes = chunk_of_a_shrunk_file(&folder);
        assert_eq!(
            bytes[4999..8192]
                .iter()
                .filter(|byte| **byte == b'x')
                .count(),
            1
        );
        println!("as expected");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = run(
        "the_zeros_at_the_end_of_the_last_page_raise_nothing",
        folder.path(),
    );
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("as expected"),
        "{output:?}"
    );
}

#[test]
fn a_window_without_a_place_is_read_and_places_are_used_again() {
    if let Some(folder) = child() {
        let file = File::options()
            .write(true)
            .open(folder.join("in\nput"))
            .unwrap();
        let needed = (WINDOWS as u64 + 10) * 4096;
        file.set_len(needed).unwrap();
        guard_mapped_reads();
        for _ in 0..3 {
            let mut input = open(&folder, 4096);
            let mut chunks = Vec::new();
            while input.more(4096).unwrap() != More::End {
                chunks.push(input.take(4096));
            }
            let mapped = chunks.iter().filter(|bytes| bytes.is_mapped()).count();
            assert_eq!(mapped, WINDOWS);
            assert_eq!(chunks.len(), WINDOWS + 9);
            assert!(chunks[..97].iter().all(|bytes| **bytes == [b'x'; 4096]));
        }
        println!("as expected");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = run(
        "a_window_without_a_place_is_read_and_places_are_used_again",
        folder.path(),
    );
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("as expected"),
        "{output:?}"
    );
}
