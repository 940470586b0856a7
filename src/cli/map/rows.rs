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

    /// Reads the record into `value`, whose memory is used again: an object, or an array where there is no header. `place` is that of
    /// the record's content in the slab. After an error `value` is any value.
    pub fn read(
        &self,
        value: &mut Val,
        record: &Record<'_>,
        slab: &Bytes,
        place: usize,
    ) -> Result<(), Fault> {
        let content = record.bytes();
        let set = |value: &mut Val, field: Cow<'_, [u8]>| {
            let number = (!self.strings).then(|| json::number_in(&field)).flatten();
            match (number, field) {
                (Some(number), _) => *value = Val::Num(number),
                (None, Cow::Owned(text)) => json::set_text(value, text.into()),
                (None, Cow::Borrowed(text)) => {
                    let at = place + (text.as_ptr() as usize - content.as_ptr() as usize);
                    json::set_text(value, slab.slice(at..at + text.len()));
                }
            }
        };
        let Some(keyed) = &self.keyed else {
            let items = json::own_array(value);
            let mut count = 0;
            for field in record.fields() {
                if count == items.len() {
                    items.push(Val::Null);
                }
                set(&mut items[count], field);
                count += 1;
            }
            items.truncate(count);
            return Ok(());
        };
        // A value that is left from another record has the keys of this one: there is one header.
        let members = json::own_object(value);
        if members.is_empty() {
            members.clone_from(keyed);
        }
        let mut found = 0;
        for field in record.fields() {
            if let Some((_, member)) = members.get_index_mut(found) {
                set(member, field);
            }
            found += 1;
        }
        if found == members.len() {
            return Ok(());
        }
        let wanted = members.len();
        let s = if found == 1 { "" } else { "s" };
        Err(Fault::Columns(format!(
            "{found} field{s}, the header has {wanted}"
        )))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_one_name_are_told_apart() {
        for (names, wanted) in [
            ("a b", "a b"),
            ("a a", "a a_2"),
            ("a a a", "a a_2 a_3"),
            ("a a a_2", "a a_3 a_2"),
            ("a_2 a a", "a_2 a a_3"),
            ("a a_2 a a_2", "a a_2 a_3 a_2_2"),
        ] {
            let keys = keys(names.split(' ').map(str::as_bytes).collect());
            assert_eq!(keys.join(&b' '), wanted.as_bytes(), "{names}");
        }
    }
}
