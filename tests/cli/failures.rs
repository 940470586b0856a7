//! Failing records: set aside, mended and run again, tried again, limited.

use serde_json::Value;

use crate::testenv::{TestEnv, numbers};

/// The rows of an errors file.
fn rows(env: &TestEnv, name: &str) -> Vec<Value> {
    let text = String::from_utf8(env.read(name)).unwrap();
    text.lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect()
}

#[test]
fn rejects_and_output_are_never_one_file() {
    let env = TestEnv::new();
    env.write("in", numbers(300));
    env.run("mkdir sub; ln -s sub link").quiet();
    for (output, rejects) in [
        ("out", "out"),
        ("out", "./out"),
        ("sub/out", "link/out"),
        ("out.errors.ndjson", "sub/../out"),
    ] {
        env.run(&format!(
            "inorder cat --work fail:3% in -o {output} --rejects {rejects}"
        ))
        .status(2)
        .err_has("--rejects would overwrite another file of this run");
    }
    assert_eq!(env.names("."), ["in", "link", "sub"]);
}

#[test]
fn rejects_are_the_failing_records_as_they_were() {
    let env = TestEnv::new();
    let mut csv = String::from("\u{feff}id,text\r\n");
    for n in 1..=3000 {
        let text = match n % 4 {
            0 => "\"two\nlines\"",
            1 => "",
            _ => "plain",
        };
        csv.push_str(&format!("{n},{text}\r\n"));
    }
    env.write("in.csv", csv.trim_end());
    for options in [
        "--sequential",
        "-j 3",
        "-j 4 --chunk-size 100 --no-mmap",
        "-j 2 -N 1",
    ] {
        env.run(&format!(
            "inorder cat --work fail:3% {options} in.csv -o out.csv --rejects bad.csv --stats s.json -q"
        ))
        .status(3)
        .err("");
        let stats = env.json("s.json");
        let count = |name: &str| stats[name].as_u64().unwrap();
        assert_eq!(count("records"), 3000);
        assert_eq!(count("processed") + count("rejected"), 3000);
        assert_eq!(count("skipped"), 0);
        let rows = rows(&env, "bad.csv.errors.ndjson");
        assert_eq!(rows.len() as u64, count("rejected"));
        assert!(rows.len() > 50);
        // What stands at the places that the rows name, one after another.
        let input = env.read("in.csv");
        let mut expected = b"id,text\r\n".to_vec();
        for row in &rows {
            assert_eq!(row["input"], "in.csv");
            assert_eq!(row["kind"], "work");
            assert_eq!(row["attempts"], 1);
            let start = row["offset"].as_u64().unwrap() as usize;
            let line = 1 + input[..start].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(row["line"], line);
            let id = format!("{},", row["record"]);
            assert!(input[start..].starts_with(id.as_bytes()), "{row}");
            let end = input[start..]
                .windows(2)
                .position(|pair| pair == b"\r\n")
                .map_or(input.len(), |end| start + end + 2);
            expected.extend_from_slice(&input[start..end]);
        }
        assert_eq!(env.read("bad.csv"), expected, "{options}");
    }
    assert_eq!(
        env.names("."),
        [
            "bad.csv",
            "bad.csv.errors.ndjson",
            "in.csv",
            "out.csv",
            "s.json"
        ]
    );
}

#[test]
fn rejects_can_be_run_again() {
    let env = TestEnv::new();
    env.write("in", numbers(2000));
    env.run("inorder cat --work fail:2% in -o good --rejects bad -q")
        .status(3);
    // Another number, another fate: some fail again.
    env.run("inorder cat --work none bad -o mended --rejects worse")
        .quiet();
    env.run("sort -n good mended | cmp - in").quiet();
    assert_eq!(env.read("worse"), b"");
    assert_eq!(env.read("worse.errors.ndjson"), b"");
}

#[test]
fn rejects_are_kept_when_the_run_fails() {
    let env = TestEnv::new();
    env.write("in", numbers(2000));
    env.write("bad", "old");
    env.write("bad.errors.ndjson", "old");
    for threads in [1, 2, 4] {
        for options in ["", "--sequential", "--chunk-size 10"] {
            env.old_output();
            let ran = env.run(&format!(
                "inorder cat --work fail:5% -j {threads} {options} --max-errors 7 in -o o/out --rejects bad"
            ));
            ran.status(1)
                .err_has("in: failed, and more than 7 records have, record 141 (line 141, byte ")
                .err_has("7 rejected");
            env.is_untouched(&ran);
            let bad = env.read("bad");
            assert_eq!(
                bad.iter().filter(|byte| **byte == b'\n').count(),
                7,
                "{ran}"
            );
            assert_eq!(rows(&env, "bad.errors.ndjson").len(), 7);
        }
    }
    // A run that cannot begin has no rejects.
    env.run("inorder cat missing -o o/out --rejects bad")
        .status(1);
    assert_eq!(rows(&env, "bad.errors.ndjson").len(), 7);
}

#[test]
fn rejects_are_published_with_the_mode_of_new_files() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new();
    env.write("in", numbers(1000));
    env.run("umask 022; inorder cat --work fail:5% in -o out --rejects bad -q")
        .status(3);
    for name in ["bad", "bad.errors.ndjson", "out"] {
        let mode = env.path(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "{name}");
    }
}

#[test]
fn rejects_that_would_overwrite_something_are_refused() {
    let env = TestEnv::new();
    env.write("in", numbers(9));
    env.write("in.errors.ndjson", "x\n");
    env.run("ln -s in link; mkfifo pipe").quiet();
    for options in [
        "in -o out --rejects in",
        "in -o out --rejects link",
        "in.errors.ndjson -o out --rejects in",
        "in -o out --rejects out",
        "in -o bad.errors.ndjson --rejects bad",
        "in -o out --rejects -",
        "in -o out --rejects pipe",
        "in -o out --rejects /dev/null",
        "in -o out --rejects .",
        "in -o out --on-error reject",
        "in -o out --on-error skip --rejects bad",
    ] {
        env.run(&format!("inorder cat {options}"))
            .status(2)
            .err_has("--rejects");
    }
    assert_eq!(env.read("in"), numbers(9).as_bytes());
    let ran = env.run("inorder cat in -o out --rejects missing/bad");
    ran.status(1).err_has("missing: cannot open this folder");
    assert!(!env.path("out").exists());
}

#[test]
fn rejects_of_several_inputs_have_one_header_and_all_ends() {
    let env = TestEnv::new();
    env.write("a.csv", "h\n1");
    env.write("b.csv", "h\n2\n3");
    env.run("inorder cat --work fail:100% a.csv b.csv --rejects bad.csv -q")
        .status(3)
        .out("h\n");
    assert_eq!(env.read("bad.csv"), b"h\n1\n2\n3");
    let places: Vec<String> = rows(&env, "bad.csv.errors.ndjson")
        .iter()
        .map(|row| {
            format!(
                "{} {} {} {}",
                row["input"], row["record"], row["line"], row["offset"]
            )
        })
        .collect();
    assert_eq!(
        places,
        ["\"a.csv\" 1 2 2", "\"b.csv\" 1 2 2", "\"b.csv\" 2 3 4"]
    );
}

#[test]
fn a_quote_that_is_never_closed_is_set_aside() {
    let env = TestEnv::new();
    env.write("in.csv", "a,b\n1,2\n3,\"4\n5,6\n");
    env.run("inorder cat in.csv --rejects bad.csv -q")
        .status(3)
        .out("a,b\n1,2\n");
    assert_eq!(env.read("bad.csv"), b"a,b\n3,\"4\n5,6\n");
    let rows = rows(&env, "bad.csv.errors.ndjson");
    assert_eq!(
        (&rows[0]["kind"], &rows[0]["record"]),
        (&"parse".into(), &2.into())
    );
}

#[test]
fn retries_are_counted_and_what_failed_at_first_comes_in_its_place() {
    let env = TestEnv::new();
    env.write("in", numbers(1000));
    for options in ["-j 3", "--sequential", "-j 2 -N 1"] {
        let ran = env.run(&format!(
            "inorder cat --work fail:10% --retries 9 --retry-delay 1ms {options} in --stats s.json"
        ));
        ran.status(0).out(numbers(1000));
        let stats = env.json("s.json");
        let retries = stats["retries"].as_u64().unwrap();
        assert!((60..200).contains(&retries), "{ran}");
        assert_eq!(stats["skipped"], 0);
    }
    let ran = env.run("inorder cat --work fail:100% --retries 2 --retry-delay 1ms in");
    ran.status(1)
        .err_has("in: failed after 3 attempts, record 1 (line 1, byte 0): drawn by --work fail");
    let ran = env
        .run("inorder cat --work fail:100% --retries 2 --retry-delay 0 --limit 5 in --rejects bad");
    ran.status(3).err_has("5 records, 5 rejected, 10 retries");
    assert!(
        rows(&env, "bad.errors.ndjson")
            .iter()
            .all(|row| row["attempts"] == 3)
    );
}

#[test]
fn max_errors_counts_in_order() {
    let env = TestEnv::new();
    env.write("in", numbers(5000));
    let mut last = None;
    for threads in [1, 3, 8] {
        for most in [0, 3] {
            let ran = env.run(&format!(
                "inorder cat --work fail:1%,sleep:1us..100us -j {threads} --on-error skip --max-errors {most} in"
            ));
            ran.status(1);
            let end = (most, ran.out.clone());
            if most == 0 {
                ran.err_has("in: failed, record 141 (line 141, byte 452): drawn");
            }
            if most == 3 && last.is_some() {
                assert_eq!(last, Some(end));
            } else if most == 3 {
                last = Some(end);
            }
        }
    }
    env.run("inorder cat --work fail:1% --on-error skip --max-errors 1000 in -q")
        .status(3);
}
