//! What a validator found, in words that a person or a model can act on.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use crate::json::pointer_step;

/// The longest text taken over from a value or a schema, in characters: a message is read, a value isn't.
const MAX_SHOWN: usize = 80;

/// One wrong member.
pub(in crate::catalog) struct Flaw {
    /// Where it stands, or should, as a JSON pointer.
    pub(in crate::catalog) at: String,
    /// What is wrong with it.
    pub(in crate::catalog) message: String,
    /// Of which kind that is.
    pub(in crate::catalog) kind: Flawed,
}

/// How a member can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::catalog) enum Flawed {
    /// It isn't there.
    Missing,
    /// It has members that it may not have.
    Unknown,
    /// It is of another type.
    Type,
    /// Anything else.
    Value,
}

/// Says what is wrong with a value.
pub(super) fn flaw(error: &ValidationError<'_>) -> Flaw {
    let at = error.instance_path().to_string();
    let it = named(&at);
    let mut kind = Flawed::Value;
    let message = match error.kind() {
        ValidationErrorKind::Required { property } => {
            let at = format!("{at}/{}", pointer_step(property.as_str().unwrap_or_default()));
            return Flaw { message: format!("{} is missing", named(&at)), at, kind: Flawed::Missing };
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            kind = Flawed::Unknown;
            let names: Vec<_> =
                unexpected.iter().take(MAX_SHOWN / 8).map(|name| format!("`{}`", cut(name))).collect();
            format!("{it} has unknown members: {}", names.join(", "))
        }
        ValidationErrorKind::Type { kind: wanted } => {
            kind = Flawed::Type;
            let expected = match wanted {
                TypeKind::Single(one) => one.to_string(),
                TypeKind::Multiple(several) => {
                    several.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or ")
                }
            };
            format!("{it} must be of type {expected}, not {}", type_of(error.instance()))
        }
        ValidationErrorKind::Enum { options } => format!("{it} must be one of {}", cut(&listed(options))),
        ValidationErrorKind::Constant { expected_value } => {
            format!("{it} must be {}", cut(&expected_value.to_string()))
        }
        ValidationErrorKind::Pattern { pattern } => format!("{it} must match the pattern `{}`", cut(pattern)),
        ValidationErrorKind::Format { format } => format!("{it} must have the format `{}`", cut(format)),
        ValidationErrorKind::Minimum { limit } => format!("{it} must be at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("{it} must be at most {limit}"),
        ValidationErrorKind::ExclusiveMinimum { limit } => format!("{it} must be more than {limit}"),
        ValidationErrorKind::ExclusiveMaximum { limit } => format!("{it} must be less than {limit}"),
        ValidationErrorKind::MultipleOf { multiple_of } => {
            format!("{it} must be a multiple of {multiple_of}")
        }
        ValidationErrorKind::MinLength { limit } => format!("{it} must have at least {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("{it} must have at most {limit} characters"),
        ValidationErrorKind::MinItems { limit } => format!("{it} must have at least {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("{it} must have at most {limit} items"),
        ValidationErrorKind::MinProperties { limit } => format!("{it} must have at least {limit} members"),
        ValidationErrorKind::MaxProperties { limit } => format!("{it} must have at most {limit} members"),
        ValidationErrorKind::UniqueItems => format!("{it} must not have equal items"),
        ValidationErrorKind::FalseSchema => format!("{it} must not be there"),
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            format!("{it} fits none of the forms that the schema allows")
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            format!("{it} fits several of the forms of which the schema allows one")
        }
        // The kinds belong to another crate, which will add some.
        _ => format!("{it}: {}", cut(&error.masked_with("the value").to_string())),
    };
    Flaw { at, message, kind }
}

/// Says what is wrong with a schema.
pub(super) fn schema(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Format { format } if format == "regex" => format!(
            "{} is no regular expression that the gateway runs: it may not look around, refer back or grow large",
            cut(&error.instance().to_string())
        ),
        ValidationErrorKind::Referencing(error) => cut(&error.to_string()),
        _ => cut(&error.to_string()),
    }
}

/// The place in words: a member of the top by its name, a deeper one by its pointer.
fn named(pointer: &str) -> String {
    match pointer.strip_prefix('/') {
        None => "the value".to_owned(),
        Some(name) if !name.contains('/') => {
            format!("`{}`", cut(&name.replace("~1", "/").replace("~0", "~")))
        }
        Some(_) => format!("`{}`", cut(pointer)),
    }
}

fn listed(options: &Value) -> String {
    match options {
        Value::Array(list) => list.iter().map(Value::to_string).collect::<Vec<_>>().join(", "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            options.to_string()
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// At most a line, and nothing in it that ends one.
pub(super) fn cut(text: &str) -> String {
    cut_at(text, MAX_SHOWN)
}

/// The same for a sentence, which may quote the schema: a name there can be as long as the schema itself.
pub(super) fn sentence(text: &str) -> String {
    cut_at(text, 4 * MAX_SHOWN)
}

fn cut_at(text: &str, most: usize) -> String {
    let mut out: String = text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(most).is_some() {
        out.push('…');
    }
    out
}
