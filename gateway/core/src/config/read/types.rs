//! Values of the wrong type, and what to write instead.

use toml::de::DeValue;

use crate::config::read::interpolate::is_variable_name;
use crate::config::spec::keys::{Key, Kind};
use crate::config::model::literal::literal;
use crate::config::model::diagnostic::Problem;
use crate::config::report::secrecy::is_variable;
use crate::config::read::habits::own_shape;
use crate::config::read::moved::{is_token, token};
use crate::config::read::reader::{Reading, Value};

impl Reading<'_> {
    /// Notes that a value has the wrong type.
    pub(in crate::config) fn wrong_type(&mut self, value: &Value<'_>, kind: &Kind) {
        let found = match value.inner {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a fraction",
            DeValue::Boolean(_) => "`true` or `false`",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        let problem = Problem::error(format!("`{}` must be {}, not {found}", value.path, kind.expected()));
        let hint = if matches!(kind, Kind::Secret) { self.plain_secret(value) } else { None };
        if matches!(kind, Kind::Named(Kind::Table(_))) && value.path.ends_with(".headers") {
            self.plain_secrets.push(value.place.clone()); // whatever it is, secrets are sent in headers
        }
        if matches!((kind, value.inner), (Kind::Settings, DeValue::String(_))) {
            self.plain_secrets.push(value.place.clone()); // settings are often secrets
        }
        if value.path.starts_with("http.auth") {
            self.hide_tokens(value);
        }
        let hint = hint.or_else(|| own_shape(value, kind)).unwrap_or_else(|| cure(value, kind));
        self.note(problem.at(value.place.clone()).hint(hint));
    }

    /// Hides what was meant for tokens.
    fn hide_tokens(&mut self, value: &Value<'_>) {
        match value.inner {
            DeValue::Array(items) => items.iter().for_each(|item| self.hide_texts(item)),
            DeValue::Table(table) => table.values().for_each(|value| self.hide_texts(value)),
            DeValue::String(text) if is_variable(text) => {}
            DeValue::Boolean(_) => {}
            DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) | DeValue::Datetime(_) => {
                self.plain_secrets.push(value.place.clone());
            }
        }
    }

    /// Hides what stands where a secret should be named, and says what to do about it; none: it is no secret.
    fn plain_secret(&mut self, value: &Value<'_>) -> Option<String> {
        match value.inner {
            DeValue::String(text) => {
                let variable = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
                if let Some(name) = variable.filter(|name| is_variable_name(name)) {
                    return Some(format!("write `{{ env = \"{name}\" }}`"));
                }
            }
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Array(_) => {}
            DeValue::Boolean(_) | DeValue::Table(_) => return None,
        }
        self.plain_secrets.push(value.place.clone());
        Some(
            "keep it out of this file: put it into a variable or a file of its own, and name that".to_owned(),
        )
    }
}

/// What to write instead.
fn cure(value: &Value<'_>, kind: &Kind) -> String {
    let such = || format!("write one such as `{}`", kind.example());
    match kind {
        Kind::Version => "write `version = 1`".to_owned(),
        Kind::Duration(_) => match value.inner {
            DeValue::Integer(number) => format!("say the unit: \"{number}s\" are {number} seconds"),
            _ => such(),
        },
        Kind::Integer(_) => match value.inner {
            DeValue::String(text) if is_number(text) => format!("leave the quotes away: `{}`", text.trim()),
            _ => such(),
        },
        Kind::Boolean => "write `true` or `false`, without quotes".to_owned(),
        Kind::NameOrBoolean(_) => "write `true`, or a name in quotes".to_owned(),
        Kind::Word(words) => match value.inner {
            DeValue::Boolean(_) => {
                format!(
                    "say which: {}",
                    words.iter().map(|word| format!("`{}`", literal(word))).collect::<Vec<_>>().join(" or ")
                )
            }
            _ => such(),
        },
        Kind::List(item) => list(value, item).unwrap_or_else(such),
        Kind::Table(keys) if value.path.ends_with(']') => match value.inner {
            value if keys.iter().any(|key| key.name == "token") && is_token(value) => {
                format!("write `{}`", token(value))
            }
            _ => such(),
        },
        Kind::Table(keys) => {
            if let Some(text) = value.inner.as_str()
                && keys.iter().any(|key| key.name == "source")
            {
                return format!("write `[{}]`, and `source = {}` below it", value.path, literal(text));
            }
            if let Some(list) = first_list(value, keys) {
                return format!("say what the list is: `{} = {{ {list} }}`", last(&value.path));
            }
            let first = keys.first().map(|key| format!("{} = {}", key.name, key.kind.example()));
            let such = first.map(|line| format!(", such as `{line}`")).unwrap_or_default();
            format!("begin a table with `[{}]`, and put its keys below{such}", value.path)
        }
        Kind::Named(Kind::Table(_)) if value.path.contains('[') => {
            // No header of a table can name an item of a list.
            format!("write `{} = {{ authorization = {{ env = \"TOKEN\" }} }}`", last(&value.path))
        }
        Kind::Named(Kind::Table(_)) => format!("begin a table for each, such as `[{}.name]`", value.path),
        Kind::Size(_)
        | Kind::Text(_)
        | Kind::TextOrTable(..)
        | Kind::Path(_)
        | Kind::Secret
        | Kind::Named(_)
        | Kind::Settings => such(),
    }
}

/// The last part of a path: the key itself.
fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// A list of texts as the value of the table's first key, where that is such a list.
fn first_list(value: &Value<'_>, keys: &[Key]) -> Option<String> {
    let Key { name, kind: Kind::List(Kind::Text(_)), .. } = keys.first()? else { return None };
    let items = value.inner.as_array().filter(|items| !items.is_empty())?;
    let texts: Option<Vec<_>> = items.iter().map(|item| item.get_ref().as_str().map(literal)).collect();
    Some(format!("{name} = [{}]", texts?.join(", ")))
}

/// What to write where a list of such items is expected; none: nothing better than an example.
fn list(value: &Value<'_>, item: &Kind) -> Option<String> {
    let takes_texts = matches!(item, Kind::Text(_) | Kind::Word(_) | Kind::TextOrTable(..));
    let takes_tables = matches!(item, Kind::Table(_) | Kind::TextOrTable(..));
    match value.inner {
        one if matches!(item, Kind::Table(keys) if keys.iter().any(|key| key.name == "token"))
            && is_token(one) =>
        {
            Some(format!("write `[{}]`", token(one)))
        }
        DeValue::String(text) if takes_texts => Some(format!("put it in brackets: `[{}]`", literal(text))),
        DeValue::Table(_) if takes_tables => Some("put it in brackets: `[{ … }]`".to_owned()),
        DeValue::Boolean(true) => Some(format!("say which, in a list such as `[{}]`", item.example())),
        DeValue::Boolean(false) => Some("leave the key out, or write `[]`".to_owned()),
        _ => None,
    }
}

fn is_number(text: &str) -> bool {
    !text.trim().is_empty() && text.trim().bytes().all(|byte| byte.is_ascii_digit())
}
