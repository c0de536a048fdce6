//! JSON Schemas of Rust types, in a form that every client can read.
//!
//! Draft 2020-12, with subschemas inlined (some clients don't follow `$ref`; only recursive types keep theirs),
//! without the name of the Rust type, and without the formats that only schemars knows (`uint32`, `double`).

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// The schema of a tool without arguments.
pub(crate) const NO_ARGUMENTS: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;

/// Formats that JSON Schema 2020-12 defines. Strict clients reject schemas with other formats.
const STANDARD_FORMATS: &[&str] = &[
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
];

/// The schema of a tool's arguments, or of a plugin's settings.
pub(crate) fn input<T: JsonSchema>() -> String {
    input_value::<T>().to_string()
}

/// Like [`input`], as a JSON value.
pub(crate) fn input_value<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12());
    // An enum of structs has its objects one level down, but MCP requires `"type": "object"` at the root.
    schema.ensure_object().entry("type").or_insert_with(|| "object".into());
    schema.to_value()
}

/// The schema of a tool's structured content.
pub(crate) fn output<T: JsonSchema>() -> String {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize()).to_value().to_string()
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let settings = settings
        .with(|settings| {
            settings.meta_schema = None;
            settings.inline_subschemas = true;
        })
        .with_transform(PortableSchema);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema
}

/// Removes keywords that only schemars knows.
#[derive(Debug, Clone)]
struct PortableSchema;

impl Transform for PortableSchema {
    fn transform(&mut self, schema: &mut Schema) {
        let foreign = schema
            .get("format")
            .and_then(Value::as_str)
            .is_some_and(|format| !STANDARD_FORMATS.contains(&format));
        if foreign {
            schema.remove("format");
        }
        transform_subschemas(self, schema);
    }
}

#[cfg(test)]
mod tests;
