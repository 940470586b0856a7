//! Whether a filter handed a value back unchanged.

use jaq_json::{Num, Rc, Val};

/// Whether both are the same in every respect that shows when they are written: order of keys and text of numbers included.
///
/// Equality of values would not do: it takes `1` for `1.0` and overlooks the order of keys.
pub fn unchanged(before: &Val, after: &Val) -> bool {
    match (before, after) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::Num(a), Val::Num(b)) => same_number(a, b),
        (Val::TStr(a), Val::TStr(b)) | (Val::BStr(a), Val::BStr(b)) => a == b,
        (Val::Arr(a), Val::Arr(b)) => {
            Rc::ptr_eq(a, b)
                || a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| unchanged(a, b))
        }
        (Val::Obj(a), Val::Obj(b)) => {
            Rc::ptr_eq(a, b)
                || a.len() == b.len()
                    && a.iter()
                        .zip(b.iter())
                        .all(|((k, a), (l, b))| unchanged(k, l) && unchanged(a, b))
        }
        _ => false,
    }
}

fn same_number(a: &Num, b: &Num) -> bool {
    match (a, b) {
        (Num::Int(a), Num::Int(b)) => a == b,
        (Num::BigInt(a), Num::BigInt(b)) => a == b,
        (Num::Float(a), Num::Float(b)) => a.to_bits() == b.to_bits(),
        (Num::Dec(a), Num::Dec(b)) => a == b,
        _ => false,
    }
}
