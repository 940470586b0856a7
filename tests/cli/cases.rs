//! Cases that were reported for other tools, by number: what went wrong there must not go wrong here.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::testenv::{TestEnv, numbers, round_trip};

/// How often a run is repeated whose fault would show only now and then; `INORDER_CASES` sets it.
fn repetitions() -> usize {
    let typed = std::env::var("INORDER_CASES")
        .ok()
        .and_then(|text| text.parse().ok());
    typed.map_or(2, |cases: usize| cases.min(200))
}

#[test]
fn case_01_many_workers_mixed_up_the_middle_of_lines() {
    let env = TestEnv::new();
    let mut random: u64 = 7;
    let mut lines = Vec::new();
    for line in 1..=12_000u64 {
        random = random * 16_807 % 2_147_483_647;
        let word = (0..random % 331).map(|at| char::from(b'a' + ((line * 31 + at * 7) % 26) as u8));
        lines.push(format!("r{line} {}", word.collect::<String>()));
    }
    let text = lines.join("\n");
    assert_eq!(text.len(), 2_061_683);
    env.write("in", &text);
    for size in ["1k", "4k", "64k", "32214"] {
        env.run(&format!(
            "for i in $(seq {}); do
               inorder cat -j 64 --chunk-size {size} in -o out --stats s.json && cmp in out || exit 1
             done",
            repetitions()
        ))
        .quiet();
        let figures = env.json("s.json");
        assert_eq!(
            (&figures["records"], &figures["processed"]),
            (&12_000.into(), &12_000.into())
        );
    }
}

#[test]
fn case_02_tiny_chunks_behind_a_header_lost_a_byte() {
    let env = TestEnv::new();
    env.write("in", format!("n\n{}", numbers(10)));
    let sizes: Vec<u32> = (1..=30).collect();
    for from in ["lines", "csv"] {
        round_trip(&env, "in", &format!("--from {from}"), &sizes, &[4]);
    }
}

#[test]
fn case_04_the_last_record_without_a_newline_was_lost() {
    let env = TestEnv::new();
    env.write("in", "alpha\nbeta\nIt came through");
    let sizes: Vec<u32> = (1..=40).step_by(2).collect();
    for from in ["lines", "csv"] {
        round_trip(&env, "in", &format!("--from {from}"), &sizes, &[2]);
    }
    env.run("inorder cat -o out --stats s.json < in && cmp in out")
        .quiet();
    assert_eq!(env.json("s.json")["records"], 3);
}

#[test]
fn case_05_an_empty_input_was_taken_for_none() {
    let env = TestEnv::new();
    env.write("in", "");
    for options in [
        "",
        "--from csv",
        "--from ndjson",
        "--no-mmap",
        "--sequential",
    ] {
        let start = Instant::now();
        // Standard input never ends: it is not touched when a file is named.
        env.run(&format!(
            "rm -f f; mkfifo f; exec 9<> f; inorder cat {options} in -o out --stats s.json < f && test -e out"
        ))
        .status(0);
        assert!(start.elapsed() < Duration::from_secs(5));
        assert_eq!(env.read("out"), b"");
        let figures = env.json("s.json");
        assert_eq!(
            (&figures["records"], &figures["chunks"]),
            (&0.into(), &0.into()),
            "{figures:#}"
        );
        env.run(&format!("inorder cat {options} < in"))
            .status(0)
            .out("");
        env.run(&format!("inorder check {options} in"))
            .status(0)
            .has("0 records");
    }
}

#[test]
fn case_09_a_newline_in_the_quotes_of_every_row() {
    let env = TestEnv::new();
    env.write("in", "\"xxxxxxxx\nyyyyyyyy\"\r\n".repeat(512));
    round_trip(
        &env,
        "in",
        "--from csv --no-header",
        &[1, 7, 16, 22, 23, 64, 1000],
        &[1, 2, 8],
    );
    env.run("inorder check --from csv --no-header --chunk-size 7 -j 8 in")
        .quiet()
        .has("512 records of 1 field, 1,024 lines");
}

#[test]
fn case_11_a_quoted_crlf_across_a_border_lost_a_byte() {
    let env = TestEnv::new();
    let rows = (0..96).map(|row| format!("{row},\"{}A\r\nB\",x\n", "z".repeat(row)));
    env.write("in", format!("id,s,p\n{}", rows.collect::<String>()));
    round_trip(
        &env,
        "in",
        "--from csv",
        &[16, 17, 31, 32, 64, 100],
        &[1, 4],
    );
    env.run("inorder check --from csv --chunk-size 17 -j 4 in")
        .quiet()
        .has("96 records of 3 fields, 193 lines");
}

#[test]
fn case_14_an_unclosed_quote_swallowed_the_rest_without_a_word() {
    let env = TestEnv::new();
    env.write(
        "in.csv",
        "id,name,qty\n1,\"Ann\",4\n2,\"Bob,7\n3,Cid,1\n4,Dee,2\n",
    );
    env.run("inorder cat --chunk-size 16 -j 4 in.csv -o out")
        .status(1)
        .err_has("line 3");
    assert_eq!(env.names("."), ["in.csv"]);
    env.run("inorder cat --chunk-size 16 -j 4 --on-error skip in.csv -o out")
        .status(3)
        .err_has("line 3");
    assert_eq!(env.read("out"), b"id,name,qty\n1,\"Ann\",4\n");
    env.run("inorder check in.csv")
        .status(3)
        .has("record 2 (line 3, byte 22)");
}

#[test]
fn case_17_inch_marks_in_unquoted_fields_were_taken_for_quotes() {
    let env = TestEnv::new();
    env.write(
        "in",
        "id,size\n1,20\" x 30\"\n2,5\" disk\n3,plain\n4,\"quoted, 3\"\" pipe\"\n",
    );
    let sizes: Vec<u32> = (1..=60).step_by(3).collect();
    round_trip(&env, "in", "--from csv", &sizes, &[3]);
    for options in ["--chunk-size 1", "-N 1 -j 4", "--sequential"] {
        env.run(&format!("inorder check --from csv {options} in"))
            .quiet()
            .has("4 records of 2 fields");
    }
}

#[test]
fn case_18_text_after_a_closing_quote_moved_the_end_of_the_record() {
    let env = TestEnv::new();
    env.write(
        "in",
        "\"code\"|\"text\"\n\"k1\"|\"one\ntwo\"\n\"k2\"|\"say \"hi\"\nnow\"\n\"k3\"|\"end\"\n",
    );
    let sizes: Vec<u32> = (1..=70).step_by(3).collect();
    round_trip(&env, "in", "--from csv -d '|'", &sizes, &[1, 4]);
    // The header and four records: `now"` is one of its own, of one field, on line 5.
    for options in ["", "--sequential", "--chunk-size 1 -j 4", "--chunk-size 20"] {
        let ran = env.run(&format!("inorder check --from csv -d '|' {options} in"));
        ran.status(3)
            .has("in: record 3 (line 5, ")
            .has("csv, 4 records of 2 fields, 6 lines, 60 bytes: 1 fault");
    }
}

#[test]
fn case_19_a_file_of_carriage_returns_had_no_rows() {
    let env = TestEnv::new();
    env.write("in.csv", "name,age\rann,30\rbob,40\r");
    for options in ["", "--chunk-size 8", "--sequential"] {
        env.run(&format!(
            "inorder cat {options} in.csv -o out && cmp in.csv out"
        ))
        .quiet();
        env.run(&format!("inorder check {options} in.csv"))
            .quiet()
            .has("2 records of 2 fields");
        // For lines it is one, and that is said.
        env.run(&format!(
            "inorder cat {options} --from lines in.csv -o out && cmp in.csv out"
        ))
        .status(0)
        .err_has("carriage returns");
    }
}

#[test]
fn case_21_blank_lines_were_counted_in_two_ways() {
    let env = TestEnv::new();
    env.write("in.csv", "a,b\n1,2\n\n3,4\n\n");
    let sizes: Vec<u32> = (1..=20).collect();
    round_trip(&env, "in.csv", "", &sizes, &[1, 4]);
    for options in [
        "",
        "--sequential",
        "--chunk-size 1 -j 4",
        "--no-mmap --chunk-size 5",
        "-N 1",
    ] {
        let ran = env.run(&format!("inorder check --json {options} in.csv"));
        ran.status(0);
        assert_eq!(
            (&ran.json()["records"], &ran.json()["lines"]),
            (&2.into(), &5.into()),
            "{ran}"
        );
    }
    // A fault in the second is on line 4.
    env.write("bad.csv", "a,b\n1,2\n\n3,4,5\n\n");
    env.run("inorder check --chunk-size 1 bad.csv")
        .status(3)
        .has("record 2 (line 4, byte 9)");
}

#[test]
fn case_23_a_header_without_rows_was_an_error() {
    let env = TestEnv::new();
    for bytes in ["x,y,z\n", "x,y,z", "\n"] {
        env.write("in.csv", bytes);
        for options in ["-j 4", "--sequential", "--chunk-size 1", "--no-mmap"] {
            env.run(&format!(
                "inorder cat {options} in.csv -o out --stats s.json && cmp in.csv out"
            ))
            .quiet();
            assert_eq!(env.json("s.json")["records"], 0);
            env.run(&format!("inorder check {options} in.csv"))
                .quiet()
                .has("0 records");
        }
    }
}

#[test]
fn case_24_ragged_rows_stopped_the_run_or_took_their_neighbours_along() {
    let env = TestEnv::new();
    env.write("in.csv", "a,b,c\n1,2,3\n4,5\n6,7,8\n9,10,11,12\n13,14,15\n");
    round_trip(&env, "in.csv", "", &[8], &[4]);
    let ran = env.run("inorder check --chunk-size 8 -j 4 in.csv");
    ran.status(3)
        .has("in.csv: record 2 (line 3, ")
        .has("in.csv: record 4 (line 5, ")
        .has("5 records of 3 fields, 6 lines, 42 bytes: 2 faults");
}

#[test]
fn case_26_a_header_over_two_lines_was_cut() {
    let env = TestEnv::new();
    env.write("in.csv", "\"id\",\"long\nname\"\n1,a\n2,b\n3,c\n");
    round_trip(&env, "in.csv", "-N 1", &[1, 10, 1000], &[4]);
    env.run("inorder cat in.csv in.csv")
        .quiet()
        .out("\"id\",\"long\nname\"\n1,a\n2,b\n3,c\n1,a\n2,b\n3,c\n");
    env.run("inorder cat --no-output-header in.csv")
        .quiet()
        .out("1,a\n2,b\n3,c\n");
    env.run("inorder check in.csv")
        .quiet()
        .has("3 records of 2 fields");
}

#[cfg(target_os = "linux")]
#[test]
fn case_47_progress_got_into_the_data_and_the_log() {
    let env = TestEnv::new();
    let rows: String = (1..=2000).map(|row| format!("row {row}\n")).collect();
    env.write("in", &rows);
    let work = "--work sleep:1ms -j 8";
    env.run(&format!(
        "inorder cat {work} in > out 2> err; cmp in out && cmp err /dev/null"
    ))
    .quiet();
    env.run(&format!(
        "inorder cat {work} --progress always in > out 2> err; cmp in out"
    ))
    .quiet();
    assert!(!env.read("err").contains(&0x1b) && !env.read("err").contains(&b'\r'));
    if env.can("script", "script -qec true /dev/null") {
        env.run("gzip -k in").quiet();
        // Of a compressed file, its own size counts.
        for (input, total) in [("in", "100% of 16.89 kB"), ("in.gz", "100% of 4.")] {
            env.run(&format!(
                "script -qec 'inorder cat {work} {input} > out' /dev/null; cmp in out"
            ))
            .status(0)
            .has(total);
        }
    }
}

#[test]
fn case_48_an_interrupt_left_half_a_file_under_the_final_name() {
    let env = TestEnv::new();
    env.write("in", numbers(300_000));
    std::fs::create_dir(env.path("tmp")).unwrap();
    for (signal, output) in [
        (Signal::INT, "o/out"),
        (Signal::INT, "o/new"),
        (Signal::TERM, "o/out"),
        (Signal::HUP, "o/new"),
    ] {
        env.old_output();
        let mut child = env
            .program(["cat", "--work", "sleep:1ms", "in", "-o", output])
            .env("TMPDIR", env.path("tmp"))
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(300));
        kill_process(Pid::from_child(&child), signal).unwrap();
        let start = Instant::now();
        let status = child.wait().unwrap();
        assert!(start.elapsed() < Duration::from_secs(2), "{signal:?}");
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(status.signal(), Some(signal.as_raw()), "{status:?}");
        assert_eq!(env.read("o/out"), b"old");
        // Where files without a name can't be made a hidden one is left, for the next run to remove.
        let left = env.names("o");
        assert!(
            left.iter()
                .all(|name| name == "out" || name.ends_with(".inorder")),
            "{left:?}"
        );
        assert!(env.names("tmp").is_empty());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn case_51_inputs_that_say_they_are_empty_were_taken_as_such() {
    let env = TestEnv::new();
    let lines: String = (1..=3000).map(|line| format!("line {line}\n")).collect();
    env.write("in", &lines);
    let cat = "inorder cat --chunk-size 1k -j 4";
    env.run(&format!(
        "mkfifo f; cat in > f & {cat} f -o out && cmp in out"
    ))
    .quiet();
    env.run(&format!("{cat} <(cat in) -o out && cmp in out"))
        .quiet();
    env.run(&format!("cat in | {cat} /dev/stdin -o out && cmp in out"))
        .quiet();
    env.run(&format!(
        "cat /proc/filesystems > want; {cat} /proc/filesystems -o out && cmp want out"
    ))
    .quiet();
}

#[cfg(target_os = "linux")]
#[test]
fn case_52_a_full_disk_was_not_noticed_by_a_small_output() {
    let env = TestEnv::new();
    env.write("in", "one\ntwo\nthree\n");
    for target in ["> /dev/full", "-o /dev/full", "-o /dev/stdout > /dev/full"] {
        let ran = env.run(&format!("inorder cat in {target}"));
        ran.status(1);
        assert_eq!(
            ran.err.matches("No space left on device").count(),
            1,
            "{ran}"
        );
    }
}

#[test]
fn case_54_a_device_as_output_was_replaced_by_a_file() {
    let env = TestEnv::new();
    env.write("in", "one\ntwo\n");
    env.run("inorder cat in -o /dev/null && test -c /dev/null")
        .quiet();
    env.run("inorder cat in -o /dev/stdout | cmp in -").quiet();
    env.run("mkfifo f; cat f > got & inorder cat in -o f && wait && test -p f && cmp in got")
        .quiet();
    env.run("inorder cat in -o /dev/fd/3 3> got && cmp in got")
        .quiet();
}

#[cfg(target_os = "linux")]
#[test]
fn case_55_an_output_that_can_not_be_replaced_was_found_after_the_work() {
    let env = TestEnv::new();
    env.old_output();
    env.run("mkfifo f; echo mounted > m").quiet();
    env.write(
        "inside",
        "mount --bind m o/out && exec 9<> f && inorder cat f -o o/out",
    );
    if !env.can("a bind mount", "unshare -rm mount --bind m o/out") {
        return;
    }
    let ran = env.run("unshare -rm bash inside");
    ran.status(1)
        .err_has("o/out: cannot replace: it is a mount point");
    env.is_untouched(&ran);
    assert_eq!(env.read("m"), b"mounted\n");
}

#[cfg(target_os = "linux")]
#[test]
fn case_56_a_live_log_was_cut_in_the_run() {
    let env = TestEnv::new();
    let line = |number| format!("{number:0>200}\n");
    let text: String = (1..=1500).map(line).collect();
    for (change, status) in [
        ("truncate -s 10 in", 1),
        ("(seq 100000; printf half) >> in", 0),
        ("echo new > new; mv new in", 0),
    ] {
        env.write("in", &text);
        let ran = env.run(&format!(
            "rm -f out; inorder cat --work sleep:1ms -j 3 in -o out & run=$!
             until ls -l /proc/$run/fd 2> /dev/null | grep -q '/in$' || ! kill -0 $run; do sleep 0.01; done
             sleep 0.1; {change}; wait $run"
        ));
        ran.status(status);
        if status == 0 {
            assert!(env.read("out") == text.as_bytes(), "{ran}");
        } else {
            ran.err_has("in: input shrank");
            assert_eq!(env.names("."), ["in"], "{ran}");
        }
    }
}
