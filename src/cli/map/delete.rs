//! `delpaths`, with the order of keys kept.

use jaq_core::ValT;
use jaq_json::{Error, Rc, Val, ValR};
use jaq_std::ValT as _;

/// The value without what stands at these paths.
pub fn paths(value: Val, paths: Val) -> ValR {
    let Val::Arr(paths) = paths else {
        return Err(Error::typ(paths, "array"));
    };
    let mut paths: Vec<&Val> = paths.iter().collect();
    // The last first, so that the places of the others stay.
    paths.sort_by(|a, b| b.cmp(a));
    paths.dedup();
    paths.into_iter().try_fold(value, |value, path| match path {
        Val::Arr(path) => at(value, path),
        other => Err(Error::typ(other.clone(), "array")),
    })
}

fn at(value: Val, path: &[Val]) -> ValR {
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
        (value @ Val::Arr(_), Val::Obj(_)) if rest.is_empty() => {
            slice(value, key, Val::Arr(Rc::default()))
        }
        (value @ Val::Arr(_), Val::Obj(_)) => {
            let inner = at(value.clone().index(key)?, rest)?;
            slice(value, key, inner)
        }
        (value, key) => Err(Error::index(value, key.clone())),
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
fn slice(array: Val, slice: &Val, by: Val) -> ValR {
    let replaced = array.map_index(slice, jaq_core::path::Opt::Essential, |_| {
        std::iter::once(Ok(by.clone()))
    });
    replaced.map_err(|exception| match exception.get_err() {
        Ok(error) => error,
        Err(_) => Error::str("a slice cannot be deleted"),
    })
}
