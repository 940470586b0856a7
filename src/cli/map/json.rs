//! JSON texts as values: RFC 8259 and nothing beyond it.
//!
//! jaq's own reader takes more (comments, NaN, 007, keys that are no strings), so the lexer below it is used directly.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use hifijson::num::LexWrite;
use hifijson::str::LexAlloc;
use hifijson::token::{Expect, Lex};
use hifijson::{Error, SliceLexer};
use jaq_json::{Map, Num, Rc, Val};

use super::fault::Fault;

/// Values nested deeper are refused, so that no text can exhaust the stack.
pub const MOST_NESTED: usize = 1024;

/// A longer integer is kept as text: turning it into a number takes time that grows with the square of its length.
const MOST_DIGITS: usize = 4096;

/// Reads the one value of a record into `value`, whose memory is used again as far as it has the same shape. The record's text is
/// this place of `slab`, of which strings become slices. After an error `value` is any value.
pub fn read(value: &mut Val, slab: &Bytes, text: Range<usize>) -> Result<(), Fault> {
    let text = &slab[text];
    let mut lexer = SliceLexer::new(text);
    let reader = Reader { slab };
    let read = lexer.exactly_one(SliceLexer::ws_peek, |next, lexer| {
        reader.value(value, next, lexer, MOST_NESTED)
    });
    read.map_err(|error| Fault::Parse(described(&error, text, lexer.as_slice())))
}

/// All values of a file, with any white space between them.
pub fn values(text: &[u8]) -> Result<Vec<Val>, String> {
    let slab = Bytes::copy_from_slice(text);
    let mut lexer = SliceLexer::new(&slab);
    let reader = Reader { slab: &slab };
    let mut values = Vec::new();
    while let Some(next) = lexer.ws_peek() {
        let mut value = Val::Null;
        let read = reader.value(&mut value, next, &mut lexer, MOST_NESTED);
        read.map_err(|error| {
            let offset = slab.len() - lexer.as_slice().len();
            format!("not JSON: {} at byte {offset}", what(&error))
        })?;
        values.push(value);
    }
    Ok(values)
}

/// A number whose text is kept: a JSON number's text, `integer` if it has neither fraction nor exponent.
pub fn number(text: &str, integer: bool) -> Num {
    let decimal = || Num::Dec(Rc::new(text.to_owned()));
    if !integer || text == "-0" || text.len() > MOST_DIGITS {
        return decimal();
    }
    match text.parse::<isize>() {
        Ok(number) => Num::Int(number),
        Err(_) => Num::from_str_radix(text, 10).unwrap_or_else(decimal),
    }
}

/// The number that a field is, if all of it is a JSON number.
pub fn number_in(field: &[u8]) -> Option<Num> {
    // Most fields that are no numbers are told by their first byte.
    if !matches!(field.first()?, b'-' | b'0'..=b'9') {
        return None;
    }
    let mut lexer = SliceLexer::new(field);
    let number = next_number(&mut lexer).ok()?;
    lexer.as_slice().is_empty().then_some(number)
}

struct Reader<'s> {
    slab: &'s Bytes,
}

impl Reader<'_> {
    fn value(
        &self,
        value: &mut Val,
        next: u8,
        lexer: &mut SliceLexer<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        match next {
            b'"' => set_text(value, self.string(lexer.discarded())?),
            b'-' | b'0'..=b'9' => *value = Val::Num(next_number(lexer)?),
            b'{' => self.object(value, lexer, depth.checked_sub(1).ok_or(Error::Depth)?)?,
            b'[' => self.array(value, lexer, depth.checked_sub(1).ok_or(Error::Depth)?)?,
            b'a'..=b'z' => {
                *value = match lexer.null_or_bool() {
                    Some(None) => Val::Null,
                    Some(Some(bool)) => Val::Bool(bool),
                    None => return Err(Expect::Value.into()),
                }
            }
            _ => return Err(Expect::Value.into()),
        }
        Ok(())
    }

    fn array(
        &self,
        value: &mut Val,
        lexer: &mut SliceLexer<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        let items = own_array(value);
        let mut count = 0;
        lexer
            .discarded()
            .seq(b']', SliceLexer::ws_peek, |next, lexer| {
                if count == items.len() {
                    items.push(Val::Null);
                }
                self.value(&mut items[count], next, lexer, depth)?;
                count += 1;
                Ok::<_, Error>(())
            })?;
        items.truncate(count);
        Ok(())
    }

    fn object(
        &self,
        value: &mut Val,
        lexer: &mut SliceLexer<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        let members = own_object(value);
        let mut count = 0;
        lexer
            .discarded()
            .seq(b'}', SliceLexer::ws_peek, |next, lexer| {
                lexer.expect(|_| Some(next), b'"').ok_or(Expect::String)?;
                let key = self.string(lexer)?;
                lexer
                    .expect(SliceLexer::ws_peek, b':')
                    .ok_or(Expect::Colon)?;
                let next = lexer.ws_peek().ok_or(Expect::Value)?;
                // Records mostly have the keys of the one before, in the same order.
                match members.get_index_mut(count) {
                    Some((Val::TStr(known), member)) if **known == key => {
                        count += 1;
                        return self.value(member, next, lexer, depth);
                    }
                    _ => members.truncate(count),
                }
                // A key that comes again keeps its place and takes the last value, as in jq.
                let member = members.entry(Val::utf8_str(key)).or_default();
                self.value(member, next, lexer, depth)?;
                count = members.len();
                Ok::<_, Error>(())
            })?;
        members.truncate(count);
        Ok(())
    }

    /// The string whose opening quote is taken.
    fn string(&self, lexer: &mut SliceLexer<'_>) -> Result<Bytes, Error> {
        let rest = lexer.as_slice();
        let plain = rest.iter().position(|&byte| !is_plain(byte));
        if let Some(end) = plain
            && rest[end] == b'"'
        {
            *lexer = SliceLexer::new(&rest[end + 1..]);
            return Ok(self.slice(&rest[..end]));
        }
        Ok(match lexer.str_string().map_err(Error::Str)? {
            Cow::Borrowed(text) => self.slice(text.as_bytes()),
            Cow::Owned(text) => text.into(),
        })
    }

    fn slice(&self, text: &[u8]) -> Bytes {
        if text.is_empty() {
            return Bytes::new();
        }
        self.slab.slice_ref(text)
    }
}

/// Whether a byte of a string stands for itself and is ASCII: neither quote, backslash nor control character.
#[inline]
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'
}

/// The number that begins here. Most are short integers, which need no second look.
fn next_number(lexer: &mut SliceLexer<'_>) -> Result<Num, Error> {
    let rest = lexer.as_slice();
    let digits = rest.iter().take(19).take_while(|b| b.is_ascii_digit());
    let count = digits.count();
    let ended = !matches!(rest.get(count), Some(b'0'..=b'9' | b'.' | b'e' | b'E'));
    if (1..=18).contains(&count) && ended && (rest[0] != b'0' || count == 1) {
        *lexer = SliceLexer::new(&rest[count..]);
        let number = rest[..count]
            .iter()
            .fold(0, |number, digit| 10 * number + i64::from(digit - b'0'));
        // 18 digits may be too many for 32 bits.
        if let Ok(number) = isize::try_from(number) {
            return Ok(Num::Int(number));
        }
        *lexer = SliceLexer::new(rest);
    }
    let (text, parts) = lexer.num_string().validated()?;
    Ok(number(text, parts.is_int()))
}

/// Makes the value this string.
pub fn set_text(value: &mut Val, text: Bytes) {
    match value {
        Val::TStr(old) => **old = text,
        value => *value = Val::utf8_str(text),
    }
}

/// The value's array, which nobody else holds; an empty one if it has none such.
pub fn own_array(value: &mut Val) -> &mut Vec<Val> {
    if !matches!(value, Val::Arr(array) if Rc::strong_count(array) == 1) {
        *value = Val::Arr(Rc::default());
    }
    match value {
        Val::Arr(array) => Rc::make_mut(array),
        _ => unreachable!("it has just been made an array"),
    }
}

/// The value's object, which nobody else holds; an empty one if it has none such.
pub fn own_object(value: &mut Val) -> &mut Map {
    if !matches!(value, Val::Obj(object) if Rc::strong_count(object) == 1) {
        *value = Val::obj(Map::default());
    }
    match value {
        Val::Obj(object) => Rc::make_mut(object),
        _ => unreachable!("it has just been made an object"),
    }
}

/// What is wrong with the text, and where; `rest` is what the lexer has left of it.
fn described(error: &Error, text: &[u8], rest: &[u8]) -> String {
    let column = text.len() - rest.len() + 1;
    let mut said = format!("not JSON: {} at column {column}", what(error));
    said.push_str(match text.trim_ascii_start().first() {
        Some(b'{' | b'[') if rest.is_empty() => {
            ", where the line ends (a value over several lines? `jq -c .` brings each value into one)"
        }
        Some(byte) if byte.is_ascii_alphabetic() => {
            " (no JSON? --from csv reads CSV, --from lines reads text)"
        }
        _ => "",
    });
    said
}

fn what(error: &Error) -> String {
    use hifijson::escape::Error as Escape;
    use hifijson::str::Error as Str;
    match error {
        Error::Depth => format!("nested deeper than {MOST_NESTED} levels"),
        Error::Num(_) => "a digit is missing in a number".to_owned(),
        Error::Token(expected) => format!(
            "expected {}",
            match expected {
                Expect::Value => "a value",
                Expect::ValueOrEnd => "a value or the end of the list",
                Expect::CommaOrEnd => "a comma or the end of the list",
                Expect::String => "a string as key",
                Expect::Colon => "a colon",
                Expect::Eof => "nothing more after the value",
            }
        ),
        Error::Str(Str::Control) => "a control character in a string".to_owned(),
        Error::Str(Str::Eof) => "a string without end".to_owned(),
        Error::Str(Str::Utf8(_)) => "a string that is not UTF-8".to_owned(),
        Error::Str(Str::Escape(escape)) => match escape {
            Escape::ExpectedLowSurrogate | Escape::InvalidChar(_) => {
                "half of a surrogate pair, which is no character".to_owned()
            }
            other => other.to_string(),
        },
    }
}

#[cfg(test)]
mod tests;
