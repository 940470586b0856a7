//! `delpaths`, with the order of keys kept.

use jaq_core::path::Opt;
use jaq_core::{ValR, ValT};
use jaq_json::{Rc, Val};
use jaq_std::ValT as _;

use crate::cli::map::value::{Error, Value};

/// The value without what stands at these paths.
pub fn paths(value: Value, paths: Value) -> ValR<Value> {
    let Val::Arr(paths) = &paths.0 else {
        return Err(Error::typ(paths, "array"));
    };
    let mut paths: Vec<&Val> = paths.iter().collect();
    // The last first, so that the places of the others stay.
    paths.sort_by(|a, b| b.cmp(a));
    paths.dedup();
    let deleted = paths
        .into_iter()
        .try_fold(value.0, |value, path| match path {
            Val::Arr(path) => at(value, path),
            other => Err(Error::typ(Value(other.clone()), "array")),
        });
    deleted.map(Value)
}

fn at(value: Val, path: &[Val]) -> ValR<Val, Value> {
    let Some((key, rest)) = path.split_first() else {
        return Ok(Val::Null);
    };
    match (value, key) {
        (Val::Null, _) => Ok(Val::Null),
        (Val::Obj(mut object), Val::TStr(_)) => {
            if object.contains_key(key) {
                let members = Rc::make_mut(&mut object);
                if rest.is_empty() {
                    members.shift_remove(key);
                } else if let Some(member) = members.get_mut(key) {
                    *member = at(std::mem::take(member), rest)?;
                }
            }
            Ok(Val::Obj(object))
        }
        (Val::Arr(mut array), Val::Num(_)) => {
            if let Some(index) = place(key, array.len()) {
                let items = Rc::make_mut(&mut array);
                if rest.is_empty() {
                    items.remove(index);
                } else {
                    items[index] = at(std::mem::take(&mut items[index]), rest)?;
                }
            }
            Ok(Val::Arr(array))
        }
        // A slice: `{"start": .., "end": ..}`.
        (array @ Val::Arr(_), Val::Obj(_)) => {
            let inner = match rest {
                [] => Val::Arr(Rc::default()),
                rest => at(Value(array.clone()).index(&Value(key.clone()))?.0, rest)?,
            };
            slice(array, key, inner)
        }
        (value, key) => Err(Error::index(Value(value), Value(key.clone()))),
    }
}

/// Which item of an array this is, if it has it.
fn place(index: &Val, len: usize) -> Option<usize> {
    let index = index.as_isize()?;
    let index = match usize::try_from(index) {
        Ok(index) => index,
        Err(_) => len.checked_sub(index.unsigned_abs())?,
    };
    (index < len).then_some(index)
}

/// The array with that slice of it replaced.
fn slice(array: Val, slice: &Val, by: Val) -> ValR<Val, Value> {
    let by = Value(by);
    let replaced = Value(array).map_index(&Value(slice.clone()), Opt::Essential, |_| {
        std::iter::once(Ok(by.clone()))
    });
    replaced.map(|value| value.0).map_err(|exception| {
        let error = exception.get_err();
        error.unwrap_or_else(|_| Error::str("a slice cannot be deleted"))
    })
}
