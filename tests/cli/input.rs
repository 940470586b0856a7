//! Inputs that are odd, missing, endless or badly named: rows A5 to A12 and A17.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use super::testenv::{TestEnv, numbers, round_trip};

/// Path filters are tried too: they decide which calls are made to fail.
const STRACE: &str = "strace -f -o /dev/null -P data -e inject=mmap:error=ENOMEM true";

#[test]
fn a5_a_fifo_a_pipe_or_a_substitution_is_read_as_a_stream() {
    let env = TestEnv::new();
    let text = numbers(3000);
    env.write("in", &text);
    for options in [
        "",
        "--chunk-size 1k -j 4",
        "--sequential",
        "--no-mmap",
        "--memory 64k",
    ] {
        for script in [
            "mkfifo -m 600 f; cat in > f & inorder cat {} f; rm f",
            "inorder cat {} <(cat in)",
            "cat in | inorder cat {} /dev/stdin",
            "cat in | inorder cat {}",
            "cat in | inorder cat {} -",
            "(sleep 0.05; cat in) | inorder cat {} -",
            "inorder cat {} < in",
        ] {
            env.run(&script.replace("{}", options)).quiet().out(&text);
        }
    }
    // One after another, as if they were one.
    env.run(
        "head -n 1000 in | inorder cat - <(tail -n +1001 in | head -n 1000) <(tail -n 1000 in)",
    )
    .quiet()
    .out(&text);
    env.run("inorder check <(cat in) | sed 's/.*: lines/lines/'")
        .quiet()
        .out("lines, 3,000 records, 3,000 lines, 13,893 bytes: no faults\n  ASCII text, lines end with LF; longest record 4 bytes\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a5_files_of_proc_are_not_empty() {
    let env = TestEnv::new();
    for name in ["/proc/filesystems", "/proc/version", "/proc/self/mountinfo"] {
        for options in ["", "--no-mmap", "--sequential"] {
            env.run(&format!(
                "cat {name} > want; inorder cat {options} {name} | cmp want -"
            ))
            .quiet();
        }
    }
    env.run("inorder cat /proc/cpuinfo | grep -c ^processor")
        .status(0);
}

#[cfg(target_os = "linux")]
#[test]
fn a6_what_can_not_be_mapped_is_read() {
    let env = TestEnv::new();
    if !env.can("strace", STRACE) {
        return;
    }
    let want = env.run("inorder check data/flights-sample.csv");
    for error in ["ENOMEM", "ENODEV", "EACCES"] {
        let strace = format!(
            "strace -qq -f -o trace -P \"$PWD/data/flights-sample.csv\" -e trace=mmap -e inject=mmap:error={error}"
        );
        env.run(&format!(
            "{strace} inorder cat data/flights-sample.csv -o out && cmp data/flights-sample.csv out"
        ))
        .status(0)
        .err_lacks("cannot");
        env.run("grep -c INJECTED trace").status(0);
        env.run(&format!("{strace} inorder check data/flights-sample.csv"))
            .status(0)
            .out(&want.bytes);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a7_a_read_error_is_named_and_not_tried_again() {
    let env = TestEnv::new();
    if !env.can("strace", STRACE) {
        return;
    }
    env.old_output();
    env.write("in", numbers(400_000));
    let ran = env.run(
        "strace -qq -f -o trace -P \"$PWD/in\" -e trace=read,pread64 -e inject=read,pread64:error=EIO:when=2 \
         inorder cat --no-mmap in -o o/out",
    );
    ran.status(1)
        .err_has("inorder: in: ")
        .err_has("Input/output error");
    env.is_untouched(&ran);
    env.run("grep -c INJECTED trace").out("1\n");
}

#[test]
fn a8_what_can_not_be_opened_is_found_before_there_is_output() {
    let env = TestEnv::new();
    env.old_output();
    for (inputs, message) in [
        ("nofile", "nofile: cannot be opened: No such file"),
        ("data", "data: cannot be opened: is a directory"),
        (
            "data/quoted.csv/x",
            "data/quoted.csv/x: cannot be opened: Not a directory",
        ),
        // The last of several, which would be read long after the first.
        (
            "data/quoted.csv data/quoted.csv nofile",
            "nofile: cannot be opened: No such file",
        ),
        (
            "data/quoted.csv data",
            "data: cannot be opened: is a directory",
        ),
    ] {
        for options in ["", "--no-mmap", "--sequential"] {
            let ran = env.run(&format!("inorder cat {options} {inputs} -o o/out"));
            ran.status(1).out("").err_has(message);
            env.is_untouched(&ran);
            env.run(&format!("inorder cat {options} {inputs}"))
                .status(1)
                .out("")
                .err_has(message);
        }
        env.run(&format!("inorder check {inputs}"))
            .status(1)
            .out("")
            .err_has(message);
    }
}

#[test]
fn a8_a_file_without_permission_is_named() {
    let env = TestEnv::new();
    // Root sees no modes: another user tries, if we can become one.
    let user = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    env.run("rm bin/inorder; chmod 711 .; mkdir o; chmod 777 o; cp data/quoted.csv secret; chmod 0 secret")
        .quiet();
    fs::copy(env!("CARGO_BIN_EXE_inorder"), env.path("bin/inorder")).unwrap();
    let as_user = if env.run("cat secret").status == Some(0) {
        if !env.can("another user", &format!("{user} inorder --version")) {
            return;
        }
        user
    } else {
        ""
    };
    let ran = env.run(&format!(
        "{as_user} inorder cat data/quoted.csv secret -o o/out"
    ));
    ran.status(1)
        .err_has("secret: cannot be opened: Permission denied");
    assert!(env.names("o").is_empty(), "{ran}");
}

#[test]
fn a9_empty_inputs_and_missing_ends_pass_as_they_are() {
    let env = TestEnv::new();
    for (bytes, records) in [
        ("", 0),
        ("\n", 1),
        ("\n\n\n", 3),
        ("\r\n", 1),
        ("a", 1),
        ("a\nb", 2),
        ("a\n\nb\n\n", 4),
    ] {
        env.write("in", bytes);
        for options in ["", "--chunk-size 1 -j 3", "--sequential", "--no-mmap"] {
            env.run(&format!(
                "for from in csv tsv ndjson nul; do
                   inorder cat {options} --from $from in | cmp in - || exit 1
                 done
                 inorder cat {options} < in | cmp in - &&
                 inorder cat {options} in -o out --stats s.json && cmp in out"
            ))
            .quiet();
            assert_eq!(
                env.json("s.json")["records"],
                records,
                "{options} {bytes:?}"
            );
        }
    }
    // Nothing is added between inputs either, but for the end that would glue two records.
    env.write("empty", "");
    env.write("a", "1\n2\n");
    env.write("b", "3");
    env.run("inorder cat empty a empty b empty")
        .quiet()
        .out("1\n2\n3");
    env.run("inorder cat b a").quiet().out("3\n1\n2\n");
}

#[test]
fn a10_a_record_without_end_ends_the_run_in_bounded_memory() {
    let env = TestEnv::new();
    env.old_output();
    env.run("truncate -s 1T sparse").status(0);
    let start = Instant::now();
    let endless = "tr '\\0' a < /dev/zero";
    for (script, place) in [
        ("inorder cat sparse -o o/out".to_string(), "sparse: "),
        (
            "inorder cat --on-error skip sparse -o o/out".to_string(),
            "sparse: ",
        ),
        (
            "inorder cat --from csv --max-record-size 1M sparse -o o/out".to_string(),
            "sparse: ",
        ),
        (
            "inorder cat --no-mmap sparse -o o/out".to_string(),
            "sparse: ",
        ),
        (
            "inorder cat --sequential sparse -o o/out".to_string(),
            "sparse: ",
        ),
        (format!("{endless} | inorder cat -o o/out"), "<stdin>: "),
        (
            format!("{endless} | inorder cat --from ndjson -o o/out"),
            "<stdin>: ",
        ),
    ] {
        let ran = env.run(&script);
        ran.status(1)
            .err_has(place)
            .err_has("record longer than 1")
            .err_has("MiB, record 1 (line 1, byte 0)");
        env.is_untouched(&ran);
    }
    let check = env.run("inorder check --json sparse");
    check.status(1).err_has("longer than 16MiB");
    assert_eq!(check.json()["complete"], false, "{check}");
    assert!(
        start.elapsed() < Duration::from_secs(40),
        "{:?}",
        start.elapsed()
    );
    if env.can("GNU time", "/usr/bin/time -f %M true") {
        let ran = env.run(&format!(
            "{endless} | /usr/bin/time -qf %M inorder cat -o o/out"
        ));
        let kib: u64 = ran.err.lines().last().unwrap().parse().unwrap();
        assert!(kib < 110 << 10, "{ran}");
    }
}

#[test]
fn a10_the_longest_record_allowed_can_be_set() {
    let env = TestEnv::new();
    env.write("in", "short\nexactly ten\nmore than eleven\nx\n");
    for options in ["", "-j 3 --chunk-size 1", "--sequential", "--no-mmap"] {
        env.run(&format!("inorder cat --max-record-size 12 {options} in"))
            .status(1)
            .out("short\nexactly ten\n")
            .err_has("in: record longer than 12")
            .err_has("record 3 (line 3, byte 18)");
    }
    env.run("inorder cat --max-record-size 100 in").quiet();
}

#[test]
fn a11_a_quote_that_is_never_closed_is_named_where_it_opened() {
    let env = TestEnv::new();
    env.old_output();
    let good = "id,note\n1,fine\n2,\"a \"\"quoted\"\" word\"\n";
    let bad = "3,\"never closed\n4,lost\n5,lost\n";
    env.write("in.csv", [good, bad].concat());
    for options in [
        "",
        "--chunk-size 1 -j 4",
        "--chunk-size 16",
        "--sequential",
        "--no-mmap",
    ] {
        let ran = env.run(&format!("inorder cat {options} in.csv -o o/out"));
        ran.status(1)
            .err_has("in.csv: malformed, record 3 (line 4, byte 37)")
            .err_has("the one that opens at byte 39 is never closed");
        env.is_untouched(&ran);
        // What went before it stands on standard output, and nothing of the rest.
        env.run(&format!("inorder cat {options} in.csv"))
            .status(1)
            .out(good);
        env.run(&format!("inorder cat {options} --on-error skip in.csv"))
            .status(3)
            .out(good)
            .err_has("in.csv: skipped, record 3 (line 4, byte 37)");
        env.run(&format!("inorder check {options} in.csv"))
            .status(3)
            .has("in.csv: record 3 (line 4, byte 37): ")
            .has("1 fault");
    }
    env.run("inorder cat --no-quoting in.csv | cmp in.csv -")
        .quiet();
}

#[test]
fn a12_odd_bytes_pass_at_every_chunk_size() {
    let env = TestEnv::new();
    let odd: &[u8] = b"\xef\xbb\xbfa,b\r\n1,2\r\r\n\r\n\n\r3,\"4\r\n\r\"\r5,\x00\xff\xfe\n\"\xc3\x28\",\"\"\"\"\r\n\x00\n,\r\
                       \x80\x00\xf0\x28\x8c\x28\t\"x\"y\n\r\n6,7";
    env.write("odd", odd);
    let sizes: Vec<u32> = (1..=7).chain([13, 16, 31, 64]).collect();
    for options in [
        "--from lines",
        "--from csv",
        "--from csv --no-header",
        "--from tsv",
        "--from nul",
        "--from ndjson",
        "--from csv -d \\t --quote x",
    ] {
        round_trip(&env, "odd", options, &sizes, &[3]);
        // The same records are counted, too.
        let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
        env.run(&format!(
            "inorder check --sequential --json {options} odd > want
             for size in {}; do
               inorder check --chunk-size $size -j 3 --json {options} odd | cmp want - || exit 1
             done",
            sizes.join(" ")
        ))
        .quiet();
    }
}

#[test]
fn a12_a_byte_order_mark_belongs_to_the_header() {
    let env = TestEnv::new();
    env.write("a.csv", b"\xef\xbb\xbfid,n\n1,x\n");
    env.write("b.csv", "id,n\n2,y\n");
    env.run("inorder cat a.csv b.csv")
        .quiet()
        .out(b"\xef\xbb\xbfid,n\n1,x\n2,y\n");
    env.run("inorder cat b.csv a.csv")
        .quiet()
        .out("id,n\n2,y\n1,x\n");
}

#[test]
fn a17_odd_names_work_and_are_shown_escaped() {
    let env = TestEnv::new();
    let bytes = std::ffi::OsStr::from_bytes;
    for (name, typed, shown) in [
        (&b"a\nb"[..], r"$'a\nb'", r"a\nb"),
        (b"\x1b[31mred", r"$'\e[31mred'", r"\x1B[31mred"),
        (b"caf\xe9", r"$'caf\xe9'", r"caf\xE9"),
        (b"-f", "-- -f", "-f"),
        (b"--output", "-- --output", "--output"),
        (b" ", "' '", " "),
        (b"\xc3\xa4.txt", r"$'\xc3\xa4.txt'", "ä.txt"),
    ] {
        env.write(bytes(name), "1,2\n3\n");
        env.run(&format!("inorder cat -o out {typed} && cmp out {typed}"))
            .quiet();
        env.run(&format!("inorder cat --work fail:1 {typed}"))
            .status(1)
            .err_has(&format!("inorder: {shown}: failed, record 1"));
        env.run(&format!("inorder check --from csv {typed}"))
            .status(3)
            .has(&format!("{shown}: record 1"));
        fs::remove_file(env.path(bytes(name))).unwrap();
        let ran = env.run(&format!("inorder cat {typed}"));
        ran.status(1)
            .err_has(&format!("inorder: {shown}: cannot be opened"));
        assert_eq!(ran.err.lines().count(), 1, "{ran}");
        // As an output.
        let typed = typed.trim_start_matches("-- ");
        env.run(&format!("inorder cat data/quoted.csv --output=./{typed}"))
            .quiet();
        assert_eq!(env.read(bytes(name)), env.read("data/quoted.csv"));
        fs::remove_file(env.path(bytes(name))).unwrap();
    }
}
