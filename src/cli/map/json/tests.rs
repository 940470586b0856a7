use proptest::prelude::*;

use super::*;
use crate::cli::map::same::unchanged;

fn text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("false".to_owned()),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,3})?([eE][+-]?[0-9])?",
        "\"[a-cé]{0,4}\"",
        Just("\"\\n\\u00e9\"".to_owned()),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let member = ("[a-d]", inner.clone()).prop_map(|(key, value)| format!("\"{key}\":{value}"));
        prop_oneof![
            proptest::collection::vec(inner, 0..4)
                .prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::vec(member, 0..5)
                .prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
}

fn read_into(value: &mut Val, text: &str) -> Result<(), String> {
    let slab = Bytes::copy_from_slice(text.as_bytes());
    read(value, &slab, 0..slab.len()).map_err(|fault| format!("{fault:?}"))
}

proptest! {
    /// Whatever was there before, also after an error, and whoever still holds it.
    #[test]
    fn memory_that_is_used_again_does_not_show(texts in proptest::collection::vec((text(), 0..4u8), 1..12)) {
        let mut value = Val::Null;
        let mut held = Vec::new();
        for (text, fate) in texts {
            if fate == 0 {
                let cut = &text[..text.len() - text.chars().last().map_or(0, char::len_utf8)];
                let _ = read_into(&mut value, cut);
            }
            read_into(&mut value, &text).unwrap();
            let mut fresh = Val::Null;
            read_into(&mut fresh, &text).unwrap();
            prop_assert!(unchanged(&fresh, &value), "{text}: {fresh} {value}");
            if fate == 1 {
                held.push((fresh, value.clone()));
            }
        }
        for (fresh, value) in held {
            prop_assert!(unchanged(&fresh, &value));
        }
    }
}

#[test]
fn numbers_keep_their_text() {
    for text in [
        "0",
        "-0",
        "1",
        "-1",
        "999999999999999999",
        "1000000000000000000",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "123456789012345678901234567890",
        "1.0",
        "1e5",
        "-0.0",
        "1E+05",
        "0e0",
    ] {
        let number = number_in(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
        let mut out = Vec::new();
        super::super::print::json(&mut out, &Val::Num(number), false).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }
    for text in [
        "", "-", "00", "007", "-01", "+1", ".5", "1.", "1e", "1e+", "0x1", "1 ", " 1", "NaN",
        "1_0", "１",
    ] {
        assert!(number_in(text.as_bytes()).is_none(), "{text}");
    }
}

#[test]
fn a_key_that_comes_again_keeps_its_place_and_takes_the_last_value() {
    let mut value = Val::Null;
    for _ in 0..2 {
        read_into(&mut value, r#"{"a":1,"b":2,"a":3,"c":4}"#).unwrap();
        assert_eq!(value.to_string(), r#"{"a":3,"b":2,"c":4}"#);
    }
}

#[test]
fn errors_name_the_column() {
    for (text, wanted) in [
        ("[1,]", "expected a value at column 4"),
        ("{\"a\" 1}", "expected a colon at column 6"),
        ("{1:2}", "expected a string as key at column 2"),
        ("1 2", "expected nothing more after the value at column 3"),
        ("\"a\u{1}\"", "a control character in a string at column 4"),
        ("\"\\ud800\"", "half of a surrogate pair"),
        (
            "[\"a",
            "a string without end at column 4, where the line ends",
        ),
    ] {
        let error = read_into(&mut Val::Null, text).unwrap_err();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn files_of_several_values() {
    let all = values(b" 1 {\"a\":\n[2]}\n\"x\"[]").unwrap();
    let all: Vec<String> = all.iter().map(ToString::to_string).collect();
    assert_eq!(all, ["1", "{\"a\":[2]}", "\"x\"", "[]"]);
    assert_eq!(values(b" \n").unwrap(), []);
    assert_eq!(
        values(b"1 }").unwrap_err(),
        "not JSON: expected a value at byte 2"
    );
}
