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
fn a_link_stays_and_its_target_is_replaced() {
    for way in WAYS {
        let folder = folder();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        fs::create_dir(&a).unwrap();
        fs::create_dir(&b).unwrap();
        fs::write(b.join("real"), "old").unwrap();
        symlink("../b/middle", a.join("first")).unwrap();
        symlink(b.join("last"), b.join("middle")).unwrap();
        symlink("real", b.join("last")).unwrap();
        let output = way(&a.join("first"));
        assert_eq!(
            fs::canonicalize(output.folder().unwrap()).unwrap(),
            fs::canonicalize(&b).unwrap()
        );
        publish(output, b"new");
        assert_eq!(fs::read(b.join("real")).unwrap(), b"new");
        assert_eq!(names(&a), ["first"]);
        assert_eq!(names(&b), ["last", "middle", "real"]);
        for link in [a.join("first"), b.join("middle"), b.join("last")] {
            assert!(link.is_symlink());
        }
        assert!(!b.join("real").is_symlink());
    }
}

#[test]
fn the_target_of_a_dangling_link_is_made() {
    for way in WAYS {
        let folder = folder();
        fs::create_dir(folder.path().join("d")).unwrap();
        let link = folder.path().join("link");
        symlink("d/new", &link).unwrap();
        publish(way(&link), b"new");
        assert!(link.is_symlink());
        assert_eq!(fs::read(folder.path().join("d/new")).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["d", "link"]);
        assert_eq!(names(&folder.path().join("d")), ["new"]);
    }
}

#[test]
fn links_that_lead_nowhere_are_errors() {
    let folder = folder();
    symlink("y", folder.path().join("x")).unwrap();
    symlink("x", folder.path().join("y")).unwrap();
    let error = refused(folder.path().join("x"));
    assert_eq!(
        error.source.raw_os_error(),
        Some(rustix::io::Errno::LOOP.raw_os_error())
    );
    symlink("missing/out", folder.path().join("z")).unwrap();
    let error = refused(folder.path().join("z"));
    assert_eq!(error.source.kind(), io::ErrorKind::NotFound);
    assert_eq!(error.path, folder.path().join("missing"));
    assert_eq!(names(folder.path()), ["x", "y", "z"]);
}

#[test]
fn paths_that_name_no_file_are_errors() {
    let folder = folder();
    let path = folder.path();
    for (path, kind) in [
        (path.to_path_buf(), io::ErrorKind::IsADirectory),
        (path.join(""), io::ErrorKind::IsADirectory),
        (path.join("new/"), io::ErrorKind::IsADirectory),
        (path.join("."), io::ErrorKind::IsADirectory),
        (path.join(".."), io::ErrorKind::IsADirectory),
        (path.join("missing/out"), io::ErrorKind::NotFound),
        (PathBuf::new(), io::ErrorKind::NotFound),
    ] {
        assert_eq!(refused(&path).source.kind(), kind, "{path:?}");
    }
    fs::write(path.join("file"), "").unwrap();
    let error = refused(path.join("file/out"));
    assert_eq!(error.source.kind(), io::ErrorKind::NotADirectory);
    assert_eq!(names(path), ["file"]);
}

#[test]
fn names_of_any_length_work() {
    for way in WAYS {
        let folder = folder();
        for name in [
            "x".repeat(255),
            "ü".repeat(127),
            "x".repeat(237),
            "x".repeat(240),
        ] {
            let path = folder.path().join(&name);
            publish(way(&path), b"first");
            publish(way(&path), b"second");
            assert_eq!(fs::read(&path).unwrap(), b"second");
            assert_eq!(names(folder.path()), [name]);
            fs::remove_file(path).unwrap();
        }
        let path = folder
            .path()
            .join(std::ffi::OsStr::from_bytes(b"a\nb\xff -"));
        publish(way(&path), b"odd");
        assert_eq!(fs::read(&path).unwrap(), b"odd");
    }
    let folder = folder();
    let error = refused(folder.path().join("x".repeat(256)));
    assert_eq!(error.source.kind(), io::ErrorKind::InvalidFilename);
}

#[test]
fn a_hard_link_to_the_target_keeps_the_old_bytes() {
    let folder = folder();
    let (path, other) = (folder.path().join("out"), folder.path().join("other"));
    fs::write(&path, "old").unwrap();
    fs::hard_link(&path, &other).unwrap();
    publish(open(&path), b"new");
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::read(&other).unwrap(), b"old");
}

#[test]
fn the_folder_may_be_renamed_in_the_run() {
    let folder = folder();
    let (before, after) = (folder.path().join("before"), folder.path().join("after"));
    fs::create_dir(&before).unwrap();
    let output = open(before.join("out"));
    fs::rename(&before, &after).unwrap();
    publish(output, b"new");
    assert_eq!(fs::read(after.join("out")).unwrap(), b"new");
    assert_eq!(names(folder.path()), ["after"]);
}

#[test]
fn a_target_that_turned_into_something_else_is_left_alone() {
    for way in WAYS {
        let folder = folder();
        let path = folder.path().join("out");
        let mut output = way(&path);
        write(&mut output, b"new").unwrap();
        fs::create_dir(&path).unwrap();
        let error = output.finish().unwrap_err();
        assert_eq!(
            (error.what, error.path.as_path()),
            ("replace", path.as_path())
        );
        assert_eq!(names(folder.path()), ["out"]);
        assert!(path.is_dir());
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
fn stale_hidden_names_go_and_live_ones_stay() {
    for way in WAYS {
        let folder = folder();
        let path = folder.path().join("out");
        let at = |name: &str| folder.path().join(name);
        for name in [".out.0.inorder", ".out.2.inorder", ".out.7.inorder"] {
            fs::write(at(name), "stale").unwrap();
        }
        let others = [
            ".out.0.inorder.bak",
            ".out.10.inorder",
            ".out.x.inorder",
            ".outs.0.inorder",
        ];
        for name in others {
            fs::write(at(name), "not ours").unwrap();
        }
        symlink("x", at(".out.1.inorder")).unwrap();
        fs::create_dir(at(".out.3.inorder")).unwrap();
        let live = fs::File::create(at(".out.4.inorder")).unwrap();
        assert!(hidden::lock(&live));
        publish(way(&path), b"new");
        publish(way(&path), b"newer");
        let mut left: Vec<&str> = others.to_vec();
        left.extend([".out.1.inorder", ".out.3.inorder", ".out.4.inorder", "out"]);
        left.sort_unstable();
        assert_eq!(names(folder.path()), left);
        drop(live);
        soon(|| {
            drop(way(&path));
            !at(".out.4.inorder").exists()
        });
    }
}

#[test]
fn when_all_numbers_are_taken_a_random_name_serves() {
    let folder = folder();
    let path = folder.path().join("out");
    fs::write(&path, "old").unwrap();
    let live: Vec<_> = (0..12).map(|_| open_named(&path)).collect();
    assert_eq!(names(folder.path()).len(), 13);
    publish(open(&path), b"unnamed");
    publish(open_named(&path), b"named");
    for (number, output) in live.into_iter().enumerate() {
        publish(output, number.to_string().as_bytes());
    }
    assert_eq!(names(folder.path()), ["out"]);
    assert_eq!(fs::read(&path).unwrap(), b"11");
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
