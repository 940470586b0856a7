//! Options of `exec`, its environment, and lines that were meant otherwise.

use std::time::{Duration, Instant};

use crate::testenv::{TestEnv, numbers};

#[test]
fn what_a_command_finds_in_its_environment() {
    let env = TestEnv::new();
    env.write("a", numbers(5));
    env.write("b", numbers(2));
    env.run("INORDER_CHUNK=77 inorder exec -N 2 -j 1 a b --shell 'echo $INORDER_CHUNK $INORDER_RECORD $INORDER_INPUT $INORDER_WORKER $INORDER_ATTEMPT'")
        .quiet()
        .out("0 1 a 0 1\n1 3 a 0 1\n2 5 a 0 1\n3 1 b 0 1\n");
    env.write("in.csv", "h\n1\n");
    env.run("inorder exec in.csv --shell 'cat; echo ${INORDER_CHUNK-none} $INORDER_RECORD >&2'")
        .status(0)
        .err("none 0\n0 1\n");
}

#[test]
fn workers_at_the_same_time_have_different_numbers() {
    let env = TestEnv::new();
    env.write("in", numbers(60));
    // A folder can be made only once.
    env.run("inorder exec -N 1 -j 4 in --shell 'mkdir w$INORDER_WORKER && sleep 0.01 && rmdir w$INORDER_WORKER && echo $INORDER_WORKER' | sort -u > seen; test $(sort -n seen | tail -n 1) -le 3")
        .quiet();
}

#[test]
fn a_line_without_dashes_is_mended() {
    let env = TestEnv::new();
    env.write("in", "a\n");
    env.run("inorder exec in grep -v UA")
        .status(2)
        .err_has("inorder: the command stands behind `--`: inorder exec in -- grep -v UA\n");
    env.run("inorder exec in tr a 'b c'")
        .status(2)
        .err_has("inorder exec [OPTIONS] in -- tr a 'b c'\n");
    env.run("inorder exec in")
        .status(2)
        .err_has("there is no command");
    env.run("inorder exec in --shell cat -- cat").status(2);
}

#[test]
fn chunks_are_a_function_of_the_input() {
    let env = TestEnv::new();
    env.write("in", numbers(60_000));
    let expected = env.run("inorder exec -j 1 in -- wc -l").out.clone();
    assert_eq!(expected.lines().count(), 6, "{expected}");
    for options in ["-j 8", "--no-mmap", "--sequential", "--memory 1MiB"] {
        env.run(&format!("inorder exec {options} in -- wc -l"))
            .quiet()
            .out(&expected);
    }
    // The rate has no part in it, but for its records in a second.
    env.run("inorder exec --rate 100000/s in -- wc -l")
        .quiet()
        .out(&expected);
    // A stream is filled however slowly it comes.
    env.run("for i in 1 2 3; do echo $i; sleep 0.05; done | inorder exec -- wc -l")
        .quiet()
        .out("3\n");
    // Nor does it take room for what may never come.
    for command in [
        "exec --chunk-size 1T -- wc -l",
        "exec --chunk-size 18446744073709551615 -- wc -l",
    ] {
        env.run(&format!(
            "for i in $(seq 40); do echo $i; sleep 0.002; done | inorder {command}"
        ))
        .quiet()
        .out("40\n");
    }
    env.run(
        "for i in $(seq 40); do echo $i; sleep 0.002; done | inorder cat --chunk-size 1T | wc -l",
    )
    .quiet()
    .out("40\n");
    env.run("inorder exec -N 25000 in -- wc -l")
        .quiet()
        .out("25000\n25000\n10000\n");
}

#[test]
fn results_go_by_the_order_of_the_input() {
    let env = TestEnv::new();
    env.write("in", numbers(64));
    env.run("inorder exec -N 1 -j 16 in --shell 'read a; sleep 0.0$((a * 7 % 10)); echo $a'")
        .quiet()
        .out(numbers(64));
}

#[test]
fn a_rate_is_kept() {
    let env = TestEnv::new();
    env.write("in", numbers(100));
    for command in [
        "exec -N 1 -j 16 --rate 100/s in -- cat",
        "cat --rate 100/s -N 1 in",
    ] {
        let start = Instant::now();
        env.run(&format!("inorder {command}"))
            .quiet()
            .out(numbers(100));
        let took = start.elapsed();
        assert!(took >= Duration::from_millis(980), "{command}: {took:?}");
        assert!(took < Duration::from_millis(2500), "{command}: {took:?}");
    }
    env.run("inorder cat --rate 0/s in").status(2);
    // The wait ends with the output.
    let start = Instant::now();
    env.run("inorder exec -N 1 --rate 1/m in -- cat | head -n 1; test ${PIPESTATUS[0]} = 0")
        .quiet();
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn sleeping_commands_wait_side_by_side() {
    let env = TestEnv::new();
    env.write("in", numbers(64));
    let start = Instant::now();
    env.run("inorder exec -N 1 -j 64 in --shell 'sleep 0.5; cat'")
        .quiet()
        .out(numbers(64));
    assert!(start.elapsed() < Duration::from_secs(5));
}
