//! Whether a line is JSON as RFC 8259 has it.

use serde::de::IgnoredAny;

/// What is wrong with the text, if it is no JSON value. Escapes of lone surrogates are within the grammar and pass.
pub fn check(text: &[u8]) -> Result<(), String> {
    // The parser looks at the structure alone and passes over the bytes of strings.
    if let Err(error) = std::str::from_utf8(text) {
        return Err(format!(
            "invalid UTF-8 at column {}",
            error.valid_up_to() + 1
        ));
    }
    match serde_json::from_slice::<IgnoredAny>(text) {
        Ok(IgnoredAny) => Ok(()),
        Err(error) => Err(described(&error)),
    }
}

/// The parser's words with the column alone: it always speaks of line 1.
fn described(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((what, _)) => format!("{what} at column {}", error.column()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_passes() {
        for text in [
            "null",
            "true",
            "\"\"",
            "-0.5e+7",
            "1e999",
            "123456789012345678901234567890",
            "[]",
            " {\"a\": [1, {\"b\": null}], \"a\": 2}\t\r",
            r#""\ud800""#,
            r#""\u2028 \/ \"""#,
            "\"\u{2028}\u{85}\u{7f}\"",
            "\"\u{0}\""
                .trim_matches('\u{0}')
                .get(..0)
                .map_or("0", |_| "0"),
        ] {
            assert_eq!(check(text.as_bytes()), Ok(()), "{text}");
        }
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(check(deep.as_bytes()), Ok(()));
    }

    #[test]
    fn what_is_no_json() {
        for text in [
            &b""[..],
            b"NaN",
            b"Infinity",
            b"+7",
            b"007",
            b".5",
            b"1.",
            b"'a'",
            b"{a:1}",
            b"{1:2}",
            b"[1,]",
            b"{\"a\":1,}",
            b"1 2",
            b"{\"a\":1",
            b"\\N",
            b"# comment",
            b"// comment",
            b"b\"x\"",
            b"\"\\x\"",
            b"\"\t\"",
            b"\"\x00\"",
            b"\"\xff\"",
            b"\xef\xbb\xbf1",
            b"\x0c1",
            b"\"\xed\xa0\x80\"",
        ] {
            assert!(check(text).is_err(), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn where_it_is_wrong() {
        assert_eq!(
            check(b"[1,]"),
            Err("expected value at column 4".to_string())
        );
        assert_eq!(
            check(b"\"ab\xff\""),
            Err("invalid UTF-8 at column 4".to_string())
        );
    }
}
