//! The columns of rows, and the note in which a chunk says which it wrote with.

use jaq_json::{Map, Val};

use super::fault::Fault;

/// What a row is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layout {
    /// Objects with these keys, in this order.
    Named(Vec<Val>),
    /// Arrays: there is no header.
    Positional,
}

impl Layout {
    /// Columns of these names.
    pub fn named<'n>(names: impl IntoIterator<Item = &'n [u8]>) -> Layout {
        let names = names.into_iter();
        Layout::Named(names.map(|name| Val::utf8_str(name.to_vec())).collect())
    }

    /// The layout that a value gives, if it is the first.
    pub fn of(value: &Val) -> Result<Layout, Fault> {
        match value {
            Val::Arr(_) => Ok(Layout::Positional),
            Val::Obj(object) if object.is_empty() => Err(Fault::Columns(
                "an object without keys gives no columns (name them with --columns)".to_owned(),
            )),
            Val::Obj(object) => match object.keys().find(|key| !matches!(key, Val::TStr(_))) {
                Some(key) => Err(Fault::Columns(format!(
                    "the key {key} is not a string and gives no column"
                ))),
                None => Ok(Layout::Named(object.keys().cloned().collect())),
            },
            _ => Err(no_row(value)),
        }
    }

    /// The names of the columns.
    pub fn names(&self) -> Option<impl Iterator<Item = &[u8]>> {
        match self {
            Layout::Named(columns) => Some(columns.iter().map(name)),
            Layout::Positional => None,
        }
    }

    /// The values of a row, in the order of the columns; a key that the object lacks is null.
    pub fn row<'v>(&self, value: &'v Val) -> Result<Vec<&'v Val>, Fault> {
        match (self, value) {
            (Layout::Positional, Val::Arr(array)) => Ok(array.iter().collect()),
            (Layout::Named(columns), Val::Obj(object)) => members(columns, object),
            (Layout::Named(_), Val::Arr(_)) => Err(Fault::Columns(
                "an array, where the output has named columns".to_owned(),
            )),
            (Layout::Positional, Val::Obj(_)) => Err(Fault::Columns(
                "an object, where the output began with an array and so has no named columns"
                    .to_owned(),
            )),
            _ => Err(no_row(value)),
        }
    }

    /// The layout as bytes, with the end of the line that the header gets.
    pub fn to_bytes(&self, end: &[u8]) -> Vec<u8> {
        let mut note = vec![end.len() as u8];
        note.extend_from_slice(end);
        if let Layout::Named(columns) = self {
            for column in columns {
                let name = name(column);
                note.extend((name.len() as u64).to_le_bytes());
                note.extend_from_slice(name);
            }
        }
        note
    }

    /// What `to_bytes` made bytes of.
    pub fn from_bytes(note: &[u8]) -> Option<(Layout, &[u8])> {
        let (len, rest) = note.split_first()?;
        let (end, mut rest) = rest.split_at_checked(usize::from(*len))?;
        let mut columns = Vec::new();
        while let Some((len, after)) = rest.split_first_chunk() {
            let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
            let (name, after) = after.split_at_checked(len)?;
            columns.push(Val::utf8_str(name.to_vec()));
            rest = after;
        }
        let layout = if columns.is_empty() {
            Layout::Positional
        } else {
            Layout::Named(columns)
        };
        Some((layout, end))
    }
}

fn name(column: &Val) -> &[u8] {
    match column {
        Val::TStr(name) => name,
        _ => &[],
    }
}

fn members<'v>(columns: &[Val], object: &'v Map) -> Result<Vec<&'v Val>, Fault> {
    static MISSING: Val = Val::Null;
    let mut found = 0;
    let row: Vec<&Val> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            // Most objects have their keys in the order of the columns.
            let member = match object.get_index(index) {
                Some((key, value)) if key == column => Some(value),
                _ => object.get(column),
            };
            found += usize::from(member.is_some());
            member.unwrap_or(&MISSING)
        })
        .collect();
    if found == object.len() {
        return Ok(row);
    }
    let others = object.keys().filter(|key| !columns.contains(key));
    let others: Vec<String> = others.map(super::value::shown).collect();
    let (key, are) = match others.len() {
        1 => ("the key", "is no column"),
        _ => ("the keys", "are no columns"),
    };
    Err(Fault::Columns(format!(
        "{key} {} {are} of the output: the first object has decided them (or --columns)",
        others.join(", ")
    )))
}

fn no_row(value: &Val) -> Fault {
    let kind = match value {
        Val::Null => "null",
        Val::Bool(_) => "a boolean",
        Val::Num(_) => "a number",
        _ => "a string",
    };
    Fault::Columns(format!(
        "{kind} is no row: give objects or arrays, or write lines with -r"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back() {
        for layout in [
            Layout::Positional,
            Layout::named([&b"a"[..]]),
            Layout::named([&b""[..], b"a,b\n", b"\xff"]),
        ] {
            for end in [&b""[..], b"\n", b"\r\n"] {
                let note = layout.to_bytes(end);
                assert_eq!(Layout::from_bytes(&note), Some((layout.clone(), end)));
            }
        }
        for note in [&b""[..], b"\x05\n", b"\x01\n\x09\0\0\0\0\0\0\0a"] {
            assert_eq!(Layout::from_bytes(note), None, "{note:?}");
        }
    }
}
