//! Signals to a run of commands: row D7.

use std::time::{Duration, Instant};

use crate::testenv::{TestEnv, numbers};

/// Starts a run in the background, waits until its commands have told their ids, does `then` with `$run`, and says which of the
/// commands are left.
fn interrupted(run: &str, then: &str) -> String {
    format!(
        "inorder exec {run} > out 2> err & run=$!
         for i in $(seq 500); do test -s pids && break; sleep 0.02; done
         sleep 0.2; {then}
         wait $run; echo status $?; tail -n 1 err
         sleep 0.2
         for pid in $(cat pids); do grep -qs '^State:[[:space:]]*[A-Ya-z]' /proc/$pid/status && echo $pid is left; done; true"
    )
}

const INTERRUPTED: &str = "status 143\ninorder: interrupted by SIGTERM\n";
const HANGS: &str = "--shell 'echo $$ >> pids; exec sleep 1000'";

#[test]
#[cfg(target_os = "linux")]
fn d7_a_second_signal_leaves_no_process() {
    let env = TestEnv::new();
    env.write("in", numbers(8));
    for options in ["-N 1 -j 3", "-N 1 -j 3 --persistent"] {
        let start = Instant::now();
        let run = format!("{options} --grace 100s in {HANGS}");
        env.run(&interrupted(
            &run,
            "kill -TERM $run; sleep 0.3; kill -TERM $run",
        ))
        .out("status 143\n");
        assert!(start.elapsed() < Duration::from_secs(8));
        env.run("rm pids").quiet();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn d7_a_signal_during_the_trial_leaves_no_process() {
    let env = TestEnv::new();
    env.write("in", numbers(8));
    for options in ["", "--persistent "] {
        let run = format!("{options}--verify in -o o {HANGS}");
        let ran = env.run(&interrupted(&run, "kill -TERM $run"));
        ran.out(INTERRUPTED);
        env.run("rm pids").quiet();
    }
    // While the start of the input is waited for a first signal is enough.
    env.run("mkfifo fifo; sleep 100 > fifo & writer=$!
             inorder exec --verify -- cat < fifo & run=$!; sleep 0.5; kill -TERM $run; wait $run; echo status $?; kill $writer")
        .out("status 143\n");
}

#[test]
#[cfg(target_os = "linux")]
fn a_command_that_hangs_on_the_header_hangs_no_run() {
    let env = TestEnv::new();
    env.write("in.csv", "n\n1\n2\n");
    for options in ["", "--persistent"] {
        let start = Instant::now();
        env.old_output();
        let run = format!("{options} in.csv -o o/out {HANGS}");
        let ran = env.run(&interrupted(&run, "kill -TERM $run"));
        ran.out(INTERRUPTED);
        env.is_untouched(&ran);
        let run = format!("inorder exec {options} --timeout 0.2 in.csv -o o/out {HANGS}");
        let ran = env.run(&run);
        ran.status(1).err_has("took longer than 200ms");
        env.is_untouched(&ran);
        assert!(start.elapsed() < Duration::from_secs(10));
        env.run("rm pids").quiet();
    }
}

#[test]
fn a_run_that_is_stopped_waits_for_no_farewell() {
    let env = TestEnv::new();
    env.write("in", numbers(3));
    let start = Instant::now();
    let script = "echo $$ >> pids; while read a; do sleep 1.5; echo $a; done; exec sleep 1000";
    env.run(&interrupted(
        &format!("--persistent -j 1 in -o o --shell '{script}'"),
        "sleep 5; kill -TERM $run",
    ))
    .out(INTERRUPTED);
    assert!(start.elapsed() < Duration::from_secs(7));
}
