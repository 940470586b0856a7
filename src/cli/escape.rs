//! Text for messages: one line, nothing in it that a terminal obeys.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

/// A file's name as it is shown: control characters and what is no UTF-8 as escapes.
pub fn name(path: &Path) -> String {
    bytes(path.as_os_str())
}

/// Any text from outside, shown in the same way.
pub fn bytes(text: &OsStr) -> String {
    let mut shown = String::new();
    for piece in text.as_encoded_bytes().utf8_chunks() {
        line_into(piece.valid(), &mut shown);
        for byte in piece.invalid() {
            let _ = write!(shown, "\\x{byte:02X}");
        }
    }
    shown
}

/// A message brought into one line: control characters become escapes.
pub fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    line_into(text, &mut shown);
    shown
}

fn line_into(text: &str, shown: &mut String) {
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            '\0'..='\x1f' | '\x7f'..='\u{9f}' => {
                let _ = write!(shown, "\\x{:02X}", u32::from(c));
            }
            // Line separators, and marks that reorder what is shown after them.
            '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                let _ = write!(shown, "\\u{{{:X}}}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays() {
        assert_eq!(
            line("data/naïve 日本 \\ \"x\".csv"),
            "data/naïve 日本 \\ \"x\".csv"
        );
    }

    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        assert_eq!(
            line("a\nb\r\tc\x1b[2Jd\x7f\u{9b}e\u{202e}f"),
            r"a\nb\r\tc\x1B[2Jd\x7F\x9Be\u{202E}f"
        );
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_no_utf8_are_escaped() {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(OsStr::from_bytes(b"a\xff\xe9b\xc3\xa9"));
        assert_eq!(name(path), r"a\xFF\xE9bé");
    }
}
