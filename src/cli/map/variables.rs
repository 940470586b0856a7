//! The global variables of a filter: those that were typed, `$ENV` and `$ARGS`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::Context;
use jaq_json::{Map, Val};

use super::args::VariableArgs;
use super::json;
use crate::cli::escape;
use crate::cli::status::usage;

/// Names, each with its `$`, and values.
#[derive(Debug)]
pub struct Variables {
    pub names: Vec<String>,
    pub values: Vec<Val>,
    pub env: Val,
}

impl Variables {
    pub fn new(args: &VariableArgs) -> anyhow::Result<Variables> {
        let mut named: Vec<(String, Val)> = Vec::new();
        // As in jq the first value of a name counts.
        let mut name = |name: &str, value: Val| {
            if !named.iter().any(|(known, _)| known == name) {
                named.push((name.to_owned(), value));
            }
        };
        for [key, value] in pairs(&args.arg) {
            name(key, text(value));
        }
        for [key, value] in pairs(&args.argjson) {
            name(key, one_json(value, &format!("--argjson {key}"))?);
        }
        for [key, path] in pairs(&args.slurpfile) {
            let bytes = read(path)?;
            let values = json::values(&bytes)
                .map_err(|error| anyhow::anyhow!("{}: {error}", shown(path)))?;
            name(key, Val::Arr(values.into()));
        }
        for [key, path] in pairs(&args.rawfile) {
            let bytes = read(path)?;
            let text = String::from_utf8(bytes)
                .map_err(|_| anyhow::anyhow!("{}: not UTF-8", shown(path)))?;
            name(key, Val::from(text));
        }
        let positional = if args.jsonargs.is_empty() {
            args.args.iter().map(|value| Ok(text(value))).collect()
        } else {
            args.jsonargs
                .iter()
                .map(|value| one_json(value, "--jsonargs"))
                .collect::<anyhow::Result<Val>>()
        }?;
        let env = environment();
        let arguments = object([
            ("positional", positional),
            (
                "named",
                Val::obj(
                    named
                        .iter()
                        .map(|(key, value)| (text(key), value.clone()))
                        .collect(),
                ),
            ),
        ]);
        let all = named.into_iter().chain([
            ("ARGS".to_owned(), arguments),
            ("ENV".to_owned(), env.clone()),
        ]);
        let (names, values) = all.map(|(name, value)| (format!("${name}"), value)).unzip();
        Ok(Variables { names, values, env })
    }
}

impl Variables {
    /// What was typed of them, for a run that is gone on with: a long text by its hash.
    pub fn typed(&self) -> String {
        let arguments = self.names.iter().position(|name| name == "$ARGS");
        let text = arguments.map_or(String::new(), |at| self.values[at].to_string());
        if text.len() <= LONGEST {
            return text;
        }
        summed(&text)
    }

    /// The environment, if this filter may see it.
    pub fn environment_of(filter: &str) -> Option<String> {
        names_environment(filter).then(|| summed(&format!("{:?}", variables())))
    }
}

/// Length and checksum: those of another text are others, whatever the program was built with.
fn summed(text: &str) -> String {
    let crc = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, text.as_bytes());
    format!("{} bytes, {crc:08x}", text.len())
}

/// Whether `env` or `$ENV` stands in a filter, but for keys such as `.env`. In a string or a comment it counts too.
fn names_environment(filter: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    ["env", "$ENV"].iter().any(|name| {
        filter.match_indices(name).any(|(at, _)| {
            let before = filter[..at].chars().next_back();
            let after = filter[at + name.len()..].chars().next();
            !after.is_some_and(in_word)
                && (name.starts_with('$')
                    || !before.is_some_and(|c| in_word(c) || "$.".contains(c)))
        })
    })
}

/// A longer text is not kept in each checkpoint.
const LONGEST: usize = 4096;

fn pairs(typed: &[String]) -> impl Iterator<Item = &[String; 2]> {
    typed.as_chunks().0.iter()
}

fn text(text: &str) -> Val {
    Val::from(text.to_owned())
}

fn object<const N: usize>(members: [(&str, Val); N]) -> Val {
    let members = members.map(|(key, value)| (text(key), value));
    Val::obj(Map::from_iter(members))
}

fn one_json(typed: &str, option: &str) -> anyhow::Result<Val> {
    let values = json::values(typed.as_bytes());
    let mut values = values.map_err(|error| usage(format!("{option}: {error}")))?;
    match (values.pop(), values.is_empty()) {
        (Some(value), true) => Ok(value),
        _ => Err(usage(format!("{option}: one JSON value is wanted"))),
    }
}

fn read(path: &str) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("{}: cannot be read", shown(path)))
}

fn shown(path: &str) -> String {
    escape::name(Path::new(path))
}

/// By their names: the order in which they came depends on who started the program, and is no part of what a run depends on.
fn variables() -> BTreeMap<OsString, OsString> {
    std::env::vars_os().collect()
}

/// What is not UTF-8 has no form as a string of a filter; jq, too, replaces it.
fn environment() -> Val {
    let lossy = |text: OsString| Val::from(text.to_string_lossy().into_owned());
    let members = variables().into_iter();
    Val::obj(
        members
            .map(|(name, value)| (lossy(name), lossy(value)))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::names_environment;

    #[test]
    fn filters_that_see_the_environment() {
        for filter in [
            "env",
            "$ENV.HOME",
            "env.HOME",
            "[.a,env]",
            "env|keys",
            "$ENV",
        ] {
            assert!(names_environment(filter), "{filter}");
        }
        for filter in [
            ".env",
            ".envelope",
            "$env",
            "$ENVELOPE",
            "my_env",
            "environment",
            ".",
        ] {
            assert!(!names_environment(filter), "{filter}");
        }
    }
}
