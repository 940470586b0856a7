//! A command line without `--`: what was probably meant.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;

use super::command::find;
use crate::cli::escape;
use crate::cli::status::usage;

/// The error for a line whose inputs, as they were taken, are `inputs`.
pub fn command(inputs: &[PathBuf]) -> anyhow::Error {
    let words: Vec<&OsStr> = inputs.iter().map(|input| input.as_os_str()).collect();
    match mended(&words) {
        Some(line) => usage(format!(
            "the command stands behind `--`: inorder exec [OPTIONS] {line}"
        )),
        None => usage("there is no command: inorder exec [OPTIONS] [INPUT]... -- COMMAND [ARG]..."),
    }
}

/// What to say beside an error of a line that could not be understood.
pub fn hint(error: &clap::Error) -> Option<String> {
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    let (command, rest) = words.split_first()?;
    if command != "exec" || error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let words: Vec<&OsStr> = rest.iter().map(OsString::as_os_str).collect();
    let line = mended(&words)?;
    Some(format!(
        "the command stands behind `--`: inorder exec {line}"
    ))
}

/// The words of the line after `inorder exec`, with `--` where the command seems to begin, if one does.
fn mended(words: &[&OsStr]) -> Option<String> {
    if words.iter().any(|word| *word == "--") {
        return None;
    }
    let begins = |word: &&OsStr| {
        !word.as_encoded_bytes().starts_with(b"-")
            && !Path::new(word).exists()
            && find(word).is_ok()
    };
    let at = words.iter().position(begins)?;
    let (before, command) = words.split_at(at);
    let quoted = |words: &[&OsStr]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>();
    let mut line = quoted(before);
    line.push("--".to_owned());
    line.extend(quoted(command));
    Some(line.join(" "))
}

/// A word as a shell takes it.
pub fn quoted(word: &OsStr) -> String {
    let shown = escape::name(Path::new(word));
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%^".contains(c);
    if !shown.is_empty() && shown.chars().all(plain) {
        shown
    } else {
        format!("'{}'", shown.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_mended_where_a_command_begins() {
        let mended = |line: &str| {
            let words: Vec<&OsStr> = line.split(' ').map(OsStr::new).collect();
            mended(&words)
        };
        assert_eq!(
            mended("no.csv -o out sh -c a|b").as_deref(),
            Some("no.csv -o out -- sh -c 'a|b'")
        );
        assert_eq!(mended("no.csv other.csv"), None);
        assert_eq!(mended("no.csv -- sh"), None);
    }

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        let quoted = |word| quoted(OsStr::new(word));
        assert_eq!(quoted("a-b.csv"), "a-b.csv");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
