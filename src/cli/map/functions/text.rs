//! The functions that make text.

use std::iter::once;

use jaq_core::native::{Filter, bome, unary, v};
use jaq_core::{RunPtr, ValR, ValT};
use jaq_json::Val;

use super::Values;
use crate::cli::map::value::{Error, Value, shown};

pub fn natives() -> Vec<Filter<RunPtr<Values>>> {
    vec![
        ("tostring", v(0), |cv| bome(Ok(cv.1.into_string()))),
        ("join", v(1), |cv| unary(cv, join)),
        ("ltrimstr", v(1), |cv| {
            unary(cv, |value, part| {
                Ok(trimmed(value, &part, <[u8]>::strip_prefix))
            })
        }),
        ("rtrimstr", v(1), |cv| {
            unary(cv, |value, part| {
                Ok(trimmed(value, &part, <[u8]>::strip_suffix))
            })
        }),
        ("csv_row", v(0), |cv| bome(row(&cv.1, b',', csv_field))),
        ("tsv_row", v(0), |cv| bome(row(&cv.1, b'\t', tsv_field))),
    ]
}

/// Strings with a separator between; null is an empty one, numbers and booleans are as in JSON.
fn join(value: Value, separator: Value) -> ValR<Value> {
    let items = match &value.0 {
        Val::Arr(items) if items.is_empty() => return Ok(Value::text("")),
        Val::Arr(items) => items,
        _ => return Err(Error::typ(value, "array")),
    };
    let Val::TStr(separator) = &separator.0 else {
        return Err(Error::typ(separator, "string"));
    };
    let mut text = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.extend_from_slice(separator);
        }
        match item {
            Val::Null => {}
            Val::TStr(part) => text.extend_from_slice(part),
            Val::Bool(_) | Val::Num(_) => text.extend_from_slice(shown(item).as_bytes()),
            _ => return Err(Error::str(format_args!("{} cannot be joined", shown(item)))),
        }
    }
    Ok(Value::text(text))
}

/// What is no string, or has no such part, stays.
fn trimmed<F>(value: Value, part: &Value, strip: F) -> Value
where
    F: for<'t> Fn(&'t [u8], &[u8]) -> Option<&'t [u8]>,
{
    match (&value.0, &part.0) {
        (Val::TStr(text), Val::TStr(part)) => match strip(text, part) {
            Some(rest) => Value::text(text.slice_ref(rest)),
            None => value,
        },
        _ => value,
    }
}

/// `@csv` and `@tsv`: an array in one line.
fn row(value: &Value, delimiter: u8, field: fn(&mut Vec<u8>, &[u8])) -> ValR<Value> {
    let Val::Arr(items) = &value.0 else {
        return Err(Error::str(format_args!(
            "{} cannot be formatted, only an array can be",
            value.shown()
        )));
    };
    let mut row = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            row.push(delimiter);
        }
        match item {
            Val::Null => {}
            Val::TStr(text) => field(&mut row, text),
            Val::Bool(_) | Val::Num(_) => row.extend_from_slice(shown(item).as_bytes()),
            _ => {
                return Err(Error::str(format_args!(
                    "{} is not valid in a row",
                    shown(item)
                )));
            }
        }
    }
    Ok(Value::text(row))
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
