//! CSV and TSV: values from rows, rows from values, and who decides the columns.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::{Config, TestRunner};

use super::map;
use crate::testenv::TestEnv;

#[test]
fn fields_are_numbers_where_their_text_is_json() {
    let env = TestEnv::new();
    let row = "1,-0,1.50,1e5,007,+5,.5,1.,0x1,NaN,1_0,12345678901234567890123,true,,\" 7\"\n";
    map(&env, "--from csv --no-header --to ndjson .", row.as_bytes())
        .quiet()
        .out("[1,-0,1.50,1e5,\"007\",\"+5\",\".5\",\"1.\",\"0x1\",\"NaN\",\"1_0\",12345678901234567890123,\"true\",\"\",\" 7\"]\n");
    map(
        &env,
        "--from csv --no-header --to ndjson --strings '.[:3]'",
        row.as_bytes(),
    )
    .quiet()
    .out("[\"1\",\"-0\",\"1.50\"]\n");
    // Rewritten, every field has its text again.
    map(
        &env,
        "--from csv --no-header '. + [\"new\"]'",
        row.as_bytes(),
    )
    .quiet()
    .out(row.replace("\" 7\"", " 7,new"));
}

#[test]
fn rows_are_keyed_by_the_header() {
    let env = TestEnv::new();
    let csv = "a,b,a,\"c d\",a_2\r\n1,x,2,\"y\nz\",3\r\n";
    map(&env, "--from csv --to ndjson .", csv.as_bytes())
        .quiet()
        .out("{\"a\":1,\"b\":\"x\",\"a_3\":2,\"c d\":\"y\\nz\",\"a_2\":3}\r\n");
    map(&env, "--from csv .", csv.as_bytes()).quiet().out(csv);
    map(&env, "--from csv '{a, b}'", csv.as_bytes())
        .quiet()
        .out("a,b\r\n1,x\r\n");
}

#[test]
fn rows_that_do_not_fit_the_header_fail() {
    let env = TestEnv::new();
    let csv = b"a,b\n1,2\n3\n4,5,6\n7,8\n";
    map(&env, "--from csv .", csv)
        .status(1)
        .out("a,b\n1,2\n")
        .err_has("record 2 (line 3, byte 8): 1 field, the header has 2");
    map(&env, "--from csv --on-error skip .", csv)
        .status(3)
        .out("a,b\n1,2\n7,8\n")
        .err_has("record 3 (line 4, byte 10): 3 fields, the header has 2");
    map(&env, "--from csv --no-header .", csv).quiet().out(csv);
}

/// Case 24.
#[test]
fn case_24_ragged_rows_are_set_aside_alone() {
    let env = TestEnv::new();
    env.write("in.csv", "a,b,c\n1,2,3\n4,5\n6,7,8\n9,10,11,12\n13,14,15\n");
    env.run("inorder map -j 4 --chunk-size 8 --rejects bad.csv . in.csv")
        .status(3)
        .out("a,b,c\n1,2,3\n6,7,8\n13,14,15\n");
    assert_eq!(env.read("bad.csv"), b"a,b,c\n4,5\n9,10,11,12\n");
    let errors = String::from_utf8(env.read("bad.csv.errors.ndjson")).unwrap();
    assert!(
        errors
            .lines()
            .all(|row| row.contains("\"kind\":\"columns\"")),
        "{errors}"
    );
    assert_eq!(errors.lines().count(), 2, "{errors}");
}

#[test]
fn kept_rows_keep_quotes_and_changed_ones_get_those_they_need() {
    let env = TestEnv::new();
    let csv = "\"id\",\"text\"\n\"1\",\"a\"\n2,\"x,\"\"y\"\n3,b";
    map(&env, "--from csv .", csv.as_bytes()).quiet().out(csv);
    map(&env, "--from csv 'select(.id != 2)'", csv.as_bytes())
        .quiet()
        .out("\"id\",\"text\"\n\"1\",\"a\"\n3,b");
    map(
        &env,
        "--from csv 'if .id == 3 then . else .text += \"!\" end'",
        csv.as_bytes(),
    )
    .quiet()
    .out("\"id\",\"text\"\n1,a!\n2,\"x,\"\"y!\"\n3,b");
    // Written with other columns, an unchanged row is written anew.
    map(&env, "--from csv --columns text,id .", csv.as_bytes())
        .quiet()
        .out("text,id\na,1\n\"x,\"\"y\",2\nb,3");
}

#[test]
fn the_first_object_decides_the_columns() {
    let env = TestEnv::new();
    let input = b"0\n{\"a\":1,\"b\":[2,{\"c\":null}]}\n{\"b\":true,\"a\":null}\n{\"a\":\"x,y\"}\n";
    map(&env, "--to csv objects", input)
        .quiet()
        .out("a,b\n1,\"[2,{\"\"c\"\":null}]\"\n,true\n\"x,y\",\n");
    map(&env, "--to csv .", input)
        .status(1)
        .err_has("record 1 (line 1, byte 0): a number is no row: give objects or arrays, or write lines with -r");
    let input = b"{\"a\":1}\n{\"a\":1,\"b\":2,\"c\":3}\n{\"a\":4}\n";
    map(&env, "--to csv --on-error skip .", input)
        .status(3)
        .out("a\n1\n4\n")
        .err_has("record 2 (line 2, byte 8): the keys \"b\", \"c\" are no columns of the output");
    map(&env, "--to csv --columns c,a,d .", b"{\"a\":1}\n{\"c\":3}")
        .quiet()
        .out("c,a,d\n,1,\n3,,");
    map(&env, "--to csv --columns a .", input)
        .status(1)
        .err_has("are no columns");
    map(&env, "--to csv --no-output-header .", b"{\"a\":1}\n")
        .quiet()
        .out("1\n");
    map(&env, "--to csv .", b"[1,2]\n[\"x\"]\n")
        .quiet()
        .out("1,2\nx\n");
    map(&env, "--to csv .", b"[1,2]\n{\"a\":1}\n")
        .status(1)
        .err_has("no named columns");
}

/// A record that fails decides nothing, though it had begun to.
#[test]
fn a_failing_record_decides_no_columns() {
    let env = TestEnv::new();
    let input = b"1\n2\n3\n4\n";
    let filter =
        "'if . == 1 then {a: .}, {b: .} elif . == 2 then {c: .}, error(\"no\") else {d: .} end'";
    map(&env, &format!("--to csv --on-error skip {filter}"), input)
        .status(3)
        .out("d\n3\n4\n");
    // With the columns known in time, such a record does not fail.
    let filter =
        "'if . == 1 then {a: ., b: .} elif . == 3 then {b: .}, {a: .} else {b: ., a: .} end'";
    map(&env, &format!("--to csv {filter}"), input)
        .quiet()
        .out("a,b\n1,1\n2,2\n,3\n3,\n4,4\n");
}

#[test]
fn without_rows_there_is_the_header_of_the_input() {
    let env = TestEnv::new();
    for csv in ["x,y,z\n", "x,y,z", "\"x\",y\r\n"] {
        map(&env, "--from csv .", csv.as_bytes()).quiet().out(csv);
    }
    map(&env, "--from csv empty", b"x,y\n1,2\n")
        .quiet()
        .out("x,y\n");
    map(&env, "--from csv --to tsv empty", b"x,y\n1,2\n")
        .quiet()
        .out("");
    map(&env, "--to csv empty", b"1\n").quiet().out("");
    map(&env, "--to csv --columns a,b empty", b"1\n")
        .quiet()
        .out("a,b\n");
    map(&env, "--from csv --no-output-header empty", b"x,y\n1,2\n")
        .quiet()
        .out("");
    map(&env, "--from csv .", b"\n").quiet().out("");
}

#[test]
fn what_stands_before_the_header() {
    let env = TestEnv::new();
    let csv = "\u{feff}a,b\n1,2\n".as_bytes();
    map(&env, "--from csv .", csv).quiet().out(csv);
    map(&env, "--from csv '{b}'", csv)
        .quiet()
        .out("\u{feff}b\n2\n");
    map(&env, "--from csv --to ndjson .", csv)
        .quiet()
        .out("{\"a\":1,\"b\":2}\n");
    map(&env, "--to csv .", "\u{feff}{\"a\":1}\n".as_bytes())
        .quiet()
        .out("a\n1\n");
    map(&env, ".", "\u{feff}{\"a\":1}\n".as_bytes())
        .quiet()
        .out("{\"a\":1}\n");
    map(&env, "--from csv --skip-lines 1 .", b"top\n\na,b\n1,2\n")
        .quiet()
        .out("a,b\n1,2\n");
    map(&env, "--skip-lines 1 .", b"top\n1\n")
        .quiet()
        .out("1\n");
}

#[test]
fn dialects() {
    let env = TestEnv::new();
    map(&env, "--from csv -d ';' '.a += 1'", b"a;b\n1;\"x;y\"\n")
        .quiet()
        .out("a;b\n2;\"x;y\"\n");
    map(&env, "--from csv -d ';' --to tsv .", b"a;b\n1;x y\n")
        .quiet()
        .out("a\tb\n1\tx y\n");
    map(&env, "--to csv -d ';' .", b"{\"a\":1,\"b\":\"x;y\"}\n")
        .quiet()
        .out("a;b\n1;\"x;y\"\n");
    map(&env, "--from csv --to tsv .", b"a,b\n1,\"x\ty\"\n")
        .status(1)
        .err_has("cannot express field 2");
    map(&env, "--from csv --to tsv .", b"\"a\tb\"\n1\n")
        .status(1)
        .err_has("cannot express field 1");
    map(&env, "-d ';' .", b"1\n")
        .status(2)
        .err_has("add --from csv");
}

#[test]
fn csv_as_ndjson_and_back() {
    let env = TestEnv::new();
    env.run(
        "for name in flights-sample quoted; do
           inorder map . data/$name.csv -o $name.ndjson && inorder map . $name.ndjson -o $name.csv || exit 1
           inorder map . $name.csv | inorder map --from csv --to ndjson . | cmp - $name.ndjson || exit 1
         done
         cmp data/flights-sample.csv flights-sample.csv",
    )
    .quiet();
}

/// A table as the `csv` crate writes it: quotes only where they are needed.
fn table() -> impl Strategy<Value = Vec<u8>> {
    let field = prop_oneof![
        "-?[0-9]{1,4}(\\.[0-9]{0,3})?([eE][-+]?[0-9])?",
        "[a-c ,\"\r\n\t;é+0]{0,5}",
    ];
    (1..4usize, proptest::collection::vec(field, 0..40)).prop_map(|(width, fields)| {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&["a", "b b", "c\"c"][..width]).unwrap();
        for row in fields.chunks_exact(width) {
            writer.write_record(row).unwrap();
        }
        writer.into_inner().unwrap()
    })
}

#[test]
fn any_csv_comes_back_from_ndjson() {
    let env = TestEnv::new();
    let config = Config {
        cases: std::env::var("INORDER_CASES").map_or(20, |cases| cases.parse().unwrap()),
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&(table(), 1..100u32), |(table, size)| {
            env.write("input.csv", &table);
            // Without rows no object names the columns.
            let rows = csv::Reader::from_reader(&table[..]).records().count();
            let wanted = if rows > 0 { &table[..] } else { b"" };
            env.run(&format!(
                "inorder map --chunk-size {size} -j 3 --to ndjson . input.csv | inorder map --chunk-size {size} -j 3 --to csv ."
            ))
            .quiet()
            .out(wanted);
            env.run(&format!(
                "inorder map --chunk-size {size} -j 3 . input.csv; inorder map '.new = 1 | del(.new)' input.csv"
            ))
            .quiet()
            .out([&table[..], &table[..]].concat());
            Ok(())
        })
        .unwrap();
}

#[test]
fn several_inputs_have_one_header() {
    let env = TestEnv::new();
    env.write("a.csv", "a,b\n1,2");
    env.write("b.csv", "\"a\",\"b\"\n3,4\n");
    env.run("inorder map . a.csv b.csv")
        .quiet()
        .out("a,b\n1,2\n3,4\n");
    env.run("inorder map '{file: input_filename, a}' a.csv b.csv")
        .quiet()
        .out("file,a\na.csv,1\nb.csv,3\n");
}

/// Values with keys in any order, some missing, some more than one a record, some failing.
fn records() -> impl Strategy<Value = Vec<String>> {
    let object = subsequence(vec!["a", "b", "c"], 0..4)
        .prop_shuffle()
        .prop_map(|keys| {
            let members: Vec<String> = keys.iter().map(|key| format!("\"{key}\":1")).collect();
            format!("{{{}}}", members.join(","))
        });
    let output = prop_oneof![
        8 => object,
        1 => select(vec!["[1,2]".to_owned(), "7".to_owned(), "\"fail\"".to_owned()]),
    ];
    let outputs = proptest::collection::vec(output, 0..3);
    let record = outputs.prop_map(|outputs| format!("[{}]", outputs.join(",")));
    proptest::collection::vec(record, 0..30)
}

#[test]
fn columns_are_those_of_the_sequential_twin() {
    let env = TestEnv::new();
    let config = Config {
        cases: std::env::var("INORDER_CASES").map_or(25, |cases| cases.parse().unwrap()),
        failure_persistence: None,
        ..Config::default()
    };
    let case = (records(), 1..80u32, 2..5u32, select(vec!["stop", "skip"]));
    TestRunner::new(config)
        .run(&case, |(records, size, threads, policy)| {
            env.write("input", records.join("\n"));
            let run = |options: &str| {
                env.run(&format!(
                    "inorder map -q --to csv --on-error {policy} {options} '.[] | if . == \"fail\" then error(.) else . end' < input"
                ))
            };
            let twin = run("--sequential");
            let ran = run(&format!("--chunk-size {size} -j {threads}"));
            assert_eq!((ran.status, &ran.out, &ran.err), (twin.status, &twin.out, &twin.err), "{ran}\n{twin}");
            Ok(())
        })
        .unwrap();
}
