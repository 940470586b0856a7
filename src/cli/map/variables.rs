//! The global variables of a filter: those that were typed, `$ENV` and `$ARGS`.

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

/// What is not UTF-8 has no form as a string of a filter; jq, too, replaces it.
fn environment() -> Val {
    let lossy = |text: std::ffi::OsString| Val::from(text.to_string_lossy().into_owned());
    let members = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
    Val::obj(members.collect())
}
