//! Reports that programs read: `--stats` and `check --json`.

use serde_json::{Value, json};

use super::testenv::TestEnv;

#[test]
fn stats_of_a_whole_run() {
    let env = TestEnv::new();
    env.run("inorder cat -j 3 --work fib:1..9 data/flights-sample.csv -o out --stats s.json")
        .quiet();
    let figures = env.json("s.json");
    for (name, value) in [
        ("schema", json!(1)),
        ("program", json!("inorder")),
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("command", json!("cat")),
        ("outcome", json!("done")),
        ("status", json!(0)),
        ("error", Value::Null),
        ("position", Value::Null),
        ("records", json!(2005)),
        ("processed", json!(2005)),
        ("skipped", json!(0)),
        ("rejected", json!(0)),
        ("lines", json!(2006)),
        ("bytes_in", json!(185_032)),
        ("bytes_out", json!(185_032)),
        ("retries", json!(0)),
        ("threads", json!(3)),
        ("resumed_from", Value::Null),
        ("notes", json!([])),
    ] {
        assert_eq!(figures[name], value, "{name} in {figures:#}");
    }
    let chunks = figures["chunks"].as_u64().unwrap();
    let workers = figures["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 3, "{figures:#}");
    let by_workers: u64 = workers
        .iter()
        .map(|worker| worker["chunks"].as_u64().unwrap())
        .sum();
    assert_eq!(by_workers, chunks, "{figures:#}");
    for worker in workers {
        assert!(
            (0.0..=1.0).contains(&worker["busy"].as_f64().unwrap()),
            "{figures:#}"
        );
    }
    for thread in ["reader_seconds", "writer_seconds"] {
        assert!(figures[thread].as_f64().is_some_and(|time| time >= 0.0));
    }
    let times = &figures["chunk_seconds"];
    let (min, mean, max) = (&times["min"], &times["mean"], &times["max"]);
    assert!(
        min.as_f64() <= mean.as_f64()
            && mean.as_f64() <= max.as_f64()
            && max.as_f64() <= figures["seconds"].as_f64(),
        "{figures:#}"
    );
    assert!(
        figures["peak_in_flight"].as_u64().unwrap() > 0,
        "{figures:#}"
    );
}

#[test]
fn stats_of_runs_that_did_not_go_well() {
    let env = TestEnv::new();
    env.run(
        "inorder cat --work fail:1% --on-error skip data/flights-sample.csv -o out --stats s.json",
    )
    .status(3);
    let figures = env.json("s.json");
    assert_eq!(figures["outcome"], "done_with_faults", "{figures:#}");
    assert_eq!(figures["status"], 3, "{figures:#}");
    assert_eq!(figures["records"], 2005, "{figures:#}");
    let sum = |names: [&str; 3]| {
        names
            .iter()
            .map(|name| figures[name].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(
        sum(["processed", "skipped", "rejected"]),
        2005,
        "{figures:#}"
    );
    assert!(figures["skipped"].as_u64().unwrap() > 0, "{figures:#}");

    env.run("inorder cat --work fail:1% data/flights-sample.csv -o out2 --stats s.json")
        .status(1);
    let figures = env.json("s.json");
    assert_eq!(figures["outcome"], "failed", "{figures:#}");
    assert_eq!(figures["status"], 1, "{figures:#}");
    let place = &figures["position"];
    assert_eq!(place["input"], "data/flights-sample.csv", "{figures:#}");
    let line = place["record"].as_u64().unwrap() + 1;
    assert_eq!(place["line"], line, "{figures:#}");
    let offset = place["offset"].as_u64().unwrap() as usize;
    let before = &env.read("data/flights-sample.csv")[..offset];
    assert_eq!(
        before.iter().filter(|byte| **byte == b'\n').count() as u64,
        line - 1
    );
    assert!(before.ends_with(b"\n"));
    assert!(
        figures["error"]
            .as_str()
            .unwrap()
            .contains("drawn by --work fail"),
        "{figures:#}"
    );

    for (line, status) in [
        ("cat nofile -o out3", 1),
        ("cat data/quoted.csv -o none/out", 1),
    ] {
        env.run(&format!("rm s.json; inorder {line} --stats s.json"))
            .status(status);
        let figures = env.json("s.json");
        assert_eq!(figures["outcome"], "failed", "{figures:#}");
        assert_eq!(figures["records"], 0, "{figures:#}");
    }
}

#[test]
fn stats_go_to_standard_output_where_the_result_does_not() {
    let env = TestEnv::new();
    let ran = env.run("inorder cat data/quoted.csv -o out --stats -");
    assert_eq!(ran.json()["records"], 11, "{ran}");
    for line in [
        "cat data/quoted.csv --stats -",
        "check data/quoted.csv --stats -",
        "cat data/quoted.csv -o - --stats -",
    ] {
        env.run(&format!("inorder {line}"))
            .status(2)
            .out("")
            .err_has("--stats");
    }
    env.run("inorder check data/quoted.csv --stats s.json")
        .status(0);
    assert_eq!(env.json("s.json")["command"], "check");
    env.run("inorder cat data/quoted.csv -o o2 --stats none/s")
        .status(1)
        .err_has("none/s: cannot be written");
    assert!(!env.names(".").contains(&"o2".to_string()));
}

#[test]
fn check_reports_faults_with_their_place() {
    let env = TestEnv::new();
    env.write(
        "r.csv",
        "a,b,c\n1,2,3\n4,5\n6,7,8\n9,10,11,12\n\"multi\nline\",x,y\n13\n",
    );
    let report = "r.csv: record 2 (line 3, byte 12): 2 fields, the header has 3\n\
                  r.csv: record 4 (line 5, byte 22): 4 fields, the header has 3\n\
                  r.csv: record 6 (line 8, byte 50): 1 field, the header has 3\n\
                  r.csv: csv, 6 records of 3 fields, 8 lines, 53 bytes: 3 faults\n  \
                  ASCII text, lines end with LF; longest record 16 bytes\n";
    for options in [
        "",
        "--chunk-size 1 -j 8",
        "--sequential",
        "--no-mmap",
        "-N 1",
    ] {
        env.run(&format!("inorder check {options} r.csv"))
            .status(3)
            .out(report)
            .err("");
        let json = env.run(&format!("inorder check --json {options} r.csv"));
        json.status(3).err("");
        let json = json.json();
        assert_eq!(
            json["first_faults"].as_array().unwrap().len(),
            3,
            "{json:#}"
        );
        assert_eq!(
            json["first_faults"][0],
            json!({"input": "r.csv", "record": 2, "line": 3, "offset": 12, "kind": "fields",
                   "error": "2 fields, the header has 3"})
        );
        for (name, value) in [
            ("schema", json!(1)),
            ("inputs", json!(["r.csv"])),
            ("format", json!("csv")),
            ("complete", json!(true)),
            ("records", json!(6)),
            ("fields", json!(16)),
            ("columns", json!(3)),
            ("lines", json!(8)),
            ("bytes", json!(53)),
            ("faults", json!(3)),
            ("error", Value::Null),
        ] {
            assert_eq!(json[name], value, "{name} in {json:#}");
        }
    }
    env.run("inorder check --faults 1 r.csv")
        .status(3)
        .has("and 2 more faults\n");
    env.run("inorder check --faults 0 r.csv")
        .status(3)
        .has("3 faults\n");
    // Without a header the first record decides.
    env.run("inorder check --no-header r.csv")
        .status(3)
        .has("the first record has 3");
}

#[test]
fn check_without_a_header_goes_by_the_first_record_of_all() {
    let env = TestEnv::new();
    let rows: String = (0..5000).map(|row| format!("{row},x\n")).collect();
    env.write("rows.csv", rows + "3\n");
    env.write("empty.csv", "");
    env.write("blank.csv", "\n\n");
    env.write("wide.csv", "1,2,3\n");
    for options in ["", "--chunk-size 1 -j 16", "-N 3 -j 64", "--sequential"] {
        env.run(&format!(
            "inorder check --no-header {options} empty.csv blank.csv rows.csv wide.csv"
        ))
        .status(3)
        .out(
            "rows.csv: record 5001 (line 5001, byte 33890): 1 field, the first record has 2\n\
                 wide.csv: record 1 (line 1, byte 0): 3 fields, the first record has 2\n\
                 4 inputs: csv, 5,002 records of 2 fields, 5,004 lines, 33,900 bytes: 2 faults\n  \
                 ASCII text, lines end with LF; longest record 6 bytes; 2 blank lines\n",
        );
    }
}

#[test]
fn check_shows_ten_faults_and_counts_all() {
    let env = TestEnv::new();
    env.write("in.csv", ["a,b\n", &"1\n".repeat(2500)].concat());
    for options in ["", "-j 7 --chunk-size 10", "--sequential"] {
        let ran = env.run(&format!("inorder check {options} in.csv"));
        ran.status(3)
            .has("and 2,490 more faults\n")
            .has("2,500 faults\n");
        assert_eq!(ran.out.lines().count(), 13, "{ran}");
        assert!(
            ran.out
                .starts_with("in.csv: record 1 (line 2, byte 4): 1 field"),
            "{ran}"
        );
        let json = env
            .run(&format!("inorder check --json {options} in.csv"))
            .json();
        assert_eq!(json["faults"], 2500);
        let records: Vec<u64> = json["first_faults"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fault| fault["record"].as_u64().unwrap())
            .collect();
        assert_eq!(records, (1..=10).collect::<Vec<u64>>());
    }
}

#[test]
fn check_of_json_is_strict() {
    let env = TestEnv::new();
    let bad: [&[u8]; 10] = [
        b"NaN",
        b"+7",
        b"007",
        b"'a'",
        b"{a:1}",
        b"[1,]",
        b"1 2",
        b"\"\xff\"",
        b"\xef\xbb\xbf1x",
        b"{\"a\":1",
    ];
    for (row, line) in bad.iter().enumerate() {
        let text = [b"{\"a\": 1}\n\n \r\n", *line, b"\n[]\n"].concat();
        env.write("in.ndjson", &text);
        let ran = env.run("inorder check in.ndjson");
        ran.status(3)
            .has("in.ndjson: record 2 (line 4, byte 13): not JSON: ")
            .has("3 records, 5 lines");
        let suggested = usize::from(!line.is_ascii() && std::str::from_utf8(line).is_err());
        assert_eq!(ran.out.lines().count(), 3 + suggested, "{row} {ran}");
        env.run("inorder cat in.ndjson | cmp in.ndjson -").quiet();
    }
    env.run("inorder check data/events.ndjson")
        .status(0)
        .has("no faults");
}

#[test]
fn check_tells_what_the_text_is_like_and_what_to_try() {
    let env = TestEnv::new();
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    env.write(
        "mixed.csv",
        b"\xEF\xBB\xBFa,b\r\n\n1,\xC3\xA9\r\n\r\n\n2,\"x\ry\"\n3,\0\0\n",
    );
    env.write("latin.csv", b"a\n\xE9\n");
    env.write("semi.csv", "a;b;c\n1;2;3\n4;5\n");
    env.write("wide.csv", wide("\u{FEFF}a,b\n1,2\n"));
    env.write("wide", wide("plain text\nof two lines\n"));
    env.write("nul", "alpha\0beta\0");
    env.write("letters", "a\0b\0c\0");
    env.write("cr", "a\rb\r");
    env.write("lines", "one\n\n\r\nlast");
    env.write("spaced.ndjson", "{}\n\n[1,  2]\n");
    for options in ["", "--sequential", "--chunk-size 1 -j 4", "-N 1"] {
        for (file, said) in [
            (
                "mixed.csv",
                "UTF-8 text with a byte order mark, line ends: 4 LF, 3 CR LF, 1 lone CR; longest record 7 bytes; 3 blank lines; 2 NUL bytes\n",
            ),
            (
                "latin.csv",
                "text that is not UTF-8, lines end with LF; longest record 1 byte\n  try --encoding windows-1252, ",
            ),
            (
                "semi.csv",
                "ASCII text, lines end with LF; longest record 5 bytes\n  try -d ';': the first row is one field, with that byte in it several times\n",
            ),
            (
                "wide.csv",
                "  try --encoding utf-16le: the text is UTF-16\n",
            ),
            ("wide", "  try --encoding utf-16le: the text is UTF-16\n"),
            (
                "nul",
                "ASCII text, no line ends; longest record 11 bytes; 2 NUL bytes\n  try --from nul: ",
            ),
            (
                "cr",
                "ASCII text, lines end with lone CR; longest record 4 bytes\n  try --from csv: ",
            ),
            (
                "lines",
                "ASCII text, line ends: 2 LF, 1 CR LF; longest record 4 bytes; 2 blank lines\n",
            ),
            (
                "spaced.ndjson",
                "ASCII text, lines end with LF; longest record 7 bytes; 1 blank line\n",
            ),
            (
                "--encoding utf-16le wide.csv",
                "text decoded from UTF-16LE, lines end with LF; longest record 3 bytes\n",
            ),
            (
                "--from nul nul",
                "ASCII text, no line ends; longest record 5 bytes; 2 NUL bytes\n",
            ),
        ] {
            env.run(&format!("inorder check -q {options} {file}"))
                .has(said);
        }
    }
    let report = env.run("inorder check --json mixed.csv").json();
    assert_eq!(report["text"]["encoding"], "utf-8");
    assert_eq!(report["text"]["byte_order_mark"], true);
    assert_eq!(report["text"]["blank_lines"], 3);
    assert_eq!(report["suggestions"], serde_json::json!([]));
    // Rows that fail are not looked at twice.
    env.write("ragged.csv", format!("a,b\n{}", "1\n2,\0\n".repeat(500)));
    let report = env.run("inorder check --json ragged.csv").status(3).json();
    assert_eq!(report["text"]["nul_bytes"], 500);
    assert_eq!(report["faults"], 500);
}
