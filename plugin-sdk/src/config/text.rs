//! Reads a struct from settings that are all text: what a field wants decides how its text is read.

use serde::de::value::{MapDeserializer, StringDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::ConfigError;

type Error = serde_json::Error;

/// Reads all settings as a `T`.
pub(super) fn read<T: DeserializeOwned>(settings: &[(String, String)]) -> Result<T, ConfigError> {
    let fields = settings.iter().map(|(key, text)| (key.as_str(), Text(text)));
    T::deserialize(MapDeserializer::<_, Error>::new(fields)).map_err(|error| {
        // serde's message names the form, not the field: find the one without which the message is another.
        let culprit = settings.iter().find(|(key, _)| fails::<T>(key, settings));
        let key = culprit.map(|(key, _)| key.clone()).unwrap_or_default();
        ConfigError::Invalid { key, reason: error.to_string() }
    })
}

/// Is the trouble gone, or another, without this setting?
fn fails<T: DeserializeOwned>(key: &str, settings: &[(String, String)]) -> bool {
    let message = |skip: Option<&str>| {
        let fields = settings.iter().filter(|(key, _)| Some(key.as_str()) != skip);
        let fields = fields.map(|(key, text)| (key.as_str(), Text(text)));
        T::deserialize(MapDeserializer::<_, Error>::new(fields)).err().map(|error| error.to_string())
    };
    message(Some(key)) != message(None)
}

/// One setting.
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
            serde_json::Deserializer::from_str(self.0).$method($($arg,)* visitor)
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
