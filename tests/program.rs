//! The program as a user meets it: run by a shell, with streams that are closed, full, blocked or gone, and files that
//! are odd. Rows of the fault list are named in the tests (C2, C4, C5, C7, A17, F6).
#![cfg(all(unix, feature = "cli"))]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A folder of its own with copies of the sample data in `data/`, in which scripts run. `inorder` is the program.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(TempDir::new().unwrap());
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
        fs::create_dir(place.0.path().join("data")).unwrap();
        for file in fs::read_dir(data).unwrap().map(Result::unwrap) {
            fs::copy(
                file.path(),
                place.0.path().join("data").join(file.file_name()),
            )
            .unwrap();
        }
        place
    }

    fn command(&self, script: &str) -> Command {
        let program = env!("CARGO_BIN_EXE_inorder");
        let mut command = Command::new("bash");
        command
            .arg("-c")
            .arg(format!("inorder() {{ '{program}' \"$@\"; }}\n{script}"))
            .current_dir(self.0.path())
            .env("TERM", "xterm")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, script: &str) -> Ran {
        Ran::of(script, self.command(script).output().unwrap())
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.0.path().join(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.path().join(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = names
            .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name != "data")
            .collect();
        names.sort();
        names
    }
}

/// What a script did; its methods show all of it when they fail.
struct Ran {
    script: String,
    status: i32,
    out: String,
    err: String,
}

impl Ran {
    fn of(script: &str, output: Output) -> Ran {
        Ran {
            script: script.to_string(),
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    fn status(&self, status: i32) -> &Ran {
        assert_eq!(self.status, status, "{self}");
        self
    }

    #[track_caller]
    fn out(&self, out: &str) -> &Ran {
        assert_eq!(self.out, out, "{self}");
        self
    }

    #[track_caller]
    fn err(&self, err: &str) -> &Ran {
        assert_eq!(self.err, err, "{self}");
        self
    }

    #[track_caller]
    fn err_has(&self, part: &str) -> &Ran {
        assert!(self.err.contains(part), "no {part:?} in\n{self}");
        self
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ran {
            script,
            status,
            out,
            err,
        } = self;
        write!(
            f,
            "$ {script}\nstatus {status}\n--- out\n{out}\n--- err\n{err}"
        )
    }
}

#[test]
fn the_examples_of_the_help_run() {
    for command in ["", "cat", "check", "completions", "man"] {
        let place = Place::new();
        let help = place.run(&format!("inorder {command} --help"));
        help.status(0).err("");
        let (_, examples) = help.out.split_once("Examples:\n").expect("examples");
        let examples = examples.split("\nStatus:").next().unwrap_or(examples);
        let mut tried = 0;
        for line in examples.lines().map(str::trim) {
            if line.starts_with("inorder ") || line.starts_with("cmp ") {
                let status = if line.contains("--on-error skip") {
                    3
                } else {
                    0
                };
                place.run(line).status(status);
                tried += 1;
            }
        }
        assert!(tried > 0, "{help}");
    }
}

#[test]
fn cat_gives_back_every_sample() {
    let place = Place::new();
    for name in [
        "flights-sample.csv",
        "quoted.csv",
        "events.ndjson",
        "README.md",
    ] {
        for options in [
            "",
            "--chunk-size 1",
            "--chunk-size 7 -j 7 --work fib:1..9",
            "--no-mmap",
            "--sequential",
        ] {
            place
                .run(&format!(
                    "inorder cat {options} data/{name} -o out && cmp data/{name} out"
                ))
                .status(0)
                .err("");
            place
                .run(&format!(
                    "inorder cat {options} < data/{name} | cmp data/{name} -"
                ))
                .status(0)
                .err("");
        }
    }
}

#[test]
fn cat_joins_inputs_with_one_header() {
    let place = Place::new();
    place.write("a.csv", "x,y\n1,2\n");
    place.write("b.csv", "\"x\",y\r\n3,4\r\n");
    place.write("c.csv", "x,z\n5,6\n");
    place
        .run("inorder cat a.csv b.csv")
        .status(0)
        .out("x,y\n1,2\n3,4\r\n");
    place
        .run("inorder cat --no-output-header a.csv b.csv")
        .status(0)
        .out("1,2\n3,4\r\n");
    place
        .run("printf 'b.csv\\0a.csv\\0' | inorder cat --files0-from -")
        .status(0)
        .out("\"x\",y\r\n3,4\r\n1,2\n");
    place
        .run("inorder cat a.csv c.csv -o out")
        .status(1)
        .err_has("c.csv");
    place
        .run("inorder cat a.csv - < b.csv")
        .status(0)
        .out("x,y\n1,2\n3,4\r\n");
    assert_eq!(place.names(), ["a.csv", "b.csv", "c.csv"]);
}

#[test]
fn failing_records_are_left_out_or_end_the_run() {
    let place = Place::new();
    place.run("inorder cat --work fail:1% data/flights-sample.csv -o out").status(1)
        .err_has("data/flights-sample.csv: failed, record 141 (line 142, byte 13039): drawn by --work fail");
    assert!(place.names().is_empty());
    for options in ["", "-j 7 --chunk-size 99", "--sequential"] {
        let ran = place.run(&format!(
            "inorder cat --work fail:1% --on-error skip {options} data/flights-sample.csv --stats s.json | md5sum"
        ));
        ran.err_has("skipped, record 141 (line 142, byte 13039): drawn by --work fail")
            .err_has("only the first 10 are shown")
            .err_has("2,005 records, 24 skipped");
        place.write("sum", &ran.out);
        place
            .run("[ -e first ] || cp sum first; cmp sum first")
            .status(0);
        let stats = String::from_utf8(place.read("s.json")).unwrap();
        for part in [
            "\"records\": 2005,",
            "\"processed\": 1981,",
            "\"skipped\": 24,",
            "\"outcome\": \"done_with_faults\"",
            "\"status\": 3",
        ] {
            assert!(stats.contains(part), "{part} in {stats}");
        }
    }
}

#[test]
fn check_reports_ragged_rows() {
    let place = Place::new();
    place.write("r.csv", "a,b,c\n1,2,3\n4,5\n6,7,8\n9,10,11,12\n");
    let report = "r.csv: record 2 (line 3, byte 12): 2 fields, the header has 3\n\
                  r.csv: record 4 (line 5, byte 22): 4 fields, the header has 3\n\
                  r.csv: csv, 4 records of 3 fields, 5 lines, 33 bytes: 2 faults\n";
    for options in ["", "--chunk-size 1 -j 8", "--sequential"] {
        place
            .run(&format!("inorder check {options} r.csv"))
            .status(3)
            .out(report)
            .err("");
    }
    place.run("inorder check --faults 1 r.csv").status(3).out(
        "r.csv: record 2 (line 3, byte 12): 2 fields, the header has 3\n\
         and 1 more fault\n\
         r.csv: csv, 4 records of 3 fields, 5 lines, 33 bytes: 2 faults\n",
    );
}

#[test]
fn check_without_a_header_goes_by_the_first_record_of_all() {
    let place = Place::new();
    let rows: String = (0..5000).map(|row| format!("{row},x\n")).collect();
    place.write("rows.csv", rows + "3\n");
    place.write("empty.csv", "");
    place.write("blank.csv", "\n\n");
    place.write("wide.csv", "1,2,3\n");
    for options in ["", "--chunk-size 1 -j 16", "-N 3 -j 64", "--sequential"] {
        let ran = place.run(&format!(
            "inorder check --no-header {options} empty.csv blank.csv rows.csv wide.csv"
        ));
        ran.status(3).out(
            "rows.csv: record 5001 (line 5001, byte 33890): 1 field, the first record has 2\n\
             wide.csv: record 1 (line 1, byte 0): 3 fields, the first record has 2\n\
             4 inputs: csv, 5,002 records of 2 fields, 5,004 lines, 33,900 bytes: 2 faults\n",
        );
    }
}

#[test]
fn check_of_json_is_strict() {
    let place = Place::new();
    place.write(
        "j.ndjson",
        b"{\"a\":1}\n \r\n\nNaN\n\"\\ud800\"\r\n[1,]\n\"\xff\"\n1 2",
    );
    place.run("inorder check j.ndjson").status(3).out(
        "j.ndjson: record 2 (line 4, byte 12): not JSON: expected value at column 1\n\
         j.ndjson: record 4 (line 6, byte 26): not JSON: expected value at column 4\n\
         j.ndjson: record 5 (line 7, byte 31): not JSON: invalid UTF-8 at column 2\n\
         j.ndjson: record 6 (line 8, byte 35): not JSON: trailing characters at column 3\n\
         j.ndjson: ndjson, 6 records, 7 lines, 38 bytes: 4 faults\n",
    );
    let json = place.run("inorder check --json j.ndjson");
    json.status(3);
    for part in [
        "\"complete\": true",
        "\"faults\": 4",
        "\"kind\": \"json\"",
        "\"line\": 4",
    ] {
        assert!(json.out.contains(part), "{part} in {json}");
    }
}

#[test]
fn check_names_the_quote_that_is_never_closed() {
    let place = Place::new();
    place.write("u.csv", "id,name,qty\n1,\"Ann\",4\n2,\"Bob,5\n3,Eve,6\n");
    let ran = place.run("inorder check u.csv");
    ran.status(3);
    assert!(ran.out.contains("record 2 (line 3, byte 22): "), "{ran}");
    place
        .run("inorder cat u.csv -o out")
        .status(1)
        .err_has("line 3");
    assert_eq!(place.names(), ["u.csv"]);
}

#[test]
fn carriage_returns_alone_get_a_hint() {
    let place = Place::new();
    place.write("cr.txt", "a\rb\rc\r");
    place
        .run("inorder cat cr.txt")
        .status(0)
        .out("a\rb\rc\r")
        .err_has("carriage returns");
    place
        .run("inorder check --from csv cr.txt")
        .status(0)
        .err("")
        .out("cr.txt: csv, 2 records of 1 field, 0 lines, 6 bytes: no faults\n");
}

#[test]
fn usage_errors_have_status_2() {
    let place = Place::new();
    for line in [
        "",
        "cat --nonsense",
        "cat -d ab data/quoted.csv",
        "cat -d ';' data/README.md",
        "cat -d '\"' data/quoted.csv",
        "cat - -",
        "cat --stats - data/quoted.csv",
        "cat --memory lots data/quoted.csv",
        "man nonsense",
    ] {
        let ran = place.run(&format!("inorder {line}"));
        ran.status(2).out("");
        assert!(!ran.err.is_empty(), "{ran}");
    }
}

#[test]
fn a17_odd_names_work_and_are_shown_escaped() {
    let place = Place::new();
    place
        .run("printf 'a\\n' > $'x\\ny'; inorder cat $'x\\ny'")
        .status(0)
        .out("a\n");
    place
        .run("inorder cat --work fail:1 $'x\\ny' -o out")
        .status(1)
        .err_has(r"inorder: x\ny: failed, record 1");
    place
        .run("printf 'a,b\\nc\\n' > $'\\xff\\e[2J.csv'; inorder check $'\\xff\\e[2J.csv'")
        .status(3)
        .out(
            "\\xFF\\x1B[2J.csv: record 1 (line 2, byte 4): 1 field, the header has 2\n\
              \\xFF\\x1B[2J.csv: csv, 1 record of 2 fields, 2 lines, 6 bytes: 1 fault\n",
        );
    place
        .run("printf 'a\\n' > ./-f; inorder cat -- -f")
        .status(0)
        .out("a\n");
    let ran = place.run("inorder cat $'no\\nsuch\\e[31m'");
    ran.status(1);
    assert!(
        ran.err.lines().count() == 1 && !ran.err.contains('\u{1b}'),
        "{ran}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn c2_a_full_standard_output_is_an_error_in_every_mode() {
    let place = Place::new();
    place.write("one", "a");
    for line in [
        "cat data/events.ndjson",
        "cat one",
        "cat --sequential one",
        "cat --no-mmap -j 1 data/quoted.csv",
        "cat --work fib:3 data/flights-sample.csv",
        "cat one -o /dev/stdout",
        "cat one -o two --stats -",
        "check one",
        "check --json one",
        "completions zsh",
        "man",
        "man cat",
        "--help",
        "cat --help",
        "--version",
    ] {
        place
            .run(&format!("inorder {line} > /dev/full"))
            .status(1)
            .err_has("No space left on device");
    }
}

#[test]
fn c4_a_reader_that_goes_away_ends_the_run_quietly() {
    let place = Place::new();
    place.run("seq 2000000 > big").status(0);
    for line in [
        "cat big",
        "cat --sequential big",
        "cat --no-mmap big",
        "cat - < big",
        "cat --progress always big",
    ] {
        let start = Instant::now();
        place
            .run(&format!(
                "inorder {line} | head -n 1; exit ${{PIPESTATUS[0]}}"
            ))
            .status(0)
            .out("1\n");
        assert!(start.elapsed() < Duration::from_secs(10));
    }
    place.run("inorder cat big | head -n 1").err("");
    place
        .run("inorder check big | true; exit ${PIPESTATUS[0]}")
        .status(0)
        .err("");
    place
        .run("inorder cat --help | true; exit ${PIPESTATUS[0]}")
        .status(0)
        .err("");
    // Also when the input is idle.
    let idle =
        "{ (echo a; sleep 5) | (inorder cat; touch ended) | head -n 1; } & sleep 2; ls ended";
    place.run(idle).status(0).out("a\nended\n");
}

#[test]
fn c5_closed_streams_are_named() {
    let place = Place::new();
    for line in [
        "cat data/quoted.csv",
        "check data/quoted.csv",
        "cat data/quoted.csv -o o --stats -",
        "man",
        "--help",
    ] {
        place
            .run(&format!("inorder {line} >&-"))
            .status(1)
            .err("inorder: standard output is closed\n");
    }
    place
        .run("inorder cat <&-")
        .status(1)
        .err("inorder: standard input is closed\n");
    place
        .run("inorder cat - data/quoted.csv <&-")
        .status(1)
        .err("inorder: standard input is closed\n");
    place
        .run("inorder cat data/quoted.csv -o out >&- <&-")
        .status(0);
    place.run("cmp data/quoted.csv out").status(0);
}

#[test]
fn c7_an_input_that_is_standard_output_is_refused() {
    let place = Place::new();
    let fresh = "cp data/quoted.csv f; rm -f g; ln f g;";
    for (line, emptied) in [
        ("cat f >> f", false),
        ("cat < f >> f", false),
        ("cat g >> f", false),
        ("cat data/quoted.csv f >> f", false),
        ("cat f -o /dev/stdout >> f", false),
        ("check f >> f", false),
        ("cat f > f", true),
        ("cat < f > f", true),
        ("cat - < f > f", true),
    ] {
        let ran = place.run(&format!("{fresh} inorder {line}"));
        ran.status(2).err_has("is standard output");
        assert_eq!(
            ran.err.contains("the shell has emptied it"),
            emptied,
            "{ran}"
        );
        if !emptied {
            assert_eq!(place.read("f"), place.read("data/quoted.csv"));
        }
    }
    for line in ["cat f -o f", "cat f -o g", "cat - -o f < f"] {
        place
            .run(&format!("{fresh} inorder {line} && cmp f data/quoted.csv"))
            .status(0);
    }
}

#[test]
fn figures_never_overwrite_an_input_or_the_output() {
    let place = Place::new();
    place.run("cp data/quoted.csv f; ln f g").status(0);
    for line in [
        "cat f -o h --stats g",
        "cat f -o h --stats h",
        "cat f --stats s > s",
        "cat - -o h --stats f < f",
    ] {
        place
            .run(&format!("inorder {line}"))
            .status(2)
            .err_has("--stats would overwrite");
    }
    assert_eq!(place.read("f"), place.read("data/quoted.csv"));
    place
        .run("inorder cat f -o h --stats none/s")
        .status(1)
        .err_has("none/s: cannot be written");
    place
        .run("echo old > s; inorder cat nofile -o h --stats s; tail -n 1 s")
        .out("}\n");
}

#[cfg(target_os = "linux")]
#[test]
fn f6_a_bad_standard_error_neither_blocks_nor_fails_the_run() {
    let place = Place::new();
    let work =
        "cat --progress always --work sleep:1ms -j 4 --limit 400 data/flights-sample.csv -o out";
    for stderr in ["/dev/full", "/dev/null", "&-"] {
        place.run(&format!("inorder {work} 2>{stderr}")).status(0);
        place
            .run(&format!("inorder cat nofile 2>{stderr}"))
            .status(1)
            .err("");
    }
    // A pipe that is full, and nobody reads.
    for (line, status) in [
        (work, 0),
        (
            "cat --work fail:1% --on-error skip data/flights-sample.csv -o out",
            3,
        ),
        ("cat nofile", 1),
    ] {
        let (_reader, mut writer) = full_pipe();
        writer.flush().unwrap();
        let start = Instant::now();
        let done = place
            .command(&format!("inorder {line}"))
            .stderr(writer)
            .status()
            .unwrap();
        assert_eq!(done.code(), Some(status), "{line}");
        assert!(start.elapsed() < Duration::from_secs(10), "{line}");
    }
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

#[cfg(target_os = "linux")]
#[test]
fn f6_terminals_of_every_width() {
    let place = Place::new();
    let work = "cat --work sleep:1ms -j 4 data/flights-sample.csv -o out";
    for columns in [200, 80, 59, 20, 1] {
        let program = env!("CARGO_BIN_EXE_inorder");
        let ran = place.run(&format!(
            "script -qec \"stty cols {columns}; '{program}' {work}\" /dev/null; cmp out data/flights-sample.csv"
        ));
        ran.status(0);
        assert!(
            ran.out.contains("2,005 records") && !ran.out.contains("panicked"),
            "{ran}"
        );
        if columns >= 80 {
            let shares: Vec<u32> = ran
                .out
                .split("% of")
                .filter_map(|before| before.rsplit([' ', '\r', ']']).next()?.parse().ok())
                .collect();
            assert_eq!(shares.last(), Some(&100), "{ran}");
            assert!(shares.iter().all(|share| *share <= 100), "{ran}");
        }
    }
}

#[test]
fn off_a_terminal_success_is_silent_and_progress_is_plain_lines() {
    let place = Place::new();
    place
        .run("inorder cat data/quoted.csv -o out")
        .status(0)
        .out("")
        .err("");
    let ran =
        place.run("inorder cat --progress always --work sleep:3ms data/flights-sample.csv -o out");
    ran.status(0)
        .err_has("2,005 records, 185.03 kB read, 185.03 kB written");
    assert!(!ran.err.contains(['\r', '\u{1b}']), "{ran}");
    place
        .run("inorder cat -q --work fail:1% --on-error skip data/quoted.csv -o out")
        .err("");
}
