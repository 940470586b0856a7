//! What FAULTS says about the output, tried on real files, devices and processes.

use std::fs;
use std::io::{IoSlice, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::target::{Target, find};
use super::*;

mod child;
mod faults;
mod names;
mod special;

/// A folder for one test; in memory where that is possible, so that syncs cost nothing.
fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// The names in a folder, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn open(path: impl Into<PathBuf>) -> Output<'static> {
    Output::open(Sink::file(path)).unwrap()
}

fn refused(path: impl Into<PathBuf>) -> OutputError {
    Output::open(Sink::file(path)).unwrap_err()
}

/// As [`open`], under a hidden name, as on a file system without unnamed files.
fn try_named(path: &Path) -> Result<Output<'static>, OutputError> {
    let Target::Replace(place) = find(path)? else {
        panic!("{path:?} is no place for a file");
    };
    let file = Unpublished::create(place, false).map_err(|fault| fault.of(path))?;
    let (name, way) = (path.to_path_buf(), Way::Unpublished(file));
    Ok(Output { name, way })
}

fn open_named(path: &Path) -> Output<'static> {
    try_named(path).unwrap()
}

/// Both ways to make the temporary file.
const WAYS: [fn(&Path) -> Output<'static>; 2] = [|path| open(path), open_named];

/// Waits for what is true soon: a process that another test starts has copies of our descriptors
/// until it becomes another program.
fn soon(mut is_so: impl FnMut() -> bool) {
    for _ in 0..500 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(2));
    }
    panic!("it did not come true");
}

fn write(output: &mut Output<'_>, bytes: &[u8]) -> Result<(), OutputError> {
    output.write_all(&mut [IoSlice::new(bytes)])
}

fn publish(mut output: Output<'_>, bytes: &[u8]) {
    write(&mut output, bytes).unwrap();
    output.finish().unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_file_appears_only_when_it_is_finished() {
    for way in WAYS {
        let folder = folder();
        let path = folder.path().join("out");
        let mut output = way(&path);
        assert!(output.can_be_taken_back());
        assert_eq!(output.folder(), Some(folder.path()));
        assert_eq!(output.name(), path);
        assert!(output.closed_fd().is_none());
        output
            .write_all(&mut [IoSlice::new(b"one\n"), IoSlice::new(b"two\n")])
            .unwrap();
        assert!(!path.exists());
        output.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
        assert_eq!(names(folder.path()), ["out"]);

        publish(way(&path), b"new");
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["out"]);
    }
}

#[test]
fn an_unfinished_output_leaves_nothing_and_the_old_file_untouched() {
    for way in WAYS {
        let folder = folder();
        let path = folder.path().join("out");
        drop(way(&path));
        assert_eq!(names(folder.path()), [""; 0]);
        fs::write(&path, "old").unwrap();
        let before = fs::metadata(&path).unwrap();
        let mut output = way(&path);
        write(&mut output, b"new").unwrap();
        drop(output);
        let after = fs::metadata(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(
            (before.ino(), before.mtime_nsec()),
            (after.ino(), after.mtime_nsec())
        );
        assert_eq!(names(folder.path()), ["out"]);
    }
}

#[test]
fn the_temporary_file_is_private_and_beside_the_target() {
    let folder = folder();
    let path = folder.path().join("out");
    let output = open_named(&path);
    let temporary = output.temporary().unwrap();
    assert_eq!(temporary, folder.path().join(".out.0.inorder"));
    assert_eq!(mode(&temporary), 0o600);
    drop(output);
    let Way::Unpublished(file) = open(&path).way else {
        unreachable!()
    };
    assert_eq!(file.file().metadata().unwrap().mode() & 0o7777, 0o600);
}

#[test]
fn an_output_may_move_to_another_thread() {
    let output = open("/dev/null");
    thread::spawn(move || publish(output, b"gone"))
        .join()
        .unwrap();
}

#[test]
fn the_folder_of_a_bare_name_is_the_working_folder() {
    let output = open("no-such-output-of-ours");
    assert_eq!(output.folder(), Some(Path::new(".")));
}

#[test]
fn two_runs_to_one_output_both_finish_and_the_later_wins() {
    for way in WAYS {
        for old in [None, Some("old")] {
            let folder = folder();
            let path = folder.path().join("out");
            if let Some(old) = old {
                fs::write(&path, old).unwrap();
            }
            let (first, second) = (way(&path), way(&path));
            publish(second, b"second");
            assert_eq!(fs::read(&path).unwrap(), b"second");
            publish(first, b"first");
            assert_eq!(fs::read(&path).unwrap(), b"first");
            assert_eq!(names(folder.path()), ["out"]);
        }
    }
}

#[test]
fn the_mode_of_the_old_file_is_kept() {
    for way in WAYS {
        let folder = folder();
        let path = folder.path().join("out");
        for wanted in [0o600, 0o644, 0o640, 0o755, 0o666, 0o200] {
            fs::write(&path, "old").unwrap();
            set_mode(&path, wanted);
            publish(way(&path), b"new");
            assert_eq!(mode(&path), wanted, "{wanted:o}");
            set_mode(&path, 0o600);
        }
    }
}

#[test]
fn a_spill_file_is_copied_from_where_it_stands() {
    let folder = folder();
    let path = folder.path().join("out");
    let mut spill = spill_file(Some(folder.path())).unwrap();
    let bytes: Vec<u8> = (0..1_000_000u32).map(|n| (n / 7) as u8).collect();
    spill.write_all(&bytes).unwrap();
    spill.seek(io::SeekFrom::Start(10)).unwrap();
    let mut output = open(&path);
    output.copy_from(&mut spill, 0).unwrap();
    output.copy_from(&mut spill, 5).unwrap();
    output.copy_from(&mut spill, 900_000).unwrap();
    assert_eq!(spill.stream_position().unwrap(), 900_015);
    let error = output.copy_from(&mut spill, 99_986).unwrap_err();
    assert_eq!(error.source.kind(), io::ErrorKind::UnexpectedEof);
    output.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap()[..900_005], bytes[10..900_015]);
}

#[test]
fn a_writer_is_flushed_once_it_is_finished() {
    struct Held<'w>(Vec<u8>, &'w mut Vec<u8>, bool);
    impl Write for Held<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.extend_from_slice(&bytes[..bytes.len().min(2)]);
            Ok(bytes.len().min(2))
        }
        fn flush(&mut self) -> io::Result<()> {
            if self.2 {
                return Err(io::Error::other("full"));
            }
            self.1.append(&mut self.0);
            Ok(())
        }
    }
    let mut taken = Vec::new();
    let mut output = Output::open(Sink::writer(Held(Vec::new(), &mut taken, false))).unwrap();
    assert!(!output.can_be_taken_back());
    assert_eq!(
        (output.name(), output.folder()),
        (Path::new("<writer>"), None)
    );
    write(&mut output, b"some bytes").unwrap();
    output.finish().unwrap();
    assert_eq!(taken, b"some bytes");

    let mut output = Output::open(Sink::writer(Held(Vec::new(), &mut taken, true))).unwrap();
    write(&mut output, b"some bytes").unwrap();
    let error = output.finish().unwrap_err();
    assert_eq!(
        (error.to_string(), error.source.to_string()),
        ("cannot write".into(), "full".into())
    );
}

#[test]
fn discarded_bytes_go_nowhere() {
    let mut output = Output::open(Sink::discard()).unwrap();
    write(&mut output, b"some bytes").unwrap();
    output.flush().unwrap();
    output.finish().unwrap();
    assert_eq!(format!("{:?}", Sink::discard()), "Sink(\"<discard>\")");
}
