//! The plugin's settings: the table `[plugins.<name>.config]` of `gateway.toml`.
//!
//! A string arrives as it is, every other value as its JSON.

use std::fmt;
use std::str::FromStr;

use serde::de::DeserializeOwned;

use crate::host::config as host;
use crate::texts::{self, Wrong};

/// Why a setting couldn't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    /// The gateway couldn't read its configuration.
    Unavailable(String),
    /// A setting doesn't have the form that the plugin wants.
    Invalid {
        /// The key of the setting; empty if a setting is missing.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// The setting `key`, if the operator set it.
///
/// # Errors
/// The gateway couldn't read its configuration.
pub fn get(key: &str) -> Result<Option<String>, ConfigError> {
    host::get(key).map_err(unavailable)
}

/// The setting `key` as a number, address or anything else that has a text form.
///
/// # Errors
/// It is set to something else, or the gateway couldn't read its configuration.
pub fn parsed<T: FromStr<Err: fmt::Display>>(key: &str) -> Result<Option<T>, ConfigError> {
    let Some(text) = get(key)? else { return Ok(None) };
    text.parse()
        .map(Some)
        .map_err(|error: T::Err| ConfigError::Invalid { key: key.to_owned(), reason: error.to_string() })
}

/// All settings, in no particular order.
///
/// # Errors
/// The gateway couldn't read its configuration.
pub fn get_all() -> Result<Vec<(String, String)>, ConfigError> {
    host::get_all().map_err(unavailable)
}

/// All settings as one struct. Name the struct in `#[plugin(config = …)]` too, and the gateway knows its schema.
///
/// # Errors
/// A setting is missing or has the wrong form, or the gateway couldn't read its configuration.
pub fn typed<T: DeserializeOwned>() -> Result<T, ConfigError> {
    read(&get_all()?)
}

fn read<T: DeserializeOwned>(settings: &[(String, String)]) -> Result<T, ConfigError> {
    texts::read(settings)
        .map_err(|Wrong { key, reason }| ConfigError::Invalid { key: key.unwrap_or_default(), reason })
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(reason) => write!(f, "the configuration can't be read: {reason}"),
            Self::Invalid { key, reason } if key.is_empty() => {
                write!(f, "in the plugin's configuration: {reason}")
            }
            Self::Invalid { key, reason } => write!(f, "`{key}` in the plugin's configuration: {reason}"),
        }
    }
}

impl std::error::Error for ConfigError {}

fn unavailable(error: host::Error) -> ConfigError {
    match error {
        host::Error::Upstream(reason) | host::Error::Io(reason) => ConfigError::Unavailable(reason),
    }
}

#[cfg(test)]
mod tests;
