//! Text for messages: one line, nothing in it that a terminal obeys, and not too long. The program compiles this file too, so that both say a name alike.

use std::fmt::Write;

/// Text from outside as it is shown: control characters and what is no UTF-8 as escapes.
pub(crate) fn escaped(text: &[u8]) -> String {
    let mut shown = String::with_capacity(text.len());
    for piece in text.utf8_chunks() {
        for char in piece.valid().chars() {
            push(char, &mut shown);
        }
        for byte in piece.invalid() {
            let _ = write!(shown, "\\x{byte:02X}");
        }
    }
    shown
}

/// The longest text of an error, in bytes.
const LONGEST_TEXT: usize = 4096;

/// The text of an error, cut where it is too long.
pub(crate) fn cut(text: &str) -> &str {
    let most = text.len().min(LONGEST_TEXT);
    let end = (0..=most).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

/// Cuts the text of an error where it is too long, and gives the rest of its memory back.
pub fn shorten(text: &mut String) {
    let len = cut(text).len();
    if len < text.len() {
        text.truncate(len);
        text.shrink_to_fit();
    }
}

fn push(char: char, shown: &mut String) {
    match char {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        '\0'..='\x1f' | '\x7f'..='\u{9f}' => {
            let _ = write!(shown, "\\x{:02X}", u32::from(char));
        }
        // Line separators, and marks that reorder what is shown after them.
        '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            let _ = write!(shown, "\\u{{{:X}}}", u32::from(char));
        }
        char => shown.push(char),
    }
}
