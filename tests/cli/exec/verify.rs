//! `--verify`: commands that can't be cut are found, those that can pass.

use crate::testenv::TestEnv;

/// Every tenth line has an `x`, and some lines come twice.
fn with_lines() -> TestEnv {
    let env = TestEnv::new();
    let lines = (0..400).map(|i| match i {
        i if i % 10 == 0 => format!("x {}\n", i * 7919 % 400),
        i => format!("y {}\n", (i / 2) * 7919 % 400),
    });
    env.write("in", lines.collect::<String>());
    env
}

#[test]
fn the_trial_is_neither_resumed_nor_slowed_down() {
    let env = with_lines();
    env.run("inorder exec --verify --resume --rate 100000/s in -o out -- tr xy ab && tr xy ab < in | cmp - out")
        .quiet();
    // A second's records are too few for the difference to be seen.
    env.run("inorder exec --verify --rate 3/s in -- nl")
        .status(1)
        .err_has("--verify");
}

#[test]
fn commands_that_cannot_be_cut_are_found() {
    let env = with_lines();
    for command in [
        "grep -C 1 x",
        "grep -n x",
        "grep -m 3 x",
        "uniq",
        "sort",
        "nl",
        "head",
        "wc",
        "sed 1d",
    ] {
        env.old_output();
        let ran = env.run(&format!(
            "inorder exec --verify --ok-status 0,1 in -o o/out -- {command}"
        ));
        ran.status(1)
            .err_has("--verify: the command can't be cut")
            .err_has("line ");
        env.is_untouched(&ran);
    }
    env.run("inorder exec --verify in -- nl")
        .err_has("over the whole and \"     1\\t");
    env.run("inorder exec --verify in -- grep x")
        .status(1)
        .err_has("failed on a part of what it took whole")
        .err_has("--ok-status");
    env.run("inorder exec --verify data/flights-sample.csv -- sed 1s/x/y/")
        .quiet();
    env.run("inorder exec --verify data/flights-sample.csv --header in -- sed 2d")
        .status(1)
        .err_has("can't be cut");
}

#[test]
fn commands_that_can_be_cut_pass() {
    let env = with_lines();
    let script = "awk -F, -v OFS=, 'NR == 1 { print $0, \"n\"; next } { print $0, length($0) }'";
    for command in ["cat", "tr xy ab", "grep -v x"] {
        env.run(&format!("inorder exec --verify --ok-status 0,1 in -o out -- {command} && {command} < in | cmp - out"))
            .quiet();
        // Standard input is read only once.
        env.run(&format!("cat in | inorder exec --verify=1k --ok-status 0,1 -- {command} > out; {command} < in | cmp - out"))
            .quiet();
        env.run(&format!("inorder exec --verify --ok-status 0,1 < in > out -- {command}; {command} < in | cmp - out"))
            .quiet();
    }
    env.run(&format!("inorder exec --verify=20k data/flights-sample.csv -o out -- {script} && {script} data/flights-sample.csv | cmp - out"))
        .quiet();
}

#[test]
fn what_it_is_for_and_what_not() {
    let env = with_lines();
    env.write("empty", "");
    env.run("inorder exec --verify empty -- sh -c 'touch started'; test ! -e started")
        .quiet();
    env.run("inorder exec --verify <(cat in) -- cat")
        .status(2)
        .err_has("--verify");
    // Positions are those of the input, not of what was read before.
    env.run("cat in | inorder exec --verify=1k -N 10 --shell 'test $INORDER_RECORD -lt 301 || exit 7; cat' > out")
        .status(1)
        .err_has("<stdin>: failed, one of 10 records or more, record 301 (line 301, ");
}

#[test]
fn answers_are_compared_with_the_whole() {
    let env = with_lines();
    env.run("inorder exec --persistent -j 2 --verify in -- sed -u s/x/z/ > out; sed s/x/z/ in | cmp - out")
        .quiet();
    // One worker: its processes begin at every seventh record, the 71st among them, which has an x.
    env.run("inorder exec --persistent -j 1 --recycle 7 --verify in -- sed -u '1 s/x/z/'")
        .status(1)
        .err_has("answers to --persistent are not what it makes of the whole: line ");
}
