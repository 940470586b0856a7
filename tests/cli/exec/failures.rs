//! Commands that fail: rows D1, D2, D5, D10.

use std::time::{Duration, Instant};

use crate::testenv::{TestEnv, numbers};

#[test]
fn d1_a_command_that_is_not_there_or_cannot_be_run() {
    let env = TestEnv::new();
    env.write("plain", "#!/bin/sh\ncat\n");
    env.write("noexec", "cat\n");
    env.write("nointerpreter", "#!/no/such/interpreter\n");
    env.run("chmod +x noexec nointerpreter").quiet();
    for (command, status, text) in [
        ("no-such-command", 127, "no-such-command: command not found"),
        ("./no/such", 127, "./no/such: command not found"),
        ("./plain", 126, "./plain: command is not executable"),
        ("./data", 126, "./data: command is not executable"),
        ("./noexec", 126, "./noexec: command can't be started"),
        (
            "./nointerpreter",
            126,
            "./nointerpreter: command can't be started",
        ),
    ] {
        env.old_output();
        let ran = env.run(&format!("seq 3 | inorder exec -o o/out -- {command}"));
        ran.status(status).err_has(text);
        env.is_untouched(&ran);
    }
}

#[test]
fn d2_nothing_of_a_failed_attempt_is_in_the_result() {
    let env = TestEnv::new();
    env.write("in", numbers(10));
    let script = "head -c 2; echo so far so bad >&2; test $INORDER_RECORD != 5 || exit 3; cat";
    let ran = env.run(&format!("inorder exec -N 2 -j 3 in --shell '{script}'"));
    ran.status(1)
        .out("1\n2\n3\n4\n")
        .err_has("in: failed, one of 2 records or more, record 5 (line 5, byte 8): command exited 3 on records 5 to 6; it said: so far so bad");
}

#[test]
fn d2_a_failing_record_is_left_out_alone() {
    let env = TestEnv::new();
    env.write("in", numbers(20));
    env.run("inorder exec -N 8 -j 3 --on-error skip in -- awk '{ print; fflush() } $1 == 7 || $1 == 12 { exit 4 }'")
        .status(3)
        .out("1\n2\n3\n4\n5\n6\n8\n9\n10\n11\n13\n14\n15\n16\n17\n18\n19\n20\n")
        .err_has("in: skipped, record 7 (line 7, byte 12): command exited 4 on record 7")
        .err_has("in: skipped, record 12");
}

#[test]
fn d2_parts_of_a_mapped_chunk_reach_the_command_as_they_stand() {
    let env = TestEnv::new();
    // Larger than a pipe holds, with a header before each chunk and a part that begins anywhere in a page.
    env.write("in.csv", format!("n\n{}", numbers(400_000)));
    env.run("inorder exec -j 2 --chunk-size 1MiB --on-error skip in.csv -o out --header in -- awk 'NR == 1 { next } $1 == 77777 || $1 == 300000 { exit 4 } 1'")
        .status(3)
        .err_has("record 77777 (line 77778, byte 455552)")
        .err_has("record 300000");
    env.run("sed '1d; /^77777$/d; /^300000$/d' in.csv | cmp - out")
        .quiet();
}

#[test]
fn input_that_was_gone_for_a_moment_is_sent_when_it_is_back() {
    let env = TestEnv::new();
    let strace =
        "strace -qq -f -b execve -o trace -e trace=write -e inject=write:error=EFAULT:when=1";
    if !env.can("strace", &format!("{strace} true")) {
        return;
    }
    env.write("in", numbers(1000));
    // The first write is that to the command. Its pages were cut off a mapped file, say, that was then written anew.
    env.run(&format!("{strace} inorder exec -q --sequential --no-mmap in -o out -- cat && cmp in out && grep -q 'write.*INJECTED' trace"))
        .quiet();
}

#[test]
fn d10_ends_are_added_between_the_parts_of_a_halved_chunk_too() {
    let env = TestEnv::new();
    env.write("in", numbers(8));
    env.run("inorder exec -N 8 --on-error skip in --shell 'a=$(tr \"\\n\" ,); case $a in *3,*) exit 1;; esac; printf %s $a' 2> err")
        .status(3)
        .out("1,2,\n4,\n5,6,7,8,");
}

#[test]
fn d10_a_record_end_is_added_between_chunks_and_none_at_the_end() {
    let env = TestEnv::new();
    for options in ["", "--sequential", "-j 8"] {
        env.run(&format!(
            "seq 3 | inorder exec -N 1 {options} -- printf abc"
        ))
        .quiet()
        .out("abc\nabc\nabc");
        env.run(&format!(
            "seq 3 | inorder exec -N 1 {options} -- printf 'abc\\n'"
        ))
        .quiet()
        .out("abc\nabc\nabc\n");
    }
    // Behind a header that lacks its end, too.
    env.write("in.csv", "a\n1\n2\n");
    env.run("inorder exec -N 1 in.csv --shell 'tr -d \"\\n\"'")
        .quiet()
        .out("a\n1\n2");
}

#[test]
fn case_45_what_a_failed_attempt_printed_came_twice() {
    let env = TestEnv::new();
    env.write("in", "a\nb\nc\nd\ne\nf\n");
    let script = "read first; if [ $first = c ] && [ ! -e failed ]; then echo $first; echo partial; : > failed; exit 1; fi
         echo $first; cat";
    let run = |options: &str| {
        env.run(&format!(
            "inorder exec -N 2 -j 3 {options} in -o o/out --stats s.json --shell '{script}'"
        ))
    };
    env.old_output();
    run("--retries 2 --retry-delay 10ms").quiet();
    assert_eq!(env.read("o/out"), env.read("in"));
    let figures = env.json("s.json");
    assert_eq!(
        (&figures["retries"], &figures["skipped"]),
        (&1.into(), &0.into())
    );
    std::fs::remove_file(env.path("failed")).unwrap();
    env.old_output();
    let ran = run("--retries 0");
    ran.status(1).err_has("command exited 1 on records 3 to 4");
    env.is_untouched(&ran);
}

#[test]
fn retries_see_their_number() {
    let env = TestEnv::new();
    env.run("seq 4 | inorder exec -N 2 --retries 3 --retry-delay 1ms --shell 'test $INORDER_ATTEMPT = 3 && echo $INORDER_RECORD $INORDER_ATTEMPT'")
        .quiet()
        .out("1 3\n3 3\n");
}

#[test]
fn many_retries_of_a_few_failing_records_are_not_a_command_that_fails_on_everything() {
    let env = TestEnv::new();
    env.write("in", numbers(1000));
    let script = "awk '{ print } $1 == 1 || $1 == 2 || $1 == 500 { exit 3 }'";
    env.run(&format!(
        "inorder exec -N 200 -j 2 --retries 40 --retry-delay 0s --rejects bad in -o out -- {script}"
    ))
    .status(3);
    assert_eq!(env.read("bad"), b"1\n2\n500\n");
    let good: Vec<u8> = numbers(1000)
        .lines()
        .filter(|line| !["1", "2", "500"].contains(line))
        .flat_map(|line| [line.as_bytes(), b"\n"].concat())
        .collect();
    assert!(env.read("out") == good);
}

#[test]
fn failing_records_are_set_aside_with_what_the_command_said() {
    let env = TestEnv::new();
    env.write("in", numbers(20));
    env.run("inorder exec -N 8 -j 3 --rejects bad in -o out -- awk '$1 == 7 { print \"seven\" > \"/dev/stderr\"; exit 4 } { print }'")
        .status(3);
    assert_eq!(env.read("bad"), b"7\n");
    let row = String::from_utf8(env.read("bad.errors.ndjson")).unwrap();
    assert!(
        row.contains("\"kind\":\"command\"")
            && row.contains("exited 4 on record 7; it said: seven"),
        "{row}"
    );
}

#[test]
fn d5_a_command_that_hangs_is_ended() {
    let env = TestEnv::new();
    for (mode, script) in [
        (
            "-N 1",
            "read a; test $a = 2 && { trap \"\" TERM; sleep 1000; sleep 1000; }; echo $a",
        ),
        (
            "-N 1",
            "read a; test $a = 2 && { sleep 1000 & wait; }; echo $a",
        ),
        (
            "--persistent",
            "while read a; do test $a = 2 && { trap \"\" TERM; sleep 1000; }; echo $a; done",
        ),
    ] {
        let start = Instant::now();
        env.run(&format!(
            "seq 3 | inorder exec {mode} --timeout 300ms --on-error skip --shell '{script}'"
        ))
        .status(3)
        .out("1\n3\n")
        .err_has("skipped, record 2 (line 2, byte 2): command took longer than 300ms on record 2");
        assert!(start.elapsed() < Duration::from_secs(10));
    }
    env.write("in.csv", "a\n1\n");
    env.run("inorder exec --timeout 100ms in.csv -- sleep 1000")
        .status(1)
        .err_has("took longer than 100ms");
}
