//! `${VAR}`, `${VAR:-default}` and `$${` inside a text that was already parsed.
//!
//! What a variable holds is never parsed again: it can't close a quote or start a table.

use std::env::VarError;
use std::ops::Range;

use super::environment::Environment;
use super::problem::{Problem, quoted};
use super::reading::Value;

/// What is wrong with one use of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// The use as it is written, from `${` to `}` or the end.
    written: String,
    /// How many such uses stand before it in the same text.
    nth: usize,
    cause: Cause,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Cause {
    Unset(String),
    NotUnicode(String),
    Unclosed,
    BadForm,
}

/// Fills in the variables of `text`, or tells all that is wrong with them.
pub(super) fn expand(text: &str, environment: &dyn Environment) -> Result<String, Vec<Fault>> {
    let mut out = String::with_capacity(text.len());
    let mut faults = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            out.push_str(&rest[..at]); // with one of the two dollars
            out.push('{');
            rest = &rest[at + 2..];
            continue;
        }
        out.push_str(&rest[..at]);
        let used = &rest[at..];
        let end = used.find('}').map_or(used.len(), |end| end + 1);
        match value(&used[..end], environment) {
            Ok(value) => out.push_str(&value),
            Err(cause) => {
                let before = &text[..text.len() - used.len()];
                let nth = before.matches(&used[..end]).count();
                faults.push(Fault { written: used[..end].to_owned(), nth, cause });
            }
        }
        rest = &used[end..];
    }
    out.push_str(rest);
    if faults.is_empty() { Ok(out) } else { Err(faults) }
}

/// The names of the variables that `text` is filled in with.
pub(super) fn variables(text: &str) -> impl Iterator<Item = &str> {
    let uses = text.match_indices("${").filter(|(at, _)| !text[..*at].ends_with('$'));
    uses.filter_map(|(at, _)| {
        let used = &text[at + 2..];
        let end = used.find([':', '}'])?;
        Some(&used[..end])
    })
}

/// The value of one use, which starts with `${`.
fn value(used: &str, environment: &dyn Environment) -> Result<String, Cause> {
    let Some(inner) = used.strip_prefix("${").and_then(|used| used.strip_suffix('}')) else {
        return Err(Cause::Unclosed);
    };
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    if !is_variable_name(name) || default.is_some_and(|default| default.contains("${")) {
        return Err(Cause::BadForm);
    }
    match (environment.variable(name), default) {
        (Ok(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
        (Ok(value), _) => Ok(value),
        (Err(VarError::NotPresent), Some(default)) => Ok(default.to_owned()),
        (Err(VarError::NotPresent), None) => Err(Cause::Unset(name.to_owned())),
        (Err(VarError::NotUnicode(_)), _) => Err(Cause::NotUnicode(name.to_owned())),
    }
}

/// Can a variable be called so?
pub(super) fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Fault {
    /// Says it; `written` is the value as it stands in the file, with its quotes.
    pub(super) fn into_problem(self, value: &Value<'_>, written: &str) -> Problem {
        let place = self.place(value, written);
        let path = &value.path;
        match self.cause {
            Cause::Unset(name) => {
                Problem::error(format!("the environment variable `{name}` isn't set, but `{path}` uses it"))
                    .hint(format!("set it, or give a default: `${{{name}:-…}}`"))
            }
            Cause::NotUnicode(name) => Problem::error(format!(
                "the environment variable `{name}` doesn't hold text, but `{path}` uses it"
            ))
            .hint("set it to valid UTF-8"),
            Cause::Unclosed => Problem::error(format!("a `${{` in `{path}` is never closed"))
                .hint("close it with `}`, or write `$${` for a plain `${`"),
            Cause::BadForm => {
                Problem::error(format!("{} in `{path}` names no variable", quoted(&self.written)))
                    .hint("write `${NAME}` or `${NAME:-default}`, or `$${` for a plain `${`")
            }
        }
        .at(place)
    }

    /// The place of the use itself where the file writes it without escapes, else that of the whole value.
    fn place(&self, value: &Value<'_>, written: &str) -> Range<usize> {
        match written.match_indices(&self.written).nth(self.nth) {
            Some((at, found)) => {
                let start = value.place.start + at;
                start..start + found.len()
            }
            None => value.place.clone(),
        }
    }
}
