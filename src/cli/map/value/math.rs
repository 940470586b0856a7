//! Arithmetic.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use jaq_core::ValR;
use jaq_json::{Num, Val};
use jaq_std::ValT as _;

use super::{Error, Value, told};

macro_rules! as_jaq {
    ($($trait:ident :: $method:ident),*) => {$(
        impl $trait for Value {
            type Output = ValR<Value>;

            fn $method(self, other: Value) -> ValR<Value> {
                self.0.$method(other.0).map(Value).map_err(told)
            }
        }
    )*};
}

as_jaq!(Add::add, Sub::sub, Mul::mul, Div::div);

/// What is left of a division of whole numbers; others lose their fraction before.
impl Rem for Value {
    type Output = ValR<Value>;

    fn rem(self, other: Value) -> ValR<Value> {
        let (whole, by) = match (truncated(&self.0), truncated(&other.0)) {
            (Some(whole), Some(by)) => (whole, by),
            (Some(_), None) if other.0.as_f64().is_some() => return Ok(f64::NAN.into()),
            (None, _) if self.0.as_f64().is_some() => return Ok(f64::NAN.into()),
            _ => return (self.0 % other.0).map(Value).map_err(told),
        };
        if by == Val::from(0usize) {
            return Err(Error::math(self, jaq_core::ops::Math::Rem, other));
        }
        (whole % by).map(Value).map_err(told)
    }
}

/// A number without its fraction; nothing for NaN and what is no number.
fn truncated(value: &Val) -> Option<Val> {
    match value {
        Val::Num(Num::Int(_) | Num::BigInt(_)) => Some(value.clone()),
        value => {
            let number = value.as_f64().filter(|number| !number.is_nan())?;
            // Saturates, as in jq.
            Some(Val::Num(Num::Int(number as isize)))
        }
    }
}

impl Neg for Value {
    type Output = ValR<Value>;

    fn neg(self) -> ValR<Value> {
        (-self.0).map(Value).map_err(told)
    }
}
