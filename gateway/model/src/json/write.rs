//! Writes values as JSON text, like serde_json's own writer, but strings are read in blocks of bytes.

use std::fmt::{self, Display};

use serde::ser::{self, Error as _, Serialize, Serializer};

use super::text_run::{clean_run, line_breaks};
use super::{Json, RAW_TEXT};

/// The room after a string, for the rest of a small message. Growing would copy the string.
const ROOM_AFTER_STRING: usize = 256;

/// A buffer for JSON text.
pub trait JsonBuffer: fmt::Write {
    /// Makes room for this many bytes.
    fn reserve(&mut self, additional: usize);
}

impl JsonBuffer for String {
    fn reserve(&mut self, additional: usize) {
        self.reserve(additional);
    }
}

/// Serializes a value on one line.
///
/// # Errors
/// A part of the value has no form in JSON, such as a map whose keys aren't strings.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<Json, serde_json::Error> {
    let mut out = String::with_capacity(ROOM_AFTER_STRING);
    write_json(&mut out, value)?;
    debug_assert!(line_breaks(&out).next().is_none(), "only `Json` is written unchanged");
    Ok(Json(out.into_boxed_str()))
}

/// Appends a value on one line.
///
/// # Errors
/// The buffer takes no more, or a part of the value has no form in JSON, such as a map whose keys aren't strings.
pub fn write_json<T: Serialize + ?Sized>(
    out: &mut impl JsonBuffer,
    value: &T,
) -> Result<(), serde_json::Error> {
    value.serialize(&mut JsonWriter { out, is_raw: false, wrote_string: false })
}

/// Appends `text` as a JSON string.
pub fn push_string(out: &mut String, text: &str) {
    write_string(out, text).expect("a string takes every text");
}

fn write_string(out: &mut impl JsonBuffer, text: &str) -> fmt::Result {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.reserve(text.len() + ROOM_AFTER_STRING);
    out.write_char('"')?;
    let mut rest = text;
    loop {
        let clean = clean_run(rest.as_bytes());
        out.write_str(&rest[..clean])?;
        let Some(&special) = rest.as_bytes().get(clean) else { break };
        match special {
            b'"' => out.write_str("\\\"")?,
            b'\\' => out.write_str("\\\\")?,
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            0x08 => out.write_str("\\b")?,
            0x0C => out.write_str("\\f")?,
            control => {
                out.write_str("\\u00")?;
                out.write_char(HEX[usize::from(control >> 4)].into())?;
                out.write_char(HEX[usize::from(control & 0xF)].into())?;
            }
        }
        rest = &rest[clean + 1..];
    }
    out.write_char('"')
}

struct JsonWriter<'b, B> {
    out: &'b mut B,
    /// The next string is the text of a [`Json`], which is written unchanged.
    is_raw: bool,
    /// The value that was written last is a string.
    wrote_string: bool,
}

/// An object or array that is being written.
struct OpenValue<'w, 'b, B> {
    writer: &'w mut JsonWriter<'b, B>,
    separator: &'static str,
    end: &'static str,
}

impl<'b, B: JsonBuffer> JsonWriter<'b, B> {
    fn push(&mut self, text: &str) -> Result<(), serde_json::Error> {
        self.wrote_string = false;
        self.out.write_str(text).map_err(serde_json::Error::custom)
    }

    fn push_string(&mut self, text: &str) -> Result<(), serde_json::Error> {
        self.wrote_string = true;
        write_string(self.out, text).map_err(serde_json::Error::custom)
    }

    fn open(&mut self, start: &str, end: &'static str) -> Result<OpenValue<'_, 'b, B>, serde_json::Error> {
        self.push(start)?;
        Ok(OpenValue { writer: self, separator: "", end })
    }

    /// Opens the object around a variant with content.
    fn open_variant(
        &mut self,
        variant: &str,
        start: &str,
        end: &'static str,
    ) -> Result<OpenValue<'_, 'b, B>, serde_json::Error> {
        self.push("{")?;
        self.push_string(variant)?;
        self.push(":")?;
        self.open(start, end)
    }

    fn display(&mut self, value: impl Display) -> Result<(), serde_json::Error> {
        self.wrote_string = false;
        write!(self.out, "{value}").map_err(serde_json::Error::custom)
    }
}

impl<B: JsonBuffer> OpenValue<'_, '_, B> {
    fn separate(&mut self) -> Result<(), serde_json::Error> {
        self.writer.push(self.separator)?;
        self.separator = ",";
        Ok(())
    }

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), serde_json::Error> {
        self.separate()?;
        key.serialize(&mut *self.writer)?;
        if !self.writer.wrote_string {
            return Err(serde_json::Error::custom("key must be a string"));
        }
        self.writer.push(":")
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), serde_json::Error> {
        self.separate()?;
        value.serialize(&mut *self.writer)
    }

    fn close(self) -> Result<(), serde_json::Error> {
        self.writer.push(self.end)
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

impl<'w, 'b, B: JsonBuffer> Serializer for &'w mut JsonWriter<'b, B> {
    type Ok = ();
    type Error = serde_json::Error;
    type SerializeSeq = OpenValue<'w, 'b, B>;
    type SerializeTuple = OpenValue<'w, 'b, B>;
    type SerializeTupleStruct = OpenValue<'w, 'b, B>;
    type SerializeTupleVariant = OpenValue<'w, 'b, B>;
    type SerializeMap = OpenValue<'w, 'b, B>;
    type SerializeStruct = OpenValue<'w, 'b, B>;
    type SerializeStructVariant = OpenValue<'w, 'b, B>;

    integers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_bool: bool
    }

    fn serialize_f32(self, value: f32) -> Result<(), serde_json::Error> {
        self.push(&serde_json::to_string(&value)?)
    }

    fn serialize_f64(self, value: f64) -> Result<(), serde_json::Error> {
        self.push(&serde_json::to_string(&value)?)
    }

    fn serialize_char(self, value: char) -> Result<(), serde_json::Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), serde_json::Error> {
        if std::mem::take(&mut self.is_raw) { self.push(value) } else { self.push_string(value) }
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
        self.push("null")
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
        let mut open = self.open_variant(variant, "", "}")?;
        open.element(value)?;
        open.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<OpenValue<'w, 'b, B>, serde_json::Error> {
        self.open("[", "]")
    }

    fn serialize_tuple(self, _: usize) -> Result<OpenValue<'w, 'b, B>, serde_json::Error> {
        self.open("[", "]")
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<OpenValue<'w, 'b, B>, serde_json::Error> {
        self.open("[", "]")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<OpenValue<'w, 'b, B>, serde_json::Error> {
        self.open_variant(variant, "[", "]}")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<OpenValue<'w, 'b, B>, serde_json::Error> {
        self.open("{", "}")
    }

    fn serialize_struct(
        self,
        name: &'static str,
        _: usize,
    ) -> Result<OpenValue<'w, 'b, B>, serde_json::Error> {
        if name == RAW_TEXT { self.open("", "") } else { self.open("{", "}") }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<OpenValue<'w, 'b, B>, serde_json::Error> {
        self.open_variant(variant, "{", "}}")
    }
}

/// The traits of lists, which differ only in a name.
macro_rules! lists {
    ($($type:ident: $method:ident),*) => {
        $(impl<B: JsonBuffer> ser::$type for OpenValue<'_, '_, B> {
            type Ok = ();
            type Error = serde_json::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), serde_json::Error> {
                self.element(value)
            }

            fn end(self) -> Result<(), serde_json::Error> {
                self.close()
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

impl<B: JsonBuffer> ser::SerializeMap for OpenValue<'_, '_, B> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), serde_json::Error> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), serde_json::Error> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), serde_json::Error> {
        self.close()
    }
}

/// The traits of structs, which differ only in a name.
macro_rules! structs {
    ($($type:ident),*) => {
        $(impl<B: JsonBuffer> ser::$type for OpenValue<'_, '_, B> {
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
                self.close()
            }
        })*
    };
}

structs!(SerializeStruct, SerializeStructVariant);

#[cfg(test)]
mod tests;
