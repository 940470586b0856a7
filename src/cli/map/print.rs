//! Values as JSON texts: always valid ones.

use std::io::Write;

use jaq_json::{Num, Val};

use super::fault::Fault;

/// Values nested deeper can't be written.
const MOST_NESTED: usize = 2 * super::json::MOST_NESTED;

/// Appends the value as compact JSON; `sorted`: with the keys of objects in order.
///
/// Numbers are written as jq writes them: NaN as null, infinities as the largest numbers.
pub fn json(out: &mut Vec<u8>, value: &Val, sorted: bool) -> Result<(), Fault> {
    write(out, value, sorted, MOST_NESTED)
}

fn write(out: &mut Vec<u8>, value: &Val, sorted: bool, depth: usize) -> Result<(), Fault> {
    match value {
        Val::Null => out.extend_from_slice(b"null"),
        Val::Bool(true) => out.extend_from_slice(b"true"),
        Val::Bool(false) => out.extend_from_slice(b"false"),
        Val::Num(number) => write_number(out, number),
        Val::TStr(text) => string(out, text)?,
        Val::BStr(_) => return no_json("a byte string"),
        Val::Arr(array) => {
            let depth = deeper(depth)?;
            out.push(b'[');
            for (index, value) in array.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(out, value, sorted, depth)?;
            }
            out.push(b']');
        }
        Val::Obj(object) => {
            let depth = deeper(depth)?;
            out.push(b'{');
            let start = out.len();
            let mut member = |key: &Val, value: &Val| {
                if out.len() > start {
                    out.push(b',');
                }
                let Val::TStr(key) = key else {
                    return no_json("a key that is not a string");
                };
                string(out, key)?;
                out.push(b':');
                write(out, value, sorted, depth)
            };
            if sorted {
                let mut members: Vec<_> = object.iter().collect();
                members.sort_by_key(|(key, _)| *key);
                members
                    .into_iter()
                    .try_for_each(|(key, value)| member(key, value))?;
            } else {
                object
                    .iter()
                    .try_for_each(|(key, value)| member(key, value))?;
            }
            out.push(b'}');
        }
    }
    Ok(())
}

fn deeper(depth: usize) -> Result<usize, Fault> {
    depth
        .checked_sub(1)
        .ok_or_else(|| Fault::Filter(format!("a value nested deeper than {MOST_NESTED} levels")))
}

fn no_json<T>(what: &str) -> Result<T, Fault> {
    Err(Fault::Filter(format!(
        "the filter gave {what}, which JSON does not have"
    )))
}

/// Appends a JSON string.
fn string(out: &mut Vec<u8>, text: &[u8]) -> Result<(), Fault> {
    if std::str::from_utf8(text).is_err() {
        return no_json("a string that is not UTF-8");
    }
    out.push(b'"');
    let mut from = 0;
    for (at, &byte) in text.iter().enumerate() {
        let escape = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            8 => b'b',
            12 => b'f',
            0..=31 | 127 => b'u',
            _ => continue,
        };
        out.extend_from_slice(&text[from..at]);
        out.extend([b'\\', escape]);
        if escape == b'u' {
            let _ = write!(out, "{byte:04x}");
        }
        from = at + 1;
    }
    out.extend_from_slice(&text[from..]);
    out.push(b'"');
    Ok(())
}

fn write_number(out: &mut Vec<u8>, number: &Num) {
    match number {
        Num::Int(number) => {
            let _ = write!(out, "{number}");
        }
        Num::BigInt(number) => {
            let _ = write!(out, "{number}");
        }
        Num::Float(number) => float(out, *number),
        // What the record says, or what the filter does: a number's text is kept, but a filter may write `.5`.
        Num::Dec(text) if super::json::number_in(text.as_bytes()).is_some() => {
            out.extend_from_slice(text.as_bytes());
        }
        Num::Dec(text) => float(out, text.parse().unwrap_or(f64::NAN)),
    }
}

/// The shortest digits that give the number back, laid out as jq does.
fn float(out: &mut Vec<u8>, number: f64) {
    if number.is_nan() {
        out.extend_from_slice(b"null");
        return;
    }
    let number = number.clamp(f64::MIN, f64::MAX);
    // `d.ddde±x`
    let text = format!("{number:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = match mantissa.strip_prefix('-') {
        Some(positive) => {
            out.push(b'-');
            positive
        }
        None => mantissa,
    };
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let count = digits.len() as i32;
    // As jq's number of digits before the point goes: more than -4, and at most 15 more than there are digits.
    if !(-5 < exponent && exponent < count + 15) {
        out.extend_from_slice(mantissa.as_bytes());
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{sign}{:02}", exponent.abs());
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
        out.extend(digits);
    } else {
        let point = (exponent + 1) as usize;
        let whole = digits.iter().copied().chain(std::iter::repeat(b'0'));
        out.extend(whole.take(point));
        if let Some(fraction) = digits.get(point..).filter(|rest| !rest.is_empty()) {
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
    }
}

#[cfg(test)]
mod tests {
    use jaq_json::Rc;

    use super::*;

    #[test]
    fn floats_come_back_as_the_same_number() {
        let mut number = 0.000_123_f64;
        for step in 0..2000 {
            number = -number * 1.37 + f64::from(step);
            for float in [number, 1.0 / number, number * 1e290, number / 1e290] {
                let float = float.clamp(f64::MIN, f64::MAX);
                let mut text = Vec::new();
                super::float(&mut text, float);
                let text = String::from_utf8(text).unwrap();
                let value: serde_json::Value = serde_json::from_str(&text).unwrap();
                assert_eq!(text.parse(), Ok(float), "{value}");
            }
        }
    }

    #[test]
    fn what_a_filter_writes_otherwise_is_valid_too() {
        for (number, wanted) in [
            (Num::Dec(Rc::new(".5".to_owned())), "0.5"),
            (Num::Dec(Rc::new("5.".to_owned())), "5"),
            (Num::Dec(Rc::new("1.50".to_owned())), "1.50"),
            (Num::Dec(Rc::new("-0".to_owned())), "-0"),
            (Num::Float(-0.0), "-0"),
            (Num::Float(f64::NAN), "null"),
            (Num::Float(f64::NEG_INFINITY), "-1.7976931348623157e+308"),
        ] {
            let mut text = Vec::new();
            json(&mut text, &Val::Num(number), false).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), wanted);
        }
    }

    #[test]
    fn what_has_no_form_in_json_is_refused() {
        let text = |bytes: &[u8]| Val::utf8_str(bytes.to_vec());
        let members = [(Val::Null, Val::Null)].into_iter().collect();
        for value in [
            text(b"\xff"),
            Val::byte_str(b"x".to_vec()),
            Val::obj(members),
        ] {
            assert!(json(&mut Vec::new(), &value, false).is_err(), "{value:?}");
        }
    }
}
