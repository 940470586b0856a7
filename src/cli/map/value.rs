//! The values that filters work on: jaq's, which behave as jq's in what jq's users write every day.
//!
//! jaq departs from jq in some places: a path cannot be set where there is null, a key that is deleted gives its place to the
//! last one, a computed `1.0` becomes the text `1.0`. Here it does not.

mod math;
mod update;

use jaq_core::box_iter::{BoxIter, box_once};
use jaq_core::path::Opt;
use jaq_core::val::Range;
use jaq_core::{ValR, ValT, ValX};
use jaq_json::{Map, Num, Rc, Val};
use jaq_std::ValT as _;

use super::print;

/// A value of a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Value(pub Val);

/// An error of a filter.
pub type Error = jaq_core::Error<Value>;

/// An error that one of jaq's own values met.
pub fn told(error: jaq_json::Error) -> Error {
    Error::new(Value(error.into_val()))
}

impl Value {
    /// A string.
    pub fn text(text: impl Into<bytes::Bytes>) -> Value {
        Value(Val::utf8_str(text))
    }

    /// The value as JSON where it has a form in it, else as jaq shows it.
    pub fn shown(&self) -> String {
        shown(&self.0)
    }
}

/// The value as JSON where it has a form in it, else as jaq shows it.
pub fn shown(value: &Val) -> String {
    let mut text = Vec::new();
    match print::json(&mut text, value, false) {
        Ok(()) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => value.to_string(),
    }
}

/// An item of an array may be named by any number, which is rounded down.
fn index(key: &Val) -> Val {
    whole(key, f64::floor)
}

fn whole(number: &Val, round: fn(f64) -> f64) -> Val {
    match number {
        Val::Num(Num::Float(_) | Num::Dec(_)) => {
            let number = round(number.as_f64().unwrap_or_default());
            // Saturates where no array reaches; NaN becomes 0.
            Val::Num(Num::Int(number as isize))
        }
        other => other.clone(),
    }
}

/// The bounds of a slice, whole numbers that take in what they touch.
fn bounds(range: Range<&Value>) -> Range<Val> {
    let start = range.start.map(|start| whole(&start.0, f64::floor));
    let end = range.end.map(|end| whole(&end.0, f64::ceil));
    start..end
}

fn own<T: Clone>(shared: Rc<T>) -> T {
    Rc::try_unwrap(shared).unwrap_or_else(|shared| (*shared).clone())
}

impl ValT for Value {
    fn from_num(text: &str) -> ValR<Value> {
        let number = Num::from_str_radix(text, 10);
        let number = number.unwrap_or_else(|| Num::Dec(Rc::new(text.to_owned())));
        Ok(Value(Val::Num(number)))
    }

    fn from_map<I: IntoIterator<Item = (Value, Value)>>(members: I) -> ValR<Value> {
        let members = members.into_iter().map(|(key, value)| match key.0 {
            Val::TStr(_) => Ok((key.0, value.0)),
            _ => Err(Error::str(format_args!(
                "an object's key must be a string, not {}",
                key.shown()
            ))),
        });
        let members: Map = members.collect::<Result<_, Error>>()?;
        Ok(Value(Val::obj(members)))
    }

    fn key_values(self) -> BoxIter<'static, ValR<(Value, Value), Value>> {
        match self.0 {
            Val::Arr(array) => Box::new(
                (0isize..)
                    .zip(own(array))
                    .map(|(index, item)| Ok((index.into(), Value(item)))),
            ),
            Val::Obj(object) => Box::new(
                own(object)
                    .into_iter()
                    .map(|(key, value)| Ok((Value(key), Value(value)))),
            ),
            other => box_once(Err(not_iterable(other))),
        }
    }

    fn values(self) -> Box<dyn Iterator<Item = ValR<Value>>> {
        match self.0 {
            Val::Arr(array) => Box::new(own(array).into_iter().map(|item| Ok(Value(item)))),
            Val::Obj(object) => Box::new(own(object).into_values().map(|value| Ok(Value(value)))),
            other => box_once(Err(not_iterable(other))),
        }
    }

    fn index(self, key: &Value) -> ValR<Value> {
        match (&self.0, &key.0) {
            (Val::Obj(object), Val::TStr(_)) => {
                Ok(Value(object.get(&key.0).cloned().unwrap_or_default()))
            }
            (Val::Obj(_), _) => Err(Error::index(self, key.clone())),
            (_, key) => self.0.index(&index(key)).map(Value).map_err(told),
        }
    }

    fn range(self, range: Range<&Value>) -> ValR<Value> {
        if matches!(self.0, Val::Null) {
            return Ok(self);
        }
        let Range { start, end } = bounds(range);
        let range = start.as_ref()..end.as_ref();
        self.0.range(range).map(Value).map_err(told)
    }

    fn map_values<'a, I: Iterator<Item = ValX<'a, Value>>>(
        self,
        opt: Opt,
        f: impl Fn(Value) -> I,
    ) -> ValX<'a, Value> {
        update::all(self, opt, f)
    }

    fn map_index<'a, I: Iterator<Item = ValX<'a, Value>>>(
        self,
        key: &Value,
        opt: Opt,
        f: impl Fn(Value) -> I,
    ) -> ValX<'a, Value> {
        update::one(self, key, opt, f)
    }

    fn map_range<'a, I: Iterator<Item = ValX<'a, Value>>>(
        self,
        range: Range<&Value>,
        opt: Opt,
        f: impl Fn(Value) -> I,
    ) -> ValX<'a, Value> {
        update::slice(self, bounds(range), opt, f)
    }

    fn as_bool(&self) -> bool {
        self.0.as_bool()
    }

    fn into_string(self) -> Value {
        match self.0 {
            Val::BStr(text) | Val::TStr(text) => Value(Val::TStr(text)),
            other => Value::text(shown(&other)),
        }
    }
}

fn not_iterable(value: Val) -> Error {
    Error::typ(Value(value), "iterable (array or object)")
}

impl jaq_std::ValT for Value {
    fn into_seq<S: FromIterator<Value>>(self) -> Result<S, Value> {
        match self.0 {
            Val::Arr(array) => Ok(own(array).into_iter().map(Value).collect()),
            other => Err(Value(other)),
        }
    }

    fn is_int(&self) -> bool {
        self.0.is_int()
    }

    fn as_isize(&self) -> Option<isize> {
        self.0.as_isize()
    }

    fn as_f64(&self) -> Option<f64> {
        self.0.as_f64()
    }

    fn is_utf8_str(&self) -> bool {
        self.0.is_utf8_str()
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        self.0.as_bytes()
    }

    fn as_sub_str(&self, sub: &[u8]) -> Value {
        Value(self.0.as_sub_str(sub))
    }

    fn from_utf8_bytes(text: impl AsRef<[u8]> + Send + 'static) -> Value {
        Value(Val::from_utf8_bytes(text))
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

impl From<bool> for Value {
    fn from(bool: bool) -> Value {
        Value(bool.into())
    }
}

impl From<isize> for Value {
    fn from(number: isize) -> Value {
        Value(number.into())
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Value {
        Value(number.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value(number.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value(text.into())
    }
}

impl From<Range<Value>> for Value {
    fn from(range: Range<Value>) -> Value {
        let unwrapped = |bound: Option<Value>| bound.map(|bound| bound.0);
        Value(Val::from(unwrapped(range.start)..unwrapped(range.end)))
    }
}

impl FromIterator<Value> for Value {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Value {
        Value(items.into_iter().map(|item| item.0).collect())
    }
}
