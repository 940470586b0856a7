//! Links, names that are odd or taken, and what happens to the target meanwhile.

use super::*;

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
