//! Errors of the validator, in words that a person or a model can act on.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use crate::json::{pointer_step, type_of};
use crate::text::{MatchBudget, blanked_line};

/// The longest quotation from a value or a schema, in characters.
const MAX_QUOTED_CHARS: usize = 80;

/// The maximum number of members in one message.
const MAX_NAMED_MEMBERS: usize = 10;

/// The maximum number of members of a value, and of its schema, that are compared for suggestions.
const MAX_COMPARED_MEMBERS: usize = 100;

/// The maximum number of forms of a value that are examined at one place, and their maximum nesting depth.
const MAX_FORMS_PER_PLACE: usize = 4;

/// The maximum number of forms that are examined for one answer.
const MAX_FORMS_PER_ANSWER: usize = 32;

/// One error of a value.
pub(in crate::catalog) struct ValueError {
    /// The location of the invalid member, as a JSON pointer.
    pub(in crate::catalog) pointer: String,
    /// The message.
    pub(in crate::catalog) message: String,
    /// The kind.
    pub(in crate::catalog) kind: ValueErrorKind,
}

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::catalog) enum ValueErrorKind {
    /// A required member is missing.
    Missing,
    /// A member isn't allowed.
    Unknown,
    /// The type is wrong.
    Type,
    /// Any other error.
    Value,
}

/// Describes the errors of a value. Each answer uses one instance, to bound its work.
pub(super) struct ErrorDescriber<'s> {
    /// The whole schema.
    schema: &'s Value,
    /// The budget for suggestions.
    budget: MatchBudget,
    /// The remaining number of forms to examine.
    forms_left: usize,
}

impl<'s> ErrorDescriber<'s> {
    pub(super) fn new(schema: &'s Value) -> Self {
        Self { schema, budget: MatchBudget::default(), forms_left: MAX_FORMS_PER_ANSWER }
    }

    /// Describes one error.
    pub(super) fn describe(&mut self, error: &ValidationError<'_>) -> ValueError {
        self.describe_nested(error, 0)
    }

    fn describe_nested(&mut self, error: &ValidationError<'_>, level: usize) -> ValueError {
        let at = error.instance_path().to_string();
        let it = place_name(&at);
        let mut kind = ValueErrorKind::Value;
        let message = match error.kind() {
            ValidationErrorKind::Required { property } => {
                return self.describe_missing(&at, property.as_str().unwrap_or_default(), error);
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                return self.describe_unknown(&at, unexpected, error);
            }
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                return self.describe_unmatched_forms(at, context, level);
            }
            ValidationErrorKind::Type { kind: wanted } => {
                kind = ValueErrorKind::Type;
                let expected = match wanted {
                    TypeKind::Single(one) => one.to_string(),
                    TypeKind::Multiple(several) => {
                        several.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or ")
                    }
                };
                format!("{it} must be of type {expected}, not {}", type_of(error.instance().as_ref()))
            }
            ValidationErrorKind::Enum { options } => {
                let listed = quote_long(&join_options(options)).replace('`', "'");
                format!("{it} must be one of {listed}{}", self.suggest_option(options, error.instance()))
            }
            ValidationErrorKind::Constant { expected_value } => {
                format!("{it} must be {}", quote(&expected_value.to_string()))
            }
            // The keyword `pattern` is the only custom one; its message is the pattern.
            ValidationErrorKind::Pattern { pattern }
            | ValidationErrorKind::Custom { message: pattern, .. } => {
                format!("{it} must match the pattern `{}`", quote(pattern))
            }
            ValidationErrorKind::Format { format } => {
                format!("{it} must have the format `{}`", quote(format))
            }
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
            ValidationErrorKind::MinProperties { limit } => {
                format!("{it} must have at least {limit} members")
            }
            ValidationErrorKind::MaxProperties { limit } => format!("{it} must have at most {limit} members"),
            ValidationErrorKind::UniqueItems => format!("{it} must not have equal items"),
            ValidationErrorKind::FalseSchema => format!("{it} is not allowed"),
            ValidationErrorKind::OneOfMultipleValid { .. } => {
                format!("{it} matches several forms, but the schema allows only one")
            }
            // The enum belongs to another crate, which can add cases.
            _ => format!("{it}: {}", quote(&error.masked_with("the value").to_string())),
        };
        ValueError { pointer: at, message, kind }
    }

    /// A missing member, which can be present under another name that the schema allows.
    fn describe_missing(&mut self, at: &str, name: &str, error: &ValidationError<'_>) -> ValueError {
        let at = format!("{at}/{}", pointer_step(name));
        let mut message = format!("{} is missing", place_name(&at));
        let around = containing_schema(error, self.schema);
        let declared = &around["properties"];
        let given = error.instance().as_object().into_iter().flatten().map(|(given, _)| given.as_str());
        let strays = given.take(MAX_COMPARED_MEMBERS).filter(|given| declared.get(given).is_none());
        if around["additionalProperties"] != false
            && let Some(stray) = self.budget.nearest_name(name, strays)
        {
            message.push_str(&format!(" (did you mean `{}`?)", quote(stray)));
        }
        ValueError { pointer: at, message, kind: ValueErrorKind::Missing }
    }

    /// Members that aren't allowed, with suggestions.
    fn describe_unknown(&mut self, at: &str, names: &[String], error: &ValidationError<'_>) -> ValueError {
        let pointer = |name: &str| format!("{at}/{}", pointer_step(name));
        let around = containing_schema(error, self.schema);
        let declared = around["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let declared = declared.take(MAX_COMPARED_MEMBERS);
        let mut is_any_like_none = false;
        let mut said = Vec::new();
        for name in names.iter().take(MAX_NAMED_MEMBERS) {
            let it = format!("{} is unknown", place_name(&pointer(name)));
            said.push(match self.budget.nearest_name(name, declared.clone()) {
                Some(meant) => format!("{it} (did you mean `{}`?)", quote(meant)),
                None => {
                    is_any_like_none = true;
                    it
                }
            });
        }
        let mut message = said.join("; ");
        let known: Vec<_> =
            declared.take(MAX_NAMED_MEMBERS).map(|name| format!("`{}`", quote(name))).collect();
        if is_any_like_none && !known.is_empty() {
            message.push_str(&format!("; known members are {}", known.join(", ")));
        }
        let at = names.first().map_or_else(|| at.to_owned(), |name| pointer(name));
        ValueError { pointer: at, message, kind: ValueErrorKind::Unknown }
    }

    /// A value that matches none of several forms. If only one form isn't `null`, the message is that form's error,
    /// otherwise those of all.
    fn describe_unmatched_forms(
        &mut self,
        at: String,
        context: &[Vec<ValidationError<'_>>],
        level: usize,
    ) -> ValueError {
        let is_null = |error: &ValidationError<'_>| {
            matches!(error.kind(), ValidationErrorKind::Type { kind: TypeKind::Single(JsonType::Null) })
        };
        let mut message = format!("{} matches none of the forms that the schema allows", place_name(&at));
        let forms: Vec<_> = context.iter().filter_map(|errors| errors.first()).collect();
        if let Some(message) =
            self.describe_choice(&at, forms.iter().copied().filter(|error| !is_null(error)))
        {
            return ValueError { pointer: at, message, kind: ValueErrorKind::Value };
        }
        let left = self.forms_left.checked_sub(forms.len());
        let Some(left) = left.filter(|_| level < MAX_FORMS_PER_PLACE && forms.len() <= MAX_FORMS_PER_PLACE)
        else {
            return ValueError { pointer: at, message, kind: ValueErrorKind::Value };
        };
        self.forms_left = left;
        let wanted = forms.into_iter().filter(|error| !is_null(error));
        let mut wanted: Vec<ValueError> =
            wanted.map(|error| self.describe_nested(error, level + 1)).collect();
        if wanted.len() == 1 {
            return wanted.remove(0);
        }
        let mut reasons: Vec<String> = Vec::new();
        for flaw in wanted {
            if !reasons.contains(&flaw.message) {
                reasons.push(flaw.message);
            }
        }
        if !reasons.is_empty() {
            message.push_str(&format!(" ({})", quote_long(&reasons.join(", or "))));
        }
        ValueError { pointer: at, message, kind: ValueErrorKind::Value }
    }

    /// The same if each form is one value, as in a choice whose options have titles. `None` if it isn't such a choice.
    fn describe_choice<'e>(
        &mut self,
        at: &str,
        forms: impl Iterator<Item = &'e ValidationError<'e>>,
    ) -> Option<String> {
        let mut given = None;
        let options: Option<Vec<Value>> = forms
            .map(|error| match error.kind() {
                ValidationErrorKind::Constant { expected_value } => {
                    given = Some(error.instance());
                    Some(Value::clone(expected_value))
                }
                _ => None,
            })
            .collect();
        let options = Value::from(options?);
        let given = given?;
        let meant = self.suggest_option(&options, given);
        Some(format!("{} must be one of {}{meant}", place_name(at), quote_long(&join_options(&options))))
    }

    /// A suggestion for an option.
    fn suggest_option(&mut self, options: &Value, given: &Value) -> String {
        let texts = options.as_array().into_iter().flatten().filter_map(Value::as_str);
        let meant = given
            .as_str()
            .and_then(|given| self.budget.nearest_name(given, texts.take(MAX_COMPARED_MEMBERS)));
        meant.map(|meant| format!(" (did you mean \"{}\"?)", quote(meant))).unwrap_or_default()
    }
}

/// The schema that contains the keyword.
fn containing_schema<'s>(error: &ValidationError<'_>, schema: &'s Value) -> &'s Value {
    let keyword = error.schema_path().to_string();
    let (around, _) = keyword.rsplit_once('/').unwrap_or_default();
    schema.pointer(around).unwrap_or(&Value::Null)
}

/// Describes an error of a schema.
pub(super) fn describe_schema_error(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Format { format } if format == "regex" => {
            format!("invalid regular expression {}", quote(&error.instance().to_string()))
        }
        ValidationErrorKind::Referencing(error) => quote(&error.to_string()),
        _ => quote(&error.to_string()),
    }
}

/// A location in words: a top-level member by its name, a deeper one by its pointer.
fn place_name(pointer: &str) -> String {
    match pointer.strip_prefix('/') {
        None => "the value".to_owned(),
        Some(name) if !name.contains('/') => {
            format!("`{}`", quote(&name.replace("~1", "/").replace("~0", "~")))
        }
        Some(_) => format!("`{}`", quote(pointer)),
    }
}

fn join_options(options: &Value) -> String {
    match options {
        Value::Array(list) => list.iter().map(Value::to_string).collect::<Vec<_>>().join(", "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            options.to_string()
        }
    }
}

/// A short quotation from a value or a schema, for use between backticks.
pub(super) fn quote(text: &str) -> String {
    blanked_line(text, MAX_QUOTED_CHARS).replace('`', "'")
}

/// A longer quotation, such as a sentence of the validator. It can quote the schema, whose names can be as long as the
/// schema itself.
pub(super) fn quote_long(text: &str) -> String {
    blanked_line(text, 4 * MAX_QUOTED_CHARS)
}

#[cfg(test)]
mod tests;
