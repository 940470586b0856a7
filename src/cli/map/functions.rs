//! The functions of the filters: jaq's, without those that make no sense here, and some of jq's that jaq lacks.

use std::iter::once;

use jaq_core::box_iter::box_once;
use jaq_core::load::parse::Def;
use jaq_core::native::{Filter, Fun, bome, run, unary, v};
use jaq_core::{DataT, Lut, RunPtr, data};
use jaq_json::{Error, Val, ValR};

use super::{delete, print};
use crate::cli::escape;
use crate::cli::voice::Speaker;

/// Filters work on jaq's JSON values, amid what a run knows.
pub enum Values {}

impl DataT for Values {
    type V<'a> = Val;
    type Data<'a> = &'a Surroundings<'a>;
}

/// What a filter can ask for beside its input.
pub struct Surroundings<'a> {
    pub lut: &'a Lut<Values>,
    /// The environment.
    pub env: &'a Val,
    /// The name of the record's input.
    pub input: Val,
    /// Takes what `debug` and `stderr` say.
    pub speaker: &'a Speaker,
}

impl<'a> data::HasLut<'a, Values> for &'a Surroundings<'a> {
    fn lut(&self) -> &'a Lut<Values> {
        self.lut
    }
}

/// Natives of jaq that ours stand for: `halt` would end the process, `env` panics on names that are not UTF-8, the others write to a log.
const REPLACED: [&str; 4] = ["halt", "env", "debug_empty", "stderr_empty"];

/// Definitions of jaq that ours stand for.
const REDEFINED: [(&str, usize); 5] = [
    ("halt", 0),
    ("halt_error", 0),
    ("halt_error", 1),
    // By `|= empty`, which moves the last key to the place of the deleted one.
    ("del", 1),
    ("delpaths", 1),
];

/// Functions that need the whole stream, or that another record's work would have to wait for, and why they are refused.
pub const REFUSED: [(&str, &str); 7] = [
    ("input", WHOLE_STREAM),
    ("inputs", WHOLE_STREAM),
    (
        "input_line_number",
        "the number of lines before a record is not known while many are worked on at once",
    ),
    ("halt", HALT),
    ("get_search_list", NO_MODULES),
    ("modulemeta", NO_MODULES),
    ("$__loc__", "places in the filter are not kept"),
];

const WHOLE_STREAM: &str = "it needs the whole stream, and a filter of map sees one record at a time: \
     pipe the output of map into jq";

const HALT: &str =
    "it would end the work on other records too: use --limit, or error to let this record fail";

pub const NO_MODULES: &str = "modules are not supported";

/// What filters call by name.
pub fn natives() -> impl Iterator<Item = Fun<Values>> {
    let jaq = jaq_core::funs()
        .chain(jaq_std::funs())
        .chain(jaq_json::funs())
        .filter(|(name, ..)| !REPLACED.contains(name));
    jaq.chain(own().map(run::<Values>))
}

/// What is defined in the language itself.
pub fn definitions() -> impl Iterator<Item = Def> {
    let jaq = jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs())
        .filter(|def| !REDEFINED.contains(&(def.name, def.args.len())));
    jaq.chain(own_definitions())
}

fn own_definitions() -> Vec<Def> {
    jaq_core::load::parse(include_str!("functions.jq"), |parser| parser.defs()).unwrap_or_default()
}

fn own() -> impl Iterator<Item = Filter<RunPtr<Values>>> {
    let natives: [Filter<RunPtr<Values>>; 7] = [
        ("env", v(0), |cv| box_once(Ok(cv.0.data().env.clone()))),
        ("input_filename", v(0), |cv| {
            box_once(Ok(cv.0.data().input.clone()))
        }),
        ("debug_empty", v(0), |cv| {
            cv.0.data()
                .speaker
                .quote(&format!("[\"DEBUG:\",{}]", shown(&cv.1)));
            Box::new(std::iter::empty())
        }),
        ("stderr_empty", v(0), |cv| {
            cv.0.data().speaker.quote(&shown(&cv.1));
            Box::new(std::iter::empty())
        }),
        ("delpaths", v(1), |cv| unary(cv, delete::paths)),
        ("csv_row", v(0), |cv| {
            bome(separated(&cv.1, b',', csv_field))
        }),
        ("tsv_row", v(0), |cv| {
            bome(separated(&cv.1, b'\t', tsv_field))
        }),
    ];
    natives.into_iter()
}

/// The value as JSON where it has a form in it, else as jaq shows it.
pub fn shown(value: &Val) -> String {
    let mut text = Vec::new();
    match print::json(&mut text, value, false) {
        Ok(()) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => value.to_string(),
    }
}

/// The text of an error that the filter raised, as jq says it.
pub fn message(error: Error) -> String {
    match error.into_val() {
        Val::TStr(text) => escape::line(&String::from_utf8_lossy(&text)),
        other => format!("{} (not a string)", shown(&other)),
    }
}

/// `@csv` and `@tsv`: an array in one line.
fn separated(value: &Val, delimiter: u8, field: fn(&mut Vec<u8>, &[u8])) -> ValR {
    let Val::Arr(array) = value else {
        return Err(Error::str(format!(
            "{} cannot be formatted, only an array can be",
            shown(value)
        )));
    };
    let mut row = Vec::new();
    for (index, value) in array.iter().enumerate() {
        if index > 0 {
            row.push(delimiter);
        }
        match value {
            Val::Null => {}
            Val::TStr(text) => field(&mut row, text),
            Val::Bool(_) | Val::Num(_) => row.extend_from_slice(shown(value).as_bytes()),
            _ => {
                return Err(Error::str(format!(
                    "{} is not valid in a row",
                    shown(value)
                )));
            }
        }
    }
    Ok(Val::utf8_str(row))
}

fn csv_field(row: &mut Vec<u8>, text: &[u8]) {
    row.push(b'"');
    for &byte in text {
        row.extend(once(byte).chain((byte == b'"').then_some(byte)));
    }
    row.push(b'"');
}

fn tsv_field(row: &mut Vec<u8>, text: &[u8]) {
    for &byte in text {
        match byte {
            b'\t' => row.extend_from_slice(b"\\t"),
            b'\n' => row.extend_from_slice(b"\\n"),
            b'\r' => row.extend_from_slice(b"\\r"),
            b'\\' => row.extend_from_slice(b"\\\\"),
            _ => row.push(byte),
        }
    }
}
