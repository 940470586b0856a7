//! The functions that look into JSON values.

use jaq_core::native::{Filter, bome, unary, v};
use jaq_core::{RunPtr, ValR};
use jaq_json::{Num, Rc, Val};
use jaq_std::ValT as _;

use super::{Values, delete};
use crate::cli::map::json;
use crate::cli::map::value::{Error, Value, shown};

pub fn natives() -> Vec<Filter<RunPtr<Values>>> {
    vec![
        ("fromjson", v(0), |cv| bome(from_json(cv.1))),
        ("tonumber", v(0), |cv| bome(number(cv.1))),
        ("tojson", v(0), |cv| bome(Ok(Value::text(cv.1.shown())))),
        ("length", v(0), |cv| bome(length(cv.1))),
        ("contains", v(1), |cv| unary(cv, contains)),
        ("has", v(1), |cv| unary(cv, has)),
        ("indices", v(1), |cv| unary(cv, indices)),
        ("bsearch", v(1), |cv| unary(cv, search)),
        ("flatten", v(1), |cv| unary(cv, flatten)),
        ("reverse", v(0), |cv| bome(reverse(cv.1))),
        ("delpaths", v(1), |cv| unary(cv, delete::paths)),
    ]
}

fn from_json(value: Value) -> ValR<Value> {
    let Val::TStr(text) = &value.0 else {
        return Err(Error::typ(value, "string"));
    };
    let failed = |what: &str| {
        Error::str(format_args!(
            "cannot parse {} as JSON: {what}",
            value.shown()
        ))
    };
    let mut values = json::values(text).map_err(|what| failed(&what))?;
    match (values.pop(), values.is_empty()) {
        (Some(only), true) => Ok(Value(only)),
        _ => Err(failed("one value is wanted")),
    }
}

/// A number's text may have what JSON's may not: a plus, zeros before it, a point at either end.
fn number(value: Value) -> ValR<Value> {
    let text = match &value.0 {
        Val::Num(_) => return Ok(value),
        Val::TStr(text) => std::str::from_utf8(text).unwrap_or_default().trim(),
        _ => return Err(Error::typ(value, "number")),
    };
    if let Some(number) = json::number_in(text.as_bytes()) {
        return Ok(Value(Val::Num(number)));
    }
    let whole = Num::from_str_radix(text, 10).filter(|_| text.len() < 100);
    let words = text
        .bytes()
        .any(|byte| byte.is_ascii_alphabetic() && !matches!(byte, b'e' | b'E'));
    let number = whole.or_else(|| text.parse().ok().filter(|_| !words).map(Num::Float));
    match number {
        Some(number) => Ok(Value(Val::Num(number))),
        None => Err(Error::str(format_args!(
            "{} cannot be parsed as a number",
            value.shown()
        ))),
    }
}

fn length(value: Value) -> ValR<Value> {
    Ok(match &value.0 {
        Val::Null => 0usize.into(),
        Val::TStr(text) => bstr_chars(text).into(),
        Val::BStr(text) => text.len().into(),
        Val::Arr(array) => array.len().into(),
        Val::Obj(object) => object.len().into(),
        Val::Num(_) if value < 0isize.into() => return -value,
        Val::Num(_) => value,
        Val::Bool(_) => {
            return Err(Error::str(format_args!("{} has no length", value.shown())));
        }
    })
}

/// As many code points; what is not UTF-8 counts as one where it is.
fn bstr_chars(text: &[u8]) -> usize {
    let chunks = text.utf8_chunks();
    chunks
        .map(|chunk| chunk.valid().chars().count() + usize::from(!chunk.invalid().is_empty()))
        .sum()
}

fn contains(value: Value, part: Value) -> ValR<Value> {
    let alike = std::mem::discriminant(&value.0) == std::mem::discriminant(&part.0);
    if !alike {
        return Err(Error::str(format_args!(
            "{} cannot contain {}: they are of different types",
            value.shown(),
            part.shown()
        )));
    }
    Ok(holds(&value.0, &part.0).into())
}

fn holds(value: &Val, part: &Val) -> bool {
    match (value, part) {
        (Val::TStr(text), Val::TStr(part)) => memchr::memmem::find(text, part).is_some(),
        (Val::Arr(items), Val::Arr(parts)) => parts
            .iter()
            .all(|part| items.iter().any(|item| holds(item, part))),
        (Val::Obj(members), Val::Obj(parts)) => parts
            .iter()
            .all(|(key, part)| members.get(key).is_some_and(|member| holds(member, part))),
        (value, part) => value == part,
    }
}

fn has(value: Value, key: Value) -> ValR<Value> {
    match (&value.0, &key.0) {
        (Val::Null, Val::TStr(_) | Val::Num(_)) => Ok(false.into()),
        (Val::Obj(object), Val::TStr(_)) => Ok(object.contains_key(&key.0).into()),
        (Val::Arr(array), Val::Num(_)) => {
            let index = key.0.as_f64().unwrap_or(f64::NAN);
            Ok((0.0 <= index && index < array.len() as f64).into())
        }
        _ => Err(Error::str(format_args!(
            "{} cannot have a key {}",
            value.shown(),
            key.shown()
        ))),
    }
}

fn indices(value: Value, part: Value) -> ValR<Value> {
    let found: Vec<usize> = match (&value.0, &part.0) {
        (Val::Null, _) => return Ok(value),
        (Val::TStr(text), Val::TStr(part)) => in_text(text, part),
        (Val::Arr(items), Val::Arr(part)) if part.is_empty() || items.is_empty() => Vec::new(),
        (Val::Arr(items), Val::Arr(part)) => {
            places(items.windows(part.len()), |items| *items == &part[..])
        }
        (Val::Arr(items), part) => places(items.iter(), |item| *item == part),
        _ => return Err(Error::index(value, part)),
    };
    Ok(found.into_iter().map(Value::from).collect())
}

fn places<T>(items: impl Iterator<Item = T>, is: impl Fn(&T) -> bool) -> Vec<usize> {
    let items = items.enumerate().filter(|(_, item)| is(item));
    items.map(|(at, _)| at).collect()
}

/// Where the part begins, overlapping ones too, counted in code points.
fn in_text(text: &[u8], part: &[u8]) -> Vec<usize> {
    if part.is_empty() {
        return Vec::new();
    }
    let (mut found, mut chars, mut done, mut from) = (Vec::new(), 0, 0, 0);
    while let Some(at) = memchr::memmem::find(&text[from..], part) {
        chars += bstr_chars(&text[done..from + at]);
        done = from + at;
        found.push(chars);
        from = done + 1;
    }
    found
}

fn search(value: Value, wanted: Value) -> ValR<Value> {
    let Val::Arr(items) = &value.0 else {
        return Err(Error::typ(value, "array"));
    };
    Ok(match items.binary_search(&wanted.0) {
        Ok(at) => at.into(),
        Err(at) => (-1 - at as isize).into(),
    })
}

fn flatten(value: Value, depth: Value) -> ValR<Value> {
    let levels = match depth.0.as_f64() {
        Some(levels) if levels >= 0.0 => levels,
        _ => {
            return Err(Error::str(format_args!(
                "the depth of flatten must not be {}",
                depth.shown()
            )));
        }
    };
    let items: Vec<Val> = match value.0 {
        Val::Arr(array) => array.to_vec(),
        Val::Obj(object) => object.values().cloned().collect(),
        other => return Err(Error::typ(Value(other), "iterable (array or object)")),
    };
    let mut flat = Vec::new();
    flatten_into(&mut flat, items, levels);
    Ok(Value(Val::Arr(flat.into())))
}

fn flatten_into(flat: &mut Vec<Val>, items: Vec<Val>, levels: f64) {
    for item in items {
        match item {
            Val::Arr(inner) if levels > 0.0 => flatten_into(flat, inner.to_vec(), levels - 1.0),
            other => flat.push(other),
        }
    }
}

fn reverse(value: Value) -> ValR<Value> {
    match value.0 {
        Val::Null => Ok(Value(Val::Arr(Rc::default()))),
        Val::Arr(mut array) => {
            Rc::make_mut(&mut array).reverse();
            Ok(Value(Val::Arr(array)))
        }
        other => Err(Error::str(format_args!(
            "{} cannot be reversed",
            shown(&other)
        ))),
    }
}
