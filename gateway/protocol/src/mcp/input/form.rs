//! Forms: questions to the user that are answered field by field (2026-07-28, client/elicitation, "Requested schema").
//!
//! A form's schema is flat: each field is a string, a number, a boolean or a choice. Keywords that only describe the
//! schema are removed; those that a form can't show are rejected. 2025-06-18 has fewer kinds: titled choices have
//! another form, and multiple choice isn't possible.

use bytesize::ByteSize;
use serde_json::{Map, Value, json};

use crate::catalog::Schema;
use crate::json::Json;
use crate::policy::SchemaBounds;
use crate::text::quotable;

use super::super::revision::{Feature, Revision};

mod field;

use field::{Field, FieldKind};

/// The maximum number of fields in a form: more than a user fills in.
const MAX_FIELDS: usize = 64;

/// The limits of a form's schema.
const MAX_SCHEMA: SchemaBounds = SchemaBounds { max_size: ByteSize::kib(64), max_depth: 64 };

/// Members of `requestedSchema` itself: the first three define the form. The others describe the schema to programs, or
/// allow more than the form asks for.
const ROOT_MEMBERS: [&str; 10] = [
    "type",
    "properties",
    "required",
    "$schema",
    "$id",
    "$defs",
    "$comment",
    "title",
    "description",
    "additionalProperties",
];

/// A form.
#[derive(Debug)]
pub(super) struct Form {
    fields: Vec<Field>,
    required: Vec<Value>,
    schema: Schema,
}

impl Form {
    /// Reads a `requestedSchema`.
    pub(super) fn read(given: &Value) -> Result<Self, String> {
        let root = given.as_object().ok_or("`requestedSchema` must be an object")?;
        if root.get("type").and_then(Value::as_str) != Some("object") {
            return Err("`requestedSchema.type` must be `object`".to_owned());
        }
        if let Some(key) = root.keys().find(|key| !ROOT_MEMBERS.contains(&key.as_str())) {
            return Err(format!("`{}` in `requestedSchema` is not supported in a form", quotable(key)));
        }
        let properties = root.get("properties").and_then(Value::as_object);
        let properties = properties.ok_or("`requestedSchema.properties` must be an object")?;
        if properties.len() > MAX_FIELDS {
            let count = properties.len();
            return Err(format!("the form has {count} fields; at most {MAX_FIELDS} are allowed"));
        }
        let fields = properties.iter().map(|(name, field)| {
            Field::read(name, field).map_err(|why| format!("invalid field `{}`: {why}", quotable(name)))
        });
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let required = required(root.get("required"), properties)?;
        let schema = Json::from_value(&form_schema(&fields, &required, Field::latest_schema));
        let schema = Schema::compile(&schema, MAX_SCHEMA)
            .map_err(|error| format!("invalid `requestedSchema`: {error}"))?;
        Ok(Self { fields, required, schema })
    }

    /// The `requestedSchema` in the form of `revision`. The error names the missing feature.
    pub(super) fn schema(&self, revision: Revision) -> Result<Value, &'static str> {
        if revision.has(Feature::RichForms) {
            return Ok(form_schema(&self.fields, &self.required, Field::latest_schema));
        }
        if self.fields.iter().any(|field| field.kind == FieldKind::MultipleChoice) {
            return Err("choosing several values in a form");
        }
        Ok(form_schema(&self.fields, &self.required, Field::schema_2025_06_18))
    }

    /// Checks the user's input and removes unknown fields. A field with `null` was left empty; without content all of
    /// them were.
    pub(super) fn check(&self, content: Option<&Value>) -> Result<Value, String> {
        let mut kept = match content {
            None => Map::new(),
            Some(content) => content.as_object().ok_or("`content` must be an object")?.clone(),
        };
        kept.retain(|name, value| !value.is_null() && self.fields.iter().any(|field| field.name == *name));
        let kept = Value::Object(kept);
        self.schema.check(&kept).map_err(|misfit| misfit.to_string())?;
        Ok(kept)
    }
}

fn form_schema(fields: &[Field], required: &[Value], write: fn(&Field) -> Map<String, Value>) -> Value {
    let properties: Map<_, _> =
        fields.iter().map(|field| (field.name.clone(), Value::Object(write(field)))).collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = Value::Array(required.to_vec());
    }
    schema
}

fn required(given: Option<&Value>, properties: &Map<String, Value>) -> Result<Vec<Value>, String> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let names = given.as_array().ok_or("`requestedSchema.required` must be a list")?;
    for name in names {
        match name.as_str() {
            Some(name) if properties.contains_key(name) => {}
            _ => return Err("`requestedSchema.required` must name fields of the form".to_owned()),
        }
    }
    Ok(names.clone())
}
