//! Updates: what `.[] |= f`, `.[k] |= f` and `.[s:e] |= f` make of a value.

use jaq_core::path::Opt;
use jaq_core::val::Range;
use jaq_core::{Exn, ValT, ValX};
use jaq_json::{Map, Num, Rc, Val};
use jaq_std::ValT as _;

use super::{Error, Value, index, not_iterable, own, told};

/// jq's bound: an array is not made longer than this to set an item.
const MOST_ITEMS: usize = 536_870_911;

/// All items, or members; those for which nothing comes are dropped.
pub fn all<'a, I: Iterator<Item = ValX<'a, Value>>>(
    value: Value,
    opt: Opt,
    f: impl Fn(Value) -> I,
) -> ValX<'a, Value> {
    match value.0 {
        Val::Arr(array) => {
            let items = own(array).into_iter().flat_map(|item| f(Value(item)));
            items.collect()
        }
        Val::Obj(object) => {
            let members = own(object).into_iter().filter_map(|(key, value)| {
                let value = f(Value(value)).next()?;
                Some(value.map(|value| (key, value.0)))
            });
            let members: Map = members.collect::<Result<_, Exn<'a, Value>>>()?;
            Ok(Value(Val::obj(members)))
        }
        other => opt.fail(Value(other), |value| Exn::from(not_iterable(value.0))),
    }
}

/// One member or item, which is made if it is missing; null becomes what has such.
pub fn one<'a, I: Iterator<Item = ValX<'a, Value>>>(
    value: Value,
    key: &Value,
    opt: Opt,
    f: impl Fn(Value) -> I,
) -> ValX<'a, Value> {
    match (value.0, &key.0) {
        (Val::Null, Val::TStr(_)) => member(Rc::default(), &key.0, f),
        (Val::Obj(object), Val::TStr(_)) => member(object, &key.0, f),
        (Val::Null, Val::Num(_)) => item(Rc::default(), key, opt, f),
        (Val::Arr(array), Val::Num(_)) => item(array, key, opt, f),
        (value @ (Val::Null | Val::Arr(_)), Val::Obj(range)) => {
            let bound = |name: &str| range.get(&Val::from(name.to_owned())).cloned().map(Value);
            let (start, end) = (bound("start"), bound("end"));
            Value(value).map_range(start.as_ref()..end.as_ref(), opt, f)
        }
        (other, _) => opt.fail(Value(other), |value| {
            Exn::from(Error::index(value, key.clone()))
        }),
    }
}

fn member<'a, I: Iterator<Item = ValX<'a, Value>>>(
    mut object: Rc<Map>,
    key: &Val,
    f: impl Fn(Value) -> I,
) -> ValX<'a, Value> {
    let members = Rc::make_mut(&mut object);
    match members.get_mut(key) {
        Some(member) => match f(Value(std::mem::take(member))).next().transpose()? {
            Some(new) => *member = new.0,
            // The others keep their order.
            None => drop(members.shift_remove(key)),
        },
        None => {
            if let Some(new) = f(Value::default()).next().transpose()? {
                members.insert(key.clone(), new.0);
            }
        }
    }
    Ok(Value(Val::Obj(object)))
}

fn item<'a, I: Iterator<Item = ValX<'a, Value>>>(
    mut array: Rc<Vec<Val>>,
    key: &Value,
    opt: Opt,
    f: impl Fn(Value) -> I,
) -> ValX<'a, Value> {
    let len = array.len();
    let place = index(&key.0).as_isize().and_then(|at| match at {
        0.. => usize::try_from(at).ok().filter(|at| *at < MOST_ITEMS),
        _ => len.checked_sub(at.unsigned_abs()),
    });
    let Some(at) = place else {
        return opt.fail(Value(Val::Arr(array)), |_| {
            Exn::from(Error::str(format_args!(
                "the array has no place {}",
                key.shown()
            )))
        });
    };
    let items = Rc::make_mut(&mut array);
    let old = items.get_mut(at).map(std::mem::take).unwrap_or_default();
    match f(Value(old)).next().transpose()? {
        Some(new) => {
            if at >= items.len() {
                items.resize(at + 1, Val::Null);
            }
            items[at] = new.0;
        }
        None if at < len => drop(items.remove(at)),
        None => {}
    }
    Ok(Value(Val::Arr(array)))
}

/// A slice of an array, which an array takes the place of.
pub fn slice<'a, I: Iterator<Item = ValX<'a, Value>>>(
    value: Value,
    range: Range<Val>,
    opt: Opt,
    f: impl Fn(Value) -> I,
) -> ValX<'a, Value> {
    let mut array = match value.0 {
        Val::Null => Rc::default(),
        Val::Arr(array) => array,
        other => {
            return opt.fail(Value(other), |value| Exn::from(Error::typ(value, "array")));
        }
    };
    let bounds = place(range.start, array.len(), 0)
        .and_then(|start| Ok(start..place(range.end, array.len(), array.len())?.max(start)));
    let bounds = match bounds {
        Ok(bounds) => bounds,
        Err(error) => return opt.fail(Value(Val::Arr(array)), |_| Exn::from(error)),
    };
    let old = array[bounds.clone()].iter().cloned().collect();
    let new = match f(Value(old)).next().transpose()? {
        None => Vec::new(),
        Some(Value(Val::Arr(new))) => own(new),
        Some(other) => return Err(Exn::from(Error::typ(other, "array"))),
    };
    Rc::make_mut(&mut array).splice(bounds, new);
    Ok(Value(Val::Arr(array)))
}

/// Where a bound of a slice lies in an array of this length.
fn place(bound: Option<Val>, len: usize, missing: usize) -> Result<usize, Error> {
    match bound {
        None | Some(Val::Null) => Ok(missing),
        Some(Val::Num(Num::Int(at @ 0..))) => Ok(len.min(at.unsigned_abs())),
        Some(Val::Num(Num::Int(at))) => Ok(len.saturating_sub(at.unsigned_abs())),
        Some(other) => Err(told(jaq_json::Error::typ(other, "integer"))),
    }
}
