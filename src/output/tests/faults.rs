//! Faults that need another process, another user, or another file system.

use std::process::Command;

use super::child::{as_nobody, command, run, works};
use super::*;

const NOBODY: u32 = 65534;

/// A folder that every user may reach.
fn open_folder() -> TempDir {
    let folder = folder();
    set_mode(folder.path(), 0o777);
    folder
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether a command of the system did what was asked; says what was skipped when not.
fn did(words: &[&str]) -> bool {
    let done = Command::new(words[0]).args(&words[1..]).output();
    let well = done.as_ref().is_ok_and(|output| output.status.success());
    if !well {
        eprintln!("skipped: {words:?}: {done:?}");
    }
    well
}

#[test]
fn a_new_file_has_the_mode_that_the_umask_leaves() {
    let folder = folder();
    for (mask, wanted) in [
        ("077", 0o600),
        ("022", 0o644),
        ("000", 0o666),
        ("027", 0o640),
    ] {
        for role in ["publish", "publish-named"] {
            let path = folder.path().join(mask);
            let shell = format!("umask {mask}; exec \"$@\"");
            assert_eq!(run(&["sh", "-c", &shell, "sh"], role, &path), "ok");
            assert_eq!(mode(&path), wanted);
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn a_folder_that_may_not_be_written_is_found_at_the_start() {
    let Some(nobody) = as_nobody() else { return };
    let folder = open_folder();
    let path = folder.path().join("out");
    fs::write(&path, "old").unwrap();
    set_mode(&path, 0o666);
    set_mode(folder.path(), 0o555);
    for role in ["publish", "publish-named"] {
        let said = run(nobody, role, &path);
        let folder = folder.path().display();
        assert_eq!(
            said,
            format!("{folder}: cannot write in this folder: Permission denied (os error 13)")
        );
    }
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["out"]);
    set_mode(folder.path(), 0o700);
}

#[test]
fn a_folder_that_may_be_written_but_not_listed_serves() {
    let Some(nobody) = as_nobody() else { return };
    let folder = open_folder();
    set_mode(folder.path(), 0o333);
    for role in ["publish", "publish-named"] {
        assert_eq!(run(nobody, role, &folder.path().join("out")), "ok");
    }
    set_mode(folder.path(), 0o700);
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn an_immutable_folder_or_file_is_found_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    fs::write(&path, "old").unwrap();
    for (at, flag) in [
        (folder.path(), "i"),
        (folder.path(), "a"),
        (&path, "i"),
        (&path, "a"),
    ] {
        let at = at.to_str().unwrap();
        if !did(&["chattr", &format!("+{flag}"), at]) {
            return;
        }
        let error = Output::open(Sink::file(&path)).map(drop);
        assert!(did(&["chattr", &format!("-{flag}"), at]));
        let error = error.unwrap_err();
        assert_eq!(
            error.source.kind(),
            io::ErrorKind::PermissionDenied,
            "{at} {flag}"
        );
        assert_eq!(error.path, Path::new(at));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["out"]);
    }
}

#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    let Some(nobody) = as_nobody() else { return };
    let folder = open_folder();
    let path = folder.path().join("out");
    fs::write(&path, "old").unwrap();
    set_mode(&path, 0o444);
    let said = run(nobody, "publish", &path);
    assert!(
        said.ends_with("out: cannot replace: Permission denied (os error 13)"),
        "{said}"
    );
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn anothers_file_in_a_sticky_folder_is_found_at_the_start() {
    let Some(nobody) = as_nobody().filter(|_| is_root()) else {
        return;
    };
    let folder = open_folder();
    set_mode(folder.path(), 0o1777);
    let path = folder.path().join("out");
    fs::write(&path, "old").unwrap();
    set_mode(&path, 0o666);
    let said = run(nobody, "publish", &path);
    assert!(
        said.ends_with("cannot replace: it is another user's, in a sticky folder"),
        "{said}"
    );
    assert_eq!(names(folder.path()), ["out"]);
    assert_eq!(run(nobody, "publish", &folder.path().join("new")), "ok");
}

#[test]
fn the_owner_is_kept_by_root() {
    if !is_root() {
        eprintln!("skipped: only root can give files away");
        return;
    }
    let folder = folder();
    let path = folder.path().join("out");
    for way in WAYS {
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::chown(&path, Some(NOBODY), Some(12345)).unwrap();
        set_mode(&path, 0o6751);
        publish(way(&path), b"new");
        let now = fs::metadata(&path).unwrap();
        assert_eq!(
            (now.uid(), now.gid(), now.mode() & 0o7777),
            (NOBODY, 12345, 0o6751)
        );
    }
}

#[test]
fn without_the_owner_the_set_id_bits_go() {
    let Some(nobody) = as_nobody().filter(|_| is_root()) else {
        return;
    };
    for role in ["publish", "publish-named"] {
        let folder = open_folder();
        let path = folder.path().join("out");
        fs::write(&path, "old").unwrap();
        set_mode(&path, 0o6772);
        assert_eq!(run(nobody, role, &path), "ok");
        let now = fs::metadata(&path).unwrap();
        assert_eq!(
            (now.uid(), now.gid(), now.mode() & 0o7777),
            (NOBODY, NOBODY, 0o722)
        );
    }
}

#[test]
fn a_mount_point_is_found_at_the_start() {
    let folder = folder();
    let path = folder.path().join("out");
    fs::write(&path, "old").unwrap();
    let mounted = [
        "unshare",
        "-m",
        "sh",
        "-c",
        "mount --bind \"$INORDER_TEST_PATH\" \"$INORDER_TEST_PATH\" && exec \"$@\"",
        "sh",
    ];
    if !is_root() || !works(&mounted[..2]) {
        return;
    }
    let said = run(&mounted, "publish", &path);
    assert!(
        said.ends_with("out: cannot replace: it is a mount point"),
        "{said}"
    );
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn a_full_disk_is_an_error_and_leaves_the_old_file() {
    let folder = folder();
    let script = "mount -t tmpfs -o size=${SIZE:-32k} none \"${INORDER_TEST_PATH%/*}\" || exit; \
        printf old > \"$INORDER_TEST_PATH\"; \"$@\"; ls -A \"${INORDER_TEST_PATH%/*}\" >&2; cat \"$INORDER_TEST_PATH\" >&2";
    if !is_root() || !works(&["unshare", "-m"]) {
        return;
    }
    for role in ["publish", "publish-named"] {
        let mounted = ["unshare", "-m", "sh", "-c", script, "sh"];
        let output = command(&mounted, role, &folder.path().join("out"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains("out: cannot write: No space left on device"),
            "{said}"
        );
        assert!(said.ends_with("\nout\nold"), "{said}");
    }
}

#[test]
fn a_file_size_limit_is_an_error_and_leaves_the_old_file() {
    let folder = folder();
    let path = folder.path().join("out");
    fs::write(&path, "old").unwrap();
    for role in ["publish", "publish-named"] {
        let said = run(
            &["sh", "-c", "trap '' XFSZ; ulimit -f 80; exec \"$@\"", "sh"],
            role,
            &path,
        );
        assert!(
            said.ends_with("out: cannot write: File too large (os error 27)"),
            "{said}"
        );
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["out"]);
    }
}

#[test]
fn standard_output_is_written_where_it_stands() {
    let folder = folder();
    let path = folder.path().join("out");
    fs::write(&path, "old ").unwrap();
    for (role, target) in [
        ("stdout", "/dev/null"),
        ("publish", "/dev/stdout"),
        ("publish", "/dev/fd/1"),
    ] {
        let file = fs::File::options().append(true).open(&path).unwrap();
        let status = command(&[], role, Path::new(target))
            .stdout(file)
            .status()
            .unwrap();
        assert!(status.success());
    }
    let got = fs::read(&path).unwrap();
    assert!(got.starts_with(b"old "));
    assert_eq!(
        got.iter().filter(|&&byte| byte == b'x').count(),
        3 * (64 << 10)
    );
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn standard_output_that_is_full_or_only_read_is_an_error() {
    let full = "cannot write: No space left on device (os error 28)";
    let only_read = "cannot open: it is not open for writing";
    for (role, name) in [
        ("stdout-to", "<stdout>"),
        ("named-stdout-to", "/dev/stdout"),
    ] {
        assert_eq!(
            run(&[], role, Path::new("/dev/full")),
            format!("{name}: {full}")
        );
        assert_eq!(
            run(&[], role, Path::new("/")),
            format!("{name}: {only_read}")
        );
    }
}

#[test]
fn a_failed_sync_is_final() {
    if !works(&["strace", "-qq", "-f", "-o", "/dev/null"]) {
        return;
    }
    for role in ["publish", "publish-named"] {
        let folder = folder();
        let (path, log) = (
            folder.path().join("out"),
            tempfile::NamedTempFile::new().unwrap(),
        );
        fs::write(&path, "old").unwrap();
        let inject = [
            "strace",
            "-qq",
            "-f",
            "-e",
            "trace=fsync,fdatasync",
            "-e",
            "inject=fsync,fdatasync:error=EIO",
            "-o",
        ];
        let words = [&inject[..], &[log.path().to_str().unwrap()]].concat();
        let said = run(&words, role, &path);
        assert!(
            said.ends_with("out: cannot sync: Input/output error (os error 5)"),
            "{said}"
        );
        assert_eq!(
            fs::read_to_string(log.path())
                .unwrap()
                .matches("INJECTED")
                .count(),
            1
        );
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["out"]);
    }
}

#[test]
fn a_step_of_publishing_that_fails_leaves_the_old_file() {
    if !works(&["strace", "-qq", "-f", "-o", "/dev/null"]) {
        return;
    }
    for call in ["linkat", "renameat,renameat2", "fchmod"] {
        let folder = folder();
        let path = folder.path().join("out");
        fs::write(&path, "old").unwrap();
        for error in ["EXDEV", "EBUSY", "EIO", "ENOSPC"] {
            let inject = format!("inject={call}:error={error}");
            let words = [
                "strace",
                "-qq",
                "-f",
                "-e",
                &format!("trace={call}"),
                "-e",
                &inject,
                "-o",
                "/dev/null",
            ];
            let said = run(&words, "publish", &path);
            assert_ne!(said, "ok", "{call} {error}");
            assert_eq!(fs::read(&path).unwrap(), b"old");
            assert_eq!(names(folder.path()), ["out"]);
        }
    }
}

#[test]
fn the_steps_of_publishing_come_in_order() {
    if !works(&["strace", "-qq", "-f", "-o", "/dev/null"]) {
        return;
    }
    for old in [false, true] {
        let folder = folder();
        let (path, log) = (
            folder.path().join("out"),
            tempfile::NamedTempFile::new().unwrap(),
        );
        if old {
            fs::write(&path, "old").unwrap();
        }
        let calls = [
            "fchmod",
            "fsync",
            "linkat",
            "renameat",
            "renameat2",
            "unlinkat",
        ];
        let traced = format!("trace={}", calls.join(","));
        let words = [
            "strace",
            "-qq",
            "-f",
            "-e",
            &traced,
            "-o",
            log.path().to_str().unwrap(),
        ];
        assert_eq!(run(&words, "publish", &path), "ok");
        let log = fs::read_to_string(log.path()).unwrap();
        let seen: Vec<&str> = log
            .lines()
            .filter_map(|line| line.split_whitespace().nth(1)?.split_once('('))
            .map(|(call, _)| call.trim_end_matches('2'))
            .collect();
        let wanted: &[&str] = match old {
            false => &["fchmod", "fsync", "linkat", "fsync"],
            true => &["fchmod", "fsync", "linkat", "renameat", "fsync"],
        };
        assert_eq!(seen, wanted, "{log}");
    }
}

#[test]
fn a_killed_run_leaves_at_most_what_the_next_removes() {
    let rounds = std::env::var("INORDER_KILLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20);
    for role in ["for-ever", "for-ever-named"] {
        let folder = folder();
        let path = folder.path().join("out");
        let mut left_names = 0;
        for round in 0..rounds {
            let mut child = command(&[], role, &path)
                .stderr(std::process::Stdio::null())
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap();
            thread::sleep(Duration::from_micros(5_000 + round * 977 % 20_000));
            child.kill().unwrap();
            child.wait().unwrap();
            let mut names = names(folder.path());
            names.retain(|name| name != "out");
            left_names += names.len();
            assert!(names.len() <= 1, "{names:?}");
            if path.exists() {
                let bytes = fs::read(&path).unwrap();
                assert!(bytes.len() == 64 << 10 && bytes.iter().all(|&byte| byte == b'x'));
            }
            drop(open(&path));
            assert!(super::names(folder.path()).iter().all(|name| name == "out"));
        }
        eprintln!("{role}: {left_names} hidden names left by {rounds} killed runs");
    }
}
