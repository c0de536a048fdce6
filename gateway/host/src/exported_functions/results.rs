//! Results of functions as JSON.

use std::collections::{BTreeMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use moongate_model::json::push_string;
use wasmtime::component::Val;

use super::json_schema::structured_type;
use super::value_type::{NameIndexes, ResultType, ValueType};
use super::{NO_VALUE, ValuesTooLarge};
use crate::bindings::{tools, types};

/// The largest integer that every JSON reader represents exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// The reason that a value can't be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteError {
    /// The text is too long.
    TooLong,
    /// The value doesn't have the type.
    WrongType,
}

/// A result of text only.
pub(super) fn text_result(text: String) -> tools::CallResult {
    let content = types::TextContent { text, annotations: None, meta: None, extra: None };
    tools::CallResult {
        content: vec![types::Content::Text(content)],
        structured: None,
        is_error: None,
        meta: None,
        extra: None,
    }
}

/// The result of a call: text, and the same as a structured value unless it is a string. The error of a `result` is a
/// tool error.
///
/// # Errors
/// Text and structured value are longer than the maximum together, in bytes.
pub(super) fn call_result(
    ty: &ValueType,
    value: &Val,
    max_bytes: usize,
) -> wasmtime::Result<tools::CallResult> {
    let (ty, value, is_error) = match (ty, value) {
        (ValueType::Result(result), Val::Result(value)) => {
            let ResultType { ok, err } = &**result;
            match value {
                Ok(value) => (ok.as_ref(), value.as_deref(), false),
                Err(value) => (err.as_ref(), value.as_deref(), true),
            }
        }
        _ => (Some(ty), Some(value), false),
    };
    let mut result = match (ty, value) {
        (Some(ValueType::String), Some(Val::String(text))) => text_result(text.clone()),
        (Some(ty), Some(value)) => {
            let json = json_text(ty, value, max_bytes / 2)?;
            let is_structured = !is_error && structured_type(Some(ty)).is_some();
            tools::CallResult { structured: is_structured.then(|| json.clone()), ..text_result(json) }
        }
        (Some(_) | None, _) if is_error => text_result("the function failed without a reason".to_owned()),
        (Some(_) | None, _) => text_result(NO_VALUE.to_owned()),
    };
    result.is_error = is_error.then_some(true);
    Ok(result)
}

/// The JSON text of a value.
pub(super) fn json_text(ty: &ValueType, value: &Val, max_bytes: usize) -> wasmtime::Result<String> {
    let mut out = JsonText { text: String::new(), max_bytes, names: NameIndexes::default() };
    match out.write(ty, value) {
        Ok(()) => Ok(out.text),
        Err(WriteError::TooLong) => Err(ValuesTooLarge.into()),
        Err(WriteError::WrongType) => {
            Err(wasmtime::format_err!("the function returned a value of another type"))
        }
    }
}

/// The key and the value of an entry.
fn entry(value: &Val) -> Result<(&str, &Val), WriteError> {
    match value {
        Val::Tuple(parts) => match &**parts {
            [Val::String(key), value] => Ok((key, value)),
            _ => Err(WriteError::WrongType),
        },
        _ => Err(WriteError::WrongType),
    }
}

/// JSON text up to a length.
struct JsonText<'t> {
    text: String,
    max_bytes: usize,
    /// The indexes of the names in the types of the values.
    names: NameIndexes<'t>,
}

impl<'t> JsonText<'t> {
    fn push(&mut self, piece: &str) -> Result<(), WriteError> {
        self.text.push_str(piece);
        self.check()
    }

    fn check(&self) -> Result<(), WriteError> {
        if self.text.len() > self.max_bytes { Err(WriteError::TooLong) } else { Ok(()) }
    }

    fn string(&mut self, text: &str) -> Result<(), WriteError> {
        push_string(&mut self.text, text);
        self.check()
    }

    fn write(&mut self, ty: &'t ValueType, value: &Val) -> Result<(), WriteError> {
        match (ty, value) {
            (ValueType::Bool, Val::Bool(value)) => self.push(if *value { "true" } else { "false" }),
            (ValueType::Integer(_), value) => self.integer(value),
            (ValueType::Float32, Val::Float32(number)) => {
                self.float(number.is_finite(), &format!("{number:?}"))
            }
            (ValueType::Float64, Val::Float64(number)) => {
                self.float(number.is_finite(), &format!("{number:?}"))
            }
            (ValueType::Char, Val::Char(c)) => self.string(c.encode_utf8(&mut [0; 4])),
            (ValueType::String, Val::String(text)) => self.string(text),
            (ValueType::Bytes, Val::List(values)) => self.bytes(values),
            (ValueType::List(ty), Val::List(values))
            | (ValueType::FixedLengthList(ty, _), Val::FixedLengthList(values)) => {
                self.array(values.iter().map(|value| (&**ty, value)))
            }
            (ValueType::Entries(ty), Val::List(values)) => self.entries(ty, values),
            (ValueType::Map(ty), Val::Map(values)) => self.map(ty, values),
            (ValueType::Record(fields), Val::Record(values)) if fields.len() == values.len() => {
                self.push("{")?;
                for (index, ((name, ty), (_, value))) in fields.iter().zip(values).enumerate() {
                    self.member(index, name)?;
                    self.write(ty, value)?;
                }
                self.push("}")
            }
            (ValueType::Tuple(types), Val::Tuple(values)) if types.len() == values.len() => {
                self.array(types.iter().zip(values))
            }
            (ValueType::Variant(cases), Val::Variant(tag, payload)) => {
                let at = self.names.position(cases, |(name, _)| name, tag).ok_or(WriteError::WrongType)?;
                self.case(tag, cases[at].1.as_ref(), payload.as_deref())
            }
            (ValueType::Result(result), Val::Result(value)) => match value {
                Ok(payload) => self.case("ok", result.ok.as_ref(), payload.as_deref()),
                Err(payload) => self.case("err", result.err.as_ref(), payload.as_deref()),
            },
            (ValueType::Enum(_), Val::Enum(name)) => self.string(name),
            (ValueType::Flags(_), Val::Flags(names)) => {
                self.push("[")?;
                for (index, name) in names.iter().enumerate() {
                    self.separator(index)?;
                    self.string(name)?;
                }
                self.push("]")
            }
            (ValueType::Option(_), Val::Option(None)) => self.push("null"),
            (ValueType::Option(ty), Val::Option(Some(value))) => self.write(ty, value),
            _ => Err(WriteError::WrongType),
        }
    }

    /// An integer that not every JSON reader represents exactly is a string.
    fn integer(&mut self, value: &Val) -> Result<(), WriteError> {
        match value {
            Val::S8(number) => self.push(&number.to_string()),
            Val::U8(number) => self.push(&number.to_string()),
            Val::S16(number) => self.push(&number.to_string()),
            Val::U16(number) => self.push(&number.to_string()),
            Val::S32(number) => self.push(&number.to_string()),
            Val::U32(number) => self.push(&number.to_string()),
            Val::S64(number) if number.unsigned_abs() <= MAX_SAFE_INTEGER => self.push(&number.to_string()),
            Val::U64(number) if *number <= MAX_SAFE_INTEGER => self.push(&number.to_string()),
            Val::S64(number) => self.string(&number.to_string()),
            Val::U64(number) => self.string(&number.to_string()),
            _ => Err(WriteError::WrongType),
        }
    }

    /// A number in the shortest form that has the same value. JSON has no infinite numbers.
    fn float(&mut self, is_finite: bool, shortest: &str) -> Result<(), WriteError> {
        self.push(if is_finite { shortest } else { "null" })
    }

    fn bytes(&mut self, values: &[Val]) -> Result<(), WriteError> {
        let byte = |value: &Val| match value {
            Val::U8(byte) => Ok(*byte),
            _ => Err(WriteError::WrongType),
        };
        let bytes: Vec<u8> = values.iter().map(byte).collect::<Result<_, _>>()?;
        self.push("\"")?;
        STANDARD.encode_string(bytes, &mut self.text);
        self.push("\"")
    }

    fn array<'a>(
        &mut self,
        values: impl Iterator<Item = (&'t ValueType, &'a Val)>,
    ) -> Result<(), WriteError> {
        self.push("[")?;
        for (index, (ty, value)) in values.enumerate() {
            self.separator(index)?;
            self.write(ty, value)?;
        }
        self.push("]")
    }

    /// An object, or an array of pairs if a key occurs twice.
    fn entries(&mut self, ty: &'t ValueType, values: &[Val]) -> Result<(), WriteError> {
        let pairs: Vec<(&str, &Val)> = values.iter().map(entry).collect::<Result<_, _>>()?;
        let mut seen = HashSet::with_capacity(pairs.len());
        let is_map = pairs.iter().all(|(key, _)| seen.insert(*key));
        self.push(if is_map { "{" } else { "[" })?;
        for (index, (key, value)) in pairs.into_iter().enumerate() {
            if is_map {
                self.member(index, key)?;
                self.write(ty, value)?;
            } else {
                self.separator(index)?;
                self.push("[")?;
                self.string(key)?;
                self.push(",")?;
                self.write(ty, value)?;
                self.push("]")?;
            }
        }
        self.push(if is_map { "}" } else { "]" })
    }

    /// An object. The last value of a key counts.
    fn map(&mut self, ty: &'t ValueType, values: &[(Val, Val)]) -> Result<(), WriteError> {
        let mut last = BTreeMap::new();
        for (key, value) in values {
            let Val::String(key) = key else { return Err(WriteError::WrongType) };
            last.insert(&**key, value);
        }
        self.push("{")?;
        for (index, (key, value)) in last.into_iter().enumerate() {
            self.member(index, key)?;
            self.write(ty, value)?;
        }
        self.push("}")
    }

    fn case(
        &mut self,
        tag: &str,
        ty: Option<&'t ValueType>,
        payload: Option<&Val>,
    ) -> Result<(), WriteError> {
        self.push("{\"tag\":")?;
        self.string(tag)?;
        match (ty, payload) {
            (Some(ty), Some(value)) => {
                self.push(",\"val\":")?;
                self.write(ty, value)?;
            }
            (None, None) => {}
            (Some(_), None) | (None, Some(_)) => return Err(WriteError::WrongType),
        }
        self.push("}")
    }

    fn member(&mut self, index: usize, name: &str) -> Result<(), WriteError> {
        self.separator(index)?;
        self.string(name)?;
        self.push(":")
    }

    fn separator(&mut self, index: usize) -> Result<(), WriteError> {
        if index == 0 { Ok(()) } else { self.push(",") }
    }
}
