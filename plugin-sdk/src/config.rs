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
    /// The plugin can't do without a setting that isn't there.
    Missing {
        /// Its key.
        key: String,
        /// What it must be, where that can be told.
        wanted: Option<String>,
    },
    /// A setting doesn't have the form that the plugin wants.
    Invalid {
        /// The key of the setting; empty if no single one is to blame.
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
    text.parse().map(Some).map_err(|error: T::Err| {
        let reason = match texts::wanted::<T>() {
            Some(wanted) => format!("it must be {wanted}"),
            None => error.to_string(),
        };
        ConfigError::Invalid { key: key.to_owned(), reason }
    })
}

/// The same setting, where the plugin can't do without it.
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
/// # let said = moongate_sdk::testing::Client::<Rates>::new().call("rate", serde_json::json!({})).unwrap();
/// # assert_eq!(
/// #     said.all_text(),
/// #     "`server` is missing below `[plugins.<name>.config]` in `gateway.toml`; it must be a text"
/// # );
/// ```
///
/// # Errors
/// It isn't set, or as for [`parsed`].
pub fn required<T: FromStr<Err: fmt::Display>>(key: &str) -> Result<T, ConfigError> {
    parsed(key)?.ok_or_else(|| ConfigError::Missing {
        key: key.to_owned(),
        wanted: texts::wanted::<T>().map(str::to_owned),
    })
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
    texts::read(settings).map_err(|wrong| match wrong {
        Wrong::Missing { key, wanted } => ConfigError::Missing { key, wanted },
        Wrong::Unfit { key, reason } => ConfigError::Invalid { key: key.unwrap_or_default(), reason },
    })
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const TABLE: &str = "`[plugins.<name>.config]` in `gateway.toml`";
        match self {
            Self::Unavailable(reason) => write!(f, "the configuration can't be read: {reason}"),
            Self::Missing { key, wanted } => {
                write!(f, "`{key}` is missing below {TABLE}")?;
                wanted.as_ref().map_or(Ok(()), |wanted| write!(f, "; it must be {wanted}"))
            }
            Self::Invalid { key, reason } if key.is_empty() => {
                write!(f, "the settings below {TABLE}: {reason}")
            }
            Self::Invalid { key, reason } => write!(f, "`{key}` below {TABLE}: {reason}"),
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
