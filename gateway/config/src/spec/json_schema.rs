//! The JSON Schema of `gateway.toml` for editors, generated from the key table.
//!
//! It contains names, types, ranges and defaults. Rules that depend on the disk or on other keys are checked by the
//! reader alone.

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;

use crate::spec::keys::{Key, MIN_SIZE_WITHOUT_UNIT, NumberRange, ROOT, ValueKind};

/// The members of a schema, in order.
struct Schema(Vec<(&'static str, SchemaMember)>);

enum SchemaMember {
    Value(Value),
    Schema(Schema),
    Schemas(Vec<(&'static str, Schema)>),
    AnyOf(Vec<Schema>),
}

/// The content of `schema/gateway.schema.json`.
#[must_use]
pub fn render() -> String {
    let Schema(members) = table(ROOT);
    let mut all = vec![
        ("$schema", text("http://json-schema.org/draft-07/schema#")),
        ("title", text("gateway.toml")),
        ("description", text("The configuration of Moongate, a gateway for sandboxed MCP plugins.")),
    ];
    all.extend(members);
    let mut out = serde_json::to_string_pretty(&Schema(all)).expect("a schema is always JSON");
    out.push('\n');
    out
}

fn text(text: &str) -> SchemaMember {
    SchemaMember::Value(text.into())
}

fn of_type(name: &'static str) -> Schema {
    Schema(vec![("type", text(name))])
}

/// A string with a variable, whose value a pattern can't check.
const VARIABLE_PATTERN: &str = r"\$\{";

/// A name.
const NAME_PATTERN: &str = "^[A-Za-z0-9_-]+$";

fn kind(kind: &ValueKind) -> Schema {
    match kind {
        ValueKind::Version => Schema(vec![("const", SchemaMember::Value(1.into()))]),
        ValueKind::Integer(range) => number(*range),
        ValueKind::Duration(_) => pattern(r"^\s*(0|([0-9]+(\.[0-9]+)?\s*[A-Za-zµ]+\s*)+)$"),
        ValueKind::Size(range) => {
            let units =
                pattern(r"^\s*[0-9]+(\.[0-9]+)?\s*([KMGTPEkmgtpe]?[Bb]?|[KMGTPEkmgtpe][Ii][Bb]?)\s*$");
            let bytes = Schema(vec![
                ("type", text("integer")),
                ("minimum", SchemaMember::Value(MIN_SIZE_WITHOUT_UNIT.max(range.min).into())),
                ("maximum", SchemaMember::Value(range.max.into())),
            ]);
            let mut all = vec![units, bytes];
            if range.min == 0 {
                all.push(Schema(vec![("const", SchemaMember::Value(0.into()))]));
            }
            Schema(vec![("anyOf", SchemaMember::AnyOf(all))])
        }
        ValueKind::Boolean => of_type("boolean"),
        ValueKind::NameOrBoolean(_) => {
            let name = pattern(NAME_PATTERN);
            Schema(vec![("anyOf", SchemaMember::AnyOf(vec![of_type("boolean"), name]))])
        }
        ValueKind::String(_) | ValueKind::Path(_) => of_type("string"),
        ValueKind::StringOrTable(_, keys) => {
            Schema(vec![("anyOf", SchemaMember::AnyOf(vec![of_type("string"), table(keys)]))])
        }
        ValueKind::OneOf(words) => {
            let words = Schema(vec![("enum", SchemaMember::Value(words.iter().copied().collect()))]);
            let variable = Schema(vec![("type", text("string")), ("pattern", text(VARIABLE_PATTERN))]);
            Schema(vec![("anyOf", SchemaMember::AnyOf(vec![words, variable]))])
        }
        ValueKind::Secret => {
            let Schema(mut members) = table(super::keys::SECRET);
            members.push(("minProperties", SchemaMember::Value(1.into())));
            members.push(("maxProperties", SchemaMember::Value(1.into())));
            Schema(members)
        }
        ValueKind::Array(item) => {
            Schema(vec![("type", text("array")), ("items", SchemaMember::Schema(self::kind(item)))])
        }
        ValueKind::Table(keys) => table(keys),
        ValueKind::Named(value) => {
            let mut members = vec![("type", text("object"))];
            // The plugin's own names of its items can contain other characters.
            let has_own_names = match value {
                ValueKind::String(_) => true,
                ValueKind::Table(keys) => super::keys::is_tool_rate(keys),
                _ => false,
            };
            if !has_own_names {
                let pattern = Schema(vec![("pattern", text(NAME_PATTERN))]);
                members.push(("propertyNames", SchemaMember::Schema(pattern)));
            }
            members.push(("additionalProperties", SchemaMember::Schema(self::kind(value))));
            Schema(members)
        }
        ValueKind::Settings => of_type("object"),
    }
}

fn number(range: NumberRange) -> Schema {
    Schema(vec![
        ("type", text("integer")),
        ("minimum", SchemaMember::Value(range.min.into())),
        ("maximum", SchemaMember::Value(range.max.into())),
    ])
}

fn pattern(pattern: &str) -> Schema {
    Schema(vec![("type", text("string")), ("pattern", text(&format!("{pattern}|{VARIABLE_PATTERN}")))])
}

fn table(keys: &'static [Key]) -> Schema {
    let properties = keys.iter().map(|key| (key.name, property(key))).collect();
    let mut members = vec![("type", text("object")), ("properties", SchemaMember::Schemas(properties))];
    let required: Value = keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    if required != Value::Array(Vec::new()) {
        members.push(("required", SchemaMember::Value(required)));
    }
    members.push(("additionalProperties", SchemaMember::Value(false.into())));
    Schema(members)
}

fn property(key: &Key) -> Schema {
    let mut members = vec![("description", text(key.doc))];
    if let Some(default) = key.default {
        // Numbers, strings without escapes and empty arrays are the same in TOML and JSON.
        members.push((
            "default",
            SchemaMember::Value(serde_json::from_str(default).expect("defaults are also JSON")),
        ));
    }
    members.extend(kind(&key.kind).0);
    Schema(members)
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, member) in &self.0 {
            match member {
                SchemaMember::Value(value) => map.serialize_entry(name, value)?,
                SchemaMember::Schema(schema) => map.serialize_entry(name, schema)?,
                SchemaMember::AnyOf(schemas) => map.serialize_entry(name, schemas)?,
                SchemaMember::Schemas(schemas) => map.serialize_entry(name, &NamedSchemas(schemas))?,
            }
        }
        map.end()
    }
}

/// Schemas under names that aren't keywords of JSON Schema.
struct NamedSchemas<'a>(&'a [(&'static str, Schema)]);

impl Serialize for NamedSchemas<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, schema)| (name, schema)))
    }
}

#[cfg(test)]
mod tests;
