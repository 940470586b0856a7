//! The filter: compiled once, run on every record.

use std::ops::Range;

use jaq_core::compile::{self, Undefined};
use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx};
use jaq_json::Val;

use super::fault::Fault;
use super::functions::{self, NO_MODULES, REFUSED, Surroundings, Values};
use super::value::Value;

/// A compiled filter, shared by the workers.
pub struct Filter(jaq_core::Filter<Values>);

/// Why a filter does not compile, and at which place of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Complaint {
    pub what: String,
    pub place: Range<usize>,
}

impl Filter {
    /// Compiles a filter that may use these global variables (with their `$`).
    pub fn compile(code: &str, variables: &[String]) -> Result<Filter, Complaint> {
        let arena = Arena::default();
        let file = File { code, path: () };
        let modules = Loader::new(functions::definitions())
            .load(&arena, file)
            .map_err(|errors| {
                first(errors.into_iter().map(|(_, error)| not_loaded(code, error)))
            })?;
        let compiled = Compiler::default()
            .with_funs(functions::natives())
            .with_global_vars(variables.iter().map(String::as_str))
            .compile(modules);
        compiled.map(Filter).map_err(|errors| {
            let errors = errors.into_iter().flat_map(|(_, errors)| errors);
            first(errors.map(|error| not_compiled(code, error)))
        })
    }

    pub fn lut(&self) -> &jaq_core::Lut<Values> {
        &self.0.lut
    }

    /// What the filter makes of a value.
    pub fn run<'f>(
        &'f self,
        context: Ctx<'f, Values>,
        value: Val,
    ) -> impl Iterator<Item = Result<Val, Fault>> {
        self.0.id.run((context, Value(value))).map(|output| {
            output.map(|value| value.0).map_err(|exception| {
                Fault::Filter(match exception.get_err() {
                    Ok(error) => functions::message(error),
                    Err(_) => "the filter ended out of turn".to_owned(),
                })
            })
        })
    }
}

/// The context in which the filter runs on the records of a chunk.
pub fn context<'a>(surroundings: &'a Surroundings<'a>, variables: &[Val]) -> Ctx<'a, Values> {
    Ctx::new(
        surroundings,
        jaq_core::Vars::new(variables.iter().cloned().map(Value)),
    )
}

/// The complaint that stands first in the filter.
fn first(complaints: impl Iterator<Item = Complaint>) -> Complaint {
    complaints
        .min_by_key(|complaint| complaint.place.start)
        .unwrap_or_else(|| Complaint {
            what: "it is not understood".to_owned(),
            place: 0..0,
        })
}

fn not_loaded(code: &str, error: load::Error<&str>) -> Complaint {
    match error {
        load::Error::Io(errors) => first(errors.into_iter().map(|(path, _)| Complaint {
            what: NO_MODULES.to_owned(),
            place: span(code, path),
        })),
        load::Error::Lex(errors) => first(errors.into_iter().map(|(expected, found)| {
            let place = span(code, found);
            match expected {
                load::lex::Expect::Delim(open) => Complaint {
                    what: format!("{open} is never closed"),
                    place: span(code, open),
                },
                expected => Complaint {
                    what: format!("expected {}, found {}", expected.as_str(), token(found)),
                    place,
                },
            }
        })),
        load::Error::Parse(errors) => {
            first(errors.into_iter().map(|(expected, found)| Complaint {
                what: format!("expected {}, found {}", expected.as_str(), token(found)),
                place: span(code, found),
            }))
        }
    }
}

/// What was found, as far as it tells something.
fn token(found: &str) -> String {
    let found = found.split_whitespace().next().unwrap_or_default();
    match found.char_indices().nth(20) {
        _ if found.is_empty() => "the end".to_owned(),
        Some((end, _)) => format!("{}...", &found[..end]),
        None => found.to_owned(),
    }
}

fn not_compiled(code: &str, (name, undefined): compile::Error<&str>) -> Complaint {
    let refused = REFUSED.iter().find(|(refused, _)| *refused == name);
    let what = match (refused, undefined) {
        (Some((_, why)), _) => format!("{name} is refused: {why}"),
        (None, Undefined::Filter(arity)) => format!("{name}/{arity} is not defined"),
        (None, undefined) => format!("the {} {name} is not defined", undefined.as_str()),
    };
    Complaint {
        what,
        place: span(code, name),
    }
}

/// Where a part of the filter stands in it.
fn span(code: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).wrapping_sub(code.as_ptr() as usize);
    match start.checked_add(part.len()) {
        Some(end) if end <= code.len() => start..end,
        // It stands in a definition of ours, which a test excludes.
        _ => 0..0,
    }
}

#[cfg(test)]
mod tests;
