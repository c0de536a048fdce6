//! One field of a form (2026-07-28, client/elicitation, "Requested schema").

use serde_json::{Map, Value, json};

use crate::text::{is_hidden, quotable};

use super::super::sanitise;

/// The maximum number of values of a choice.
const MAX_VALUES: usize = 512;

/// The longest name of a field, in bytes.
const MAX_NAME_BYTES: usize = 128;

/// String formats that MCP defines. Others are removed, because they only describe.
const STRING_FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// Members that only describe a schema to programs.
const IGNORED_KEYWORDS: [&str; 5] = ["$comment", "examples", "deprecated", "readOnly", "writeOnly"];

/// A field: its name, and its schema in the form of the latest revision.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: FieldKind,
    schema: Map<String, Value>,
}

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldKind {
    /// A string.
    Text,
    /// A number, integer or not.
    Number,
    /// A boolean.
    Boolean,
    /// One of several strings.
    Choice,
    /// One of several strings with titles.
    TitledChoice,
    /// Any number of several strings.
    MultipleChoice,
}

impl FieldKind {
    fn of(field: &Map<String, Value>) -> Result<Self, String> {
        match field.get("type").and_then(Value::as_str) {
            Some("string") if field.contains_key("oneOf") => Ok(Self::TitledChoice),
            Some("string") if field.contains_key("enum") => Ok(Self::Choice),
            Some("string") => Ok(Self::Text),
            Some("number" | "integer") => Ok(Self::Number),
            Some("boolean") => Ok(Self::Boolean),
            Some("array") => Ok(Self::MultipleChoice),
            Some(_) | None => {
                Err("its `type` must be `string`, `number`, `integer`, `boolean` or `array`".to_owned())
            }
        }
    }

    /// The members of a field of this type, in addition to `type`, `title`, `description` and `default`.
    fn members(self) -> &'static [&'static str] {
        match self {
            Self::Text => &["minLength", "maxLength", "format"],
            Self::Number => &["minimum", "maximum", "format"],
            Self::Boolean => &[],
            Self::Choice => &["enum", "enumNames"],
            Self::TitledChoice => &["oneOf"],
            Self::MultipleChoice => &["items", "minItems", "maxItems"],
        }
    }
}

impl Field {
    pub(super) fn read(name: &str, given: &Value) -> Result<Self, String> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains(is_hidden) {
            return Err(format!(
                "its name must have 1 to {MAX_NAME_BYTES} bytes and no invisible characters"
            ));
        }
        if sanitise::is_labelled(name) {
            return Err("its name imitates the label of the asking plugin".to_owned());
        }
        let given = given.as_object().ok_or("its schema must be an object")?;
        let kind = FieldKind::of(given)?;
        let mut schema = Map::new();
        for (key, value) in given {
            let key = key.as_str();
            if IGNORED_KEYWORDS.contains(&key) {
                continue;
            }
            if !kind.members().contains(&key) && !["type", "title", "description", "default"].contains(&key) {
                return Err(format!("`{}` is not supported in a form field", quotable(key)));
            }
            if let Some(value) = member(kind, key, value)? {
                schema.insert(key.to_owned(), value);
            }
        }
        let field = Self { name: name.to_owned(), kind, schema };
        field.check_names()?;
        Ok(field)
    }

    /// The schema in the form of the latest revision.
    pub(super) fn latest_schema(&self) -> Map<String, Value> {
        self.schema.clone()
    }

    /// The schema in the form of 2025-06-18: only booleans have a default, and titles of choices are next to their
    /// values.
    pub(super) fn schema_2025_06_18(&self) -> Map<String, Value> {
        let mut schema = self.schema.clone();
        if self.kind != FieldKind::Boolean {
            schema.shift_remove("default");
        }
        if let Some(choices) = schema.shift_remove("oneOf") {
            let each = |key: &str| -> Value {
                choices.as_array().into_iter().flatten().map(|choice| choice[key].clone()).collect()
            };
            schema.insert("enum".to_owned(), each("const"));
            schema.insert("enumNames".to_owned(), each("title"));
        }
        schema
    }

    /// Checks that each value has a name, if there are names.
    fn check_names(&self) -> Result<(), String> {
        let count = |key: &str| self.schema.get(key).and_then(Value::as_array).map(Vec::len);
        match (count("enum"), count("enumNames")) {
            (Some(values), Some(names)) if values != names => {
                Err(format!("it has {values} values and {names} names for them"))
            }
            _ => Ok(()),
        }
    }
}

/// A member of a field's schema, sanitised. `None` if it is removed.
fn member(kind: FieldKind, key: &str, value: &Value) -> Result<Option<Value>, String> {
    let wrong = |what: &str| Err(format!("`{key}` must be {what}"));
    match key {
        "type" => Ok(Some(value.clone())),
        "title" | "description" => match value {
            Value::String(text) => Ok(Some(sanitise::sanitised_label(text).into())),
            _ => wrong("a string"),
        },
        "minLength" | "maxLength" | "minItems" | "maxItems" => {
            if value.is_u64() {
                Ok(Some(value.clone()))
            } else {
                wrong("a non-negative integer")
            }
        }
        "minimum" | "maximum" => {
            if value.is_number() {
                Ok(Some(value.clone()))
            } else {
                wrong("a number")
            }
        }
        "format" => {
            let known = value.as_str().is_some_and(|format| STRING_FORMATS.contains(&format));
            Ok((kind == FieldKind::Text && known).then(|| value.clone()))
        }
        "enum" => check_values(value).map(Some).or_else(|()| wrong("a list of distinct strings")),
        "enumNames" => match as_strings(value) {
            Some(names) => Ok(Some(names.into_iter().map(sanitise::sanitised_label).collect())),
            None => wrong("a list of strings"),
        },
        "oneOf" => check_titled_choice(value).map(Some).or_else(|()| wrong("a list of `{ const, title }`")),
        "items" => {
            check_multiple_choice(value).map(Some).or_else(|()| wrong("`{ type, enum }` or `{ anyOf }`"))
        }
        "default" => {
            let fits = match kind {
                FieldKind::Text | FieldKind::Choice | FieldKind::TitledChoice => value.is_string(),
                FieldKind::Number => value.is_number(),
                FieldKind::Boolean => value.is_boolean(),
                FieldKind::MultipleChoice => as_strings(value).is_some(),
            };
            if fits { Ok(Some(shown_default(value))) } else { wrong("of the field's own type") }
        }
        _ => Ok(None),
    }
}

/// A default without anything misleading: the form shows it before the user fills it in.
fn shown_default(given: &Value) -> Value {
    match given {
        Value::String(text) => sanitise::without_labels(text).into(),
        Value::Array(values) => values.iter().map(shown_default).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => given.clone(),
    }
}

/// The values of a choice. They are shown unchanged, so they must not contain invisible characters or look like a label.
fn check_values(given: &Value) -> Result<Value, ()> {
    let texts = as_strings(given).ok_or(())?;
    let mut seen = std::collections::HashSet::new();
    let fine = !texts.is_empty()
        && texts.len() <= MAX_VALUES
        && texts
            .iter()
            .all(|text| !text.contains(is_hidden) && !sanitise::is_labelled(text) && seen.insert(*text));
    if fine { Ok(given.clone()) } else { Err(()) }
}

/// The values of a choice with their titles.
fn check_titled_choice(given: &Value) -> Result<Value, ()> {
    let choices = given.as_array().ok_or(())?;
    let mut constants = Vec::new();
    let mut written = Vec::new();
    for choice in choices {
        let (Some(constant), Some(title)) = (choice["const"].as_str(), choice["title"].as_str()) else {
            return Err(());
        };
        constants.push(Value::from(constant));
        written.push(json!({ "const": constant, "title": sanitise::sanitised_label(title) }));
    }
    check_values(&Value::Array(constants)).map(|_| Value::Array(written))
}

/// The options of a multiple choice.
fn check_multiple_choice(given: &Value) -> Result<Value, ()> {
    let given = given.as_object().ok_or(())?;
    match (given.get("enum"), given.get("anyOf")) {
        (Some(choices), None) if given.get("type").and_then(Value::as_str) == Some("string") => {
            Ok(json!({ "type": "string", "enum": check_values(choices)? }))
        }
        (None, Some(choices)) => Ok(json!({ "anyOf": check_titled_choice(choices)? })),
        _ => Err(()),
    }
}

fn as_strings(given: &Value) -> Option<Vec<&str>> {
    given.as_array()?.iter().map(Value::as_str).collect()
}
