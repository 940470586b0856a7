//! Options of `inorder map`, most of them jq's.

use super::map;
use crate::testenv::TestEnv;

#[test]
fn lines_and_nul_are_strings() {
    let env = TestEnv::new();
    map(&env, "--from lines 'ascii_upcase'", b"a\r\nb \"\n\nc")
        .quiet()
        .out("A\r\nB \"\n\nC");
    map(&env, "--from lines .", b"a\xff\n\xfe")
        .quiet()
        .out(b"a\xff\n\xfe");
    map(&env, "--from lines --to ndjson .", b"a\"\r\nb\n")
        .quiet()
        .out("\"a\\\"\"\r\n\"b\"\n");
    map(&env, "--from lines --to ndjson .", b"a\n\xff\n")
        .status(1)
        .out("\"a\"\n")
        .err_has("record 2 (line 2, byte 2): the filter gave a string that is not UTF-8");
    map(&env, "--from nul --to ndjson .", b"a\nb\0c\0")
        .quiet()
        .out("\"a\\nb\"\n\"c\"\n");
    map(&env, "--to nul .a", b"{\"a\":\"x\"}\n{\"a\":[1]}\n")
        .quiet()
        .out("x\0[1]\0");
    map(&env, "--to nul .", b"\"a\\u0000b\"\n")
        .status(1)
        .err_has("NUL byte");
}

#[test]
fn raw_output_is_lines() {
    let env = TestEnv::new();
    let input = b"{\"a\":\"x\\ny\"}\n{\"a\":[\"z\"]}\n{\"a\":null}\n{\"a\":\"\"}";
    map(&env, "-r .a", input)
        .quiet()
        .out("x\ny\n[\"z\"]\nnull\n");
    map(&env, "-rc .a", input)
        .quiet()
        .out("x\ny\n[\"z\"]\nnull\n");
    map(&env, "--to lines .a", input)
        .quiet()
        .out("x\ny\n[\"z\"]\nnull\n");
    map(
        &env,
        "-r '.[\"a\"] | strings | @base64d'",
        b"{\"a\":\"//8=\"}\n",
    )
    .quiet()
    .out(b"\xff\xff\n");
}

#[test]
fn formats_by_name() {
    let env = TestEnv::new();
    env.write("in.jsonl", "{\"a\":1}\n");
    env.write("in.txt", "{\"a\":1}\n");
    for (line, file, wanted) in [
        ("map . in.jsonl -o out.csv", "out.csv", "a\n1\n"),
        ("map . in.txt -o out.tsv", "out.tsv", "a\n1\n"),
        ("map . in.txt -o out.txt", "out.txt", "{\"a\":1}\n"),
        (
            "map . in.jsonl --to lines -o out2.csv",
            "out2.csv",
            "{\"a\":1}\n",
        ),
        (
            "map --from lines . in.jsonl -o out.ndjson",
            "out.ndjson",
            "\"{\\\"a\\\":1}\"\n",
        ),
    ] {
        env.run(&format!("inorder {line}")).quiet();
        assert_eq!(String::from_utf8(env.read(file)).unwrap(), wanted, "{line}");
    }
}

#[test]
fn variables() {
    let env = TestEnv::new();
    env.write("values", "1\n{\"a\":\n 2}");
    env.write("text", "two\nlines\n");
    env.write("f.jq", "# a comment\n.a\n  | . + 1\n");
    for (arguments, wanted) in [
        ("--arg x 5 --arg y -1 '[$x, $y]'", "[\"5\",\"-1\"]"),
        ("--argjson x '{\"a\":[1]}' '$x.a'", "[1]"),
        ("--argjson x 1.50 '[$x]'", "[1.50]"),
        ("--slurpfile v values '$v'", "[1,{\"a\":2}]"),
        ("--rawfile v text '$v'", "\"two\\nlines\\n\""),
        (
            "'$ARGS' --args a b",
            "{\"positional\":[\"a\",\"b\"],\"named\":{}}",
        ),
        ("--args '$ARGS.positional' a b", "[\"a\",\"b\"]"),
        ("'$ARGS.positional' --jsonargs 1 null", "[1,null]"),
        (
            "--arg x 1 '$ARGS.named, $__prog_args?' 2>/dev/null || echo refused",
            "refused\n",
        ),
        ("--arg x 1 --arg x 2 '$x'", "\"1\""),
        ("-f f.jq", "8"),
        ("--from-file f.jq -", "8"),
    ] {
        env.run(&format!("printf '{{\"a\":7}}' | inorder map {arguments}"))
            .status(0)
            .out(wanted);
    }
    env.write("in.ndjson", "{\"a\":1}\n");
    env.run("inorder map -f f.jq in.ndjson").quiet().out("2\n");
    env.run("FOO=bar inorder map '[env.FOO, $ENV.FOO]' in.ndjson")
        .quiet()
        .out("[\"bar\",\"bar\"]\n");
    // Whoever started the program, and in whatever order.
    for variables in ["A=1 B=2", "B=2 A=1"] {
        env.run(&format!(
            "p=$(type -P inorder); env -i {variables} $p map '$ENV | {{A, B}} == . and (keys_unsorted == [\"A\", \"B\"])' in.ndjson | head -n 1"
        ))
        .quiet()
        .out("true\n");
    }
    env.run("env $'BAD=\\xff' inorder map '$ENV.BAD, env.BAD' in.ndjson")
        .quiet()
        .out("\"\u{fffd}\"\n\"\u{fffd}\"\n");
}

#[test]
fn what_can_not_be_done_is_a_usage_error() {
    let env = TestEnv::new();
    env.old_output();
    for (arguments, part) in [
        ("-n .", "--null-input needs the whole stream"),
        ("-s .", "--slurp needs the whole stream"),
        ("-R .", "--from lines"),
        ("-r --to csv .", "cannot be used with"),
        ("--columns a .", "add --to csv"),
        ("--to csv --columns a,b,a .", "names a twice"),
        ("--to csv --columns '' .", "--columns takes names"),
        ("--argjson x '{' .", "--argjson x: not JSON"),
        ("--argjson x '1 2' .", "one JSON value is wanted"),
        ("--retries 3 .", "--retries is no use to map"),
        ("", "FILTER"),
        ("$'\\xff'", "not UTF-8"),
    ] {
        let ran = env.run(&format!("inorder map {arguments} -o o/out < /dev/null"));
        ran.status(2).out("").err_has(part);
        env.is_untouched(&ran);
    }
    env.run("inorder map --rawfile x nofile . < /dev/null")
        .status(1)
        .err_has("nofile: cannot be read");
    env.run("inorder map -f nofile < /dev/null")
        .status(1)
        .err_has("nofile: cannot be read");
}

#[test]
fn a_filter_that_does_not_compile_is_shown_with_its_place() {
    let env = TestEnv::new();
    for (filter, wanted) in [
        (
            "select(.a > 1",
            "line 1, column 7: ( is never closed\n  select(.a > 1\n        ^\n",
        ),
        (
            ".a | foo(1)",
            "line 1, column 6: foo/1 is not defined\n  .a | foo(1)\n       ^^^\n",
        ),
        (
            ".é\n\t| $x",
            "line 1, column 2: expected token, found é\n  .é\n   ^",
        ),
        (
            ".a\n\t| $x.b",
            "line 2, column 4: the variable $x is not defined\n   | $x.b\n     ^^\n",
        ),
        (
            ".a |",
            "line 1, column 5: expected term, found the end\n  .a |\n      ^\n",
        ),
        (
            "",
            "line 1, column 1: expected term, found the end\n  \n  ^\n",
        ),
        (". as [$a] | }", "line 1, column 13: "),
    ] {
        env.write("filter", filter);
        let ran = env.run("inorder map -f filter /dev/null");
        ran.status(2).out("");
        assert!(
            ran.err
                .starts_with(&format!("inorder: the filter does not compile, {wanted}")),
            "{ran}"
        );
    }
    for (filter, why) in [
        ("input", "needs the whole stream"),
        ("[., inputs]", "needs the whole stream"),
        ("input_line_number", "many are worked on at once"),
        ("if .a then halt else . end", "--limit"),
        ("import \"m\" as m; .", "modules are not supported"),
    ] {
        env.write("filter", filter);
        env.run("inorder map -f filter /dev/null")
            .status(2)
            .err_has(why)
            .err_has("\n  ")
            .err_has("^");
    }
    // A definition of the filter's own is no longer jq's.
    env.run("echo 1 | inorder map 'def input: 5; input, {input: 1}, .input?'")
        .quiet()
        .out("5\n{\"input\":1}\n");
}

#[test]
fn errors_that_nothing_catches_let_the_record_fail() {
    let env = TestEnv::new();
    for (filter, message) in [
        ("error(\"own words\")", "own words"),
        ("error(\"two\\nlines\")", "two\\nlines"),
        ("error({a:1})", "{\"a\":1} (not a string)"),
        ("error(null)", "null (not a string)"),
        ("\"bad\" | halt_error", "bad"),
        ("\"bad\" | halt_error(3)", "bad"),
        (".a.b", "cannot index 1 with \"b\""),
    ] {
        env.run(&format!("echo '{{\"a\":1}}' | inorder map -q '{filter}'"))
            .status(1)
            .out("")
            .err(&format!(
                "inorder: <stdin>: failed, record 1 (line 1, byte 0): {message}\n"
            ));
    }
    map(
        &env,
        "'try error(null) catch ., (.[]? // \"none\"), (try error(\"x\") catch .)'",
        b"{}",
    )
    .quiet()
    .out("null\n\"none\"\n\"x\"");
    // What a record wrote before it failed is taken back.
    map(
        &env,
        "--on-error skip '1, (.[0] | . + 1)'",
        b"[1]\n[\"x\"]\n[2]\n",
    )
    .status(3)
    .out("1\n2\n1\n3\n");
}

#[test]
fn debug_and_stderr_speak_in_whole_lines() {
    let env = TestEnv::new();
    env.run("printf '1\\n\"x\"\\n' | inorder map 'debug, debug(\"m\", [.]), stderr' | sort -u")
        .status(0)
        .out("\"x\"\n1\n")
        .err("[\"DEBUG:\",1]\n[\"DEBUG:\",\"m\"]\n[\"DEBUG:\",[1]]\n1\n[\"DEBUG:\",\"x\"]\n[\"DEBUG:\",\"m\"]\n[\"DEBUG:\",[\"x\"]]\n\"x\"\n");
}

#[test]
fn options_shared_with_cat() {
    let env = TestEnv::new();
    let flights = "data/flights-sample.csv";
    env.run(&format!(
        "inorder map --limit 2 --no-output-header .carrier -r {flights}"
    ))
    .quiet()
    .out("UA\nVX\n");
    env.run(&format!("inorder map --stats s -j 3 --memory 4MiB -N 7 --no-mmap . {flights} -o out.csv && cmp {flights} out.csv")).quiet();
    let stats = env.json("s");
    assert_eq!(
        (&stats["command"], &stats["records"]),
        (&"map".into(), &2005.into())
    );
    env.run(&format!("cp {flights} same.csv; inorder map 'select(.dest == \"LAX\")' same.csv -o same.csv && wc -l < same.csv")).status(0);
    env.run(&format!(
        "begun=$(date +%s%N); inorder map --rate 100/s -N 1 --limit 50 . {flights} -o out.csv
         [ $(($(date +%s%N) - begun)) -gt 400000000 ]"
    ))
    .quiet();
    env.run(&format!("inorder map . {flights} | head -1"))
        .status(0)
        .err("");
    env.run(&format!("inorder map -r '.carrier' {flights} > /dev/full"))
        .status(1);
}

#[test]
fn the_help_has_six_examples() {
    let env = TestEnv::new();
    let help = env.run("inorder map --help");
    let examples = help
        .out
        .lines()
        .filter(|line| line.trim_start().starts_with("inorder map "))
        .count();
    assert!(examples >= 6, "{help}");
    help.has("select((.dep_delay | numbers) > 60)");
}
