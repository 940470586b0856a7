//! NDJSON: strictly read, always validly written, bytes kept where nothing changes.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

use super::map;
use crate::testenv::TestEnv;

#[test]
fn a_record_that_comes_back_unchanged_keeps_its_bytes() {
    let env = TestEnv::new();
    let input = "{ \"b\" : 1.0,\"a\":[ 1e2, -0, 12345678901234567890123, 0.1000 ] , \"b\":2 }\t\r\n\
                 \"\\u0041\\/\"\n  7E+02  \n[]\r\n{\"x\": null}";
    map(&env, ".", input.as_bytes()).quiet().out(input);
    map(&env, "'if true then . else 0 end'", input.as_bytes())
        .quiet()
        .out(input);
    map(
        &env,
        "'., (objects | select(.x == null and has(\"x\")))'",
        b"{\"x\": null}",
    )
    .quiet()
    .out("{\"x\": null}\n{\"x\": null}");
}

#[test]
fn what_a_filter_changes_is_written_compactly_with_its_order_and_digits() {
    let env = TestEnv::new();
    let input = b"{ \"z\": 12345678901234567890123, \"a\": 1.50, \"m\": -0, \"e\": 1E5 }\r\n";
    map(&env, "'.new = 1'", input)
        .quiet()
        .out("{\"z\":12345678901234567890123,\"a\":1.50,\"m\":-0,\"e\":1E5,\"new\":1}\r\n");
    map(&env, "'to_entries | reverse | from_entries'", input)
        .quiet()
        .out("{\"e\":1E5,\"m\":-0,\"a\":1.50,\"z\":12345678901234567890123}\r\n");
    map(&env, "'{a: .a} + {a: 1.5}'", b"{\"a\":1.50}")
        .quiet()
        .out("{\"a\":1.5}");
    map(&env, "-S .", b"{\"b\":{\"d\":1,\"c\":2},\"a\":3}\n")
        .quiet()
        .out("{\"a\":3,\"b\":{\"c\":2,\"d\":1}}\n");
}

#[test]
fn no_output_drops_a_record_and_several_write_several() {
    let env = TestEnv::new();
    map(&env, "'.[]'", b"[1,2]\n[]\n[3]").quiet().out("1\n2\n3");
    map(&env, "'.[]'", b"[1]\r\n[2,3]").quiet().out("1\r\n2\n3");
    map(&env, "empty", b"[1]\n[2]").quiet().out("");
    map(&env, ".", b"").quiet().out("");
}

#[test]
fn numbers_are_laid_out_as_jq_does() {
    let env = TestEnv::new();
    let filter = "'[1e17+0.0, 1e16*1.0, 11e15*1.0, 0.1+0.2, 1/2*2, 1e-5*1.0, 1e-4*1.0, 1/3, 1e300*1.5, -0.0*1, \
                  5e-324*1.0, 123456789.25/2, nan, infinite, -infinite]'";
    map(&env, filter, b"0").quiet().out(
        "[1e+17,1e+16,11000000000000000,0.30000000000000004,1,1e-05,0.0001,0.3333333333333333,1.5e+300,-0,5e-324,\
         61728394.625,null,1.7976931348623157e+308,-1.7976931348623157e+308]",
    );
}

#[test]
fn strings_are_escaped_as_far_as_they_must_be() {
    let env = TestEnv::new();
    map(
        &env,
        "'[.]'",
        b"\"\\u0000\\u001f\\b\\f\\n\\r\\t\\\\\\\"\\/\\u00e9\\ud83d\\ude00\"",
    )
    .quiet()
    .out("[\"\\u0000\\u001f\\b\\f\\n\\r\\t\\\\\\\"/\u{e9}\u{1f600}\"]");
}

#[test]
fn what_json_does_not_have_fails() {
    let env = TestEnv::new();
    for (filter, part) in [
        ("'\"//8=\" | @base64d'", "not UTF-8"),
        (
            "'{(1|tojson|tonumber): 2}'",
            "an object\u{27}s key must be a string, not 1",
        ),
        (
            "'reduce range(3000) as $_ (0; [.])'",
            "nested deeper than 2048 levels",
        ),
    ] {
        map(&env, filter, b"1").status(1).err_has(part);
    }
}

/// Case 62, and the lines of RFC 8259's grammar that other readers let through.
#[test]
fn case_62_what_is_nearly_json_is_refused() {
    let env = TestEnv::new();
    for line in [
        "{\"x\":NaN}",
        "{\"x\":1} # note",
        "{\"x\":007}",
        "{\"x\":+7}",
        "{1:2}",
        "# only a comment",
        "{\"x\":\"\\ud800\"}",
        "{\"x\":\"\\udc00\\ud800\"}",
        "{\"x\":[1,2,]}",
        "{\"x\":-Infinity}",
        "{\"x\":b\"y\"}",
        "{'x':1}",
        "1 2",
        "[1}",
        "{\"a\" 1}",
        "{\"a\":1,}",
        "tru",
        "nullx",
        "-",
        "1.",
        ".5",
        "1e",
        "\"\t\"",
        "\"\\x41\"",
        "\"open",
        "[",
        "\\N",
        "\u{c}1",
        "'",
    ] {
        env.write("bad", format!("1\n{line}\n3\n"));
        let ran = env.run("inorder map -q . bad");
        ran.status(1)
            .out("1\n")
            .err_has("bad: malformed, record 2 (line 2, byte 2): not JSON: ");
        env.run("inorder map -q --on-error skip . bad")
            .status(3)
            .out("1\n3\n");
    }
    env.write(
        "bad",
        b"1\n\"\xff\"\n\"\xed\xa0\x80\"\n{\"x\":\"\\ud83d\\ude00\"}\n",
    );
    env.run("inorder map -q --on-error skip .x? bad")
        .status(3)
        .out("\"\u{1f600}\"\n")
        .err_has("record 2 (line 2, byte 2): not JSON: a string that is not UTF-8 at column ")
        .err_has("record 3");
    let ran = env.run("printf '{\"x\":1}' | inorder map 'nan, infinite'");
    ran.quiet().out("null\n1.7976931348623157e+308");
}

/// Case 59.
#[test]
fn case_59_a_bad_line_stops_the_run_or_is_left_out_alone() {
    let env = TestEnv::new();
    let lines = "{\"a\":1}\n{\"a\":2\n\\N\n{\"a\":4}TRAILER\n{\"a\":5} {\"a\":55}\n{\"a\":6},\n[\n{\"a\":8}\n\
                 {\"b\":\"x\\u12G4\"}\n{\"a\":10}\n]\n";
    env.write("bad", lines);
    let ran = env.run("inorder map -j 4 --chunk-size 8 --on-error skip --stats s .a bad");
    ran.status(3).out("1\n8\n10\n");
    for line in [2, 3, 4, 5, 6, 7, 9, 11] {
        ran.err_has(&format!("record {line} (line {line}, "));
    }
    let stats = env.json("s");
    assert_eq!(
        (&stats["processed"], &stats["skipped"]),
        (&3.into(), &8.into())
    );
    let ran = env.run("inorder map -j 4 --chunk-size 8 --rejects aside .a bad");
    ran.status(3).out("1\n8\n10\n");
    let set_aside: Vec<&str> = lines.lines().collect();
    let set_aside = [1, 2, 3, 4, 5, 6, 8, 10].map(|line| format!("{}\n", set_aside[line]));
    assert_eq!(
        String::from_utf8(env.read("aside")).unwrap(),
        set_aside.concat()
    );
    let errors = String::from_utf8(env.read("aside.errors.ndjson")).unwrap();
    assert!(
        errors.lines().all(|row| row.contains("\"kind\":\"parse\"")),
        "{errors}"
    );
    env.old_output();
    let ran = env.run("inorder map .a bad -o o/out");
    ran.status(1)
        .err_has("bad: malformed, record 2 (line 2, byte 8): not JSON");
    env.is_untouched(&ran);
}

/// Case 58, and 21 for map.
#[test]
fn case_58_blank_lines_are_counted_and_dropped() {
    let env = TestEnv::new();
    let input = b"{\"a\":1}\n\n{\"a\":2}\n   \n\r\n{\"a\":3}\n\n";
    map(&env, ".a", input).quiet().out("1\n2\n3\n");
    map(&env, ".", input)
        .quiet()
        .out("{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
    map(&env, "'if .a == 3 then error(\"no\") else .a end'", input)
        .status(1)
        .err_has("<stdin>: failed, record 3 (line 6, byte 23): no");
    map(&env, ".a", b"{\"a\":1}").quiet().out("1");
    // A changed record keeps its end.
    map(&env, ".a", b"{\"a\":1}\n{\"a\":2}\r\n{\"a\":3}\n")
        .quiet()
        .out("1\n2\r\n3\n");
    env.write("rows.csv", "a,b\n1,2\n\n3,4\n");
    env.run("inorder map . rows.csv")
        .quiet()
        .out("a,b\n1,2\n3,4\n");
    env.run("inorder map -q 'select(.a == 1 or error(\"no\"))' rows.csv")
        .status(1)
        .err_has("record 2 (line 4, byte 9)");
}

/// Case 61.
#[test]
fn case_61_only_lf_ends_a_line() {
    let env = TestEnv::new();
    let input = "{\"t\":\"a\u{2028}b\"}\n{\"t\":\"c\u{85}d e\"}\n{\"t\":\"f\\u000b\\u2028\"}\n{\"t\":\"plain \\r\\n\"}\n\
                 {\"t\":\"x\"}\n";
    map(&env, "'.t | length'", input.as_bytes())
        .quiet()
        .out("3\n5\n3\n8\n1\n");
    map(&env, ".", input.as_bytes()).quiet().out(input);
}

/// Case 31.
#[test]
fn case_31_a_byte_that_is_not_utf8_stays_or_fails_its_record() {
    let env = TestEnv::new();
    let csv = b"id,label\n1,ok\n2,na\xefve \xff\n3,ok\n";
    map(&env, "--from csv .", csv).quiet().out(csv);
    map(&env, "--from csv '{label}'", csv)
        .quiet()
        .out(b"label\nok\nna\xefve \xff\nok\n");
    map(&env, "--from csv --to ndjson --on-error skip .label", csv)
        .status(3)
        .out("\"ok\"\n\"ok\"\n")
        .err_has("record 2 (line 3, byte 14): ");
    let json = b"{\"id\":1,\"label\":\"ok\"}\n{\"id\":2,\"label\":\"na\xefve\"}\n{\"id\":3,\"label\":\"ok\"}\n";
    for filter in [".id", ".label"] {
        let ran = map(&env, &format!("--on-error skip {filter}"), json);
        ran.status(3).err_has("record 2 (line 2, ");
        assert_eq!(ran.out.lines().count(), 2, "{ran}");
    }
}

#[test]
fn a_document_over_several_lines_gets_a_hint() {
    let env = TestEnv::new();
    for document in ["{\n  \"a\": 1\n}\n", "[\n1\n]\n"] {
        map(&env, ".", document.as_bytes())
            .status(1)
            .err_has("record 1 (line 1, byte 0): not JSON: ")
            .err_has("`jq -c .` brings each value into one");
    }
    map(&env, ".", b"}\n").status(1).err_lacks("jq -c");
}

#[test]
fn deep_texts_end_in_an_error_not_in_the_stack() {
    let env = TestEnv::new();
    let deep = |levels: usize| format!("{}{}\n", "[".repeat(levels), "]".repeat(levels));
    env.write("deep", deep(1024));
    env.run("inorder map . deep").quiet().out(deep(1024));
    for filter in [
        "[.,1]|.[0]",
        "tojson|length",
        "[..]|length",
        "walk(.)",
        "[paths]|length",
        "flatten",
        "[.]==[.]",
    ] {
        env.run(&format!("inorder map '{filter}' deep")).status(0);
        env.run(&format!(
            "cat deep deep deep | inorder map -j 2 --chunk-size 1 '{filter}'"
        ))
        .status(0);
    }
    for levels in [1025, 1_000_000] {
        env.write("deep", deep(levels));
        env.run("inorder map . deep")
            .status(1)
            .err_has("nested deeper than 1024 levels at column 1025");
    }
    env.write("digits", format!("{}\n", "7".repeat(1_000_000)));
    env.run("inorder map '., . + 0' digits | wc -l")
        .quiet()
        .out("2\n");
}

/// JSON values with all sorts of spelling.
fn spelled() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2})?",
        "\"([a-zA-Z é😀]|\\\\[nrtbf/\\\\\"]|\\\\u00[0-9a-f]{2}){0,8}\"",
    ];
    let space = || "[ \t]{0,2}";
    text.prop_recursive(4, 24, 5, move |inner| {
        let item = (space(), inner.clone(), space()).prop_map(|(a, v, b)| format!("{a}{v}{b}"));
        let member =
            ("\"[a-e]{1,2}\"", item.clone()).prop_map(|(key, item)| format!("{key}:{item}"));
        prop_oneof![
            proptest::collection::vec(item, 0..5)
                .prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::vec(member, 0..5)
                .prop_map(|items| format!("{{{}}}", items.join(","))),
        ]
    })
}

#[test]
fn any_json_keeps_its_bytes_and_its_value() {
    let env = TestEnv::new();
    let lines = proptest::collection::vec((spelled(), "(\n|\r\n)"), 200..201);
    let config = Config {
        cases: 3,
        failure_persistence: None,
        max_shrink_iters: 0,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&lines, |lines| {
            let input: String = lines.iter().flat_map(|(line, end)| [line.as_str(), end]).collect();
            env.write("input", &input);
            env.run("inorder map -j 3 --chunk-size 200 . < input").quiet().out(&input);
            // Rebuilt: other bytes, the same values.
            let ran = env.run("inorder map '[[.]][0][0] | if type == \"object\" then . + {zz: 1} | del(.zz) else [., 1] end' < input");
            ran.quiet();
            for ((before, _), after) in lines.iter().zip(ran.out.lines()) {
                let before: Value = serde_json::from_str(before).unwrap();
                let after: Value = serde_json::from_str(after).unwrap();
                let before = if before.is_object() { before } else { serde_json::json!([before, 1]) };
                assert_eq!(before, after);
            }
            assert_eq!(ran.out.lines().count(), lines.len());
            Ok(())
        })
        .unwrap();
}

#[test]
fn deep_recursion_and_long_filters_have_room() {
    let env = TestEnv::new();
    env.write("in", "1\n");
    env.run("inorder map 'def f: if . > 10000 then . else 1 + (. + 1 | f) end; 0 | f' in")
        .quiet()
        .out("20002\n");
    let long = format!("{}. + 1", ". | ".repeat(20_000));
    env.write("filter", long);
    env.run("inorder map \"$(cat filter)\" in")
        .quiet()
        .out("2\n");
}

/// Nor is a text as long as the record that it speaks of held for each record that fails.
#[test]
fn what_is_said_of_a_record_is_cut() {
    let env = TestEnv::new();
    let long = format!("{{\"a\":\"{}\"}}\n", "日".repeat(40_000));
    let keys = format!("{{}}\n{{\"{}\":1}}\n", "日".repeat(40_000));
    for (arguments, input, record) in [
        ("--on-error skip 'error(tojson)'", &long, 1),
        ("--on-error skip --to csv --columns x .", &keys, 2),
    ] {
        let ran = map(&env, arguments, input.as_bytes());
        ran.status(3).err_has(&format!("record {record} ("));
        let line = ran.err.lines().max_by_key(|line| line.len()).unwrap();
        assert!((4000..4300).contains(&line.len()), "{}", line.len());
    }
}
