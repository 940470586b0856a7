//! The functions of the filters: jaq's, without those that make no sense here, and some of jq's that jaq lacks.

mod delete;
mod json;
mod text;

use jaq_core::box_iter::box_once;
use jaq_core::load::parse::Def;
use jaq_core::native::{Filter, Fun, run, v};
use jaq_core::{DataT, Lut, RunPtr, data};
use jaq_json::Val;

use super::value::{Error, Value};
use crate::cli::escape;
use crate::cli::voice::Speaker;

/// Filters work on these values, amid what a run knows.
pub enum Values {}

impl DataT for Values {
    type V<'a> = Value;
    type Data<'a> = &'a Surroundings<'a>;
}

/// What a filter can ask for beside its input.
pub struct Surroundings<'a> {
    pub lut: &'a Lut<Values>,
    /// The environment.
    pub env: &'a Val,
    /// The name of the record's input.
    pub input: Value,
    /// Takes what `debug` and `stderr` say.
    pub speaker: &'a Speaker,
}

impl<'a> data::HasLut<'a, Values> for &'a Surroundings<'a> {
    fn lut(&self) -> &'a Lut<Values> {
        self.lut
    }
}

/// Natives of jaq that ours stand for: `halt` would end the process, `env` panics on names that are not UTF-8, two write to a log,
/// the rest want strings where jq leaves other values alone.
const REPLACED: [&str; 7] = [
    "halt",
    "env",
    "debug_empty",
    "stderr_empty",
    "ltrimstr",
    "rtrimstr",
    "reverse",
];

/// Definitions of jaq that ours stand for.
const REDEFINED: [(&str, usize); 11] = [
    ("halt", 0),
    ("halt_error", 0),
    ("halt_error", 1),
    ("del", 1),
    ("delpaths", 1),
    ("flatten", 0),
    ("flatten", 1),
    ("gamma", 0),
    ("join", 1),
    ("tonumber", 0),
    ("tostring", 0),
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
    let natives: [Filter<RunPtr<Values>>; 4] = [
        ("env", v(0), |cv| {
            box_once(Ok(Value(cv.0.data().env.clone())))
        }),
        ("input_filename", v(0), |cv| {
            box_once(Ok(cv.0.data().input.clone()))
        }),
        ("debug_empty", v(0), |cv| {
            let speaker = cv.0.data().speaker;
            speaker.quote(&format!("[\"DEBUG:\",{}]", cv.1.shown()));
            Box::new(std::iter::empty())
        }),
        ("stderr_empty", v(0), |cv| {
            cv.0.data().speaker.quote(&cv.1.shown());
            Box::new(std::iter::empty())
        }),
    ];
    let natives = natives.into_iter();
    natives.chain(json::natives()).chain(text::natives())
}

/// The text of an error that the filter raised, as jq says it.
pub fn message(error: Error) -> String {
    match error.into_val() {
        Value(Val::TStr(text)) => escape::line(&String::from_utf8_lossy(&text)),
        other => format!("{} (not a string)", other.shown()),
    }
}
