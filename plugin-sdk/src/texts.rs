//! Reads a struct from pairs of name and text, as settings and arguments of prompts are: what a field wants decides how
//! its text is read.

use serde::de::value::{MapDeserializer, StringDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

type Error = serde_json::Error;

/// What is wrong with the texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// Whose text it is; nothing where one is missing.
    pub(crate) key: Option<String>,
    /// What is wrong with it.
    pub(crate) reason: String,
}

/// Reads all of them as a `T`.
pub(crate) fn read<T: DeserializeOwned>(pairs: &[(String, String)]) -> Result<T, Wrong> {
    let fields = pairs.iter().map(|(key, text)| (key.as_str(), Text(text)));
    T::deserialize(MapDeserializer::<_, Error>::new(fields)).map_err(|error| {
        // serde's message names the form, not the field, unless it is missing: find the one without which the message
        // is another.
        let reason = error.to_string();
        let missing = reason.starts_with("missing field");
        let culprit = pairs.iter().find(|(key, _)| !missing && fails::<T>(key, pairs));
        Wrong { key: culprit.map(|(key, _)| key.clone()), reason }
    })
}

/// Is the trouble gone, or another, without this one?
fn fails<T: DeserializeOwned>(key: &str, pairs: &[(String, String)]) -> bool {
    let message = |skip: Option<&str>| {
        let fields = pairs.iter().filter(|(key, _)| Some(key.as_str()) != skip);
        let fields = fields.map(|(key, text)| (key.as_str(), Text(text)));
        T::deserialize(MapDeserializer::<_, Error>::new(fields)).err().map(|error| error.to_string())
    };
    message(Some(key)) != message(None)
}

/// One text.
struct Text<'a>(&'a str);

impl<'a> IntoDeserializer<'a, Error> for Text<'a> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Kinds of values that are read as JSON.
macro_rules! as_json {
    ($($method:ident($($arg:ident: $Arg:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self, $($arg: $Arg,)* visitor: V) -> Result<V::Value, Error> {
            let mut text = serde_json::Deserializer::from_str(self.0);
            let value = text.$method($($arg,)* visitor)?;
            // `5 apples` is no five.
            text.end()?;
            Ok(value)
        }
    )*};
}

impl<'de> Deserializer<'de> for Text<'de> {
    type Error = Error;

    as_json! {
        deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_f32() deserialize_f64()
        deserialize_unit() deserialize_seq() deserialize_map() deserialize_tuple(len: usize)
        deserialize_unit_struct(name: &'static str)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
    }

    /// Nobody says what it should be: the value that the text stands for, or the text itself.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match serde_json::from_str::<serde_json::Value>(self.0) {
            Ok(value) => value.into_deserializer().deserialize_any(visitor),
            Err(_) => visitor.visit_borrowed_str(self.0),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.0.starts_with('{') {
            return serde_json::Deserializer::from_str(self.0).deserialize_enum(name, variants, visitor);
        }
        let text: StringDeserializer<Error> = self.0.to_owned().into_deserializer();
        text.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! { i128 u128 bytes byte_buf identifier ignored_any }
}
