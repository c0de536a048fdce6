//! Arguments in JSON as values of a function's parameters.
//!
//! The gateway has checked the arguments against the schema, so errors are about what a schema can't express.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use moongate_model::json::pointer_step;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Unexpected, Visitor};
use serde_json::value::RawValue;
use wasmtime::component::Val;

use super::VALUE_BYTES;
use super::value_type::{IntegerType, NameIndexes, ResultType, ValueType};

/// The values of a call.
#[derive(Debug)]
pub(super) struct Arguments {
    /// In the order of the parameters.
    pub(super) values: Vec<Val>,
    /// Their memory, in bytes.
    pub(super) memory: usize,
}

/// The reason that arguments can't be passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ArgumentError {
    /// Their values need more memory than the maximum.
    TooLarge,
    /// A value is invalid.
    Invalid {
        message: String,
        /// The JSON pointer to the value.
        pointer: String,
    },
}

/// Parses a JSON object with the arguments. Their values may need this much memory, in bytes.
pub(super) fn parse(
    params: &[(String, ValueType)],
    json: &str,
    max_bytes: usize,
) -> Result<Arguments, ArgumentError> {
    let mut reader = ValueReader {
        left: max_bytes,
        is_exceeded: false,
        pointer: String::new(),
        names: NameIndexes::default(),
    };
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let parsed = deserializer.deserialize_map(FieldsVisitor { fields: params, reader: &mut reader });
    match parsed {
        Ok(fields) => {
            let values = fields.into_iter().map(|(_, value)| value).collect();
            Ok(Arguments { values, memory: max_bytes - reader.left })
        }
        Err(_) if reader.is_exceeded => Err(ArgumentError::TooLarge),
        Err(error) => {
            Err(ArgumentError::Invalid { message: without_position(&error), pointer: reader.pointer })
        }
    }
}

/// The message of an error, without the position in the text, which the caller doesn't see.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message).to_owned()
}

/// The state while values are read.
struct ValueReader<'t> {
    /// The memory that is left, in bytes.
    left: usize,
    /// True if there was too little memory.
    is_exceeded: bool,
    /// The JSON pointer to the current value. After an error, it is that of the invalid value.
    pointer: String,
    /// The indexes of the names in the types of the values.
    names: NameIndexes<'t>,
}

impl ValueReader<'_> {
    fn take<E: serde::de::Error>(&mut self, bytes: usize) -> Result<(), E> {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => {
                self.is_exceeded = true;
                return Err(E::custom("too large"));
            }
        }
        Ok(())
    }

    /// Reads a part of the current value.
    fn part<T, E>(&mut self, step: &str, read: impl FnOnce(&mut Self) -> Result<T, E>) -> Result<T, E> {
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(step);
        let value = read(self)?;
        self.pointer.truncate(length);
        Ok(value)
    }
}

/// Reads a value of a type.
struct ValueSeed<'a, 't> {
    ty: &'t ValueType,
    reader: &'a mut ValueReader<'t>,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_, '_> {
    type Value = Val;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Val, D::Error> {
        self.reader.take::<D::Error>(VALUE_BYTES)?;
        match self.ty {
            ValueType::Option(_) => deserializer.deserialize_option(self),
            ValueType::Bool
            | ValueType::Integer(_)
            | ValueType::Float32
            | ValueType::Float64
            | ValueType::Char
            | ValueType::String
            | ValueType::Bytes
            | ValueType::List(_)
            | ValueType::FixedLengthList(..)
            | ValueType::Entries(_)
            | ValueType::Map(_)
            | ValueType::Record(_)
            | ValueType::Tuple(_)
            | ValueType::Variant(_)
            | ValueType::Enum(_)
            | ValueType::Result(_)
            | ValueType::Flags(_) => deserializer.deserialize_any(self),
        }
    }
}

impl<'de, 't> Visitor<'de> for ValueSeed<'_, 't> {
    type Value = Val;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty {
            ValueType::Bool => f.write_str("`true` or `false`"),
            ValueType::Integer(integer) => {
                let (min, max) = integer.range();
                write!(f, "an integer from {min} to {max}")
            }
            ValueType::Float32 => f.write_str("a number in the range of 32-bit floats"),
            ValueType::Float64 => f.write_str("a number"),
            ValueType::Char => f.write_str("a string of one character"),
            ValueType::String => f.write_str("a string"),
            ValueType::Bytes => f.write_str("a Base64 string or an array of bytes"),
            ValueType::List(_) => f.write_str("an array"),
            ValueType::FixedLengthList(_, length) => write!(f, "an array of {length} elements"),
            ValueType::Entries(_) => f.write_str("an object or an array of pairs"),
            ValueType::Map(_) | ValueType::Record(_) => f.write_str("an object"),
            ValueType::Tuple(parts) => write!(f, "an array of {} elements", parts.len()),
            ValueType::Variant(_) | ValueType::Result(_) => f.write_str("an object with `tag`"),
            ValueType::Enum(_) => f.write_str("one of the names in the schema"),
            ValueType::Flags(_) => f.write_str("an array of distinct names from the schema"),
            ValueType::Option(_) => f.write_str("a value or `null`"),
        }
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Val, E> {
        match self.ty {
            ValueType::Bool => Ok(Val::Bool(value)),
            _ => Err(E::invalid_type(Unexpected::Bool(value), &self)),
        }
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Val, E> {
        match self.ty {
            ValueType::Integer(integer) => integer_value(*integer, value.into())
                .ok_or_else(|| E::invalid_value(Unexpected::Signed(value), &self)),
            _ => self.visit_f64(value as f64),
        }
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Val, E> {
        match self.ty {
            ValueType::Integer(integer) => integer_value(*integer, value.into())
                .ok_or_else(|| E::invalid_value(Unexpected::Unsigned(value), &self)),
            _ => self.visit_f64(value as f64),
        }
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Val, E> {
        let found = match self.ty {
            // In JSON Schema, 1.0 is an integer.
            ValueType::Integer(integer) => {
                whole_number(value).and_then(|whole| integer_value(*integer, whole))
            }
            ValueType::Float32 => Some(value as f32).filter(|value| value.is_finite()).map(Val::Float32),
            ValueType::Float64 => Some(value).filter(|value| value.is_finite()).map(Val::Float64),
            _ => None,
        };
        found.ok_or_else(|| E::invalid_value(Unexpected::Float(value), &self))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Val, E> {
        let found = match self.ty {
            ValueType::String => {
                self.reader.take::<E>(text.len())?;
                Some(Val::String(text.to_owned()))
            }
            ValueType::Char => {
                let mut chars = text.chars();
                chars.next().filter(|_| chars.next().is_none()).map(Val::Char)
            }
            ValueType::Enum(names) => {
                self.reader.take::<E>(text.len())?;
                let at = self.reader.names.position(names, String::as_str, text);
                at.map(|at| Val::Enum(names[at].clone()))
            }
            ValueType::Integer(integer) if integer.is_64_bit() => {
                text.parse().ok().and_then(|number| integer_value(*integer, number))
            }
            ValueType::Bytes => {
                self.reader.take::<E>((text.len() / 4 * 3).saturating_mul(VALUE_BYTES))?;
                let bytes =
                    STANDARD.decode(text).map_err(|error| E::custom(format!("invalid Base64: {error}")))?;
                Some(Val::List(bytes.into_iter().map(Val::U8).collect()))
            }
            _ => None,
        };
        found.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Val, E> {
        Ok(Val::Option(None))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Val, E> {
        Err(E::invalid_type(Unexpected::Other("null"), &self))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Val, D::Error> {
        let ValueType::Option(ty) = self.ty else {
            return Err(D::Error::invalid_type(Unexpected::Option, &self));
        };
        let inner = ValueSeed { ty, reader: self.reader }.deserialize(deserializer)?;
        Ok(Val::Option(Some(Box::new(inner))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Val, A::Error> {
        let value = match self.ty {
            ValueType::List(ty) => Val::List(elements(&mut items, self.reader, |_| Some(ty))?),
            ValueType::Bytes => Val::List(elements(&mut items, self.reader, |_| Some(&BYTE))?),
            ValueType::FixedLengthList(ty, length) => {
                let is_part = |index| u32::try_from(index).is_ok_and(|index| index < *length);
                let found = elements(&mut items, self.reader, |index| is_part(index).then_some(&**ty))?;
                if is_part(found.len()) {
                    return Err(A::Error::invalid_length(found.len(), &self));
                }
                Val::FixedLengthList(found)
            }
            ValueType::Tuple(types) => {
                let found = elements(&mut items, self.reader, |index| types.get(index))?;
                if found.len() < types.len() {
                    return Err(A::Error::invalid_length(found.len(), &self));
                }
                Val::Tuple(found)
            }
            ValueType::Entries(ty) => Val::List(all_elements(&mut items, self.reader, |reader, items| {
                items.next_element_seed(PairSeed { ty, reader })
            })?),
            ValueType::Flags(names) => Val::Flags(all_elements(&mut items, self.reader, |reader, items| {
                items.next_element_seed(NameSeed { names, reader })
            })?),
            _ => return Err(A::Error::invalid_type(Unexpected::Seq, &self)),
        };
        Ok(value)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Val, A::Error> {
        let Self { ty, reader } = self;
        match ty {
            ValueType::Record(fields) => FieldsVisitor { fields, reader }.visit_map(members).map(Val::Record),
            ValueType::Map(ty) => {
                let read = |(key, value)| (Val::String(key), value);
                Ok(Val::Map(entries(&mut members, ty, reader)?.into_iter().map(read).collect()))
            }
            ValueType::Entries(ty) => {
                let read = |(key, value)| Val::Tuple(vec![Val::String(key), value]);
                Ok(Val::List(entries(&mut members, ty, reader)?.into_iter().map(read).collect()))
            }
            ValueType::Variant(cases) => {
                let find = |reader: &mut ValueReader<'t>, tag: &str| {
                    let at = reader.names.position(cases, |(name, _)| name, tag)?;
                    Some(cases[at].1.as_ref())
                };
                let (tag, payload) = case(members, reader, find)?;
                Ok(Val::Variant(tag, payload))
            }
            ValueType::Result(result) => {
                let ResultType { ok, err } = &**result;
                let find = |_: &mut ValueReader<'t>, tag: &str| match tag {
                    "ok" => Some(ok.as_ref()),
                    "err" => Some(err.as_ref()),
                    _ => None,
                };
                let (tag, payload) = case(members, reader, find)?;
                Ok(Val::Result(if tag == "ok" { Ok(payload) } else { Err(payload) }))
            }
            _ => Err(A::Error::invalid_type(Unexpected::Map, &ValueSeed { ty, reader })),
        }
    }
}

/// The type of the elements of `list<u8>`.
static BYTE: ValueType = ValueType::Integer(IntegerType::U8);
/// The type of the keys of entries.
static KEY: ValueType = ValueType::String;

/// Reads a pair of a key and a value of a type.
struct PairSeed<'a, 't> {
    ty: &'t ValueType,
    reader: &'a mut ValueReader<'t>,
}

impl<'de> DeserializeSeed<'de> for PairSeed<'_, '_> {
    type Value = Val;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Val, D::Error> {
        self.reader.take::<D::Error>(VALUE_BYTES)?;
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for PairSeed<'_, '_> {
    type Value = Val;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of 2 elements")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Val, A::Error> {
        let types = [&KEY, self.ty];
        let found = elements(&mut items, self.reader, |index| types.get(index).copied())?;
        if found.len() < types.len() {
            return Err(A::Error::invalid_length(found.len(), &self));
        }
        Ok(Val::Tuple(found))
    }
}

/// Reads one of the names of flags.
struct NameSeed<'a, 't> {
    names: &'t [String],
    reader: &'a mut ValueReader<'t>,
}

impl<'de> DeserializeSeed<'de> for NameSeed<'_, '_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        self.reader.take::<D::Error>(VALUE_BYTES)?;
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for NameSeed<'_, '_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one of the names in the schema")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<String, E> {
        self.reader.take::<E>(text.len())?;
        let at = self.reader.names.position(self.names, String::as_str, text);
        at.map(|at| self.names[at].clone()).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// All elements of an array. `next` reads one.
fn all_elements<'de, 't, T, A: SeqAccess<'de>>(
    items: &mut A,
    reader: &mut ValueReader<'t>,
    next: impl Fn(&mut ValueReader<'t>, &mut A) -> Result<Option<T>, A::Error>,
) -> Result<Vec<T>, A::Error> {
    let mut found = Vec::new();
    loop {
        let step = found.len().to_string();
        match reader.part(&step, |reader| next(reader, items))? {
            Some(element) => found.push(element),
            None => return Ok(found),
        }
    }
}

/// The elements of an array. `ty` returns the type of the element with this index, or `None` if there are too many.
fn elements<'de, 't, A: SeqAccess<'de>>(
    items: &mut A,
    reader: &mut ValueReader<'t>,
    ty: impl Fn(usize) -> Option<&'t ValueType>,
) -> Result<Vec<Val>, A::Error> {
    let mut found = Vec::new();
    while let Some(ty) = ty(found.len()) {
        let step = found.len().to_string();
        let next = reader.part(&step, |reader| items.next_element_seed(ValueSeed { ty, reader }))?;
        let Some(next) = next else { return Ok(found) };
        found.push(next);
    }
    match items.next_element::<serde::de::IgnoredAny>()? {
        None => Ok(found),
        Some(_) => Err(A::Error::custom(format!("more than {} elements", found.len()))),
    }
}

/// The members of an object with any keys.
fn entries<'de, 't, A: MapAccess<'de>>(
    members: &mut A,
    ty: &'t ValueType,
    reader: &mut ValueReader<'t>,
) -> Result<Vec<(String, Val)>, A::Error> {
    let mut found = Vec::new();
    while let Some(key) = members.next_key::<String>()? {
        // The pair, and the value of the key.
        reader.take::<A::Error>(2 * VALUE_BYTES + key.len())?;
        let value =
            reader.part(&pointer_step(&key), |reader| members.next_value_seed(ValueSeed { ty, reader }))?;
        found.push((key, value));
    }
    Ok(found)
}

/// The tag and the payload of an object with `tag` and `val`, in any order. `find` returns the type of a case's payload.
fn case<'de, 't, A: MapAccess<'de>>(
    mut members: A,
    reader: &mut ValueReader<'t>,
    find: impl Fn(&mut ValueReader<'t>, &str) -> Option<Option<&'t ValueType>>,
) -> Result<(String, Option<Box<Val>>), A::Error> {
    let mut tag: Option<(String, Option<&ValueType>)> = None;
    let mut payload = None;
    // The payload, if it comes before the tag. It isn't copied, or nested payloads would be copied once per level.
    let mut raw: Option<&'de RawValue> = None;
    while let Some(key) = members.next_key::<String>()? {
        match (&*key, &tag) {
            ("tag", None) => {
                let name: String = members.next_value()?;
                reader.take::<A::Error>(name.len())?;
                let Some(ty) = find(reader, &name) else {
                    return Err(A::Error::custom(format!("unknown tag `{name}`")));
                };
                tag = Some((name, ty));
            }
            ("val", Some((_, Some(ty)))) => {
                let value = reader.part("val", |reader| members.next_value_seed(ValueSeed { ty, reader }))?;
                payload = Some(value);
            }
            ("val", None) => raw = Some(members.next_value()?),
            ("val", Some((name, None))) => {
                return Err(A::Error::custom(format!("`{name}` has no `val`")));
            }
            _ => return Err(A::Error::custom(format!("unknown member `{key}`"))),
        }
    }
    let Some((name, ty)) = tag else { return Err(A::Error::custom("`tag` is missing")) };
    if let (Some(ty), Some(raw)) = (ty, raw) {
        let read = |reader: &mut ValueReader<'t>| {
            ValueSeed { ty, reader }.deserialize(&mut serde_json::Deserializer::from_str(raw.get()))
        };
        payload = Some(reader.part("val", read).map_err(|error| A::Error::custom(without_position(&error)))?);
    }
    match (ty, payload) {
        (None, _) if raw.is_some() => Err(A::Error::custom(format!("`{name}` has no `val`"))),
        (None, _) => Ok((name, None)),
        (Some(_), Some(payload)) => Ok((name, Some(Box::new(payload)))),
        (Some(ValueType::Option(_)), None) => Ok((name, Some(Box::new(Val::Option(None))))),
        (Some(_), None) => Err(A::Error::custom("`val` is missing")),
    }
}

/// Reads the fields of an object, and returns them in the order of the type. A missing option is `none`.
struct FieldsVisitor<'a, 't> {
    fields: &'t [(String, ValueType)],
    reader: &'a mut ValueReader<'t>,
}

impl<'de, 't> Visitor<'de> for FieldsVisitor<'_, 't> {
    type Value = Vec<(String, Val)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let Self { fields, reader } = self;
        let mut found: Vec<Option<Val>> = Vec::new();
        found.resize_with(fields.len(), || None);
        let mut expected = 0;
        while let Some(key) = members.next_key::<String>()? {
            // Most clients keep the order of the schema.
            let is_expected = fields.get(expected).is_some_and(|(name, _)| *name == key);
            let find = |(name, _): &'t (String, ValueType)| name.as_str();
            let index = if is_expected { Some(expected) } else { reader.names.position(fields, find, &key) };
            let Some(index) = index else {
                return Err(A::Error::custom(format!("unknown member `{key}`")));
            };
            expected = index + 1;
            let ty = &fields[index].1;
            let read = |reader: &mut ValueReader<'t>| members.next_value_seed(ValueSeed { ty, reader });
            found[index] = Some(reader.part(&pointer_step(&key), read)?);
        }
        let complete = |((name, ty), value): (&(String, ValueType), Option<Val>)| -> Result<_, A::Error> {
            reader.take::<A::Error>(VALUE_BYTES + name.len())?;
            match value {
                Some(value) => Ok((name.clone(), value)),
                None if ty.is_option() => Ok((name.clone(), Val::Option(None))),
                None => Err(A::Error::custom(format!("`{name}` is missing"))),
            }
        };
        fields.iter().zip(found).map(complete).collect()
    }
}

/// The integer, if it is in the range of its type.
fn integer_value(ty: IntegerType, number: i128) -> Option<Val> {
    match ty {
        IntegerType::S8 => number.try_into().ok().map(Val::S8),
        IntegerType::U8 => number.try_into().ok().map(Val::U8),
        IntegerType::S16 => number.try_into().ok().map(Val::S16),
        IntegerType::U16 => number.try_into().ok().map(Val::U16),
        IntegerType::S32 => number.try_into().ok().map(Val::S32),
        IntegerType::U32 => number.try_into().ok().map(Val::U32),
        IntegerType::S64 => number.try_into().ok().map(Val::S64),
        IntegerType::U64 => number.try_into().ok().map(Val::U64),
    }
}

/// The integer that a number is equal to. `None` for a fraction, or for a number above all integer types.
fn whole_number(number: f64) -> Option<i128> {
    /// 2⁶⁴, above which no type has integers.
    const END: f64 = 18_446_744_073_709_551_616.0;
    let is_whole = number.fract() == 0.0 && number.abs() <= END;
    is_whole.then_some(number as i128)
}
