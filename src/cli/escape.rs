//! What the program shows of text from outside, in the library's way.

use std::path::Path;

#[path = "../escape.rs"]
mod shared;

pub use shared::shorten;

/// A file's name as it is shown: control characters and what is no UTF-8 as escapes.
pub fn name(path: &Path) -> String {
    shared::escaped(path.as_os_str().as_encoded_bytes())
}

/// A message brought into one line: control characters become escapes.
pub fn line(text: &str) -> String {
    shared::escaped(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

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
