//! Cases that were reported for other tools, by number.

use crate::testenv::{TestEnv, numbers};

#[test]
fn case_05_no_command_is_started_for_an_empty_input() {
    let env = TestEnv::new();
    env.write("in", "");
    for options in [
        "",
        "--from csv",
        "--from ndjson",
        "--from csv --header keep",
        "-N 1",
    ] {
        env.run(&format!(
            "exec 9<> <(:); inorder exec {options} in -o out -- sh -c 'touch started; exit 9' && test -e out"
        ))
        .quiet();
        assert_eq!(env.names("."), ["in", "out"], "{options}");
    }
}

#[test]
fn case_07_a_command_killed_by_a_signal_was_a_success() {
    let env = TestEnv::new();
    env.old_output();
    env.write("in", "1\n2\n3\n4\n5\n6\n");
    let ran = env.run(
        "inorder exec -N 2 in -o o/out -- sh -c 'read a; echo $a; test $a != 3 || kill -9 $$; cat'",
    );
    ran.status(1)
        .err_has("in: failed, one of 2 records or more, record 3 (line 3, byte 4): command was killed by SIGKILL on records 3 to 4");
    env.is_untouched(&ran);
}

#[test]
fn case_08_the_header_came_again_in_the_middle() {
    let env = TestEnv::new();
    env.write("in.csv", "id,name\n1,a\n2,b\n3,c\n4,d\n5,e\n");
    env.run("inorder exec -N 2 -j 4 in.csv -- cat")
        .quiet()
        .out(env.read("in.csv"));
    env.run("inorder exec -N 2 -j 4 in.csv -- sed 1s/id/key/")
        .quiet()
        .out("key,name\n1,a\n2,b\n3,c\n4,d\n5,e\n");
    env.run("inorder exec -N 2 -j 4 in.csv -- sh -c 'echo id,$$; cat'")
        .status(1)
        .out_lacks("1,a")
        .err_has("the result begins with \"id,");
}

#[test]
fn case_23_a_header_without_rows() {
    let env = TestEnv::new();
    for text in ["id,name\n", "id,name"] {
        env.write("in.csv", text);
        for (who, out) in [("both", text), ("keep", text), ("in", ""), ("none", "")] {
            let command = if who == "both" {
                "cat"
            } else {
                "sh -c 'exit 9'"
            };
            env.run(&format!("inorder exec --header {who} in.csv -- {command}"))
                .quiet()
                .out(out);
        }
    }
    env.write("in.csv", "\n");
    env.run("inorder exec in.csv -- sh -c 'exit 9'")
        .quiet()
        .out("\n");
}

#[test]
fn case_26_a_header_over_two_lines() {
    let env = TestEnv::new();
    let text = "id,\"full\nname\"\n1,a\n2,b\n3,c\n";
    env.write("in.csv", text);
    env.run("inorder exec -N 1 -j 4 in.csv -- cat")
        .quiet()
        .out(text);
    env.run("inorder exec -N 1 -j 4 --header in in.csv -- wc -l")
        .quiet()
        .out("3\n3\n3\n");
}

#[test]
fn case_39_the_reader_of_the_output_goes_away() {
    let env = TestEnv::new();
    env.write("in", numbers(200_000));
    for options in ["", "--progress always", "-N 1 -j 8", "--sequential"] {
        env.run(&format!(
            "inorder exec {options} --chunk-size 64k in -- cat 2> err | head -n 1; echo ${{PIPESTATUS[0]}} >&2"
        ))
        .out("1\n")
        .err("0\n");
        assert!(!String::from_utf8_lossy(&env.read("err")).contains("Broken pipe"));
    }
    // The command of the second chunk never ends, and is not waited for.
    env.run(
        "inorder exec -N 1 -j 4 in -- sh -c 'read a; echo $a; test $a = 1 || exec sleep 1000' | timeout 10 head -n 1
         test ${PIPESTATUS[0]} = 0 || exit 1",
    )
    .quiet()
    .out("1\n");
}

#[test]
fn case_40_a_command_that_stops_reading_early() {
    let env = TestEnv::new();
    env.write("in", numbers(400_000));
    let firsts: String = env
        .run("inorder exec --chunk-size 1MiB -j 4 in -- head -n 1")
        .quiet()
        .out
        .clone();
    assert!(
        firsts.starts_with("1\n") && firsts.lines().count() == 3,
        "{firsts}"
    );
    env.run(
        "for i in $(seq 20); do inorder exec --chunk-size 1MiB -j 4 in -- true || exit 1; done",
    )
    .quiet()
    .out("");
    env.run("inorder exec --chunk-size 1MiB -j 4 in -o out -- sh -c 'exit 3'")
        .status(1)
        .err_has("command exited 3 on records 1 to ");
    assert_eq!(env.names("."), ["in"]);
}

#[test]
fn case_42_grep_finds_nothing_in_a_chunk() {
    let env = TestEnv::new();
    env.write("in", "a\nb\nneedle 1\nc\nd\ne\nneedle 2\n");
    env.run("inorder exec -N 2 -j 4 --ok-status 0,1 in -- grep needle")
        .quiet()
        .out("needle 1\nneedle 2\n");
    env.run("inorder exec -N 2 -j 4 in -- grep needle")
        .status(1)
        .out("")
        .err_has("command exited 1 on records 1 to 2")
        .err_has("--ok-status 0,1");
    // Status 2 is a failure all the same, and one that said why is no case for the hint.
    env.run("inorder exec -N 2 --ok-status 0,1 in -- grep '['")
        .status(1)
        .err_has("command exited 2");
    env.run("inorder exec -N 2 in -- sh -c 'echo no >&2; exit 1'")
        .status(1)
        .err_has("; it said: no")
        .err_lacks("--ok-status");
}

#[test]
fn case_44_results_without_a_last_newline_were_glued() {
    let env = TestEnv::new();
    env.write("in", "a\nb\nc\nd\ne\nf\n");
    env.run("inorder exec -N 2 -j 3 in --shell 'paste -sd, - | tr -d \"\\n\"'")
        .quiet()
        .out("a,b\nc,d\ne,f");
    env.run("inorder exec -N 2 -j 3 in --shell 'read a; test $a = c || printf %s $a'")
        .quiet()
        .out("a\ne");
    env.run("inorder exec -N 2 -j 3 --to nul in --shell 'read a; printf %s $a'")
        .quiet()
        .out("a\0c\0e");
}
