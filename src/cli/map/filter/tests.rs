use jaq_json::Val;

use super::*;
use crate::cli::map::value::{Value, shown};
use crate::cli::map::{functions, json};
use crate::cli::voice::Voice;

/// What a filter gives for a value, each output as JSON, an error as its text.
fn outputs(code: &str, value: &str) -> Vec<String> {
    let filter = match Filter::compile(code, &[]) {
        Ok(filter) => filter,
        Err(complaint) => panic!("{code}: {complaint:?}"),
    };
    let speaker = Voice::new().speaker();
    let surroundings = Surroundings {
        lut: filter.lut(),
        env: &Val::Null,
        input: Value::text("input"),
        speaker: &speaker,
    };
    let value = json::values(value.as_bytes()).unwrap().remove(0);
    let outputs = filter.run(context(&surroundings, &[]), value);
    outputs
        .map(|output| match output {
            Ok(value) => shown(&value),
            Err(Fault::Filter(what)) => what,
            Err(other) => panic!("{other:?}"),
        })
        .collect()
}

#[track_caller]
fn gives(cases: &[(&str, &str, &str)]) {
    for (code, value, wanted) in cases {
        assert_eq!(outputs(code, value).join(" "), *wanted, "{value} | {code}");
    }
}

#[test]
fn all_definitions_compile() {
    assert!(Filter::compile(".", &[]).is_ok());
    let mut count = 0;
    for def in functions::definitions().filter(|def| !def.name.starts_with('!')) {
        let arguments = vec!["."; def.args.len()].join("; ");
        let call = match def.args.len() {
            0 => def.name.to_owned(),
            _ => format!("{}({arguments})", def.name),
        };
        assert_eq!(Filter::compile(&call, &[]).err(), None, "{call}");
        count += 1;
    }
    assert!(count > 100);
}

#[test]
fn paths_are_set_where_there_is_nothing() {
    gives(&[
        (".a.b[1].c = 1", "{}", r#"{"a":{"b":[null,{"c":1}]}}"#),
        (".a += 1", "null", r#"{"a":1}"#),
        (".[2] = 1", "[0]", "[0,null,1]"),
        (".[-1] = 9", "[1,2]", "[1,9]"),
        (".[-3] = 9", "[1,2]", "the array has no place -3"),
        (".[1.7] |= . + 1", "[1,2]", "[1,3]"),
        (".[1e9] = 1", "[]", "the array has no place 1e9"),
        (".[1:] = [9]", "null", "[9]"),
        (".[1:3] |= map(. * 2)", "[1,2,3,4]", "[1,4,6,4]"),
        (".[:-1] = []", "[1,2,3]", "[3]"),
        (".[5:2] = [0]", "[1,2,3]", "[1,2,3,0]"),
        (".a = 1", "[]", "cannot index [] with \"a\""),
        (".[0] = 1", "{}", "cannot index {} with 0"),
        (".a? = 1", "5", "5"),
        ("setpath([\"a\", 0]; 1)", "null", r#"{"a":[1]}"#),
    ]);
}

#[test]
fn what_is_deleted_leaves_the_order_of_the_rest() {
    let object = r#"{"a":1,"b":2,"c":3}"#;
    gives(&[
        ("del(.a)", object, r#"{"b":2,"c":3}"#),
        (".a |= empty", object, r#"{"b":2,"c":3}"#),
        ("del(.a, .c)", object, r#"{"b":2}"#),
        ("del(.x.y)", object, object),
        ("del(.[0, 2], .[-1])", "[1,2,3,4]", "[2]"),
        ("del(.[1:3])", "[1,2,3,4]", "[1,4]"),
        ("del(.[1:][0])", "[1,2,3,4]", "[1,3,4]"),
        ("del(.[] | select(. > 2))", "[1,2,3,4]", "[1,2]"),
        ("del(..)", "[1]", "null"),
        ("delpaths(1)", "{}", "cannot use 1 as array"),
        ("delpaths([1])", "{}", "cannot use 1 as array"),
        ("del(.a.b)", object, "cannot index 1 with \"b\""),
    ]);
}

#[test]
fn numbers_become_text_as_in_jq() {
    gives(&[
        (
            r#""\(. / 2)", (. / 2 | tostring), ([. / 2] | tojson, join("-"))"#,
            "8",
            r#""4" "4" "[4]" "4""#,
        ),
        (
            "[. % 3, -. % 3, 5.9 % 2.1, 5 % infinite]",
            "7",
            "[1,-1,1,5]",
        ),
        ("1 % 0", "0", "cannot calculate 1 % 0"),
        ("nan % 2 | isnan", "0", "true"),
        (".[length / 2]", "[1,2,3]", "2"),
        (".[0.5:1.5]", "[1,2,3]", "[1,2]"),
        (
            "map(tonumber)",
            r#"["007", "+5", ".5", " 12 ", "1.50", "-0"]"#,
            "[7,5,0.5,12,1.50,-0]",
        ),
        (
            "map(try tonumber catch 0)",
            r#"["", "x", "nan", "inf", "1_0", "0x1"]"#,
            "[0,0,0,0,0,0]",
        ),
    ]);
}

#[test]
fn functions_that_jaq_lacks_or_has_otherwise() {
    gives(&[
        (
            r#"join(", ")"#,
            r#"["a", null, 1, true]"#,
            r#""a, , 1, true""#,
        ),
        (
            r#"map(ltrimstr("a"), rtrimstr("a"))"#,
            r#"["aba", 1, null]"#,
            r#"["ba","ab",1,1,null,null]"#,
        ),
        (
            "flatten, flatten(1), (map(empty) | flatten(1))",
            "[1,[2,[3]]]",
            "[1,2,3] [1,2,[3]] []",
        ),
        ("flatten(-1)", "[]", "the depth of flatten must not be -1"),
        ("reverse", "null", "[]"),
        (r#"index("a"), indices(1)"#, "null", "null null"),
        (
            r#"indices("aa"), index("a"), rindex("a")"#,
            r#""éaaa""#,
            "[1,2] 1 3",
        ),
        ("indices([1, 2]), indices(1)", "[1,2,1,2]", "[0,2] [0,2]"),
        (r#"has("a"), has("b")"#, r#"{"a":null}"#, "true false"),
        (
            r#"has(0), has(2), (try has("a") catch .)"#,
            "[1,2]",
            r#"true false "[1,2] cannot have a key \"a\"""#,
        ),
        (
            r#"contains({a: ["b"]}), contains({a: ["x"]})"#,
            r#"{"a":["abc"],"c":1}"#,
            "true false",
        ),
        (
            "contains(1)",
            "[1]",
            "[1] cannot contain 1: they are of different types",
        ),
        ("bsearch(2), bsearch(0)", "[1,2,3]", "1 -1"),
        ("length", "-1.5", "1.5"),
        ("length", "true", "true has no length"),
        ("fromjson", r#""[1, 2.50]""#, "[1,2.50]"),
        (
            "fromjson",
            r#""1 2""#,
            "cannot parse \"1 2\" as JSON: one value is wanted",
        ),
        (
            "@csv, @tsv",
            r#"[1, "a\"b\t", null, true]"#,
            r#""1,\"a\"\"b\t\",,true" "1\ta\"b\\t\t\ttrue""#,
        ),
        ("@csv", "{}", "{} cannot be formatted, only an array can be"),
        (
            "from_entries",
            r#"[{"name":"a","value":1},{"k":2,"v":3}]"#,
            r#"{"a":1,"2":3}"#,
        ),
        ("{(.): 1}", "5", "an object's key must be a string, not 5"),
        ("IN(1, 2), ([.[]?] | length), leaf_paths", "1", "true 0"),
        (
            "INDEX(.a)",
            r#"[{"a":1},{"a":"x"}]"#,
            r#"{"1":{"a":1},"x":{"a":"x"}}"#,
        ),
        (r#"format("text", "json")"#, "[1]", r#""[1]" "[1]""#),
    ]);
}

#[test]
fn complaints_name_the_place() {
    let complaint = |code: &str| Filter::compile(code, &["$known".to_owned()]).err().unwrap();
    for (code, part, place) in [
        ("1 +", "expected term, found the end", 3..3),
        ("[1", "[ is never closed", 0..1),
        (". | f(1; 2)", "f/2 is not defined", 4..5),
        ("$known, $x", "the variable $x is not defined", 8..10),
        ("break $out", "is not defined", 6..10),
        ("m::f", "the module m is not defined", 0..1),
        (
            "(inputs)",
            "inputs is refused: it needs the whole stream",
            1..7,
        ),
        ("# no\n. as [$a", "[ is never closed", 10..11),
        ("\"\\q\"", "expected string escape sequence", 2..4),
        ("include \"x\"; .", "modules are not supported", 9..10),
    ] {
        let complaint = complaint(code);
        assert!(complaint.what.contains(part), "{code}: {complaint:?}");
        assert_eq!(complaint.place, place, "{code}: {complaint:?}");
    }
}
