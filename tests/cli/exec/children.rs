//! The processes themselves: rows D3, D4, D6, D8, D9, D11.

use std::time::{Duration, Instant};

use crate::testenv::{TestEnv, numbers};

#[test]
fn d3_what_is_not_read_is_no_failure() {
    let env = TestEnv::new();
    env.write("in", numbers(300_000));
    env.run("inorder exec --chunk-size 2MiB in -- head -n 1")
        .quiet()
        .out("1\n");
    env.run("inorder exec --chunk-size 2MiB in -- sh -c 'exec <&-; echo x'")
        .quiet()
        .out("x\n");
}

#[test]
fn d4_a_command_that_writes_before_it_reads_blocks_nothing() {
    let env = TestEnv::new();
    env.write("in", numbers(300_000));
    env.run("inorder exec -q --chunk-size 1MiB -j 4 in --shell 'head -c 10M /dev/zero; cat' | tr -d '\\0' | cmp - in")
        .quiet();
}

#[test]
fn d4_a_flood_on_standard_error_blocks_nothing() {
    let env = TestEnv::new();
    env.write("in", numbers(10));
    // Read as it comes, into a file that fills, and not at all.
    for to in [
        "/dev/null",
        "/dev/full",
        ">(exec sleep 20 > /dev/null 2>&1)",
    ] {
        let start = Instant::now();
        env.run(&format!(
            "inorder exec in --shell 'yes >&2 & sleep 1; kill $!; cat' 2> {to}"
        ))
        .out(numbers(10))
        .status(0);
        assert!(start.elapsed() < Duration::from_secs(15), "{to}");
    }
}

#[test]
fn standard_error_comes_in_whole_lines() {
    let env = TestEnv::new();
    let ran = env.run(
        "seq 40 | inorder exec -N 1 -j 8 --shell 'for i in 1 2 3; do printf a >&2; printf \"b\\n\" >&2; done; printf end >&2'",
    );
    ran.status(0);
    let (mut lines, mut ends) = (0, 0);
    for line in ran.err.lines() {
        match line {
            "ab" => lines += 1,
            "end" => ends += 1,
            other => panic!("{other:?}\n{ran}"),
        }
    }
    assert_eq!((lines, ends), (120, 40), "{ran}");
}

#[test]
fn d6_a_process_left_behind_is_killed_after_a_moment() {
    let env = TestEnv::new();
    let start = Instant::now();
    env.run("echo a | inorder exec --shell 'sleep 1000 & echo $! > pid; echo hi'; ! kill -0 $(cat pid) 2> err || grep -q Z /proc/$(cat pid)/stat")
        .status(0)
        .out("hi\n")
        .err_has("leaves a process behind");
    assert!(start.elapsed() < Duration::from_secs(8));
    // One that goes on writing is listened to.
    env.run("echo a | inorder exec --shell '(sleep 0.5; echo late) & echo hi'")
        .quiet()
        .out("hi\nlate\n");
}

#[test]
fn d8_with_few_descriptors_fewer_run_at_a_time() {
    let env = TestEnv::new();
    env.write("in", numbers(60));
    env.run("ulimit -n 32; inorder exec -N 1 -j 16 in -- sh -c 'sleep 0.01; cat'")
        .status(0)
        .out(numbers(60));
    env.run("ulimit -n 9; inorder exec -N 1 -j 4 in -- cat")
        .status(1)
        .err_has("Too many open files");
}

#[test]
fn d9_an_output_far_larger_than_the_memory() {
    let env = TestEnv::new();
    env.write("in", numbers(4));
    env.run("inorder exec -N 1 -j 2 --memory 1MiB in --shell 'head -c 20M /dev/zero; cat' | tr -d '\\0'")
        .quiet()
        .out(numbers(4));
}

#[test]
fn signals_are_the_default_and_nothing_is_inherited() {
    let env = TestEnv::new();
    // `yes` ends by SIGPIPE, not by an error.
    env.run("echo a | inorder exec --shell 'yes | head -n 1' 2>&1")
        .quiet()
        .out("y\n");
    if cfg!(target_os = "linux") {
        let look = "sh -c 'ls /proc/self/fd'";
        let (plain, ours) = (
            env.run(look),
            env.run(&format!("echo a | inorder exec -- {look}")),
        );
        assert_eq!(plain.out, ours.out);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn d11_no_zombies_and_no_descriptors_are_left() {
    let env = TestEnv::new();
    env.write("in", numbers(400));
    // Looks at itself at the beginning and at the end of the run.
    let look =
        "fds() { ls /proc/$PPID/fd | wc -l; }; zombies() { ps -o stat= --ppid $PPID | grep -c Z; }";
    let ran = env.run(&format!(
        "inorder exec -N 1 -j 2 in --shell '{look}; read a; echo $(fds) $(zombies)'"
    ));
    ran.status(0);
    for line in ran.out.lines() {
        let (fds, zombies) = line.split_once(' ').unwrap();
        // Those of the run and of two commands, some of them about to be closed; what leaked would come to hundreds.
        assert!(fds.parse::<u32>().unwrap() < 48, "{ran}");
        assert!(zombies.parse::<u32>().unwrap() <= 2, "{ran}");
    }
}

#[test]
fn an_abandoned_run_leaves_no_process() {
    let env = TestEnv::new();
    env.write("in", numbers(8));
    let start = Instant::now();
    env.run(
        "inorder exec -N 1 -j 4 in --shell 'read a; test $a = 1 && { sleep 0.2; exit 5; }; echo $$ >> pids; exec sleep 1000'
         for pid in $(cat pids); do kill -0 $pid 2> /dev/null && echo $pid is left; done",
    )
    .out("")
    .err_has("command exited 5 on record 1");
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn d8_with_few_descriptors_workers_share_the_processes_that_live_on() {
    let env = TestEnv::new();
    env.write("in", numbers(400));
    env.write("in.csv", format!("n\n{}", numbers(400)));
    let echo = "while read a; do sleep 0.001; echo $a; done";
    for options in ["", "--recycle 7", "--sequential"] {
        env.run(&format!(
            "ulimit -n 32; inorder exec --persistent -N 5 -j 16 {options} in --shell '{echo}'"
        ))
        .status(0)
        .out(numbers(400));
    }
    env.run(&format!("ulimit -n 32; inorder exec --persistent -N 5 -j 16 in.csv -o out.csv --shell '{echo}' && cmp in.csv out.csv"))
        .status(0)
        .err_has("the system has no room for more");
    for most in [29, 32, 35] {
        env.run(&format!("ulimit -n {most}; inorder exec --persistent -q -N 3 -j 16 --recycle 11 in --shell '{echo}'"))
            .quiet()
            .out(numbers(400));
    }
    // Of those that there is room for one dies again and again.
    env.run("ulimit -n 32; inorder exec --persistent -N 5 -j 16 in --on-error skip --shell 'while read a; do test $a = 200 && exit 1; echo $a; done' | wc -l")
        .out("399\n");
    env.run("ulimit -n 9; inorder exec --persistent -N 1 -j 4 in -- sed -u ''")
        .status(1)
        .err_has("Too many open files");
}
