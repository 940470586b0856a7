//! `--persistent`: processes that live on, their answers, their deaths.

use std::time::{Duration, Instant};

use crate::testenv::{TestEnv, numbers};

/// Answers each line with itself, as `sed -u ''` does, in every shell.
const ECHO: &str = "while IFS= read -r a; do echo \"$a\"; done";

#[test]
fn each_record_has_its_answer() {
    let env = TestEnv::new();
    env.write("in", numbers(5000));
    for options in [
        "",
        "-j 1",
        "-j 7",
        "-N 3",
        "--recycle 100",
        "--sequential",
        "--chunk-size 1k",
    ] {
        env.run(&format!(
            "inorder exec --persistent {options} in --shell '{ECHO}'"
        ))
        .quiet()
        .out(numbers(5000));
    }
    // The last record gets the end that it needs.
    env.run("printf 'a\nb' | inorder exec --persistent -- sed -u s/b/c/")
        .quiet()
        .out("a\nc\n");
    env.run("printf 'a\\0b\n\\0' | inorder exec --persistent --from nul --shell 'xargs -0 -n 1 printf \"%s|\\\\0\"' | tr '\\0' .")
        .quiet()
        .out("a|.b\n|.");
}

#[test]
fn a_process_is_started_once_for_each_worker() {
    let env = TestEnv::new();
    env.write("in", numbers(3000));
    let start = Instant::now();
    env.run(&format!("inorder exec --persistent -j 2 in --shell 'echo $INORDER_WORKER >> started; sleep 0.5; {ECHO}'"))
        .quiet()
        .out(numbers(3000));
    assert!(start.elapsed() < Duration::from_secs(5));
    env.run("sort started").out("0\n1\n");
    env.run("rm started; inorder exec --persistent --recycle 1000 -j 1 in --shell 'echo x >> started; exec sed -u p\\;d' | wc -l; wc -l < started")
        .out("3000\n3\n");
}

#[test]
fn a_header_is_sent_first_and_answered() {
    let env = TestEnv::new();
    let csv = env.read("data/flights-sample.csv");
    let flights = "--persistent -j 3 data/flights-sample.csv";
    env.run(&format!("inorder exec {flights} -- sed -u ''"))
        .quiet()
        .out(&csv);
    env.run(&format!(
        "inorder exec {flights} --recycle 100 -- sed -u ''"
    ))
    .quiet()
    .out(&csv);
    env.run(&format!(
        "inorder exec {flights} --header keep -- sed -u ''"
    ))
    .quiet()
    .out(&csv);
    env.run(&format!("inorder exec {flights} --header in -- sed -u 1d > out; tail -n +2 data/flights-sample.csv | cmp - out"))
        .quiet();
    env.run(&format!(
        "inorder exec {flights} --recycle 100 --shell 'read h; echo $h,$$; exec sed -u p\\;d'"
    ))
    .status(1)
    .err_has("a process of the command answers the header with");
    env.run(&format!(
        "inorder exec {flights} --shell 'echo no >&2; exit 4'"
    ))
    .status(1)
    .err_has("exited 4 without an answer and said: no");
}

#[test]
fn answers_of_csv_may_span_lines() {
    let env = TestEnv::new();
    let mut text = "id,text\n".to_owned();
    for id in 1..=300 {
        text.push_str(&format!("{id},\"first\nsecond, {id}\"\n"));
    }
    env.write("in.csv", &text);
    // `sed` answers line by line, and two lines are one answer.
    env.run("inorder exec --persistent -j 3 in.csv -- sed -u ''")
        .quiet()
        .out(&text);
    env.run("inorder exec --persistent -j 2 --header none --to lines -N 10 in.csv -o out.txt -- sed -u ''")
        .status(1)
        .err_has("more answers than it got records");
}

#[test]
fn more_answers_than_records_are_a_failure() {
    let env = TestEnv::new();
    for count in [1, 2, 500] {
        env.write("in", numbers(count));
        env.old_output();
        let ran = env.run("inorder exec --persistent in -o o/out -- sed -u p");
        ran.status(1).err_has("more answers than it got records");
        env.is_untouched(&ran);
    }
}

#[test]
fn an_answer_too_many_is_found_though_it_comes_late() {
    let env = TestEnv::new();
    env.write("in", numbers(600));
    env.write("few", numbers(9));
    // From the second answer to 500 on each is that of the record before, and the process is always at its last record.
    let twice = "while read a; do sleep 0.003; echo $a; test $a = 500 && echo $a; done";
    // The wait for the last one is as long as the others were.
    let slow = "while read a; do sleep 1.2; echo $a; test $a = 2 && echo $a; done; true";
    for (options, input, script) in [
        ("-j 1 -N 50", "in", twice),
        ("-j 3 --retries 2 --retry-delay 0", "in", twice),
        ("--sequential --on-error skip -N 7", "in", twice),
        (
            "-j 1 -N 50 --recycle 100 --retries 2 --retry-delay 0",
            "in",
            twice,
        ),
        (
            "-j 1 -N 50 --recycle 505 --retries 2 --retry-delay 0",
            "in",
            twice,
        ),
        ("-j 3 -N 1", "few", slow),
        // What is printed at the end can't be told from it.
        ("-j 1", "in", "while read a; do echo $a; done; echo total"),
    ] {
        env.old_output();
        let ran = env.run(&format!(
            "inorder exec --persistent {options} {input} -o o/out --shell '{script}'"
        ));
        ran.status(1).err_has("more answers than it got records");
        env.is_untouched(&ran);
    }
}

#[test]
fn what_a_run_with_an_answer_too_many_left_is_not_gone_on_with() {
    let env = TestEnv::new();
    env.write("in", numbers(600));
    let resumed = |script: &str, options: &str| {
        env.run(&format!(
            "inorder exec --persistent {options} -N 50 -j 1 in -o out --checkpoint-every 1ms --shell '{script}'"
        ))
    };
    for script in [
        "test -e ok || f=100; touch ok; while read a; do sleep 0.002; echo $a; test \"$a\" = \"$f\" && echo $a; done; true",
        // Found in the middle of the run.
        "test -e ok || f=100; touch ok; while read a; do test $a = 200 && sleep 0.1; echo $a; test \"$a\" = \"$f\" && { sleep 0.02; echo $a; }; done; true",
    ] {
        resumed(script, "--resume")
            .status(1)
            .err_has("more answers than it got records")
            .err_lacks("keeps what is done");
        resumed(script, "--resume")
            .status(4)
            .err_has("found that its results may be wrong: it can only be restarted");
        resumed(script, "--restart").status(0);
        env.run("cmp in out; rm out ok; ls out.*")
            .err_lacks("differ")
            .out("");
    }
}

#[test]
fn the_records_of_a_process_that_dies_are_given_to_another() {
    let env = TestEnv::new();
    env.write("in", numbers(2000));
    // After some answers, in the middle of one, by a signal.
    for (end, options) in [
        ("exit 1", "-j 3"),
        ("printf half; exit 0", "-j 3"),
        ("kill -9 $$", "-j 3"),
        // All processes come to their end at about the same time.
        ("exit 1", "-j 8 -N 1"),
        ("exit 1", "-j 8 -N 1"),
    ] {
        env.run(&format!("inorder exec --persistent {options} in --shell 'i=0; while read a; do test $i = 70 && {{ {end}; }}; i=$((i+1)); echo $a; done'"))
            .quiet()
            .out(numbers(2000));
    }
}

#[test]
fn a_record_is_charged_with_the_death_of_a_new_process_only() {
    let env = TestEnv::new();
    env.write("in", numbers(9));
    // Each takes the last record only as its first; the other one is idle by then.
    let script = "i=0; while read a; do test $a = 9 -a $i = 1 && { sleep 0.4; exit 1; }; i=1; sleep 0.05; echo $a; done";
    for limit in ["", "ulimit -n 22; "] {
        env.run(&format!(
            "{limit}inorder exec --persistent -q -j 2 -N 1 in --shell '{script}'"
        ))
        .quiet()
        .out(numbers(9));
    }
}

#[test]
fn a_record_of_which_processes_die_is_charged_when_it_was_alone() {
    let env = TestEnv::new();
    env.write("in", numbers(300));
    let script =
        "while read a; do case $a in 77|78|200) echo $a is bad >&2; exit 3;; esac; echo $a; done";
    env.run(&format!("inorder exec --persistent -j 3 in --shell '{script}'"))
        .status(1)
        .out(numbers(76))
        .err_has("in: failed, record 77 (line 77, byte 219): command exited 3 with answers owing on record 77; it said: 77 is bad");
    let all_but: String = numbers(300)
        .lines()
        .filter(|line| !["77", "78", "200"].contains(line))
        .map(|line| format!("{line}\n"))
        .collect();
    env.run(&format!(
        "inorder exec --persistent -j 3 --on-error skip in --shell '{script}'"
    ))
    .status(3)
    .out(all_but)
    .err_has("in: skipped, record 78");
}

#[test]
fn a_command_that_always_dies_ends_the_run() {
    let env = TestEnv::new();
    env.write("in", numbers(3000));
    env.run("inorder exec --persistent -j 3 --on-error skip in --shell 'read a; echo $a is too much >&2; exit 9'")
        .status(1)
        .out("")
        .err_has("5 records in a row without one answer: command exited 9 with answers owing on record");
}

#[test]
fn one_bad_record_is_one_failure_however_often_it_is_tried() {
    let env = TestEnv::new();
    env.write("in", numbers(20));
    for (options, bad, records) in [
        ("-j 1 -N 1 --retries 2", 7, 20),
        ("--sequential --retries 9", 7, 20),
        ("-j 4 --retries 2", 20, 20),
        ("-j 1 --retries 4", 1, 1),
    ] {
        env.run(&format!(
            "inorder exec --persistent {options} --retry-delay 0 --on-error skip --limit {records} in --shell 'while read a; do test $a = {bad} && exit 3; echo $a; done'"
        ))
        .status(3)
        .out((1..=records).filter(|n| *n != bad).map(|n| format!("{n}\n")).collect::<String>())
        .err_has(&format!("in: skipped, record {bad}"));
    }
}

#[test]
fn a_command_that_dies_of_the_header_again_and_again_ends_the_run() {
    let env = TestEnv::new();
    env.write("in.csv", "n\n1\n2\n3\n");
    env.run("inorder exec --persistent -j 1 --on-error skip in.csv --shell 'test -e died && { echo no more >&2; exit 4; }; touch died; read a; echo $a'")
        .status(1)
        .err_has("5 times in a row without one answer: command exited 4 without an answer to the header; it said: no more");
}

#[test]
fn killing_the_processes_changes_no_byte() {
    let env = TestEnv::new();
    env.write("in", numbers(3000));
    env.run(
        "inorder exec --persistent -j 2 -N 50 in -o out --shell 'echo $$ >> pids; while read a; do sleep 0.001; echo $a; done' 2> said &
         run=$!
         for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.2; kill -9 $(tail -n $((i % 2 + 1)) pids | head -n 1) 2> /dev/null; done
         wait $run; cmp in out; test $(wc -l < pids) -gt 6
         # The last kill may come when a process has given all of its answers.
         ! grep -v 'after its last answer the command was killed by SIGKILL' said"
    )
    .quiet();
}

#[test]
fn commands_that_do_not_hold_their_answers_back_are_right() {
    let env = TestEnv::new();
    env.write("in", numbers(500));
    let mut tried = 0;
    for command in [
        "jq --unbuffered .",
        "sed -u ''",
        "grep --line-buffered ''",
        "awk '{ print; fflush() }'",
        "mlr --inidx --onidx --records-per-batch 1 cat",
        "stdbuf -oL tr a b",
        "perl -ne '$| = 1; print'",
        "python3 -uc 'import sys\nfor line in sys.stdin: sys.stdout.write(line)'",
        "stdbuf -oL cut -b 1-",
    ] {
        if !env.can("a command", &format!("seq 3 | timeout 10 {command}")) {
            continue;
        }
        tried += 1;
        // Some versions read ahead whatever they are told: those are to be heard of.
        let ran = env.run(&format!(
            "timeout 8 inorder exec --persistent -j 2 in -- {command}"
        ));
        if ran.status == Some(124) {
            ran.err_has("no answer from the command for 5 s");
        } else {
            ran.quiet().out(numbers(500));
        }
    }
    assert!(tried >= 3);
}

#[test]
fn commands_that_hold_their_answers_back_are_heard_of() {
    let env = TestEnv::new();
    env.write("in", numbers(3));
    // All at the same time: each takes more than 5 s.
    let ran = env.run(
        "i=0
         try() {
             type $1 > /dev/null 2>&1 || return
             i=$((i + 1))
             { timeout 7 inorder exec --persistent -j 1 in -- \"$@\" > out.$i 2> err.$i; echo $? > status.$i; } &
         }
         try jq .; try sed p\\;d; try grep ''; try awk '{ print }'; try mlr --inidx --onidx cat; try tr a b
         try perl -ne print; try python3 -c 'import sys
for line in sys.stdin: sys.stdout.write(line)'; try cut -b 1-
         wait
         for n in $(seq $i); do
             if test $(cat status.$n) = 0; then cmp in out.$n; else grep -q 'no answer from the command for 5 s.*stdbuf -oL' err.$n || cat err.$n; fi
         done",
    );
    ran.quiet().out("");
}

#[test]
fn a_run_that_ends_early_leaves_no_process() {
    let env = TestEnv::new();
    env.write("in", numbers(100_000));
    let start = Instant::now();
    let script = "echo $$ >> pids; exec sed -u s/1/1/";
    env.run(&format!(
        "inorder exec --persistent -j 3 in --shell '{script}' | head -n 1; test ${{PIPESTATUS[0]}} = 0 || exit 1
         for pid in $(cat pids); do kill -0 $pid 2> /dev/null && echo $pid is left; done; true"
    ))
    .quiet()
    .out("1\n");
    // One that does not answer either.
    env.run("inorder exec --persistent -N 1 -j 2 in --shell 'read a; test $a -gt 1 && exec sleep 1000; echo $a; exec sleep 1000' | head -n 1; test ${PIPESTATUS[0]} = 0")
        .quiet()
        .out("1\n");
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn how_processes_end_is_heard_of() {
    let env = TestEnv::new();
    env.run(&format!(
        "seq 3 | inorder exec --persistent -j 1 --shell '{ECHO}; exit 3'"
    ))
    .status(0)
    .out("1\n2\n3\n")
    .err_has("after its last answer the command exited 3");
    let start = Instant::now();
    env.run(&format!(
        "seq 30 | inorder exec --persistent -N 1 -j 8 --shell '{ECHO}; exec sleep 1000'"
    ))
    .status(0)
    .out(numbers(30))
    .err_has("did not end when it got no more records");
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_record_that_ends_with_cr_alone_is_no_line_to_wait_for() {
    let env = TestEnv::new();
    let said = "ends with CR alone can't be given to a --persistent command";
    env.write("cr.csv", "h\r1\r2\r3\r");
    env.write("mixed.csv", "h\n1\r2\n3\n4\r");
    for options in ["-j 1", "-j 3 -N 1", "--sequential"] {
        env.run(&format!(
            "inorder exec --persistent --header keep {options} cr.csv -- cat"
        ))
        .status(1)
        .err_has(said);
        env.run(&format!(
            "inorder exec --persistent {options} cr.csv -- cat"
        ))
        .status(1)
        .err_has(said);
        env.run(&format!(
            "inorder exec --persistent --header keep {options} --rejects bad mixed.csv -- cat"
        ))
        .status(3)
        .out("h\n2\n3\n");
        assert_eq!(env.read("bad"), b"h\n1\r4\r");
    }
}
