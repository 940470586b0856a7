//! Standard output and other things that are written as they stand: rows C2 to C5, C10, and C7 where the shell opens
//! the file.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::testenv::{TestEnv, numbers};

#[cfg(target_os = "linux")]
#[test]
fn c2_a_full_standard_output_is_an_error_in_every_mode() {
    let env = TestEnv::new();
    env.write("one", "1");
    env.write("some", "one\ntwo\nthree\n");
    env.write("big", numbers(200_000));
    for line in [
        "inorder cat one",
        "inorder cat --sequential one",
        "inorder cat < one",
        "cat one | inorder cat --no-mmap",
        "inorder cat some",
        "inorder cat --work fail:1% --on-error skip some",
        "inorder cat --from csv --limit 0 some",
        "inorder cat big",
        "inorder cat --chunk-size 1k -j 7 big",
        "inorder cat --no-mmap big",
        "inorder cat --sequential big",
        "inorder cat some -o /dev/stdout",
        "inorder cat some -o /proc/self/fd/1",
        "inorder cat some -o out --stats -",
        "inorder check one",
        "inorder check --json one",
        "inorder check --from csv nul.csv",
        "inorder check --json big",
        "inorder completions bash",
        "inorder completions zsh",
        "inorder man",
        "inorder man cat",
        "inorder --help",
        "inorder -h",
        "inorder cat --help",
        "inorder --version",
    ] {
        if line.ends_with("nul.csv") {
            env.write("nul.csv", "");
        }
        let ran = env.run(&format!("{line} > /dev/full"));
        ran.status(1).err_has("No space left on device");
        assert_eq!(ran.err.matches("No space left").count(), 1, "{ran}");
        assert!(!ran.err.contains("panicked"), "{ran}");
    }
    for line in [
        "cat one -o /dev/full",
        "cat big -o /dev/full",
        "cat one -o out --stats /dev/full",
    ] {
        env.run(&format!("inorder {line}"))
            .status(1)
            .err_has("/dev/full: cannot")
            .err_has("No space left on device");
    }
    // No byte, no error: nothing had to be written.
    env.write("none", "");
    env.run("inorder cat none > /dev/full").quiet();
}

#[test]
fn c4_a_reader_that_goes_away_ends_the_run_quietly() {
    let env = TestEnv::new();
    env.write("big", numbers(500_000));
    for line in [
        "cat big",
        "cat --sequential big",
        "cat --no-mmap big",
        "cat --work fib:1..9 -j 7 big",
        "cat -o /dev/stdout big",
        "cat - < big",
        "check --faults 9 --from csv big",
        "completions bash",
        "man",
        "cat --help",
    ] {
        let start = Instant::now();
        env.run(&format!(
            "inorder {line} | head -n 1 > first; exit ${{PIPESTATUS[0]}}"
        ))
        .quiet();
        env.run(&format!("inorder {line} | true; exit ${{PIPESTATUS[0]}}"))
            .status(0);
        assert!(start.elapsed() < Duration::from_secs(10), "{line}");
    }
    // The figures tell it.
    env.run("inorder cat big --stats s.json | head -n 1")
        .quiet()
        .out("1\n");
    let figures = env.json("s.json");
    assert_eq!(figures["outcome"], "reader_gone", "{figures}");
    assert_eq!(figures["status"], 0, "{figures}");
}

/// One chunk is at work for half a minute, and nothing is written meanwhile.
#[test]
fn c4_a_reader_that_goes_away_is_noticed_while_a_chunk_is_at_work() {
    let env = TestEnv::new();
    env.write("one", "1\n");
    env.write("long", numbers(2000));
    for compress in ["none", "gzip"] {
        let begun = Instant::now();
        env.run(&format!(
            "set -o pipefail
             inorder cat --chunk-size 1M --work sleep:15ms -j 2 --compress {compress} one long | (sleep 0.3; exec true)"
        ))
        .quiet();
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn c4_a_reader_that_goes_away_is_noticed_while_the_input_is_idle() {
    let env = TestEnv::new();
    env.run("mkfifo f").status(0);
    for options in ["f", "--sequential f", "--no-mmap f", "- < f"] {
        let ran = env.run(&format!(
            "exec 9<> f; echo first >&9
             inorder cat {options} 9>&- | (read line; echo $line); exit ${{PIPESTATUS[0]}}"
        ));
        ran.quiet().out("first\n");
    }
}

#[test]
fn c5_a_closed_standard_stream_is_named() {
    let env = TestEnv::new();
    for line in [
        "cat data/quoted.csv",
        "cat data/quoted.csv -o /dev/stdout",
        "check data/quoted.csv",
        "check --json data/quoted.csv",
        "cat data/quoted.csv -o o --stats -",
        "man",
        "completions fish",
        "--help",
        "--version",
    ] {
        env.run(&format!("inorder {line} >&-"))
            .status(1)
            .err("inorder: standard output is closed\n");
    }
    for line in [
        "cat",
        "cat -",
        "cat data/quoted.csv -",
        "check",
        "cat -o out",
    ] {
        env.run(&format!("inorder {line} <&-"))
            .status(1)
            .out("")
            .err("inorder: standard input is closed\n");
    }
    // Where they are not needed it does not matter that they are closed.
    env.run("inorder cat data/quoted.csv -o out >&- <&- && cmp data/quoted.csv out")
        .quiet();
    env.run("inorder cat data/quoted.csv -o out >&- <&- 2>&- && cmp data/quoted.csv out")
        .quiet();
    env.run("inorder check data/quoted.csv <&-").status(0);
}

#[test]
fn c7_an_input_that_is_standard_output_is_refused() {
    let env = TestEnv::new();
    let fresh = "cp data/quoted.csv f; rm -f g l; ln f g; ln -s f l;";
    for (line, emptied) in [
        ("cat f >> f", false),
        ("cat < f >> f", false),
        ("cat g >> f", false),
        ("cat l >> f", false),
        ("cat data/quoted.csv f >> f", false),
        ("cat f -o /dev/stdout >> f", false),
        ("check f >> f", false),
        ("cat f 1<> f", false),
        ("cat f > f", true),
        ("cat < f > f", true),
        ("cat - < f > g", true),
    ] {
        let ran = env.run(&format!("{fresh} inorder {line}"));
        ran.status(2).err_has("is standard output");
        assert_eq!(
            ran.err.contains("the shell has emptied it"),
            emptied,
            "{ran}"
        );
        if !emptied {
            assert_eq!(env.read("f"), env.read("data/quoted.csv"), "{ran}");
        }
    }
    // Another file, or nothing to lose, is no reason to refuse.
    env.run(&format!("{fresh} inorder cat f < f > other && cmp f other"))
        .quiet();
    env.run("inorder cat < /dev/null > /dev/null").quiet();
}

#[test]
fn c7_figures_never_overwrite_an_input_or_the_output() {
    let env = TestEnv::new();
    env.run("cp data/quoted.csv f; ln f g").status(0);
    for line in [
        "cat f -o h --stats f",
        "cat f -o h --stats g",
        "cat f -o h --stats h",
        "cat f -o h --stats ./h",
        "cat f --stats s > s",
        "cat - -o h --stats f < f",
        "check f --stats g",
    ] {
        env.run(&format!("inorder {line}"))
            .status(2)
            .err_has("--stats would overwrite");
    }
    assert_eq!(env.read("f"), env.read("data/quoted.csv"));
}

#[test]
fn c10_devices_and_fifos_are_written_directly() {
    let env = TestEnv::new();
    env.run(
        "inorder cat data/quoted.csv -o /dev/null && test -c /dev/null
         ls /dev/null* /dev/.null* 2> /dev/null",
    )
    .out("/dev/null\n")
    .err("");
    env.run(
        "mkfifo f; cat f > got & inorder cat data/flights-sample.csv -o f && wait && test -p f &&
         cmp data/flights-sample.csv got",
    )
    .quiet();
    env.run("inorder cat data/quoted.csv -o /dev/stdout | cmp data/quoted.csv -")
        .quiet();
    env.run("inorder cat data/quoted.csv -o /dev/fd/3 3> got && cmp data/quoted.csv got")
        .quiet();
    env.run("inorder cat data/quoted.csv -o /dev/stderr 2> got && cmp data/quoted.csv got")
        .quiet();
    // An inherited file is written where it stands.
    env.run("(echo before; inorder cat data/quoted.csv; echo after) > got; (echo before; cat data/quoted.csv; echo after) | cmp - got")
        .quiet();
    assert_eq!(env.names("."), ["f", "got"]);
}

#[cfg(target_os = "linux")]
#[test]
fn c10_a_terminal_is_written_directly() {
    let env = TestEnv::new();
    if !env.can("script", "script -qec true /dev/null") {
        return;
    }
    env.write("in", "on a terminal\n");
    for target in ["", "-o /dev/tty", "-o \"$(tty)\""] {
        env.write("run", format!("inorder cat in {target}"));
        env.run("script -qec 'bash run' /dev/null")
            .status(0)
            .has("on a terminal\r\n");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn c3_a_pipe_that_does_not_block_is_waited_for() {
    use rustix::fs::{OFlags, fcntl_setfl};
    let env = TestEnv::new();
    let text = numbers(100_000);
    env.write("in", &text);
    for options in [
        &["cat", "in"][..],
        &["cat", "--sequential", "in"],
        &["cat", "-j", "5", "--chunk-size", "3k", "in"],
    ] {
        let (mut reader, writer) = std::io::pipe().unwrap();
        fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        let mut child = env.program(options).stdout(writer).spawn().unwrap();
        let mut got = Vec::new();
        let mut piece = [0; 50_000];
        loop {
            thread::sleep(Duration::from_millis(2));
            match reader.read(&mut piece).unwrap() {
                0 => break,
                n => got.extend_from_slice(&piece[..n]),
            }
        }
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert!(got == text.as_bytes(), "{options:?}");
    }
}

#[test]
fn c3_a_run_that_is_stopped_and_continued_goes_on() {
    let env = TestEnv::new();
    let text = numbers(300_000);
    env.write("in", &text);
    // Writes to a pipe are cut short by the stop, reads interrupted.
    let ran = env.run(
        "mkfifo f; inorder cat in -o f & run=$!
         (for i in $(seq 40); do kill -STOP $run; sleep 0.002; kill -CONT $run; sleep 0.002; done) 2> /dev/null &
         while read -r -N 4000 part; do printf %s \"$part\"; done < f; printf %s \"$part\"; wait $run",
    );
    ran.quiet().out(&text);
}

#[test]
fn an_output_that_is_a_program_of_its_own_gets_every_byte() {
    let env = TestEnv::new();
    env.write("in", numbers(50_000));
    let mut child = env
        .program(["cat", "-"])
        .stdin(Stdio::piped())
        .stdout(File::create(env.path("out")).unwrap())
        .spawn()
        .unwrap();
    // In pieces that end within records.
    let mut stdin = child.stdin.take().unwrap();
    for piece in env.read("in").chunks(997) {
        stdin.write_all(piece).unwrap();
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(env.read("out"), env.read("in"));
}
