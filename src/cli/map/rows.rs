//! Records of CSV and TSV as values.

use std::borrow::Cow;
use std::collections::HashSet;

use bytes::Bytes;
use inorder::{Header, Record};
use jaq_json::{Map, Val};

use super::fault::Fault;
use super::json;

/// How the records of one input become values.
pub struct Rows {
    /// An object with all keys, from which each record's is made; none without a header.
    keyed: Option<Map>,
    strings: bool,
}

impl Rows {
    pub fn new(header: Option<&Header>, strings: bool) -> Rows {
        let keyed = header.map(|header| {
            let keys = keys(header.fields().collect()).into_iter();
            keys.map(|key| (Val::utf8_str(key), Val::Null)).collect()
        });
        Rows { keyed, strings }
    }

    /// The keys of each record, in order.
    pub fn keys(&self) -> Option<impl ExactSizeIterator<Item = &Val>> {
        self.keyed.as_ref().map(Map::keys)
    }

    /// The record as an object, or an array where there is no header. `place` is that of its content in the slab.
    pub fn value(&self, record: &Record<'_>, slab: &Bytes, place: usize) -> Result<Val, Fault> {
        let content = record.bytes();
        let fields = record.fields().map(|field| {
            self.field(match field {
                Cow::Borrowed(text) => {
                    let at = place + (text.as_ptr() as usize - content.as_ptr() as usize);
                    slab.slice(at..at + text.len())
                }
                Cow::Owned(text) => text.into(),
            })
        });
        let Some(keyed) = &self.keyed else {
            return Ok(Val::Arr(fields.collect::<Vec<_>>().into()));
        };
        let mut object = keyed.clone();
        let mut found = 0;
        for value in fields {
            if let Some((_, member)) = object.get_index_mut(found) {
                *member = value;
            }
            found += 1;
        }
        if found != object.len() {
            let wanted = object.len();
            return Err(Fault::Parse(format!(
                "{found} fields, where the header has {wanted}"
            )));
        }
        Ok(Val::obj(object))
    }

    fn field(&self, text: Bytes) -> Val {
        let number = if self.strings {
            None
        } else {
            json::number_in(&text)
        };
        number.map_or_else(|| Val::utf8_str(text), Val::Num)
    }
}

/// The names of columns as keys: those of one name become `a`, `a_2`, `a_3`.
fn keys(names: Vec<&[u8]>) -> Vec<Vec<u8>> {
    let all: HashSet<&[u8]> = names.iter().copied().collect();
    let mut taken: HashSet<Vec<u8>> = HashSet::new();
    names
        .into_iter()
        .map(|name| {
            let mut key = name.to_vec();
            let mut number = 2;
            while taken.contains(&key) || (key != name && all.contains(&key[..])) {
                key = [name, format!("_{number}").as_bytes()].concat();
                number += 1;
            }
            taken.insert(key.clone());
            key
        })
        .collect()
}
