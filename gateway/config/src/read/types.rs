//! Values of the wrong type.

use toml::de::DeValue;

use super::reader::{ConfigReader, TomlValue};
use crate::model::Diagnostic;
use crate::spec::keys::ValueKind;

/// Words for booleans in other formats.
const BOOLEAN_WORDS: [&str; 6] = ["yes", "no", "on", "off", "true", "false"];

impl ConfigReader<'_> {
    /// Reports that a value has the wrong type.
    pub(crate) fn report_wrong_type(&mut self, value: &TomlValue<'_>, kind: &ValueKind) {
        let found = match value.inner {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        let problem = Diagnostic::error(format!("`{}` must be {}, not {found}", value.path, kind.expected()));
        self.report(problem.with_span(value.span.clone()).with_hint(fix(value, kind)));
    }
}

/// The hint for a value of the wrong type.
fn fix(value: &TomlValue<'_>, kind: &ValueKind) -> String {
    let key = value.path.rsplit('.').next().unwrap_or(&value.path);
    let is_item = key.ends_with(']');
    match (kind, value.inner) {
        (ValueKind::Version, _) => "write `version = 1`".to_owned(),
        (ValueKind::Duration(_), DeValue::Integer(number)) => format!("add a unit: `{key} = \"{number}s\"`"),
        (ValueKind::Integer(_) | ValueKind::Boolean, DeValue::String(text)) if is_plain_value(text) => {
            format!("remove the quotes: `{key} = {}`", text.trim())
        }
        (ValueKind::Boolean, _) => "use `true` or `false`, without quotes".to_owned(),
        (ValueKind::Secret, _) => {
            "keep the secret out of this file: put it in an environment variable or a file, and name that here"
                .to_owned()
        }
        (ValueKind::Array(item), DeValue::Boolean(true)) => format!("list them: `{key} = [{}]`", item.example()),
        (ValueKind::Array(_), DeValue::Boolean(false)) => "remove the key, or write `[]`".to_owned(),
        (ValueKind::Array(_), _) => format!("use an array, such as `{key} = {}`", kind.example()),
        (ValueKind::Named(ValueKind::Table(_)), _) if !value.path.contains('[') => {
            format!("use a table for each, such as `[{}.name]`", value.path)
        }
        (ValueKind::Table(_), _) if !value.path.contains('[') => {
            format!("use a table `[{}]`, such as `{key} = {}`", value.path, kind.example())
        }
        (_, _) if is_item => format!("write it like `{}`", kind.example()),
        (_, _) => format!("write it like `{key} = {}`", kind.example()),
    }
}

/// Reports whether it is a number or a boolean in quotes.
fn is_plain_value(text: &str) -> bool {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number || matches!(text, "true" | "false")
}

/// Reports whether it is a boolean as other formats write it, or in quotes.
pub(crate) fn is_boolean_word(text: &str) -> bool {
    BOOLEAN_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}
