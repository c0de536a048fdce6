//! The plugin's settings: the table `[plugins.<name>.config]` of `gateway.toml`.
//!
//! A string is passed as is, every other value as JSON.

use std::fmt;
use std::str::FromStr;

use serde::de::DeserializeOwned;

use crate::host::config as host;
use crate::string_fields::{self, FieldError};

/// An error in a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    /// The gateway couldn't read its configuration.
    Unavailable(String),
    /// A required setting is missing.
    Missing {
        /// The key.
        key: String,
        /// The expected value, if it is known.
        wanted: Option<String>,
    },
    /// A setting has the wrong type or format.
    Invalid {
        /// The key of the setting. Empty if the error isn't in a single setting.
        key: String,
        /// The reason.
        reason: String,
    },
}

/// Returns the setting `key`, if it is set.
///
/// # Errors
/// The gateway couldn't read its configuration.
pub fn get(key: &str) -> Result<Option<String>, ConfigError> {
    host::get(key).map_err(unavailable)
}

/// Returns the setting `key` as a number, an address or another type that can be parsed from a string.
///
/// # Errors
/// The value can't be parsed, or the gateway couldn't read its configuration.
pub fn parsed<T: FromStr<Err: fmt::Display>>(key: &str) -> Result<Option<T>, ConfigError> {
    let Some(text) = get(key)? else { return Ok(None) };
    text.parse().map(Some).map_err(|error: T::Err| {
        let reason = match string_fields::wanted::<T>() {
            Some(wanted) => format!("expected {wanted}"),
            None => error.to_string(),
        };
        ConfigError::Invalid { key: key.to_owned(), reason }
    })
}

/// Returns a required setting.
///
/// ```
/// # use moongate_sdk::prelude::*;
/// # #[derive(Default)]
/// # struct Rates;
/// # /// Rates.
/// # #[plugin]
/// # impl Rates {
/// #     /// A rate.
/// #     #[tool]
/// #     fn rate(&self) -> Result<String, ToolError> {
/// let server: String = config::required("server")?;
/// #         Ok(server)
/// #     }
/// # }
/// # let result = moongate_sdk::testing::Client::<Rates>::new().call("rate", serde_json::json!({})).unwrap();
/// # assert_eq!(
/// #     result.all_text(),
/// #     "missing `server` in `[plugins.<name>.config]` of `gateway.toml`; expected a string"
/// # );
/// ```
///
/// # Errors
/// The setting is missing, or as for [`parsed`].
pub fn required<T: FromStr<Err: fmt::Display>>(key: &str) -> Result<T, ConfigError> {
    parsed(key)?.ok_or_else(|| ConfigError::Missing {
        key: key.to_owned(),
        wanted: string_fields::wanted::<T>().map(str::to_owned),
    })
}

/// Returns all settings, in no particular order.
///
/// # Errors
/// The gateway couldn't read its configuration.
pub fn get_all() -> Result<Vec<(String, String)>, ConfigError> {
    host::get_all().map_err(unavailable)
}

/// Reads all settings into one struct. Name the struct in `#[plugin(config = …)]` too, and the gateway knows its
/// schema.
///
/// # Errors
/// A setting is missing or has the wrong form, or the gateway couldn't read its configuration.
pub fn typed<T: DeserializeOwned>() -> Result<T, ConfigError> {
    read(&get_all()?)
}

fn read<T: DeserializeOwned>(settings: &[(String, String)]) -> Result<T, ConfigError> {
    string_fields::read(settings).map_err(|error| match error {
        FieldError::Missing { key, wanted } => ConfigError::Missing { key, wanted },
        FieldError::Invalid { key, reason } => ConfigError::Invalid { key: key.unwrap_or_default(), reason },
    })
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const TABLE: &str = "`[plugins.<name>.config]` of `gateway.toml`";
        match self {
            Self::Unavailable(reason) => write!(f, "cannot read the configuration: {reason}"),
            Self::Missing { key, wanted } => {
                write!(f, "missing `{key}` in {TABLE}")?;
                wanted.as_ref().map_or(Ok(()), |wanted| write!(f, "; expected {wanted}"))
            }
            Self::Invalid { key, reason } if key.is_empty() => {
                write!(f, "invalid settings in {TABLE}: {reason}")
            }
            Self::Invalid { key, reason } => write!(f, "invalid `{key}` in {TABLE}: {reason}"),
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
