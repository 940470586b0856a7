//! Runs that are cut short and gone on with: rows C1, C12 and E1 to E6.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::testenv::{Ran, TestEnv, finish, numbers};

/// The command of these tests, with work that lasts about a second.
const SLOW: &str =
    "inorder cat --work sleep:1ms -j 2 -N 5 in -o out --resume --checkpoint-every 1ms";

/// An input of 1000 lines, and a run over it that was killed on the way.
fn killed() -> TestEnv {
    let env = TestEnv::new();
    env.write("in", numbers(1000));
    // Killed when the state of some records is saved. The shell's message of it is none of ours.
    env.run(&format!(
        "({SLOW} & until grep -q '\"records\":[1-9][0-9][0-9]' out.checkpoint && [ -s out.part ]; do sleep 0.01; done
          kill -9 $!; wait $!) 2> /dev/null"
    ))
    .status(137);
    assert_eq!(names(&env), ["in", "out.checkpoint", "out.part"]);
    env
}

/// But for the hidden name that a kill in the instant between two calls leaves, and the next run removes.
fn names(env: &TestEnv) -> Vec<String> {
    let names = env.names(".").into_iter();
    names.filter(|name| !name.starts_with('.')).collect()
}

fn files(env: &TestEnv) -> Vec<(String, Vec<u8>)> {
    let files = names(env)
        .into_iter()
        .filter(|name| env.path(name).is_file());
    files.map(|name| (name.clone(), env.read(&name))).collect()
}

/// The run is refused, the reason names `named`, and nothing is touched.
#[track_caller]
fn refused(env: &TestEnv, script: &str, status: i32, named: &str) -> Ran {
    let before = files(env);
    let ran = env.run(script);
    ran.status(status).err_has(named);
    assert!(before == files(env), "{ran}");
    ran
}

#[test]
fn e1_runs_killed_at_any_moment_give_what_whole_ones_give() {
    let env = TestEnv::new();
    let rows = (0..3000).map(|n| match n % 3 {
        0 => format!("{n},\"two\nlines, {n}\"\n"),
        1 => format!("{n},plain\r\n"),
        _ => format!("\n{n},\"after a \"\"blank\"\" line\"\n"),
    });
    env.write("in.csv", format!("id,text\n{}", rows.collect::<String>()));
    env.write("in.txt", numbers(3000));
    // Blocks of a MiB, some of them whole.
    let long = (0..3000).map(|n| format!("{n}{}\n", " text".repeat(n % 601)));
    env.write("in.long", long.collect::<String>());
    let random = (1..).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57);
    let mut random = random.map(Duration::from_millis);
    let mut killed = 0;
    for (input, end) in [("in.csv", ""), ("in.txt", ""), ("in.long", ".gz")] {
        let common = "--work sleep:50us,fail:1% --progress never";
        let args = format!(
            "cat {common} {input} -o whole{end} --rejects whole.bad{end} --stats whole.json"
        );
        finish(&args, &mut env.program(args.split(' '))).status(3);
        let args = format!(
            "cat {common} {input} -o out{end} --rejects bad{end} --stats json --resume --checkpoint-every 1ms"
        );
        for tried in 0.. {
            assert!(tried < 100, "no end");
            let mut run = env.program(args.split(' '));
            // Other ways to the same bytes.
            run.args(["-j", ["1", "2", "5"][tried % 3]]);
            if tried > 10 {
                finish(&args, &mut run).status(3);
                break;
            }
            let mut child = run.stderr(Stdio::null()).spawn().unwrap();
            thread::sleep(random.next().unwrap());
            child.kill().unwrap();
            let status = child.wait().unwrap();
            killed += usize::from(status.code().is_none());
            if status.code() == Some(3) {
                break;
            }
        }
        for (one, two) in [("whole", "out"), ("whole.bad", "bad")] {
            let (one, two) = (format!("{one}{end}"), format!("{two}{end}"));
            assert!(env.read(&one) == env.read(&two), "{input}: {two}");
        }
        let rows = ["whole.bad", "bad"].map(|name| env.read(format!("{name}{end}.errors.ndjson")));
        assert!(rows[0] == rows[1], "{input}");
        let (one, two) = (env.json("whole.json"), env.json("json"));
        for counter in [
            "records",
            "processed",
            "rejected",
            "lines",
            "bytes_in",
            "bytes_out",
        ] {
            assert!(!one[counter].is_null(), "{one}");
            assert_eq!(one[counter], two[counter], "{input}: {counter}");
        }
        if end == ".gz" {
            env.run(
                "gzip -t out.gz bad.gz && zcat out.gz bad.gz | sort > a && sort in.long | cmp a -",
            )
            .quiet();
        }
        env.run("rm -f out* bad* json").quiet();
        assert!(!env.names(".").iter().any(|name| name.contains(".part")));
    }
    assert!(killed > 3, "only {killed} runs were killed");
}

#[test]
fn e3_what_changes_bytes_is_refused_by_name() {
    let env = killed();
    env.write("in2", numbers(1000));
    for (change, named) in [
        ("--limit 5", "limit was \"none\", and is \"5\""),
        ("--skip-lines 1", "skip-lines"),
        ("--from csv", "format"),
        ("--from nul", "format"),
        ("--from ndjson", "format"),
        ("--no-output-header", "output-header"),
        ("--work none", "work"),
        (
            "--compress gzip",
            "compress was \"none\", and is \"gzip at level 6\"",
        ),
        ("in2", "input 2 was not set, and is \"in2\""),
    ] {
        let slow = match change {
            "--work none" => SLOW.replace("--work sleep:1ms", change),
            _ => format!("{SLOW} {change}"),
        };
        refused(&env, &slow, 4, named).err_has("out.checkpoint: ");
    }
    let other = SLOW.replace(" in ", " in2 ");
    refused(&env, &other, 4, "input 1 was \"in\", and is \"in2\"");
}

#[test]
fn e3_a_changed_input_is_refused() {
    let env = killed();
    for (change, named) in [
        (
            "sed -i '1 s/1/8/' in",
            "in: cannot be gone on with: what was read of it has changed",
        ),
        (
            "truncate -s 3000 in",
            "in: cannot be gone on with: it had 3893 bytes, and has 3000 now",
        ),
        ("echo more >> in", "and has 3898 now"),
        (": > in", "and has 0 now"),
    ] {
        env.run(&format!("cp -p in kept; {change}")).quiet();
        refused(&env, SLOW, 4, named);
        env.run("mv kept in").quiet();
    }
    env.run("mv in kept").quiet();
    refused(&env, SLOW, 1, "in: cannot be opened");
    env.run(&format!("mv kept in; {SLOW} && cmp in out"))
        .quiet();
}

#[test]
fn e3_what_changes_no_bytes_is_fine() {
    let env = killed();
    env.run("mkdir left; cp -p out.part out.checkpoint left")
        .quiet();
    let fine = [
        ("", "-j 5"),
        ("", "-N 3 --memory 1M"),
        ("", "--chunk-size 9"),
        ("", "--sequential"),
        ("", "--no-mmap"),
        ("", "--on-error skip --max-errors 3"),
        ("", "--rejects bad"),
        ("", "--checkpoint-every 1h --grace 1s"),
        ("touch in", ""),
        ("cp in other; mv other in", ""),
        ("printf torn >> out.part", ""),
    ];
    for (change, options) in fine {
        let slow = SLOW
            .replace("-j 2 -N 5", "")
            .replace("--checkpoint-every 1ms", "");
        env.run(&format!(
            "rm -f out bad*; cp left/* .; {change}
             {slow} {options} --stats json && cmp in out && ! ls out.* 2> /dev/null"
        ))
        .quiet();
        let json = env.json("json");
        assert_eq!(json["records"], 1000, "{json}");
        assert!(json["resumed_from"].as_u64() > Some(0), "{json}");
    }
}

#[test]
fn e3_a_run_that_ended_at_a_bad_record_goes_on_with_rejects() {
    let env = TestEnv::new();
    env.write("in", numbers(1000));
    let args = "--work fail:1% -N 1 in --resume";
    env.run(&format!("inorder cat {args} -o out"))
        .status(1)
        .err_has("out.part keeps what is done");
    env.run(&format!("inorder cat {args} -o out")).status(1);
    env.run(&format!("inorder cat {args} -o out --rejects bad"))
        .status(3);
    env.run(&format!("inorder cat {args} -o whole --rejects whole.bad"))
        .status(3);
    env.run("cmp out whole; cmp bad whole.bad; cmp bad.errors.ndjson whole.bad.errors.ndjson")
        .quiet();
    // From there another place of the rejects is another run's.
    env.run(&format!(
        "inorder cat {args} -o out --rejects bad --max-errors 3"
    ))
    .status(1);
    let elsewhere = format!("inorder cat {args} -o out --rejects other");
    refused(&env, &elsewhere, 4, "rejects was \"bad\", and is \"other\"");
    // Left out from here on, but what was set aside is kept.
    env.run(&format!("inorder cat {args} -o out --on-error skip"))
        .status(3);
    assert_eq!(env.run("wc -l < bad").out.trim(), "3");
}

#[test]
fn e4_what_was_left_and_is_damaged_is_refused() {
    let env = killed();
    env.run("mkdir left; cp -p out.part out.checkpoint left")
        .quiet();
    for (change, named) in [
        ("truncate -s 3 out.part", "out.part: it has 3 bytes, but "),
        (
            "printf x | dd of=out.part bs=1 seek=1 conv=notrunc status=none",
            "out.part: it does not hold what was written",
        ),
        ("rm out.part", "out.part: it is gone"),
        (
            "rm out.checkpoint",
            "out.part: it is there, but no checkpoint that says what it holds",
        ),
        (": > out.checkpoint", "the checkpoint is damaged"),
        ("truncate -s -1 out.checkpoint", "the checkpoint is damaged"),
        (
            "sed -i s/in/on/ out.checkpoint",
            "the checkpoint is damaged",
        ),
        (
            "head -c 2000 /dev/urandom > out.checkpoint",
            "the checkpoint is damaged",
        ),
    ] {
        env.run(&format!("cp left/* .; {change}")).quiet();
        refused(&env, SLOW, 4, named);
        env.run("rm -f out.part out.checkpoint").quiet();
    }
    // Each length of the checkpoint, some of them here.
    let bytes = env.read("left/out.checkpoint");
    for end in (0..bytes.len()).step_by(67) {
        env.run("cp left/out.part .").quiet();
        env.write("out.checkpoint", &bytes[..end]);
        refused(&env, SLOW, 4, "out.checkpoint: the checkpoint is damaged");
    }
    // All of it can be thrown away.
    env.run(&format!("{SLOW} --restart && cmp in out")).quiet();
    assert_eq!(env.names("."), ["in", "left", "out"]);
}

#[test]
fn e6_streams_are_refused_at_the_start() {
    let env = TestEnv::new();
    env.write("in", numbers(10));
    env.run("mkfifo fifo").quiet();
    let input = "a run can be resumed only if all its inputs are regular files";
    let output = "a run can be resumed only if its output is a regular file";
    for (script, named) in [
        ("cat in | inorder cat -o out --resume", input),
        ("inorder cat - -o out --resume < in", input),
        ("inorder cat fifo -o out --resume", input),
        ("inorder cat in --resume", "the output must be a file"),
        ("inorder cat in -o /dev/null --resume", output),
        ("inorder cat in --restart", "the output must be a file"),
    ] {
        env.run(script).status(2).err_has(named);
    }
    assert_eq!(env.names("."), ["fifo", "in"]);
}

#[test]
fn names_that_would_clash_are_refused() {
    let env = TestEnv::new();
    env.write("in", numbers(10));
    for rejects in ["out.part", "out.checkpoint", "./out.part"] {
        env.run(&format!(
            "inorder cat in -o out --resume --rejects {rejects}"
        ))
        .status(2)
        .err_has("have a name in common");
    }
    assert_eq!(env.names("."), ["in"]);
}

#[test]
fn e5_the_second_run_to_an_output_is_refused_while_the_first_lives() {
    let env = TestEnv::new();
    env.write("in", numbers(1000));
    for option in ["", "--restart"] {
        env.run(&format!(
            "{SLOW} & first=$!
             until [ -s out.part ]; do sleep 0.01; done
             {SLOW} {option} 2> second; echo $? >> second
             wait $first && cmp in out"
        ))
        .quiet();
        let second = String::from_utf8(env.read("second")).unwrap();
        assert_eq!(second, "inorder: out: another run writes this output\n4\n");
        env.run("rm out second").quiet();
        assert_eq!(env.names("."), ["in"]);
    }
}

#[test]
fn e5_of_runs_that_start_at_once_one_goes_on() {
    let env = TestEnv::new();
    env.write("in", numbers(300));
    for _ in 0..10 {
        let ran = env.run(
            "for n in 1 2 3; do
               (inorder cat --work sleep:100us in -o out --resume 2> /dev/null; echo $?) &
             done; wait; cmp in out; ls -A | grep -v '^bin$\\|^data$'",
        );
        let (statuses, left) = ran.out.split_at(6);
        assert_eq!(left, "in\nout\n", "{ran}");
        let done = statuses.lines().filter(|status| *status == "0").count();
        let refused = statuses.lines().filter(|status| *status == "4").count();
        assert!(done >= 1 && done + refused == 3, "{ran}");
        env.run("rm out").quiet();
    }
}

#[test]
fn c12_two_runs_without_resume_both_finish_whole() {
    let env = TestEnv::new();
    env.write("in", numbers(1000));
    env.run(
        "inorder cat --work sleep:500us in -o out & first=$!
         inorder cat --work sleep:400us in -o out || exit 9
         wait $first && cmp in out",
    )
    .quiet();
    assert_eq!(env.names("."), ["in", "out"]);
}

#[test]
fn without_resume_what_an_interrupted_run_left_is_left_alone() {
    let env = killed();
    let (part, checkpoint) = (env.read("out.part"), env.read("out.checkpoint"));
    env.run("inorder cat in -o out && cmp in out")
        .status(0)
        .err("inorder: out.part: left by an interrupted run, and left alone by this one (--resume goes on with it, --restart throws it away)\n");
    assert!(part == env.read("out.part") && checkpoint == env.read("out.checkpoint"));
    // It is found behind a link too, where the part stands beside the file.
    env.run("mkdir far; mv out* far; ln -s far/out out; inorder cat in -o out")
        .status(0)
        .err_has("left by an interrupted run");
    env.run("inorder cat -q in -o out").quiet();
}

#[test]
fn a_link_a_name_of_any_bytes_and_the_input_itself_can_be_resumed() {
    let env = TestEnv::new();
    env.run("mkdir far; ln -s far/out out").quiet();
    let odd = "$'in\\xff\\n, in'";
    env.write("numbers", numbers(1000));
    let slow = format!("{SLOW} --rejects bad").replace(" in ", &format!(" {odd} numbers "));
    env.run(&format!(
        "cp numbers {odd}
         ({slow} & sleep 0.3; kill -9 $!; wait $!) 2> /dev/null
         ls far; {slow} && cat {odd} numbers | cmp - out && test -L out && ls far; test ! -s bad"
    ))
    .out("out.checkpoint\nout.part\nout\n")
    .status(0);
    // What is left stands beside the link's target, and is named there.
    env.run("inorder cat --work fail:1% -N 1 numbers -o out --resume")
        .status(1)
        .err_has("far/out.part keeps what is done");
    env.run("ls out.part far/out.part far/out.checkpoint; rm far/out.part far/out.checkpoint")
        .out("far/out.checkpoint\nfar/out.part\n");
    // Its own input is replaced at the end only.
    let slow = SLOW.replace(" in ", " self ").replace("-o out", "-o self");
    env.run(&format!(
        "cp numbers self
         ({slow} & sleep 0.3; kill -9 $!; wait $!) 2> /dev/null
         cmp self numbers && {slow} && cmp self numbers"
    ))
    .quiet();
}

#[test]
fn inputs_of_a_header_alone_are_gone_on_behind() {
    let env = TestEnv::new();
    env.write("a.csv", "id\n1\n2");
    env.write("b.csv", "id\n\n");
    env.write("c.csv", "");
    env.write("d.csv", format!("id\n{}", numbers(1000)));
    let slow = SLOW.replace(" in ", " a.csv b.csv c.csv d.csv ");
    env.run(&format!(
        "({slow} & sleep 0.3; kill -9 $!; wait $!) 2> /dev/null
         {slow} --stats json && inorder cat ?.csv -o whole && cmp out whole"
    ))
    .quiet();
    assert!(env.json("json")["resumed_from"].as_u64() > Some(2));
}

#[test]
fn a1_an_input_that_changes_in_the_run_publishes_nothing() {
    let env = TestEnv::new();
    env.write("in", numbers(1000));
    env.run("cp in kept").quiet();
    for (change, said) in [
        (
            "truncate -s 2000 in",
            "input shrank from 3893 to 2000 bytes",
        ),
        (
            "dd if=kept of=in conv=notrunc status=none",
            "input was modified while it was read",
        ),
    ] {
        let ran = env.run(&format!(
            "{SLOW} & run=$!
             until [ -s out.part ]; do sleep 0.01; done; sleep 0.1; {change}; wait $run"
        ));
        ran.status(1).err_has(said).err_lacks("keeps what is done");
        assert_eq!(names(&env), ["in", "kept", "out.checkpoint", "out.part"]);
        if change.starts_with("truncate") {
            refused(&env, SLOW, 4, "and has 2000 now");
        }
        // As it was: what was read of it is compared.
        env.run(&format!("cp kept in; {SLOW} && cmp in out && rm out"))
            .quiet();
    }
}

#[test]
fn c1_a_full_disk_is_an_error_and_a_later_run_completes_the_output() {
    let env = TestEnv::new();
    let mount = "mkdir -p disk && mount -t tmpfs -o size=2m none disk";
    let own = format!("unshare -rm bash -c '{mount}'");
    if !env.can("a file system of its own", &own) {
        return;
    }
    env.write("in", numbers(160_000));
    for options in [
        "",
        "--sequential",
        "--no-mmap -N 10 -j 5",
        "--checkpoint-every 1ms",
    ] {
        let command = format!("inorder cat {options} in -o disk/out --resume");
        env.write(
            "inside",
            format!(
                "set -e; {mount}; echo old > disk/out; head -c 1500k /dev/zero > disk/fill; set +e
                 {command}; echo $?; cat disk/out; rm disk/fill
                 {command} --stats json && cmp in disk/out && ls -A disk"
            ),
        );
        env.run("unshare -rm bash inside")
            .status(0)
            .out("1\nold\nout\n")
            .err_has("disk/out: cannot write: No space left on device");
    }
}

#[test]
fn c3_a_limit_of_the_files_size_is_as_a_full_disk() {
    let env = TestEnv::new();
    env.write("in", numbers(160_000));
    let command = "inorder cat in -o out --resume";
    env.run(&format!("trap '' XFSZ; ulimit -f 100; {command}"))
        .status(1)
        .err_has("out: cannot write: File too large");
    env.run(&format!("{command} && cmp in out")).quiet();
    assert_eq!(env.names("."), ["in", "out"]);
}

#[test]
fn the_loop_of_the_help_runs_until_it_is_done() {
    let env = killed();
    let help = env.run("inorder --help").out;
    let start = help.find("until inorder").expect("the help has a loop");
    let end = start + help[start..].find("; done").expect("it has an end") + "; done".len();
    let line = help[start..end].split_whitespace().collect::<Vec<_>>();
    let line = line.join(" ");
    let command = &line["until ".len()..line.find("; do").unwrap()];
    // Killed twice, then whole; and refused, which is not tried again.
    env.write(
        "try",
        format!("echo x >> tries; [ $(wc -l < tries) -gt 2 ] || kill -9 $$; {SLOW}"),
    );
    let script = line
        .replace(command, "sh try")
        .replace("sleep 10", "sleep 0");
    env.run(&format!("{script}; cmp in out; wc -l < tries"))
        .out("3\n");
    env.write("try", format!("echo x >> tries; {SLOW} --limit 1; "));
    env.run("rm tries; cp in out.part").quiet();
    env.run(&format!("{script} 2> /dev/null; wc -l < tries"))
        .out("1\n");
}

#[test]
fn map_exec_and_packed_inputs_are_gone_on_with() {
    let env = TestEnv::new();
    let rows = (0..4000).map(|n| format!("{n},\"two\nlines {n}\"\n"));
    env.write("in.csv", format!("id,text\n{}", rows.collect::<String>()));
    env.run("gzip -k in.csv").quiet();
    for (command, end) in [
        (
            "map 'if .id % 100 == 7 then error(\"no\") else {id, twice: (.id * 2)} end' in.csv",
            "",
        ),
        ("map -r .text in.csv.gz", ""),
        (
            "exec --from lines --chunk-size 4k in.csv",
            "-- awk '/77$/ { exit 3 } { print }'",
        ),
        ("cat --work sleep:20us,fail:1% in.csv.gz", ""),
    ] {
        let whole = format!("inorder {command} --rejects whole.bad -o whole {end}");
        let run =
            format!("inorder {command} --rejects bad -o out --resume --checkpoint-every 1ms {end}");
        let ran = env.run(&format!(
            "{whole} 2> /dev/null
             for pause in 0.01 0.03 0.06 0.02 0.1; do
               (timeout -s KILL $pause {run}; true) > /dev/null 2>&1
             done
             {run} 2> /dev/null
             cmp out whole && cmp bad whole.bad && cmp bad.errors.ndjson whole.bad.errors.ndjson
             echo $?; rm -f out bad* whole*; ls out.* 2> /dev/null"
        ));
        assert_eq!(ran.out, "0\n", "{ran}");
    }
    // Nor what a filter sees of its environment.
    env.run(
        "WORD=one inorder map 'last(range(20000)) | [env.WORD]' in.csv -o out --resume &
         until [ -e out.checkpoint ]; do sleep 0.01; done
         kill -KILL $!; wait",
    );
    env.run("WORD=two inorder map 'last(range(20000)) | [env.WORD]' in.csv -o out --resume")
        .status(4)
        .err_has("environment was");
    env.run("rm out.*").quiet();
    // What the work is may not change.
    env.run(
        "inorder exec --chunk-size 1k in.csv -o out --resume -- sh -c 'sleep 0.02; cat' &
         until [ -e out.checkpoint ]; do sleep 0.01; done
         kill -KILL $!; wait",
    );
    for (change, named) in [
        (
            "--chunk-size 1k in.csv -o out --resume -- cat",
            "command was",
        ),
        (
            "--chunk-size 2k in.csv -o out --resume -- sh -c 'sleep 0.02; cat'",
            "chunk-size",
        ),
        (
            "--chunk-size 1k --rate 9/s in.csv -o out --resume -- sh -c 'sleep 0.02; cat'",
            "rate was",
        ),
    ] {
        refused(&env, &format!("inorder exec {change}"), 4, named);
    }
}
