//! Inputs that change while they are read: rows A1 to A4.
#![cfg(target_os = "linux")]

use super::testenv::{Ran, TestEnv};

/// Runs `inorder cat OPTIONS in TARGET` with work that lasts about half a second, and `change` once the input is open.
#[track_caller]
fn run_while(env: &TestEnv, options: &str, target: &str, change: &str) -> Ran {
    env.run(&format!(
        "cp data/flights-sample.csv in; sleep 0.02
         inorder cat --from csv --work sleep:1ms -j 4 {options} in {target} &
         run=$!
         until ls -l /proc/$run/fd 2> /dev/null | grep -q '/in$' || ! kill -0 $run 2> /dev/null; do sleep 0.01; done
         {change}
         wait $run"
    ))
}

const WAYS: [&str; 2] = ["-N 10", "--no-mmap -N 20"];

#[test]
fn a1_a_file_cut_short_is_an_error_and_nothing_is_published() {
    let env = TestEnv::new();
    env.old_output();
    for options in WAYS {
        for (pause, size) in [(0.01, 5000), (0.05, 0), (0.1, 8192), (0.2, 100_001)] {
            let options = format!("{options} --on-error skip");
            let change = format!("sleep {pause}; truncate -s {size} in");
            let ran = run_while(&env, &options, "-o o/out", &change);
            ran.status(1).err_has("inorder: in: input shrank");
            env.is_untouched(&ran);
        }
    }
}

#[test]
fn a1_what_can_be_gone_on_from_is_named() {
    let env = TestEnv::new();
    for options in WAYS {
        let options = format!("{options} --resume");
        let change = "sleep 0.1; truncate -s 5000 in";
        let ran = run_while(&env, &options, "-o out", change);
        ran.status(1).err_has("inorder: in: input shrank");
        ran.err_lacks("no output file");
        let mapped = ran.err.contains("while it was read;");
        let named = "; out.part and out.checkpoint keep what is done, to be gone on from";
        assert!(!mapped || ran.err.contains(named), "{ran}");
        env.run("cp data/flights-sample.csv in; ls out.part out.checkpoint; rm out.*")
            .status(0);
    }
}

#[test]
fn a1_standard_output_gets_no_byte_that_was_not_in_the_file() {
    let env = TestEnv::new();
    let whole = env.read("data/flights-sample.csv");
    for options in WAYS {
        for target in ["> out", "> >(cat > out)"] {
            let ran = run_while(&env, options, target, "sleep 0.1; truncate -s 5000 in");
            ran.status(1).err_has("inorder: in: input shrank");
            env.run("sleep 0.1").status(0);
            let out = env.read("out");
            assert!(whole.starts_with(&out) && out.len() < whole.len(), "{ran}");
        }
    }
}

#[test]
fn a2_a_file_rewritten_in_place_is_an_error() {
    let env = TestEnv::new();
    env.old_output();
    for options in WAYS {
        for change in [
            "sleep 0.1; : > in; cat data/flights-sample.csv > in",
            "sleep 0.1; dd if=data/flights-sample.csv of=in conv=notrunc status=none",
        ] {
            let ran = run_while(&env, options, "-o o/out", change);
            ran.status(1).err_has("inorder: in: input ");
            assert!(
                ran.err.contains("modified while it was read") || ran.err.contains("shrank"),
                "{ran}"
            );
            env.is_untouched(&ran);
        }
    }
}

#[test]
fn a3_what_is_appended_in_the_run_is_left_for_the_next() {
    let env = TestEnv::new();
    for options in WAYS {
        let change = "for line in 1 2 3 4 5; do echo line $line >> in; sleep 0.03; done";
        let ran = run_while(&env, options, "-o out", change);
        ran.status(0).err_has("in: grew from 185032 to 1850");
        assert_eq!(
            env.read("out"),
            env.read("data/flights-sample.csv"),
            "{ran}"
        );
        // The next run takes it.
        env.run("inorder cat in | cmp in -").quiet();
    }
}

#[test]
fn a4_a_file_replaced_or_unlinked_is_read_to_its_old_end() {
    let env = TestEnv::new();
    for options in WAYS {
        for change in ["rm in", "echo new > new; mv new in"] {
            let ran = run_while(&env, options, "-o out", change);
            ran.quiet();
            assert_eq!(
                env.read("out"),
                env.read("data/flights-sample.csv"),
                "{ran}"
            );
        }
    }
}
