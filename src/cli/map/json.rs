//! JSON texts as values: RFC 8259 and nothing beyond it.
//!
//! jaq's own reader takes more (comments, NaN, 007, keys that are no strings), so the lexer below it is used directly.

use std::borrow::Cow;

use bytes::Bytes;
use hifijson::token::{Expect, Lex};
use hifijson::{Error, SliceLexer};
use jaq_json::{Map, Num, Val};

use super::fault::Fault;

/// Values nested deeper are refused, so that no text can exhaust the stack.
pub const MOST_NESTED: usize = 1024;

/// A longer integer is kept as text: turning it into a number takes time that grows with the square of its length.
const MOST_DIGITS: usize = 4096;

/// The one value of a record; `text` is this place of `slab`, of which its strings become slices.
pub fn value(slab: &Bytes, text: std::ops::Range<usize>) -> Result<Val, Fault> {
    let text = &slab[text];
    let mut lexer = SliceLexer::new(text);
    let reader = Reader { slab };
    let value = lexer.exactly_one(SliceLexer::ws_peek, |next, lexer| {
        reader.value(next, lexer, MOST_NESTED)
    });
    value.map_err(|error| Fault::Parse(described(&error, text, lexer.as_slice())))
}

/// All values of a file, with any white space between them.
pub fn values(text: &[u8]) -> Result<Vec<Val>, String> {
    let slab = Bytes::copy_from_slice(text);
    let mut lexer = SliceLexer::new(&slab);
    let reader = Reader { slab: &slab };
    let mut values = Vec::new();
    while let Some(next) = lexer.ws_peek() {
        let value = reader.value(next, &mut lexer, MOST_NESTED);
        let rest = lexer.as_slice();
        values.push(value.map_err(|error| {
            let offset = slab.len() - rest.len();
            format!("not JSON: {} at byte {offset}", what(&error))
        })?);
    }
    Ok(values)
}

/// A number whose text is kept: a JSON number's text, `integer` if it has neither fraction nor exponent.
pub fn number(text: &str, integer: bool) -> Num {
    let decimal = || Num::Dec(jaq_json::Rc::new(text.to_owned()));
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
    let (text, parts) = hifijson::num::LexWrite::num_string(&mut lexer)
        .validated()
        .ok()?;
    lexer
        .as_slice()
        .is_empty()
        .then(|| number(text, parts.is_int()))
}

struct Reader<'s> {
    slab: &'s Bytes,
}

impl Reader<'_> {
    fn value(&self, next: u8, lexer: &mut SliceLexer<'_>, depth: usize) -> Result<Val, Error> {
        match next {
            b'"' => Ok(Val::utf8_str(self.string(lexer.discarded())?)),
            b'-' | b'0'..=b'9' => {
                let (text, parts) = hifijson::num::LexWrite::num_string(lexer).validated()?;
                Ok(Val::Num(number(text, parts.is_int())))
            }
            b'{' => self.object(lexer, depth.checked_sub(1).ok_or(Error::Depth)?),
            b'[' => self.array(lexer, depth.checked_sub(1).ok_or(Error::Depth)?),
            b'a'..=b'z' => match lexer.null_or_bool() {
                Some(None) => Ok(Val::Null),
                Some(Some(bool)) => Ok(Val::Bool(bool)),
                None => Err(Expect::Value.into()),
            },
            _ => Err(Expect::Value.into()),
        }
    }

    fn array(&self, lexer: &mut SliceLexer<'_>, depth: usize) -> Result<Val, Error> {
        let mut array = Vec::new();
        lexer
            .discarded()
            .seq(b']', SliceLexer::ws_peek, |next, lexer| {
                array.push(self.value(next, lexer, depth)?);
                Ok::<_, Error>(())
            })?;
        Ok(Val::Arr(array.into()))
    }

    fn object(&self, lexer: &mut SliceLexer<'_>, depth: usize) -> Result<Val, Error> {
        let mut object = Map::default();
        lexer
            .discarded()
            .seq(b'}', SliceLexer::ws_peek, |next, lexer| {
                lexer.expect(|_| Some(next), b'"').ok_or(Expect::String)?;
                let key = Val::utf8_str(self.string(lexer)?);
                lexer
                    .expect(SliceLexer::ws_peek, b':')
                    .ok_or(Expect::Colon)?;
                let next = lexer.ws_peek().ok_or(Expect::Value)?;
                object.insert(key, self.value(next, lexer, depth)?);
                Ok::<_, Error>(())
            })?;
        Ok(Val::obj(object))
    }

    /// The string whose opening quote is taken.
    fn string(&self, lexer: &mut SliceLexer<'_>) -> Result<Bytes, Error> {
        use hifijson::str::LexAlloc;
        Ok(match lexer.str_string().map_err(Error::Str)? {
            Cow::Borrowed("") => Bytes::new(),
            Cow::Borrowed(text) => self.slab.slice_ref(text.as_bytes()),
            Cow::Owned(text) => text.into(),
        })
    }
}

/// What is wrong with the text, and where; `rest` is what the lexer has left of it.
fn described(error: &Error, text: &[u8], rest: &[u8]) -> String {
    let column = text.len() - rest.len() + 1;
    let mut said = format!("not JSON: {} at column {column}", what(error));
    let opens = matches!(text.trim_ascii_start().first(), Some(b'{' | b'['));
    if rest.is_empty() && opens {
        said.push_str(
            ", where the line ends (a value over several lines? `jq -c .` brings each value into one)",
        );
    }
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
