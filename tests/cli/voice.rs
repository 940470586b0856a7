//! What is said on standard error, and that a bad one neither stops nor fails a run: row F6.

use std::io::Write;
use std::time::{Duration, Instant};

use super::testenv::{TestEnv, numbers};

#[test]
fn off_a_terminal_success_is_silent() {
    let env = TestEnv::new();
    env.run("inorder cat data/quoted.csv -o out")
        .quiet()
        .out("");
    env.run("inorder cat data/quoted.csv | cmp data/quoted.csv -")
        .quiet();
    env.run("inorder check data/quoted.csv").quiet();
    env.run("inorder cat -q --work fail:1% --on-error skip data/flights-sample.csv -o out")
        .status(3)
        .err_lacks("2,005 records");
}

#[test]
fn progress_off_a_terminal_is_plain_lines() {
    let env = TestEnv::new();
    for term in ["xterm", "dumb", ""] {
        let ran = env.run(&format!(
            "TERM={term} inorder cat --progress always --work sleep:1ms -j 8 data/flights-sample.csv | cmp data/flights-sample.csv -"
        ));
        ran.status(0)
            .err_has("2,005 records, 185.03 kB read, 185.03 kB written");
        assert!(!ran.err.contains(['\r', '\u{1b}']), "{ran}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn f6_a_closed_or_full_standard_error_fails_nothing() {
    let env = TestEnv::new();
    let work =
        "cat --progress always --work sleep:1ms -j 8 --limit 800 data/flights-sample.csv -o out";
    for stderr in ["/dev/full", "/dev/null", "&-"] {
        env.run(&format!("inorder {work} 2>{stderr}")).quiet();
        assert_eq!(
            env.read("out")
                .iter()
                .filter(|byte| **byte == b'\n')
                .count(),
            801
        );
        for (line, status) in [
            ("cat nofile", 1),
            ("cat --nonsense", 2),
            (
                "cat --work fail:1% --on-error skip data/flights-sample.csv -o out",
                3,
            ),
            ("cat --work fail:1% data/flights-sample.csv -o out2", 1),
        ] {
            env.run(&format!("inorder {line} 2>{stderr}"))
                .status(status)
                .err("");
        }
        // No file that the program opens may come to stand where standard error was.
        env.run(&format!(
            "inorder cat --work fail:1% --on-error skip data/flights-sample.csv -o out 2>{stderr}; grep -c skipped out"
        ))
        .out("0\n");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn f6_a_blocked_standard_error_stops_nothing() {
    let env = TestEnv::new();
    let env = &env;
    std::thread::scope(|scope| {
        for (line, status) in [
            (
                "cat --progress always --work sleep:1ms -j 4 data/flights-sample.csv -o out",
                0,
            ),
            (
                "cat --work fail:10% --on-error skip data/flights-sample.csv -o out3",
                3,
            ),
            ("cat --work fail:10% data/flights-sample.csv -o out2", 1),
            ("cat nofile", 1),
        ] {
            scope.spawn(move || {
                let (_reader, writer) = full_pipe();
                let start = Instant::now();
                let done = env
                    .program(line.split(' '))
                    .stderr(writer)
                    .status()
                    .unwrap();
                assert_eq!(done.code(), Some(status), "{line}");
                assert!(start.elapsed() < Duration::from_secs(10), "{line}");
            });
        }
    });
}

/// A pipe into which no byte more goes.
#[cfg(target_os = "linux")]
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    use rustix::fs::{OFlags, fcntl_setfl};
    let (reader, mut writer) = std::io::pipe().unwrap();
    fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
    while writer.write(&[b'x'; 4096]).is_ok() {}
    while writer.write(b"x").is_ok() {}
    fcntl_setfl(&writer, OFlags::empty()).unwrap();
    (reader, writer)
}

/// A run with a bar on a terminal of so many columns.
#[cfg(target_os = "linux")]
fn draws_at(columns: u16) {
    let env = TestEnv::new();
    let ran = env.run(&format!(
        "script -qec 'stty cols {columns}; inorder cat --work sleep:1ms -j 8 data/flights-sample.csv -o out' /dev/null
         cmp out data/flights-sample.csv"
    ));
    ran.status(0).has("2,005 records");
    assert!(!ran.out.contains("panicked"), "{ran}");
    let shares: Vec<u32> = ran
        .out
        .split("% of")
        .filter_map(|before| before.rsplit([' ', '\r', ']']).next()?.parse().ok())
        .collect();
    assert!(shares.iter().all(|share| *share <= 100), "{ran}");
    if columns >= 80 {
        assert_eq!(shares.last(), Some(&100), "{ran}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn f6_terminals_of_every_width() {
    let env = TestEnv::new();
    if !env.can("script", "script -qec true /dev/null") {
        return;
    }
    std::thread::scope(|scope| {
        for columns in [200, 80, 59, 20, 1, 0] {
            scope.spawn(move || draws_at(columns));
        }
    });
    // A result on the terminal itself is not garbled.
    let ran = env
        .run("script -qec 'inorder cat --work sleep:20ms --limit 9 data/events.ndjson' /dev/null");
    ran.status(0);
    assert!(!ran.out.contains('\u{1b}'), "{ran}");
    let ran = env.run(
        "TERM=dumb script -qec 'inorder cat --work sleep:20ms data/events.ndjson -o out' /dev/null",
    );
    assert!(!ran.out.contains('\u{1b}'), "{ran}");
}

#[cfg(target_os = "linux")]
#[test]
fn f1_a_stall_is_shown_with_the_record_that_is_waited_for() {
    let env = TestEnv::new();
    if !env.can("script", "script -qec true /dev/null") {
        return;
    }
    env.run("script -qec 'inorder cat --work sleep:5500ms --limit 1 data/flights-sample.csv -o out' /dev/null")
        .status(0)
        .has("waiting for record 1 for 5s");
}

#[test]
fn sigusr1_asks_how_far_the_run_is() {
    let env = TestEnv::new();
    env.write("in", numbers(20));
    let ran = env.run(
        "inorder cat --work sleep:150ms -j 2 -N 1 in -o out &
         sleep 0.6; kill -USR1 $!; sleep 0.2; kill -USR1 $!; wait $!",
    );
    ran.status(0)
        .err_has(" records, ")
        .err_has(" MiB in flight\n");
    for worker in [0, 1] {
        ran.err_has(&format!("inorder: worker {worker}: record "));
    }
    ran.err_has(" of in, for ");
    assert_eq!(env.read("out"), numbers(20).as_bytes());
}
