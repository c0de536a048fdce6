//! Exact JSON text, and a strict parser that rejects duplicate keys.
//!
//! JSON that the gateway only passes on stays text: numbers keep their digits and objects their order. [`Json`] is the
//! proof that a string is one JSON value without raw line breaks, which RFC 8259 allows between tokens. Such a string
//! can be spliced into a line of the stdio transport or a `data:` line of an event stream without ending it. It is also
//! the proof that every escape is a character: programs that cut text by UTF-16 code units, such as those in JavaScript,
//! leave halves of surrogate pairs, and strict parsers then refuse the whole message.
//! [`parse_strict`] reads arguments before they are checked.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeStruct as _, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::text::quotable;

mod lookup;
mod part;
mod scan;
mod strict;
mod text_run;
mod unescape;
mod write;

pub use lookup::{at_paths, member, members, string_value, type_of_text, visit_elements, visit_members};
pub use part::JsonPart;
pub use text_run::{find_too_deep, scalar_end, string_end};
pub use unescape::{has_escapes, unescape, unescaped_chars};
pub use write::{JsonBuffer, push_string, to_json, write_json};

/// The name that serde_json gives to text that is written unchanged, as a struct and as its only member.
const RAW_TEXT: &str = "$serde_json::private::RawValue";

/// One JSON value as text: valid, without raw line breaks, and without halves of surrogate pairs.
#[derive(Clone)]
pub struct Json(Box<str>);

impl Json {
    /// Accepts `text` if it is exactly one JSON value.
    ///
    /// Line breaks between tokens become spaces, and lone surrogates `\ufffd`; everything else stays unchanged.
    ///
    /// # Errors
    /// The text isn't valid JSON. The error names the line and the column.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        let text = text.into();
        match scan::scan(&text, &mut scan::SyntaxOnly) {
            Ok(accepted) => Ok(Self::from_accepted(text, accepted)),
            Err(scan::NotAccepted) => RawValue::from_string(text).map(Self::from),
        }
    }

    /// Accepts `text` if it is exactly one JSON value and passes [`check_strict`].
    ///
    /// # Errors
    /// Those of [`check_strict`].
    pub fn parse_strict(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        let text = text.into();
        match strict::accept(&text) {
            Ok(accepted) => Ok(Self::from_accepted(text, accepted)),
            Err(scan::NotAccepted) => {
                let json = Self::from(RawValue::from_string(text)?);
                strict::check(json.get())?;
                Ok(json)
            }
        }
    }

    fn from_accepted(text: String, accepted: scan::AcceptedText) -> Self {
        if accepted.has_line_breaks { Self::on_one_line(text) } else { Self(text.into_boxed_str()) }
    }

    /// Valid JSON without lone surrogates.
    fn on_one_line(text: String) -> Self {
        // A raw line break can only be between tokens: inside a string it would be invalid JSON.
        let has_line_breaks = text_run::line_breaks(&text).next().is_some();
        let text = if has_line_breaks { text.replace(['\n', '\r'], " ") } else { text };
        Self(text.into_boxed_str())
    }

    /// Serializes a parsed value.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        to_json(value).expect("a `Value` is always JSON")
    }

    /// Serializes `text` as a JSON string.
    #[must_use]
    pub fn string(text: &str) -> Self {
        let mut out = String::new();
        push_string(&mut out, text);
        Self(out.into_boxed_str())
    }

    /// The text.
    #[must_use]
    pub fn get(&self) -> &str {
        &self.0
    }

    /// The value that the text represents.
    ///
    /// # Errors
    /// The text contains a number outside the range of a 64-bit float, such as `1e400`.
    pub fn to_value(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_str(&self.0)
    }

    /// Reports whether the text represents an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.starts_with('{')
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        let text: Box<str> = raw.into();
        let replaced = match replace_lone_surrogates(&text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(replaced) => Some(replaced),
        };
        Self::on_one_line(replaced.unwrap_or_else(|| text.into()))
    }
}

impl From<&RawValue> for Json {
    fn from(raw: &RawValue) -> Self {
        Self::from(raw.to_owned())
    }
}

impl Serialize for Json {
    /// Writes the text unchanged, as [`RawValue`] does. A `RawValue` itself can't be made without reading the text again.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct(RAW_TEXT, 1)?;
        raw.serialize_field(RAW_TEXT, self.get())?;
        raw.end()
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Json {}

/// Reads one JSON value and rejects duplicate keys at any depth.
///
/// Two parsers can read different values from `{"a":1,"a":2}`, so the plugin could read a different value from the one
/// that was checked.
///
/// # Errors
/// The text isn't valid JSON, nests deeper than 128 levels, contains a number outside the range of a 64-bit float, or
/// has a duplicate key. The error names the problem and its position.
pub fn parse_strict(text: &str) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = StrictSeed.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Checks the same as [`parse_strict`] without building the value, which needs many times the memory of its text.
///
/// # Errors
/// Those of [`parse_strict`].
pub fn check_strict(text: &str) -> Result<(), serde_json::Error> {
    match strict::accept(text) {
        Ok(_) => Ok(()),
        Err(scan::NotAccepted) => strict::check(text),
    }
}

/// The text without the members at these JSON pointers. Everything else keeps its exact text, except white space and
/// the escapes in names around them.
///
/// # Errors
/// The text isn't JSON.
pub fn without_members(text: &str, pointers: &[String]) -> Result<String, serde_json::Error> {
    let mut out = String::with_capacity(text.len());
    write_without(serde_json::from_str(text)?, "", pointers, &mut out)?;
    Ok(out)
}

/// Recurses only to the depth of the pointers, which come from a value that was parsed with a limit.
fn write_without(
    raw: &RawValue,
    at: &str,
    pointers: &[String],
    out: &mut String,
) -> Result<(), serde_json::Error> {
    let text = raw.get();
    let is_outside = |pointer: &String| pointer.strip_prefix(at).is_none_or(|rest| !rest.starts_with('/'));
    if pointers.iter().all(is_outside) || !text.starts_with(['{', '[']) {
        out.push_str(text);
        return Ok(());
    }
    serde_json::Deserializer::from_str(text).deserialize_any(MemberRemover { at, pointers, out })
}

/// Replaces each lone surrogate, an escape such as `\ud83d` without its other half, with `\ufffd`.
///
/// Both escapes have the same length, so every other byte keeps its position. Text without lone surrogates is borrowed.
#[must_use]
pub fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &text.as_bytes()[at..]) {
        let escape = at + found;
        let (length, is_lone) = match code_unit(text, escape) {
            Some(0xD800..=0xDBFF) => match code_unit(text, escape + 6) {
                Some(0xDC00..=0xDFFF) => (12, false),
                Some(_) | None => (6, true),
            },
            Some(0xDC00..=0xDFFF) => (6, true),
            Some(_) => (6, false),
            // The character after a backslash isn't an escape of its own, even if it is another backslash.
            None => (1 + text[escape + 1..].chars().next().map_or(0, char::len_utf8), false),
        };
        at = escape + length;
        if is_lone {
            out.push_str(&text[copied..escape]);
            out.push_str("\\ufffd");
            copied = at;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// The code unit of the `\uXXXX` escape at `at`. `None` if there is no such escape.
fn code_unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.as_bytes().get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| {
        let value = char::from(*digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(value).ok()?)
    })
}

/// The type of a value, in JSON Schema's terms.
#[must_use]
pub fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A member's name as a step of a JSON pointer (RFC 6901), without the leading `/`.
#[must_use]
pub fn pointer_step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Writes an object or an array without some members. It holds one member at a time.
struct MemberRemover<'p> {
    at: &'p str,
    pointers: &'p [String],
    out: &'p mut String,
}

impl<'de> Visitor<'de> for MemberRemover<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self { at, pointers, out } = self;
        let mut separator = '[';
        let mut index = 0_usize;
        while let Some(item) = items.next_element::<&RawValue>()? {
            out.push(separator);
            write_without(item, &format!("{at}/{index}"), pointers, out).map_err(de::Error::custom)?;
            separator = ',';
            index += 1;
        }
        out.push_str(if separator == '[' { "[]" } else { "]" });
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Self { at, pointers, out } = self;
        let mut separator = '{';
        while let Some((Key(name), member)) = members.next_entry::<Key<'de>, &RawValue>()? {
            let place = format!("{at}/{}", pointer_step(&name));
            if !pointers.contains(&place) {
                out.push(separator);
                out.push_str(&serde_json::to_string(&name).map_err(de::Error::custom)?);
                out.push(':');
                write_without(member, &place, pointers, out).map_err(de::Error::custom)?;
                separator = ',';
            }
        }
        out.push_str(if separator == '{' { "{}" } else { "}" });
        Ok(())
    }
}

/// Builds a [`Value`] as serde_json does, but rejects duplicate keys.
#[derive(Clone, Copy)]
struct StrictSeed;

impl<'de> DeserializeSeed<'de> for StrictSeed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictSeed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        serde_json::Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let value = members.next_value_seed(self)?;
            if object.contains_key(&key) {
                return Err(de::Error::custom(format_args!("duplicate key `{}`", quotable(&key))));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// A key, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests;
