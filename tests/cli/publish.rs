//! Output files, which appear whole or not at all: rows C1, C3, C6 to C9 and C11.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::testenv::{TestEnv, numbers};

#[cfg(target_os = "linux")]
#[test]
fn c1_a_full_disk_is_an_error_and_leaves_the_old_file() {
    let env = TestEnv::new();
    let mount = "mkdir -p disk && mount -t tmpfs -o size=64k none disk";
    if !env.can(
        "a file system of its own",
        &format!("unshare -rm bash -c '{mount}'"),
    ) {
        return;
    }
    env.write("big", numbers(160_000));
    env.write("small", "one\ntwo\nthree\n");
    let inside = |script: &str| {
        env.write(
            "inside",
            format!("set -e\n{mount}\necho old > disk/out\nset +e\n{script}"),
        );
        env.run("unshare -rm bash inside")
    };
    for options in ["", "--sequential", "--no-mmap", "-N 10 -j 5"] {
        let ran = inside(&format!(
            "inorder cat {options} big -o disk/out --stats s.json; echo $?; cat disk/out; ls -A disk"
        ));
        ran.out("1\nold\nout\n")
            .err_has("disk/out: cannot write: No space left on device");
        assert_eq!(env.json("s.json")["outcome"], "failed");
    }
    // The first byte already, and a new name.
    inside(
        "cat /dev/zero > disk/fill 2> /dev/null
         inorder cat small -o disk/out; echo $?; inorder cat small -o disk/new; echo $?; cat disk/out; ls -A disk",
    )
    .out("1\n1\nold\nfill\nout\n")
    .err_has("No space left on device");
    inside("inorder cat big > disk/out; echo $?")
        .out("1\n")
        .err_has("<stdout>: cannot write: No space left on device");
    // After room was made the same command works.
    inside(
        "mount -t tmpfs -o size=2m none disk; head -c 1900k /dev/zero > disk/fill
         inorder cat big -o disk/out 2> /dev/null; rm disk/fill
         inorder cat big -o disk/out && cmp big disk/out",
    )
    .quiet();
}

/// Runs `inorder cat` in strace, which makes calls fail, and says how many it was.
#[cfg(target_os = "linux")]
fn injected(env: &TestEnv, inject: &str, options: &str) -> (super::testenv::Ran, usize) {
    let calls = inject.split(':').next().unwrap();
    let ran = env.run(&format!(
        "strace -qq -f -o trace -e trace={calls} -e inject={inject} inorder cat {options}"
    ));
    let trace = String::from_utf8(env.read("trace")).unwrap();
    (ran, trace.matches("INJECTED").count())
}

#[cfg(target_os = "linux")]
const STRACE: &str = "strace -f -o /dev/null -e inject=fsync:error=EIO true";

/// Writes of records are gathered ones; what is said on standard error is not.
#[cfg(target_os = "linux")]
const WRITES: &str = "writev,pwritev,pwritev2,pwrite64,copy_file_range,sendfile";

#[cfg(target_os = "linux")]
#[test]
fn c1_c3_a_failing_write_is_an_error_and_leaves_the_old_file() {
    let env = TestEnv::new();
    if !env.can("strace", STRACE) {
        return;
    }
    env.old_output();
    for (error, text) in [
        ("ENOSPC", "No space left on device"),
        ("EDQUOT", "uota exceeded"),
        ("EFBIG", "File too large"),
        ("EIO", "Input/output error"),
    ] {
        for when in ["1+", "2+", "7+"] {
            let inject = format!("{WRITES}:error={error}:when={when}");
            let (ran, calls) = injected(&env, &inject, "-N 50 data/flights-sample.csv -o o/out");
            ran.status(1).err_has("o/out: cannot write").err_has(text);
            // Not tried again.
            assert_eq!(calls, 1, "{ran}");
            env.is_untouched(&ran);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn c1_a_failed_sync_is_final() {
    let env = TestEnv::new();
    if !env.can("strace", STRACE) {
        return;
    }
    env.old_output();
    for error in ["EIO", "ENOSPC", "EDQUOT"] {
        let inject = format!("fsync,fdatasync,sync_file_range,syncfs:error={error}");
        let (ran, calls) = injected(&env, &inject, "data/flights-sample.csv -o o/out");
        ran.status(1).err_has("o/out: cannot sync");
        assert_eq!(calls, 1, "{ran}");
        env.is_untouched(&ran);
    }
    for call in ["linkat", "renameat,renameat2,rename"] {
        let (ran, calls) = injected(
            &env,
            &format!("{call}:error=EIO"),
            "data/flights-sample.csv -o o/out",
        );
        if calls > 0 {
            ran.status(1).err_has("o/out: cannot replace");
            env.is_untouched(&ran);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn c3_interrupted_writes_are_carried_on() {
    let env = TestEnv::new();
    if !env.can("strace", STRACE) {
        return;
    }
    for way in ["", "--sequential", "--no-mmap"] {
        let inject = format!("{WRITES}:error=EINTR:when=1+2");
        let (ran, calls) = injected(
            &env,
            &inject,
            &format!("{way} -N 50 data/flights-sample.csv -o out"),
        );
        ran.quiet();
        assert!(calls > 0, "{ran}");
        assert_eq!(
            env.read("out"),
            env.read("data/flights-sample.csv"),
            "{ran}"
        );
    }
}

#[test]
fn c3_a_limit_on_the_size_of_files_is_an_error() {
    let env = TestEnv::new();
    env.old_output();
    env.write("in", numbers(160_000));
    // The system's signal for it ends a program that has not seen to it.
    for ignored in ["trap '' XFSZ; ", ""] {
        let ran = env.run(&format!("{ignored}ulimit -f 10; inorder cat in -o o/out"));
        ran.status(1).err_has("o/out: cannot write: File too large");
        env.is_untouched(&ran);
        env.run(&format!("{ignored}ulimit -f 10; inorder cat in > out"))
            .status(1)
            .err_has("<stdout>: cannot write: File too large");
        // What was written until then is the beginning.
        let written = env.read("out");
        assert!(!written.is_empty() && env.read("in").starts_with(&written));
    }
}

/// An input that is open for ever: a run that reads it before it looks at its output hangs.
const ENDLESS: &str = "rm -f f; mkfifo f; exec 9<> f;";

#[test]
fn c6_a_folder_that_is_missing_is_found_before_the_input_is_read() {
    let env = TestEnv::new();
    env.old_output();
    for (output, message) in [
        ("none/out", "none: cannot open this folder: No such file"),
        (
            "o/none/out",
            "o/none: cannot open this folder: No such file",
        ),
        ("o/out/out", "Not a directory"),
        ("o", "o: cannot open: Is a directory"),
        ("o/", "o/: cannot open: Is a directory"),
        (".", "Is a directory"),
    ] {
        let ran = env.run(&format!("{ENDLESS} inorder cat f --output={output}"));
        ran.status(1).out("").err_has(message);
        env.is_untouched(&ran);
    }
    assert_eq!(env.names("."), ["f", "o"]);
}

#[cfg(target_os = "linux")]
#[test]
fn c6_a_folder_that_may_not_be_written_is_found_before_the_input_is_read() {
    let env = TestEnv::new();
    env.old_output();
    if env.can(
        "chattr",
        "mkdir -p tried && chattr +i tried && chattr -i tried",
    ) {
        let ran = env.run(&format!(
            "{ENDLESS} chattr +i o; inorder cat f -o o/new; echo $?; inorder cat f -o o/out; echo $?; chattr -i o"
        ));
        ran.out("1\n1\n")
            .err_has("o: cannot write in this folder: Operation not permitted");
        env.is_untouched(&ran);
        let ran = env.run(&format!(
            "{ENDLESS} chattr +i o/out; inorder cat f -o o/out; echo $?; chattr -i o/out"
        ));
        ran.out("1\n")
            .err_has("o/out: cannot replace: Operation not permitted");
        env.is_untouched(&ran);
    }
    env.run("rm bin/inorder; chmod 711 .; chmod 666 o/out; chmod 555 o")
        .quiet();
    fs::copy(env!("CARGO_BIN_EXE_inorder"), env.path("bin/inorder")).unwrap();
    let user = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    let is_root = rustix::process::geteuid().is_root();
    if is_root && !env.can("another user", &format!("{user} inorder --version")) {
        return;
    }
    let user = if is_root { user } else { "" };
    for output in ["o/new", "o/out"] {
        let ran = env.run(&format!(
            "{ENDLESS} chmod 666 f; {user} inorder cat f -o {output}"
        ));
        ran.status(1)
            .err_has("o: cannot write in this folder: Permission denied");
        env.is_untouched(&ran);
    }
    env.run("chmod 755 o").quiet();
}

#[test]
fn c7_an_output_may_be_its_own_input() {
    let env = TestEnv::new();
    let want = env.read("data/flights-sample.csv");
    for options in ["", "--no-mmap", "--sequential", "--chunk-size 100 -j 5"] {
        for line in [
            "cat f -o f",
            "cat l -o f",
            "cat f -o l",
            "cat g -o f",
            "cat f -o g",
            "cat - -o f < f",
        ] {
            env.run(&format!(
                "cp data/flights-sample.csv f; rm -f g l; ln f g; ln -s f l; inorder {line} {options}"
            ))
            .quiet();
            for name in ["f", "g", "l"] {
                assert_eq!(env.read(name), want, "{line} {options}");
            }
        }
        env.run(&format!(
            "cp data/quoted.csv q; inorder cat --from csv q data/quoted.csv q -o q {options}"
        ))
        .quiet();
    }
    assert_eq!(env.names("."), ["f", "g", "l", "q"]);
}

#[test]
fn c8_a_link_stays_and_its_target_is_replaced() {
    let env = TestEnv::new();
    env.run(
        "mkdir d; echo old > d/real; ln -s d/real link; ln -s link link2; ln -s d/new dangling",
    )
    .quiet();
    for link in ["link", "link2", "dangling"] {
        env.run(&format!(
            "inorder cat data/quoted.csv -o {link} && test -L {link} && cmp data/quoted.csv {link}; rm d/*"
        ))
        .quiet();
    }
    env.run("ln -s loop loop; inorder cat data/quoted.csv -o loop")
        .status(1)
        .err_has("loop: cannot open: Too many levels of symbolic links");
    assert!(env.names("d").is_empty());
}

#[test]
fn c9_mode_and_owner_of_an_old_file_are_kept_and_new_ones_follow_the_umask() {
    let env = TestEnv::new();
    let mode = |name: &str| fs::metadata(env.path(name)).unwrap().permissions().mode() & 0o7777;
    for (umask, expected) in [
        ("077", 0o600),
        ("022", 0o644),
        ("000", 0o666),
        ("027", 0o640),
    ] {
        env.run(&format!(
            "umask {umask}; rm -f new; inorder cat data/quoted.csv -o new"
        ))
        .quiet();
        assert_eq!(mode("new"), expected, "{umask}");
        for old in ["600", "640", "755", "444", "666"] {
            let ran = env.run(&format!(
                "umask {umask}; echo old > old; chmod {old} old; inorder cat data/quoted.csv -o old"
            ));
            // What may not be written is not replaced, unless root does it.
            if ran.status == Some(0) {
                assert_eq!(env.read("old"), env.read("data/quoted.csv"), "{ran}");
            } else {
                assert_eq!(old, "444", "{ran}");
            }
            assert_eq!(mode("old"), u32::from_str_radix(old, 8).unwrap(), "{umask}");
            env.run("rm -f old").quiet();
        }
    }
    if env.can(
        "another owner",
        "echo old > owned && chown 65534:65533 owned && chmod 640 owned",
    ) {
        env.run("inorder cat data/quoted.csv -o owned").quiet();
        let owned = fs::metadata(env.path("owned")).unwrap();
        assert_eq!((owned.uid(), owned.gid()), (65534, 65533));
        assert_eq!(mode("owned"), 0o640);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn c11_the_temporary_file_has_no_name_or_stands_beside_the_target() {
    let env = TestEnv::new();
    fs::create_dir(env.path("o")).unwrap();
    fs::create_dir(env.path("tmp")).unwrap();
    let ran = env.run(
        "export TMPDIR=$PWD/tmp
         inorder cat --work sleep:1ms -j 4 data/flights-sample.csv -o o/out & run=$!
         until ls -l /proc/$run/fd 2> /dev/null | grep -q \"$PWD/o/\"; do sleep 0.01; done
         ls -A o tmp; wait $run",
    );
    ran.status(0).err("");
    for name in ran
        .out
        .lines()
        .filter(|line| !line.is_empty() && !line.ends_with(':'))
    {
        assert!(
            name.starts_with(".out.") && name.ends_with(".inorder"),
            "{ran}"
        );
    }
    assert_eq!(env.names("o"), ["out"]);
    env.run("TMPDIR=/nowhere inorder cat data/quoted.csv -o o/out && cmp data/quoted.csv o/out")
        .quiet();
}

#[test]
fn c11_a_killed_run_leaves_nothing_that_the_next_does_not_remove() {
    let env = TestEnv::new();
    fs::create_dir(env.path("o")).unwrap();
    // All moments, those of the end too: a whole run takes some 10 milliseconds.
    let ran = env.run(
        "for i in $(seq 0 39); do
           inorder cat data/flights-sample.csv -o o/out & run=$!
           sleep 0.0$(printf %02d $i); kill -9 $run; wait $run
           test ! -e o/out || cmp data/flights-sample.csv o/out || exit 1
           rm -f o/out
         done 2> /dev/null
         ls -A o",
    );
    ran.status(0);
    for name in ran.out.lines() {
        assert!(
            name.starts_with(".out.") && name.ends_with(".inorder"),
            "{ran}"
        );
    }
    env.run("inorder cat data/quoted.csv -o o/out").quiet();
    assert_eq!(env.names("o"), ["out"]);
}
