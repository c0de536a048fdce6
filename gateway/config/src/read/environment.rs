//! Environment variables, and their use in strings of the file.
//!
//! The configuration never reads the process environment directly, so tests can provide their own.

use std::collections::BTreeMap;
use std::env::VarError;

use moongate_model::text::nearest_name;

/// The source of environment variables.
pub trait Environment {
    /// The value of the variable `name`.
    ///
    /// # Errors
    /// The variable isn't set, or isn't valid Unicode.
    fn variable(&self, name: &str) -> Result<String, VarError>;

    /// The names of all variables, as far as they are known, to suggest one for a misspelt name.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The variable nearest to a name that isn't set.
pub(crate) fn nearest_variable(name: &str, environment: &dyn Environment) -> Option<String> {
    let names = environment.names();
    let near = nearest_name(name, names.iter().map(String::as_str)).filter(|_| name.len() > 3)?;
    Some(near.to_owned())
}

/// Reports whether it is a valid name of a variable.
pub(crate) fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The names of the variables that a string uses.
pub(crate) fn variables(text: &str) -> impl Iterator<Item = &str> {
    let uses = text.match_indices("${").filter(|(at, _)| !text[..*at].ends_with('$'));
    uses.filter_map(|(at, _)| {
        let used = &text[at + 2..];
        let end = used.find([':', '}'])?;
        Some(&used[..end])
    })
}

/// Reports whether it is one use of a variable and nothing else.
pub(crate) fn is_single_variable(text: &str) -> bool {
    text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).is_some_and(is_variable_name)
}

/// The variable with the time zone. If it is unset or empty, its value is the machine's time zone.
const TIME_ZONE_VARIABLE: &str = "TZ";

/// The variables of this process.
#[derive(Debug, Clone, Copy)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Result<String, VarError> {
        let value = std::env::var(name);
        if name == TIME_ZONE_VARIABLE && value.as_ref().map_or(true, String::is_empty) {
            return Ok(iana_time_zone::get_timezone().unwrap_or_else(|_| "UTC".to_owned()));
        }
        value
    }

    fn names(&self) -> Vec<String> {
        std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect()
    }
}

impl Environment for BTreeMap<String, String> {
    fn variable(&self, name: &str) -> Result<String, VarError> {
        self.get(name).cloned().ok_or(VarError::NotPresent)
    }

    fn names(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }
}
