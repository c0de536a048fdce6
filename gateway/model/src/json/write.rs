//! Writes values as JSON text, like serde_json's own writer, but strings are read in blocks of bytes.

use std::fmt::{Display, Write as _};

use serde::ser::{self, Error as _, Serialize, Serializer};

use super::text_run::{clean_run, line_breaks};
use super::{Json, RAW_TEXT};

/// The room after a string, for the rest of a small message. Growing would copy the string.
const ROOM_AFTER_STRING: usize = 256;

/// Serializes a value on one line.
///
/// # Errors
/// A part of the value has no form in JSON, such as a map whose keys aren't strings.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<Json, serde_json::Error> {
    let mut writer = JsonWriter { out: String::with_capacity(ROOM_AFTER_STRING), is_raw: false };
    value.serialize(&mut writer)?;
    debug_assert!(line_breaks(&writer.out).next().is_none(), "only `Json` is written unchanged");
    Ok(Json(writer.out.into_boxed_str()))
}

/// Appends `text` as a JSON string.
pub fn push_string(out: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.reserve(text.len() + ROOM_AFTER_STRING);
    out.push('"');
    let mut rest = text;
    loop {
        let clean = clean_run(rest.as_bytes());
        out.push_str(&rest[..clean]);
        let Some(&special) = rest.as_bytes().get(clean) else { break };
        match special {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0C => out.push_str("\\f"),
            control => {
                out.push_str("\\u00");
                out.push(HEX[usize::from(control >> 4)].into());
                out.push(HEX[usize::from(control & 0xF)].into());
            }
        }
        rest = &rest[clean + 1..];
    }
    out.push('"');
}

struct JsonWriter {
    out: String,
    /// The next string is the text of a [`Json`], which is written unchanged.
    is_raw: bool,
}

/// An object or array that is being written.
struct OpenValue<'w> {
    writer: &'w mut JsonWriter,
    separator: &'static str,
    end: &'static str,
}

impl JsonWriter {
    fn open(&mut self, start: &str, end: &'static str) -> OpenValue<'_> {
        self.out.push_str(start);
        OpenValue { writer: self, separator: "", end }
    }

    /// Opens the object around a variant with content.
    fn open_variant(&mut self, variant: &str, start: &str, end: &'static str) -> OpenValue<'_> {
        self.out.push('{');
        push_string(&mut self.out, variant);
        self.out.push(':');
        self.open(start, end)
    }

    fn display(&mut self, value: impl Display) -> Result<(), serde_json::Error> {
        write!(self.out, "{value}").map_err(serde_json::Error::custom)
    }
}

impl OpenValue<'_> {
    fn separate(&mut self) {
        self.writer.out.push_str(self.separator);
        self.separator = ",";
    }

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), serde_json::Error> {
        self.separate();
        let start = self.writer.out.len();
        key.serialize(&mut *self.writer)?;
        if !self.writer.out[start..].starts_with('"') {
            return Err(serde_json::Error::custom("key must be a string"));
        }
        self.writer.out.push(':');
        Ok(())
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), serde_json::Error> {
        self.separate();
        value.serialize(&mut *self.writer)
    }

    fn close(self) {
        self.writer.out.push_str(self.end);
    }
}

/// Numbers whose text is the same in JSON.
macro_rules! integers {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Result<(), serde_json::Error> {
            self.display(value)
        })*
    };
}

impl<'w> Serializer for &'w mut JsonWriter {
    type Ok = ();
    type Error = serde_json::Error;
    type SerializeSeq = OpenValue<'w>;
    type SerializeTuple = OpenValue<'w>;
    type SerializeTupleStruct = OpenValue<'w>;
    type SerializeTupleVariant = OpenValue<'w>;
    type SerializeMap = OpenValue<'w>;
    type SerializeStruct = OpenValue<'w>;
    type SerializeStructVariant = OpenValue<'w>;

    integers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_bool: bool
    }

    fn serialize_f32(self, value: f32) -> Result<(), serde_json::Error> {
        self.out.push_str(&serde_json::to_string(&value)?);
        Ok(())
    }

    fn serialize_f64(self, value: f64) -> Result<(), serde_json::Error> {
        self.out.push_str(&serde_json::to_string(&value)?);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), serde_json::Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), serde_json::Error> {
        if std::mem::take(&mut self.is_raw) {
            self.out.push_str(value);
        } else {
            push_string(&mut self.out, value);
        }
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), serde_json::Error> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), serde_json::Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), serde_json::Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), serde_json::Error> {
        self.out.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), serde_json::Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), serde_json::Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        let mut open = self.open_variant(variant, "", "}");
        open.element(value)?;
        open.close();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<OpenValue<'w>, serde_json::Error> {
        Ok(self.open("[", "]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<OpenValue<'w>, serde_json::Error> {
        Ok(self.open("[", "]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<OpenValue<'w>, serde_json::Error> {
        Ok(self.open("[", "]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<OpenValue<'w>, serde_json::Error> {
        Ok(self.open_variant(variant, "[", "]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<OpenValue<'w>, serde_json::Error> {
        Ok(self.open("{", "}"))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<OpenValue<'w>, serde_json::Error> {
        Ok(if name == RAW_TEXT { self.open("", "") } else { self.open("{", "}") })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<OpenValue<'w>, serde_json::Error> {
        Ok(self.open_variant(variant, "{", "}}"))
    }
}

/// The traits of lists, which differ only in a name.
macro_rules! lists {
    ($($type:ident: $method:ident),*) => {
        $(impl ser::$type for OpenValue<'_> {
            type Ok = ();
            type Error = serde_json::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), serde_json::Error> {
                self.element(value)
            }

            fn end(self) -> Result<(), serde_json::Error> {
                self.close();
                Ok(())
            }
        })*
    };
}

lists! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
}

impl ser::SerializeMap for OpenValue<'_> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), serde_json::Error> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), serde_json::Error> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), serde_json::Error> {
        self.close();
        Ok(())
    }
}

/// The traits of structs, which differ only in a name.
macro_rules! structs {
    ($($type:ident),*) => {
        $(impl ser::$type for OpenValue<'_> {
            type Ok = ();
            type Error = serde_json::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), serde_json::Error> {
                if key == RAW_TEXT {
                    self.writer.is_raw = true;
                } else {
                    self.key(key)?;
                }
                value.serialize(&mut *self.writer)
            }

            fn end(self) -> Result<(), serde_json::Error> {
                self.close();
                Ok(())
            }
        })*
    };
}

structs!(SerializeStruct, SerializeStructVariant);

#[cfg(test)]
mod tests;
