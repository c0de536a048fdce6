//! Reads a struct from pairs of name and string, such as settings and arguments of prompts. The type of a field
//! determines how its string is read.

use serde::de::value::{MapDeserializer, StringDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

type JsonError = serde_json::Error;

/// An error in the strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FieldError {
    /// A required value is missing.
    Missing {
        /// The key.
        key: String,
        /// The expected value, if it is known.
        wanted: Option<String>,
    },
    /// A value is invalid.
    Invalid {
        /// The key, if the error is in one of the values.
        key: Option<String>,
        /// The reason.
        reason: String,
    },
}

/// Marks the error message that a missing field produces to name its expected value. No other message starts with it.
const EXPECTED_MARK: char = '\u{1}';

/// Reads all pairs into a `T`.
pub(crate) fn read<T: DeserializeOwned>(pairs: &[(String, String)]) -> Result<T, FieldError> {
    let given = || pairs.iter().map(|(key, text)| (key.as_str(), FieldText(Some(text))));
    let error = match deserialize(given()) {
        Ok(read) => return Ok(read),
        Err(error) => error,
    };
    let complaint = |fields: Vec<(&str, FieldText<'_>)>| deserialize::<T>(fields.into_iter()).err();
    if let Some(key) = error.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        let asked = complaint(std::iter::once((key, FieldText(None))).chain(given()).collect());
        let wanted = asked.and_then(|words| words.strip_prefix(EXPECTED_MARK).map(str::to_owned));
        let wanted = wanted.filter(|words| !words.is_empty());
        return Err(FieldError::Missing { key: key.to_owned(), wanted });
    }
    // serde's message describes the problem but not the field: find the one without which the message changes.
    let is_to_blame =
        |key: &str| complaint(given().filter(|(other, _)| *other != key).collect()).as_ref() != Some(&error);
    let culprit = pairs.iter().map(|(key, _)| key).find(|key| is_to_blame(key)).cloned();
    Err(FieldError::Invalid { key: culprit, reason: error })
}

/// The expected value of a string that is parsed as a `T`, for the types of most settings.
pub(crate) fn wanted<T>() -> Option<&'static str> {
    Some(match std::any::type_name::<T>() {
        "bool" => BOOL,
        "u8" => U8,
        "u16" => U16,
        "u32" | "u64" | "u128" | "usize" => UNSIGNED,
        "i8" => I8,
        "i16" => I16,
        "i32" | "i64" | "i128" | "isize" => SIGNED,
        "f32" | "f64" => NUMBER,
        "char" => CHARACTER,
        "alloc::string::String" => TEXT,
        _ => return None, // a type with its own error messages
    })
}

const BOOL: &str = "`true` or `false`";
const U8: &str = "an integer from 0 to 255";
const U16: &str = "an integer from 0 to 65535";
const UNSIGNED: &str = "an integer, 0 or more";
const I8: &str = "an integer from -128 to 127";
const I16: &str = "an integer from -32768 to 32767";
const SIGNED: &str = "an integer";
const NUMBER: &str = "a number";
const CHARACTER: &str = "one character";
const TEXT: &str = "a string";
const LIST: &str = "a list";
const TABLE: &str = "a table";

fn deserialize<'a, T: DeserializeOwned>(
    fields: impl Iterator<Item = (&'a str, FieldText<'a>)>,
) -> Result<T, String> {
    T::deserialize(MapDeserializer::<_, JsonError>::new(fields)).map_err(|error| plain(&error))
}

/// The message without the position in a one-line string.
fn plain(error: &JsonError) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.as_str(), |(words, _)| words).to_owned()
}

/// A string, or `None` for a missing one, which makes the field report its expected value.
struct FieldText<'a>(Option<&'a str>);

impl<'a> FieldText<'a> {
    fn or_wanted(&self, wanted: &str) -> Result<&'a str, JsonError> {
        self.0.ok_or_else(|| JsonError::custom(format_args!("{EXPECTED_MARK}{wanted}")))
    }
}

impl<'a> IntoDeserializer<'a, JsonError> for FieldText<'a> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Types that are read as JSON, each with its description and the JSON values of this type.
macro_rules! parse_as_json {
    ($($method:ident($($arg:ident: $Arg:ty),*) = $wanted:expr, $is_kind:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($arg: $Arg,)* visitor: V) -> Result<V::Value, JsonError> {
            let text = self.or_wanted($wanted)?;
            let mut json = serde_json::Deserializer::from_str(text);
            // Reject trailing text, as in `5 apples`.
            let read = json.$method($($arg,)* visitor).and_then(|value| json.end().map(|()| value));
            read.map_err(|error| invalid(text, $wanted, $is_kind, &error))
        }
    )*};
}

/// The error for a string with an invalid value.
fn invalid(text: &str, wanted: &str, is_kind: fn(&Value) -> bool, error: &JsonError) -> JsonError {
    // Don't show a value of a different type: it could belong to another setting and be secret.
    if serde_json::from_str(text).is_ok_and(|value| is_kind(&value)) {
        JsonError::custom(format_args!("expected {wanted}: {}", plain(error)))
    } else {
        JsonError::custom(format_args!("expected {wanted}"))
    }
}

impl<'de> Deserializer<'de> for FieldText<'de> {
    type Error = JsonError;

    parse_as_json! {
        deserialize_bool() = BOOL, Value::is_boolean;
        deserialize_i8() = I8, Value::is_i64;
        deserialize_i16() = I16, Value::is_i64;
        deserialize_i32() = SIGNED, Value::is_i64;
        deserialize_i64() = SIGNED, Value::is_i64;
        deserialize_u8() = U8, Value::is_u64;
        deserialize_u16() = U16, Value::is_u64;
        deserialize_u32() = UNSIGNED, Value::is_u64;
        deserialize_u64() = UNSIGNED, Value::is_u64;
        deserialize_f32() = NUMBER, Value::is_number;
        deserialize_f64() = NUMBER, Value::is_number;
        deserialize_unit() = "`null`", Value::is_null;
        deserialize_seq() = LIST, Value::is_array;
        deserialize_map() = TABLE, Value::is_object;
        deserialize_tuple(len: usize) = LIST, Value::is_array;
        deserialize_unit_struct(name: &'static str) = "`null`", Value::is_null;
        deserialize_tuple_struct(name: &'static str, len: usize) = LIST, Value::is_array;
        deserialize_struct(name: &'static str, fields: &'static [&'static str]) = TABLE, Value::is_object;
    }

    /// A field without an expected type: the value of the JSON, or the string itself.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        let text = self.or_wanted("")?;
        match serde_json::from_str::<Value>(text) {
            Ok(value) => value.into_deserializer().deserialize_any(visitor),
            Err(_) => visitor.visit_borrowed_str(text),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        visitor.visit_borrowed_str(self.or_wanted(TEXT)?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        visitor.visit_borrowed_str(self.or_wanted(CHARACTER)?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        let names: Vec<String> = variants.iter().map(|name| format!("`{name}`")).collect();
        let wanted = match names.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        };
        let text = self.or_wanted(&wanted)?;
        if text.starts_with('{') {
            return serde_json::Deserializer::from_str(text).deserialize_enum(name, variants, visitor);
        }
        let choice: StringDeserializer<JsonError> = text.to_owned().into_deserializer();
        choice.deserialize_enum(name, variants, visitor).map_err(|error| {
            if variants.contains(&text) {
                error
            } else {
                JsonError::custom(format_args!("expected {wanted}"))
            }
        })
    }

    forward_to_deserialize_any! { i128 u128 bytes byte_buf identifier ignored_any }
}
