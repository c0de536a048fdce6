//! Environment variables, and their use in strings of the file.
//!
//! The configuration never reads the process environment directly, so tests can provide their own.

use std::collections::BTreeMap;
use std::env::VarError;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use moongate_model::text::nearest_name;

/// The largest secret, in bytes. A larger file was probably named by mistake, such as a log or a disk.
const MAX_SECRET_BYTES: u64 = 64 * 1024;

/// The source of environment variables and of secret files.
pub trait Environment {
    /// The value of the variable `name`.
    ///
    /// # Errors
    /// The variable isn't set, or isn't valid Unicode.
    fn variable(&self, name: &str) -> Result<String, VarError>;

    /// The value of the variable `name`, which is a secret. A command that doesn't need secrets can return another one.
    ///
    /// # Errors
    /// The variable isn't set, or isn't valid Unicode.
    fn secret(&self, name: &str) -> Result<String, VarError> {
        self.variable(name)
    }

    /// The content of a secret file without one trailing line break. A command that doesn't need secrets can return another
    /// text.
    ///
    /// # Errors
    /// The file can't be read, isn't valid UTF-8, or is longer than 64 KiB.
    fn secret_file(&self, path: &Path) -> io::Result<String> {
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let mut text = String::new();
        fs::File::open(path)?.take(MAX_SECRET_BYTES + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MAX_SECRET_BYTES {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "longer than 64 KiB"));
        }
        if let Some(line) = text.strip_suffix('\n') {
            text.truncate(line.strip_suffix('\r').unwrap_or(line).len());
        }
        Ok(text)
    }

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

/// The variable with the time zone. Its value here is always a name, if there is one.
const TIME_ZONE_VARIABLE: &str = "TZ";
/// The directory of time zone files, in which each file is named after its zone.
const TIME_ZONE_DIRECTORY: &str = "/zoneinfo/";

/// The IANA name of the time zone that `TZ` selects: `Europe/Oslo`, `:Europe/Oslo` or a file such as
/// `/usr/share/zoneinfo/Europe/Oslo` (POSIX.1-2024, 8.3). If it selects none, or the file `/etc/localtime`, it is the
/// machine's. Rules such as `CET-1CEST` have no name and stay as they are.
fn time_zone(variable: &str, machine: impl FnOnce() -> Option<String>) -> String {
    let value = variable.strip_prefix(':').unwrap_or(variable);
    let name = match value.split_once(TIME_ZONE_DIRECTORY) {
        Some((_, name)) => {
            ["posix/", "right/"].into_iter().find_map(|rules| name.strip_prefix(rules)).unwrap_or(name)
        }
        None => value,
    };
    if matches!(name, "" | "localtime" | "/etc/localtime") {
        return machine().unwrap_or_else(|| "UTC".to_owned());
    }
    name.to_owned()
}

/// The variables of this process.
#[derive(Debug, Clone, Copy)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Result<String, VarError> {
        let value = std::env::var(name);
        if name == TIME_ZONE_VARIABLE {
            let machine = || iana_time_zone::get_timezone().ok();
            return Ok(time_zone(value.as_deref().unwrap_or_default(), machine));
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

#[cfg(test)]
mod tests;
