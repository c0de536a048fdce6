//! JSON Schemas (2020-12) of arguments and results.

use std::fmt::{self, Write as _};

use moongate_model::json::push_string;

use super::ExportedFunction;
use super::value_type::{IntegerType, ResultType, ValueType};

/// The side that writes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueSource {
    /// A client, in the arguments. It can leave out options, and use several forms of some values.
    Client,
    /// The gateway, in a result.
    Gateway,
}

/// Text that ends when it is too long.
struct SchemaText {
    text: String,
    max_bytes: usize,
}

impl fmt::Write for SchemaText {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        self.text.push_str(piece);
        if self.text.len() > self.max_bytes { Err(fmt::Error) } else { Ok(()) }
    }
}

/// The schemas of a function's arguments and of its structured result. It has none for a result that is only text. A
/// schema above the maximum isn't complete, and is longer than the maximum.
pub(crate) fn tool_schemas(function: &ExportedFunction, max_bytes: usize) -> (String, Option<String>) {
    let mut input = SchemaText { text: String::new(), max_bytes };
    let params: Vec<_> = function.params.iter().map(|(name, ty)| (&**name, ty)).collect();
    let _ = write_object(&mut input, &params, ValueSource::Client);
    let output = structured_type(function.result.as_ref());
    (input.text, output.map(|ty| schema_text(ty, ValueSource::Gateway, max_bytes)))
}

/// The schema of a type.
pub(super) fn schema_text(ty: &ValueType, source: ValueSource, max_bytes: usize) -> String {
    let mut out = SchemaText { text: String::new(), max_bytes };
    let _ = write_schema(&mut out, ty, source);
    out.text
}

/// The type of the structured result of a function that succeeds. `None` if its result is text.
pub(super) fn structured_type(result: Option<&ValueType>) -> Option<&ValueType> {
    match result? {
        ValueType::Result(result) => result.ok.as_ref().filter(|ok| **ok != ValueType::String),
        ValueType::String => None,
        ty => Some(ty),
    }
}

fn write_schema(out: &mut SchemaText, ty: &ValueType, source: ValueSource) -> fmt::Result {
    match ty {
        ValueType::Bool => out.write_str(r#"{"type":"boolean"}"#),
        ValueType::Integer(integer) => write_integer(out, *integer),
        ValueType::Float32 | ValueType::Float64 => match source {
            ValueSource::Client => out.write_str(r#"{"type":"number"}"#),
            // JSON has no infinite numbers.
            ValueSource::Gateway => out.write_str(r#"{"anyOf":[{"type":"number"},{"type":"null"}]}"#),
        },
        ValueType::Char => out.write_str(r#"{"type":"string","minLength":1,"maxLength":1}"#),
        ValueType::String => out.write_str(r#"{"type":"string"}"#),
        ValueType::Bytes => {
            const BASE64: &str = r#"{"type":"string","contentEncoding":"base64"}"#;
            match source {
                ValueSource::Gateway => out.write_str(BASE64),
                ValueSource::Client => write!(
                    out,
                    r#"{{"anyOf":[{BASE64},{{"type":"array","items":{{"type":"integer","minimum":0,"maximum":255}}}}]}}"#
                ),
            }
        }
        ValueType::List(element) => {
            out.write_str(r#"{"type":"array","items":"#)?;
            write_schema(out, element, source)?;
            out.write_str("}")
        }
        ValueType::FixedLengthList(element, length) => {
            out.write_str(r#"{"type":"array","items":"#)?;
            write_schema(out, element, source)?;
            write!(out, r#","minItems":{length},"maxItems":{length}}}"#)
        }
        ValueType::Entries(value) => {
            out.write_str(r#"{"anyOf":["#)?;
            write_map(out, value, source)?;
            out.write_str(r#",{"type":"array","items":"#)?;
            write_tuple(out, &[&ValueType::String, value], source)?;
            out.write_str("}]}")
        }
        ValueType::Map(value) => write_map(out, value, source),
        ValueType::Record(fields) => {
            let fields: Vec<_> = fields.iter().map(|(name, ty)| (&**name, ty)).collect();
            write_object(out, &fields, source)
        }
        ValueType::Tuple(parts) => write_tuple(out, &parts.iter().collect::<Vec<_>>(), source),
        ValueType::Variant(cases) => {
            write_cases(out, cases.iter().map(|(tag, ty)| (&**tag, ty.as_ref())), source)
        }
        ValueType::Result(result) => {
            let ResultType { ok, err } = &**result;
            write_cases(out, [("ok", ok.as_ref()), ("err", err.as_ref())].into_iter(), source)
        }
        ValueType::Enum(names) => {
            out.write_str(r#"{"type":"string","enum":"#)?;
            write_names(out, names)?;
            out.write_str("}")
        }
        ValueType::Flags(names) => {
            out.write_str(r#"{"type":"array","items":{"type":"string","enum":"#)?;
            write_names(out, names)?;
            out.write_str(r#"},"uniqueItems":true}"#)
        }
        ValueType::Option(inner) if is_nullable(inner, source) => write_schema(out, inner, source),
        ValueType::Option(inner) => {
            out.write_str(r#"{"anyOf":["#)?;
            write_schema(out, inner, source)?;
            out.write_str(r#",{"type":"null"}]}"#)
        }
    }
}

/// True if the type's own schema allows `null`.
fn is_nullable(ty: &ValueType, source: ValueSource) -> bool {
    match ty {
        ValueType::Option(_) => true,
        ValueType::Float32 | ValueType::Float64 => source == ValueSource::Gateway,
        _ => false,
    }
}

fn write_integer(out: &mut SchemaText, integer: IntegerType) -> fmt::Result {
    let (min, max) = integer.range();
    let number = format!(r#"{{"type":"integer","minimum":{min},"maximum":{max}}}"#);
    if !integer.is_64_bit() {
        return out.write_str(&number);
    }
    write!(out, r#"{{"anyOf":[{number},{{"type":"string","maxLength":20}}]}}"#)
}

fn write_map(out: &mut SchemaText, value: &ValueType, source: ValueSource) -> fmt::Result {
    out.write_str(r#"{"type":"object","additionalProperties":"#)?;
    write_schema(out, value, source)?;
    out.write_str("}")
}

/// An object with these members. Clients can leave out options.
fn write_object(out: &mut SchemaText, members: &[(&str, &ValueType)], source: ValueSource) -> fmt::Result {
    out.write_str(r#"{"type":"object","properties":{"#)?;
    for (index, (name, ty)) in members.iter().enumerate() {
        write_separator(out, index)?;
        write_string(out, name)?;
        out.write_str(":")?;
        write_schema(out, ty, source)?;
    }
    out.write_str("}")?;
    let is_required = |ty: &ValueType| source == ValueSource::Gateway || !ty.is_option();
    let required: Vec<_> = members.iter().filter(|(_, ty)| is_required(ty)).map(|(name, _)| *name).collect();
    if !required.is_empty() {
        out.write_str(r#","required":"#)?;
        write_names(out, &required)?;
    }
    out.write_str(r#","additionalProperties":false}"#)
}

fn write_tuple(out: &mut SchemaText, parts: &[&ValueType], source: ValueSource) -> fmt::Result {
    out.write_str(r#"{"type":"array","prefixItems":["#)?;
    for (index, ty) in parts.iter().enumerate() {
        write_separator(out, index)?;
        write_schema(out, ty, source)?;
    }
    let length = parts.len();
    write!(out, r#"],"items":false,"minItems":{length},"maxItems":{length}}}"#)
}

/// An object with one of these tags, and with the payload that belongs to it.
fn write_cases<'a>(
    out: &mut SchemaText,
    cases: impl Iterator<Item = (&'a str, Option<&'a ValueType>)>,
    source: ValueSource,
) -> fmt::Result {
    out.write_str(r#"{"type":"object","oneOf":["#)?;
    for (index, (tag, payload)) in cases.enumerate() {
        write_separator(out, index)?;
        out.write_str(r#"{"type":"object","properties":{"tag":{"const":"#)?;
        write_string(out, tag)?;
        out.write_str("}")?;
        if let Some(payload) = payload {
            out.write_str(r#","val":"#)?;
            write_schema(out, payload, source)?;
        }
        let is_required = |payload: &&ValueType| source == ValueSource::Gateway || !payload.is_option();
        let required = if payload.filter(is_required).is_some() { r#"["tag","val"]"# } else { r#"["tag"]"# };
        write!(out, r#"}},"required":{required},"additionalProperties":false}}"#)?;
    }
    out.write_str("]}")
}

fn write_names(out: &mut SchemaText, names: &[impl AsRef<str>]) -> fmt::Result {
    out.write_str("[")?;
    for (index, name) in names.iter().enumerate() {
        write_separator(out, index)?;
        write_string(out, name.as_ref())?;
    }
    out.write_str("]")
}

fn write_separator(out: &mut SchemaText, index: usize) -> fmt::Result {
    if index == 0 { Ok(()) } else { out.write_str(",") }
}

fn write_string(out: &mut SchemaText, text: &str) -> fmt::Result {
    push_string(&mut out.text, text);
    out.write_str("")
}
