//! Commands and options: what is accepted, what is refused, and the status that comes of it.

use super::testenv::{TestEnv, numbers};

#[test]
fn the_examples_of_every_help_run() {
    for command in ["", "map", "cat", "check", "completions", "man"] {
        let env = TestEnv::new();
        let help = env.run(&format!("inorder {command} --help"));
        help.quiet();
        let (_, examples) = help.out.split_once("Examples:\n").expect("examples");
        let examples = examples.split("\nStatus:").next().unwrap_or(examples);
        let mut tried = 0;
        for line in examples.lines().map(str::trim) {
            if line.starts_with("inorder ") || line.starts_with("cmp ") {
                let skips = line.contains("--on-error skip") || line.contains("--rejects");
                env.run(line).status(if skips { 3 } else { 0 });
                tried += 1;
            }
        }
        assert!(tried > 0, "{help}");
        assert!(
            help.out.lines().all(|line| line.chars().count() <= 120),
            "{help}"
        );
    }
}

#[test]
fn every_sample_comes_back_whole() {
    let env = TestEnv::new();
    env.run(
        "for name in flights-sample.csv quoted.csv events.ndjson README.md; do
           for options in '' '--chunk-size 1' '--chunk-size 7 -j 7 --work fib:1..9' --no-mmap --sequential; do
             inorder cat $options data/$name -o out && cmp data/$name out || exit 1
             inorder cat $options < data/$name | cmp data/$name - || exit 1
           done
         done",
    )
    .quiet();
}

#[test]
fn the_readme_speaks_the_truth() {
    let env = TestEnv::new();
    env.run("inorder check data/quoted.csv")
        .quiet()
        .out(
            "data/quoted.csv: csv, 11 records of 3 fields, 19 lines, 326 bytes: no faults\n  \
             UTF-8 text, line ends: 11 LF, 8 CR LF, 1 lone CR; longest record 55 bytes; 2 blank lines\n",
        );
    env.run("inorder cat --from csv -j 4 --memory 16MiB data/flights-sample.csv > copy.csv && cmp data/flights-sample.csv copy.csv")
        .quiet();
}

/// The round with rejects, as the README shows it.
#[test]
fn the_readme_mends_what_failed() {
    let env = TestEnv::new();
    runs_as_shown(&env, "mend the file and run it again:");
    env.run("sort all.csv > all.txt; sort data/flights-sample.csv | cmp - all.txt")
        .quiet();
}

#[test]
fn the_readme_maps() {
    runs_as_shown(
        &TestEnv::new(),
        "what the first object\nnames are the columns:",
    );
}

#[test]
fn the_readme_runs_commands() {
    runs_as_shown(&TestEnv::new(), "`sort` and `grep -n`):");
}

#[test]
fn the_readme_joins_and_checks() {
    runs_as_shown(&TestEnv::new(), "completions, manual page |");
}

/// Runs the commands that the README shows after these words; they must print what it shows.
#[track_caller]
fn runs_as_shown(env: &TestEnv, words: &str) {
    let readme = include_str!("../../README.md");
    let (_, shown) = readme
        .split_once(&format!("{words}\n\n```console\n"))
        .unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    let commands = shown.lines().filter_map(|line| line.strip_prefix("$ "));
    let script = commands.collect::<Vec<_>>().join("\n");
    let printed: String = shown
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("$ "))
        .collect();
    env.run(&script).quiet().out(printed);
}

#[test]
fn statuses() {
    let env = TestEnv::new();
    env.write("bad.csv", "a,b\n1\n");
    for (line, status) in [
        ("cat data/quoted.csv", 0),
        ("check data/quoted.csv", 0),
        ("--version", 0),
        ("--help", 0),
        ("-h", 0),
        ("cat nofile", 1),
        ("check nofile", 1),
        ("cat --work fail:100% data/quoted.csv", 1),
        ("cat --max-record-size 3 data/quoted.csv", 1),
        ("cat data/quoted.csv -o none/out", 1),
        ("", 2),
        ("nonsense", 2),
        ("cat --nonsense", 2),
        ("cat --work fail:100% --on-error skip data/quoted.csv", 3),
        ("cat --work fail:100% --rejects rejects data/quoted.csv", 3),
        ("check bad.csv", 3),
        ("cat bad.csv", 0),
    ] {
        env.run(&format!("inorder {line}")).status(status);
    }
}

#[test]
fn usage_errors_are_found_before_anything_is_opened() {
    let env = TestEnv::new();
    env.old_output();
    for (line, part) in [
        ("cat --from xml nofile -o o/out", "xml"),
        ("cat -d ab nofile -o o/out", "one ASCII character"),
        ("cat -d é nofile -o o/out", "one ASCII character"),
        (r"cat -d '\xff' nofile -o o/out", "one ASCII character"),
        (r"cat -d '\n' --from csv nofile -o o/out", ""),
        ("cat -d , nofile -o o/out", "--from csv"),
        (
            "cat --no-quoting --from lines nofile -o o/out",
            "--from csv",
        ),
        (
            "cat --quote '\"' --no-quoting nofile -o o/out",
            "cannot be used with",
        ),
        ("cat --from csv -d '\"' nofile -o o/out", ""),
        ("cat -N 0 nofile -o o/out", "--records"),
        ("cat -N -1 nofile -o o/out", ""),
        ("cat -j many nofile -o o/out", "many"),
        ("cat -j 99999999999999999999 nofile -o o/out", ""),
        (
            "cat --memory lots nofile -o o/out",
            "a size is a number with a unit",
        ),
        ("cat --memory -5 nofile -o o/out", ""),
        (
            "cat --chunk-size 1X nofile -o o/out",
            "a size is a number with a unit",
        ),
        ("cat --chunk-size 99999999999T nofile -o o/out", "too large"),
        ("cat --max-record-size '' nofile -o o/out", ""),
        ("cat --limit x nofile -o o/out", "x"),
        ("cat --skip-lines 1.5 nofile -o o/out", "1.5"),
        ("cat --work fib:x nofile -o o/out", "fib"),
        ("cat --work fib:94 nofile -o o/out", "0 to 93"),
        (
            "cat --work fib:9..1 nofile -o o/out",
            "the range ends before it begins",
        ),
        (
            "cat --work sleep:long nofile -o o/out",
            "a duration is a number with a unit",
        ),
        ("cat --work fail:200% nofile -o o/out", "a share such as 1%"),
        ("cat --work wait:1 nofile -o o/out", "work is none, fib:N"),
        ("cat --on-error ask nofile -o o/out", "ask"),
        ("cat --progress maybe nofile -o o/out", "maybe"),
        ("cat - - -o o/out", "more than once"),
        (
            "cat --files0-from names nofile -o o/out",
            "cannot be used with",
        ),
        ("check -o o/out nofile", "-o"),
        ("check --work fib:1 nofile", "--work"),
        ("completions tcsh", "tcsh"),
        ("man nonsense", "nonsense"),
    ] {
        let ran = env.run(&format!("inorder {line}"));
        ran.status(2).out("").err_has(part);
        assert!(
            !ran.err.contains("panicked") && !ran.err.contains("nofile: cannot"),
            "{ran}"
        );
        env.is_untouched(&ran);
    }
}

#[test]
fn the_old_name_of_cat_works_and_is_not_shown() {
    let env = TestEnv::new();
    env.run("inorder simulate --work fib:1..9 data/quoted.csv | cmp data/quoted.csv -")
        .quiet();
    let help = env.run(
        "inorder --help; inorder -h; inorder cat --help; inorder man; inorder completions bash",
    );
    assert!(!help.out.contains("simulate"), "{help}");
}

#[test]
fn completions_and_manual_pages() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        env.run(&format!("inorder completions {shell}"))
            .quiet()
            .has("max-record-size");
    }
    env.run("inorder completions bash > c && bash -n c && . ./c && complete -p inorder")
        .status(0)
        .has("inorder");
    env.run("inorder man")
        .quiet()
        .has(".TH inorder")
        .has("check");
    env.run("inorder man cat")
        .quiet()
        .has("work")
        .has("Examples");
    env.run("inorder man check").quiet().has("json");
    let version = concat!("inorder ", env!("CARGO_PKG_VERSION"), "\n");
    env.run("inorder --version").quiet().out(version);
}

#[test]
fn dialects_as_they_are_typed() {
    let env = TestEnv::new();
    for (byte, typed) in [
        (";", "';'"),
        ("\t", r"'\t'"),
        ("\t", "tab"),
        ("\t", "$'\\t'"),
        ("\x01", r"'\x01'"),
        ("\x1f", r"'\x1f'"),
        ("|", "'|'"),
        ("\\", r"'\'"),
        ("\\", r"'\\'"),
        (" ", "' '"),
        ("-", "-"),
    ] {
        env.write("in", format!("a{byte}b\n\"1{byte}\n\"{byte}2\n3{byte}4\n"));
        for line in [
            format!("--from csv -d {typed}"),
            format!("--from csv --delimiter={typed}"),
        ] {
            let json = env.run(&format!("inorder check --json {line} in")).json();
            assert_eq!(
                (&json["columns"], &json["records"], &json["faults"]),
                (&2.into(), &2.into(), &0.into()),
                "{line}: {json:#}"
            );
            env.run(&format!("inorder cat {line} in | cmp in -"))
                .quiet();
        }
    }
    env.write("quotes", "a,b\n'1,\n',2\n");
    env.run("inorder check --from csv --quote \\' quotes")
        .status(0)
        .has("1 record of 2 fields");
    env.run("inorder check --from csv --no-quoting quotes")
        .status(0)
        .has("2 records of 2 fields");
    env.write("t.tsv", "a\tb\n\"1\t2\n");
    env.run("inorder check t.tsv")
        .status(0)
        .has("tsv, 1 record of 2 fields");
    env.run("inorder check --quote '\"' t.tsv").status(3);
}

#[test]
fn formats_go_by_the_first_name() {
    let env = TestEnv::new();
    for (name, format) in [
        ("a.csv", "csv"),
        ("a.CSV", "csv"),
        ("a.tsv", "tsv"),
        ("a.tab", "tsv"),
        ("a.ndjson", "ndjson"),
        ("a.jsonl", "ndjson"),
        ("a.json", "ndjson"),
        ("a.txt", "lines"),
        ("csv", "lines"),
    ] {
        env.write(name, "1\n");
        let json = env
            .run(&format!("inorder check --json {name} a.csv"))
            .json();
        assert_eq!(json["format"], format, "{name}");
        let json = env
            .run(&format!("inorder check --json --from nul {name}"))
            .json();
        assert_eq!(json["format"], "nul", "{name}");
    }
    let json = env.run("inorder check --json < a.csv").json();
    assert_eq!(json["format"], "lines");
    env.write("z", "a\0b\nc\0d");
    env.run("inorder check --from nul z")
        .status(0)
        .has("3 records");
}

#[test]
fn sizes_and_durations_as_they_are_typed() {
    let env = TestEnv::new();
    // 1,000 bytes are the shortest that 1kB takes, and 1,024 for 1k.
    for (size, longest) in [
        ("1k", 1024),
        ("1K", 1024),
        ("1KiB", 1024),
        ("1kB", 1000),
        ("1KB", 1000),
        ("1000", 1000),
        ("0.5k", 512),
    ] {
        env.write("fits", ["x".repeat(longest - 1), "\n".to_string()].concat());
        env.write("long", ["x".repeat(longest + 1), "\n".to_string()].concat());
        env.run(&format!(
            "inorder cat --max-record-size {size} fits | cmp fits -"
        ))
        .quiet();
        env.run(&format!("inorder cat --max-record-size {size} long"))
            .status(1)
            .err_has("longer than");
    }
    env.write("in", "1\n");
    for duration in ["100ms", "0.1s", "0.1", "100000us"] {
        let start = std::time::Instant::now();
        env.run(&format!("inorder cat --work sleep:{duration} in"))
            .quiet()
            .out("1\n");
        assert!(start.elapsed().as_millis() >= 100, "{duration}");
    }
    env.run("inorder cat --work sleep:0,fib:0,fail:0,fail:0% in")
        .quiet()
        .out("1\n");
}

#[test]
fn every_work_gives_the_same_output() {
    let env = TestEnv::new();
    for work in [
        "none",
        "fib:5",
        "fib:1..15",
        "sleep:100us",
        "sleep:0..1ms",
        "fib:1..5,sleep:10us",
        "fail:0%",
    ] {
        for options in ["", "-j 16", "--sequential", "-N 3 -j 5", "--chunk-size 1k"] {
            if options == "--sequential" && work.contains("sleep") {
                continue;
            }
            env.run(&format!(
                "inorder cat --work {work} {options} data/flights-sample.csv | cmp data/flights-sample.csv -"
            ))
            .quiet();
        }
    }
    // Which records fail is drawn from their numbers: the same with any threads.
    let want =
        env.run("inorder cat --sequential --work fail:5% --on-error skip data/flights-sample.csv");
    want.status(3);
    for options in ["", "-j 7 -N 1", "--chunk-size 100", "--no-mmap"] {
        let ran = env.run(&format!(
            "inorder cat {options} --work fail:5% --on-error skip data/flights-sample.csv"
        ));
        ran.status(3)
            .out(&want.bytes)
            .err_has("only the first 10 are shown");
        let shown = |text: &str| {
            text.lines()
                .filter(|line| line.contains(": skipped, "))
                .map(String::from)
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(&ran.err), shown(&want.err), "{ran}");
        assert_eq!(shown(&ran.err).len(), 10, "{ran}");
    }
}

#[test]
fn the_first_failing_record_ends_the_run() {
    let env = TestEnv::new();
    for options in [
        "",
        "-j 7",
        "--chunk-size 99 -j 3",
        "--sequential",
        "--no-mmap",
    ] {
        let ran = env.run(&format!(
            "inorder cat --work fail:1% {options} data/flights-sample.csv"
        ));
        ran.status(1)
            .err_has("data/flights-sample.csv: failed, record 141 (line 142, byte 13039): drawn by --work fail");
        // All before it is there, and nothing of it.
        assert_eq!(
            ran.bytes,
            env.read("data/flights-sample.csv")[..13039],
            "{ran}"
        );
    }
}

#[test]
fn several_inputs_have_one_header() {
    let env = TestEnv::new();
    env.write("a.csv", "x,y\n1,2\n");
    env.write("b.csv", "\"x\",y\r\n3,4\r\n");
    env.write("c.csv", "x,z\n5,6\n");
    env.write("d.csv", "x,y\n7,8");
    env.write("head.csv", "x,y\n");
    env.write("blank.csv", "\n\nx,y\n9,0\n");
    for options in ["", "--sequential", "--no-mmap", "-j 5 -N 1"] {
        for (inputs, out) in [
            ("a.csv b.csv", "x,y\n1,2\n3,4\r\n"),
            ("b.csv a.csv", "\"x\",y\r\n3,4\r\n1,2\n"),
            ("d.csv a.csv", "x,y\n7,8\n1,2\n"),
            ("a.csv head.csv d.csv", "x,y\n1,2\n7,8"),
            ("head.csv a.csv", "x,y\n1,2\n"),
            ("a.csv blank.csv a.csv", "x,y\n1,2\n9,0\n1,2\n"),
            ("blank.csv a.csv", "\n\nx,y\n9,0\n1,2\n"),
            ("--no-output-header a.csv b.csv", "1,2\n3,4\r\n"),
            ("--no-header a.csv b.csv", "x,y\n1,2\n\"x\",y\r\n3,4\r\n"),
            ("--no-headers a.csv a.csv", "x,y\n1,2\nx,y\n1,2\n"),
            ("--from lines a.csv c.csv", "x,y\n1,2\nx,z\n5,6\n"),
            ("a.csv - < b.csv", "x,y\n1,2\n3,4\r\n"),
            ("a.csv <(cat d.csv)", "x,y\n1,2\n7,8"),
        ] {
            env.run(&format!("inorder cat {options} {inputs}"))
                .quiet()
                .out(out);
        }
    }
}

#[test]
fn a_header_that_differs_names_the_file_before_anything_is_written() {
    let env = TestEnv::new();
    env.old_output();
    env.write("a.csv", "x,y\n1,2\n");
    for (bytes, name) in [
        ("x,z\n", "z.csv"),
        ("x\n5\n", "short.csv"),
        ("x,y,\n5,6,\n", "wide.csv"),
        ("y,x\n", "turned.csv"),
        ("", "empty.csv"),
    ] {
        env.write(name, bytes);
        for line in [format!("a.csv {name}"), format!("a.csv a.csv {name} a.csv")] {
            let ran = env.run(&format!("inorder cat {line} -o o/out"));
            if bytes.is_empty() {
                // No header and no record: nothing that could differ.
                continue;
            }
            ran.status(1).err_has(&format!("inorder: {name}: "));
            env.is_untouched(&ran);
            env.run(&format!("inorder cat {line}"))
                .status(1)
                .out("")
                .err_has(name);
            env.run(&format!("inorder check {line}"))
                .status(1)
                .err_has(name);
        }
    }
}

#[test]
fn many_inputs_need_no_more_descriptors_than_one() {
    let env = TestEnv::new();
    let script = "mkdir many; for i in $(seq 500); do printf 'x,y\\n%s,2\\n' $i > many/$i.csv; done
        (echo x,y; for i in $(seq 500); do echo $i,2; done) > want
        ulimit -n 40
        inorder cat $(printf 'many/%s.csv ' $(seq 500)) | cmp want -
        inorder cat -j 5 $(printf 'many/%s.csv ' $(seq 500)) -o out && cmp want out";
    env.run(script).quiet();
    // Those without records too: nothing but their end holds the reader up.
    for bytes in ["x,y\\n", "", "\\n\\n"] {
        env.run(&format!(
            "for i in $(seq 500); do printf '{bytes}' > many/$i.csv; done
             (cat many/1.csv; printf 'x,y\\n1,2\\n' | tail -n 1) > want; printf 'x,y\\n1,2\\n' > last.csv
             ulimit -n 40
             inorder cat $(printf 'many/%s.csv ' $(seq 500)) last.csv > out; echo $?; tail -n 1 out"
        ))
        .err("")
        .out("0\n1,2\n");
    }
}

#[test]
fn names_from_a_list() {
    let env = TestEnv::new();
    env.write("a b.csv", "x\n1\n");
    env.write("c\nd.csv", "x\n2\n");
    env.write("list", "a b.csv\0c\nd.csv\0");
    env.run("inorder cat --files0-from list")
        .quiet()
        .out("x\n1\n2\n");
    env.run("inorder cat --files0-from - < list")
        .quiet()
        .out("x\n1\n2\n");
    env.run("printf 'a b.csv' | inorder cat --files0-from -")
        .quiet()
        .out("x\n1\n");
    env.run("inorder check --files0-from list")
        .status(0)
        .has("2 inputs: csv, 2 records");
    for (list, status) in [
        ("", 2),
        ("\0", 2),
        ("a b.csv\0\0", 2),
        ("nofile\0", 1),
        ("-\0", 2),
    ] {
        env.write("list", list);
        env.run("inorder cat --files0-from - < list")
            .status(status)
            .out("");
    }
    env.run("inorder cat --files0-from nolist")
        .status(1)
        .err_has("nolist: cannot be read: No such file");
}

#[test]
fn limits_cut_between_records() {
    let env = TestEnv::new();
    env.write("in.csv", "h\n\"1\n\"\n2\n3");
    env.write("more.csv", "h\n4\n5\n");
    for options in ["", "--sequential", "--no-mmap", "-j 4 --chunk-size 1"] {
        for (limit, out) in [
            ("0 in.csv", "h\n"),
            ("1 in.csv", "h\n\"1\n\"\n"),
            ("2 in.csv more.csv", "h\n\"1\n\"\n2\n"),
            ("4 in.csv more.csv", "h\n\"1\n\"\n2\n3\n4\n"),
            ("3 in.csv more.csv", "h\n\"1\n\"\n2\n3"),
            ("99 in.csv", "h\n\"1\n\"\n2\n3"),
            ("2 --no-header in.csv", "h\n\"1\n\"\n"),
        ] {
            env.run(&format!("inorder cat {options} --limit {limit}"))
                .quiet()
                .out(out);
        }
        env.run(&format!("inorder cat {options} --limit 2 in.csv -o out"))
            .quiet();
        assert_eq!(env.read("out"), b"h\n\"1\n\"\n2\n");
        env.run(&format!("inorder check {options} --limit 2 in.csv"))
            .status(0)
            .has("2 records");
    }
    // What comes after the last of them is not waited for.
    env.run("mkfifo f; exec 9<> f; echo 1 >&9; echo 2 >&9; inorder cat --limit 2 f")
        .quiet()
        .out("1\n2\n");
    // Nor do its faults matter.
    env.write("bad.csv", "h\n1\n\"2");
    env.run("inorder cat --limit 1 bad.csv")
        .quiet()
        .out("h\n1\n");
}

#[test]
fn skipped_lines_belong_to_the_top() {
    let env = TestEnv::new();
    env.write("a.csv", "made by \"us\n\nh\n1\n");
    env.write("b.csv", "made \"by them\n\nh\n2\n");
    for options in ["", "--sequential", "--no-mmap", "-j 4 --chunk-size 1"] {
        env.run(&format!("inorder cat {options} --skip-lines 2 a.csv b.csv"))
            .quiet()
            .out("made by \"us\n\nh\n1\n2\n");
        env.run(&format!(
            "inorder check {options} --skip-lines 2 a.csv b.csv"
        ))
        .status(0)
        .has("2 records of 1 field");
    }
    env.write("lines", numbers(5));
    env.run("inorder cat --skip-lines 2 --limit 1 lines")
        .quiet()
        .out("1\n2\n3\n");
    env.run("inorder cat --skip-lines 99 lines")
        .status(0)
        .out("1\n2\n3\n4\n5\n");
    env.run("inorder cat --skip-lines 2 --work fail:100% lines")
        .status(1)
        .err_has("lines: failed, record 1 (line 3, byte 4)");
}

#[test]
fn carriage_returns_alone_get_a_hint() {
    let env = TestEnv::new();
    env.write("cr", "a\rb\rc\r");
    env.run("inorder cat cr")
        .status(0)
        .out("a\rb\rc\r")
        .err_has("carriage returns");
    env.run("inorder check cr")
        .status(0)
        .err_has("carriage returns");
    env.run("inorder cat -q cr").quiet();
    env.run("inorder check --from csv --no-header cr")
        .quiet()
        .has("3 records");
}
