//! What signals do: row E8.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::testenv::{TestEnv, numbers};

/// Work that lasts about a second.
const SLOW: &str = "cat --work sleep:1ms -j 2 -N 5 in -o out --resume --checkpoint-every 1ms";

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("in", numbers(1000));
    env
}

fn start(command: &mut Command) -> Child {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[track_caller]
fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !there() {
        assert!(start.elapsed() < Duration::from_secs(30), "no {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
fn wait_for_part(env: &TestEnv) {
    let part = env.path("out.part");
    wait_for("part", || part.metadata().is_ok_and(|part| part.len() > 50));
}

/// How it ended: the signal, what it said, how long it took.
fn end(child: Child) -> (Option<i32>, String, Duration) {
    let start = Instant::now();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.signal(), said, start.elapsed())
}

/// But for the hidden name that a kill in the instant between two calls leaves, and the next run removes.
fn names(env: &TestEnv) -> Vec<String> {
    let names = env.names(".").into_iter();
    names.filter(|name| !name.starts_with('.')).collect()
}

fn number(signal: Signal) -> Option<i32> {
    Some(signal.as_raw())
}

#[test]
fn e8_a_first_signal_leaves_a_run_that_can_be_gone_on_with() {
    for (signal, name) in [
        (Signal::INT, "SIGINT"),
        (Signal::TERM, "SIGTERM"),
        (Signal::HUP, "SIGHUP"),
    ] {
        let env = env();
        let child = start(&mut env.program(SLOW.split(' ')));
        wait_for_part(&env);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let (died_of, said, took) = end(child);
        assert_eq!(died_of, number(signal), "{said}");
        assert!(said.contains(&format!("interrupted by {name}")), "{said}");
        assert!(said.contains("out.part keeps what is done"), "{said}");
        assert!(took < Duration::from_secs(6), "{took:?}");
        assert_eq!(names(&env), ["in", "out.checkpoint", "out.part"]);
        env.run(&format!("inorder {SLOW} --stats json && cmp in out"))
            .quiet();
        let json = env.json("json");
        assert!(json["resumed_from"].as_u64() > Some(10), "{json}");
    }
}

#[test]
fn e8_what_is_in_flight_may_finish_within_the_grace() {
    let env = env();
    // A chunk of 20 records takes 200 ms.
    let args =
        "cat --work sleep:10ms -j 2 --chunk-size 60 in -o out --resume --checkpoint-every 1h";
    let mut records = Vec::new();
    for grace in ["10s", "0"] {
        let args = format!("{args} --grace {grace}");
        let child = start(&mut env.program(args.split(' ')));
        thread::sleep(Duration::from_millis(300));
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let (died_of, said, took) = end(child);
        assert_eq!(died_of, number(Signal::INT), "{said}");
        assert!(took < Duration::from_secs(5), "{took:?}");
        let checkpoint = String::from_utf8(env.read("out.checkpoint")).unwrap();
        let place = checkpoint.find("\"position\"").unwrap();
        records.push(checkpoint[place..].to_owned());
        env.run("rm out.part out.checkpoint").quiet();
    }
    assert_ne!(records[0], records[1]);
}

#[test]
fn e8_the_grace_has_an_end_and_a_second_signal_ends_at_once() {
    let env = env();
    let args = "cat --work sleep:1s -j 2 -N 100 in -o out --resume --grace";
    let child = start(&mut env.program(args.split(' ').chain(["300ms"])));
    wait_for("part", || env.path("out.part").exists());
    thread::sleep(Duration::from_millis(100));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let (died_of, said, took) = end(child);
    assert_eq!(died_of, number(Signal::TERM), "{said}");
    // The grace, and the record that was worked on.
    assert!(took < Duration::from_secs(5), "{took:?}");

    let child = start(&mut env.program(args.split(' ').chain(["1h"])));
    thread::sleep(Duration::from_millis(300));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    thread::sleep(Duration::from_millis(200));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let (died_of, said, took) = end(child);
    assert_eq!(died_of, number(Signal::TERM), "{said}");
    assert!(took < Duration::from_millis(900), "{took:?}");
}

#[test]
fn e8_without_resume_a_signal_leaves_nothing_and_ends_at_once() {
    let env = env();
    env.old_output();
    let args = "cat --work sleep:10ms -j 2 -N 100 in -o o/out";
    let child = start(&mut env.program(args.split(' ')));
    thread::sleep(Duration::from_millis(200));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let (died_of, said, took) = end(child);
    assert_eq!(died_of, number(Signal::TERM), "{said}");
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(env.names("o"), ["out"]);
    assert_eq!(env.read("o/out"), b"old");
}

#[test]
fn e8_what_nohup_ignores_stays_ignored() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let env = env();
    env.run(&format!(
        "nohup inorder {SLOW} > /dev/null 2> said & run=$!
         until [ -s out.part ]; do sleep 0.01; done
         kill -HUP $run; wait $run && cmp in out; grep -v ignoring said"
    ))
    .status(1)
    .out("")
    .err("");
}

#[test]
fn e8_a_loop_of_the_shell_stops_too() {
    let env = env();
    let script = format!(
        "for n in 1 2 3; do inorder {} ; done; echo after > after",
        SLOW.replace("-o out", "-o out$n")
    );
    let child = start(&mut env.script(&script));
    let part = env.path("out1.part");
    wait_for("part", || part.metadata().is_ok_and(|part| part.len() > 50));
    // As a terminal does it: to all that run in the foreground.
    kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
    let (died_of, said, _) = end(child);
    assert_eq!(died_of, number(Signal::INT), "{said}");
    assert_eq!(names(&env), ["in", "out1.checkpoint", "out1.part"]);
}

#[test]
fn e8_control_c_in_a_terminal() {
    let env = env();
    if !env.can(
        "a terminal",
        "script --version && script -qec true /dev/null",
    ) {
        return;
    }
    let ran = env.run(&format!(
        "(until [ -s out.part ]; do sleep 0.01; done; sleep 0.1; printf '\\003'; sleep 1) |
           script -qec 'inorder {SLOW}' /dev/null"
    ));
    ran.status(130).has("interrupted by SIGINT");
    assert_eq!(names(&env), ["in", "out.checkpoint", "out.part"]);
    env.run(&format!("inorder {SLOW} && cmp in out")).quiet();
}

#[test]
fn e8_as_the_first_process_of_a_namespace() {
    let env = env();
    if !env.can("a process namespace", "unshare -rpf true") {
        return;
    }
    env.run(&format!(
        "unshare -rpf sh -c 'exec inorder {SLOW}' 2> /dev/null & run=$!
         until [ -s out.part ]; do sleep 0.01; done
         kill -TERM $(pgrep -P $run); wait $run"
    ))
    .status(143);
    assert_eq!(names(&env), ["in", "out.checkpoint", "out.part"]);
    env.run(&format!("inorder {SLOW} && cmp in out")).quiet();
}

#[test]
fn e8_work_that_does_not_end_is_left_behind() {
    let env = TestEnv::new();
    env.write("in", "1\n2\n3\n");
    env.old_output();
    for (command, grace) in [
        ("cat --work sleep:100s in -o o/out", 0),
        ("cat --work sleep:100s in -o o/out --sequential", 0),
        ("map 'last(range(1000000000000000))' in -o o/out", 0),
        ("map 'last(range(1000000000000000))' in", 1),
        ("cat --work sleep:100s in -o o/out --resume", 1),
    ] {
        let begun = Instant::now();
        let ran = env.run(&format!(
            "timeout --foreground -s TERM -k 20 0.3 inorder {command} --grace 1s"
        ));
        ran.status(124)
            .err_has("interrupted by SIGTERM; the work at hand had not ended");
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(grace + 3), "{ran}\n{took:?}");
        env.run("rm -f o/out.part o/out.checkpoint").quiet();
        env.is_untouched(&ran);
    }
}
