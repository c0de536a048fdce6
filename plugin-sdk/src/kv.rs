//! What a plugin keeps from one call to the next: values under keys.
//!
//! ```
//! use moongate_sdk::prelude::*;
//!
//! #[derive(Default)]
//! struct Counter;
//!
//! /// Counts.
//! #[plugin]
//! impl Counter {
//!     /// How often it was called, and by whom the last time.
//!     #[tool]
//!     fn count(&self, name: &str) -> Result<String, ToolError> {
//!         let count = kv::increment("count", 1)?;
//!         let before: Option<String> = kv::get("name")?;
//!         kv::set("name", name)?;
//!         Ok(format!("{count}, before by {}", before.unwrap_or_default()))
//!     }
//! }
//!
//! # use moongate_sdk::testing::Client;
//! # use serde_json::json;
//! let client = Client::<Counter>::new().kept("count", 41).kept("name", "Ada");
//! let result = client.call("count", json!({ "name": "Bob" })).unwrap();
//! assert_eq!(result.all_text(), "42, before by Ada");
//! assert_eq!(client.kv::<String>("name").as_deref(), Some("Bob"));
//! ```
//!
//! The operator grants it with `state = true` below `[plugins.<name>.allow]` in `gateway.toml`, and limits its size. Where
//! `state` in `[gateway]` names a directory, what is kept outlives the gateway, and all gateways on that directory share
//! it; else it is gone when the gateway ends (`moongate call` is one of its own).
//! All calls of the plugin share the keys, whoever the caller is: put [`Context::principal`](crate::Context::principal)
//! into the key where they should not.
//!
//! Calls run at the same time, in several processes even. Between a [`get`] and a [`set`] another call may write; where that matters, use
//! [`increment`], [`update`] or [`try_update`], which don't lose what the other wrote.
//!
//! Values are written as JSON; the functions whose names end in `_bytes` take them as they are.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::host::kv as host;

/// How often [`update`] tries before it gives up.
const ATTEMPTS: usize = 64;

/// Why a value couldn't be read or kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KvError {
    /// The operator doesn't let this plugin keep anything.
    NotGranted,
    /// The plugin keeps as much as the operator allows; the text says how much that is. Delete something.
    Full(String),
    /// Other calls changed the key faster than this one could.
    Contended {
        /// The key.
        key: String,
    },
    /// The value can't be written as JSON, or what is kept under the key has another form.
    Form {
        /// The key.
        key: String,
        /// What is wrong with the value.
        reason: String,
    },
    /// Anything else, such as a key that is too long, in the gateway's words.
    Other(String),
}

/// The value of `key`, if there is one.
///
/// # Errors
/// It isn't a `T`, or the plugin may keep nothing.
pub fn get<T: DeserializeOwned>(key: &str) -> Result<Option<T>, KvError> {
    get_bytes(key)?.map(|bytes| parse(key, &bytes)).transpose()
}

/// The same, as it is kept.
///
/// # Errors
/// The plugin may keep nothing.
pub fn get_bytes(key: &str) -> Result<Option<Vec<u8>>, KvError> {
    host::get(key).map_err(failed)
}

/// Keeps `value` under `key`, in place of what is there.
///
/// # Errors
/// It can't be written as JSON or doesn't fit in, or the plugin may keep nothing.
pub fn set<T: Serialize + ?Sized>(key: &str, value: &T) -> Result<(), KvError> {
    set_bytes(key, &write(key, value)?)
}

/// The same, of bytes.
///
/// # Errors
/// They don't fit in, or the plugin may keep nothing.
pub fn set_bytes(key: &str, value: &[u8]) -> Result<(), KvError> {
    host::set(key, value).map_err(failed)
}

/// Removes `key`. One that isn't there is no error.
///
/// # Errors
/// The plugin may keep nothing.
pub fn delete(key: &str) -> Result<(), KvError> {
    host::delete(key).map_err(failed)
}

/// Is there a value under `key`?
///
/// # Errors
/// The plugin may keep nothing.
pub fn exists(key: &str) -> Result<bool, KvError> {
    host::exists(key).map_err(failed)
}

/// All keys, in no particular order.
///
/// # Errors
/// The plugin may keep nothing.
pub fn keys() -> Result<Vec<String>, KvError> {
    let mut keys = Vec::new();
    let mut cursor = None;
    loop {
        let page = host::list_keys(cursor.as_deref()).map_err(failed)?;
        keys.extend(page.keys);
        cursor = page.cursor;
        if cursor.is_none() {
            return Ok(keys);
        }
    }
}

/// Adds `delta` to the number under `key`, without losing what other calls add, and gives back the sum. A key that isn't
/// there counts as 0. [`get`] reads it as an `i64`.
///
/// # Errors
/// What is kept there is no whole number, the sum is none of 64 bits, or the plugin may keep nothing.
pub fn increment(key: &str, delta: i64) -> Result<i64, KvError> {
    host::increment(key, delta).map_err(failed)
}

/// Replaces the value of `key` by what `change` makes of it, without losing what other calls write, and gives back the
/// new one. If another call changed the key in the meantime, `change` is called again with what is there now.
///
/// ```
/// # use moongate_sdk::prelude::*;
/// # fn note(line: &str) -> Result<usize, ToolError> {
/// let lines = kv::update("lines", |old: Option<Vec<String>>| {
///     let mut lines = old.unwrap_or_default();
///     lines.push(line.to_owned());
///     lines
/// })?;
/// # Ok(lines.len())
/// # }
/// ```
///
/// # Errors
/// What is kept there isn't a `T`, the new value can't be written as JSON or doesn't fit in, others are always faster,
/// or the plugin may keep nothing.
pub fn update<T: Serialize + DeserializeOwned>(
    key: &str,
    mut change: impl FnMut(Option<T>) -> T,
) -> Result<T, KvError> {
    let new = try_update(key, |old| Ok::<_, KvError>(Some(change(old))))?;
    Ok(new.expect("the change always gives a value"))
}

/// Like [`update`], for a change that may fail or find nothing to do: an error and `None` leave the key as it is. Gives
/// back the new value, if it was written.
///
/// ```
/// # use moongate_sdk::prelude::*;
/// # fn take(count: u32) -> Result<u32, ToolError> {
/// let left = kv::try_update("left", |old: Option<u32>| match old.unwrap_or(10).checked_sub(count) {
///     Some(_) if count == 0 => Ok(None),
///     Some(left) => Ok(Some(left)),
///     None => Err(ToolError::failed("there aren't so many left")),
/// })?;
/// # Ok(left.unwrap_or_default())
/// # }
/// ```
///
/// # Errors
/// What `change` fails with, or as for [`update`].
pub fn try_update<T: Serialize + DeserializeOwned, E: From<KvError>>(
    key: &str,
    mut change: impl FnMut(Option<T>) -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    let mut look = host::Look::new(key).map_err(failed)?;
    for _ in 0..ATTEMPTS {
        let old = look.current().map_err(failed)?.map(|bytes| parse(key, &bytes)).transpose()?;
        let Some(new) = change(old)? else { return Ok(None) };
        match look.swap(&write(key, &new)?).map_err(failed)? {
            None => return Ok(Some(new)),
            Some(newer) => look = newer,
        }
    }
    Err(KvError::Contended { key: key.to_owned() }.into())
}

/// The same, of bytes.
///
/// # Errors
/// The new value doesn't fit in, others are always faster, or the plugin may keep nothing.
pub fn update_bytes(
    key: &str,
    mut change: impl FnMut(Option<Vec<u8>>) -> Vec<u8>,
) -> Result<Vec<u8>, KvError> {
    let mut look = host::Look::new(key).map_err(failed)?;
    for _ in 0..ATTEMPTS {
        let new = change(look.current().map_err(failed)?);
        match look.swap(&new).map_err(failed)? {
            None => return Ok(new),
            Some(newer) => look = newer,
        }
    }
    Err(KvError::Contended { key: key.to_owned() })
}

impl fmt::Display for KvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted => f.write_str(
                "the plugin may keep no state; `state = true` below `[plugins.<name>.allow]` in `gateway.toml` grants it",
            ),
            Self::Full(reason) | Self::Other(reason) => f.write_str(reason),
            Self::Contended { key } => {
                write!(f, "`{key}` is changed by too many calls at once; try again")
            }
            Self::Form { key, reason } => write!(f, "what is kept under `{key}` has another form: {reason}"),
        }
    }
}

impl std::error::Error for KvError {}

fn failed(error: host::Error) -> KvError {
    match error {
        host::Error::AccessDenied | host::Error::NoSuchStore => KvError::NotGranted,
        // The contract has no case of its own for it; the gateway names the limit.
        host::Error::Other(reason) if reason.contains("limits.state") => KvError::Full(reason),
        host::Error::Other(reason) => KvError::Other(reason),
    }
}

fn parse<T: DeserializeOwned>(key: &str, bytes: &[u8]) -> Result<T, KvError> {
    serde_json::from_slice(bytes).map_err(|error| form(key, &error))
}

fn write<T: Serialize + ?Sized>(key: &str, value: &T) -> Result<Vec<u8>, KvError> {
    serde_json::to_vec(value).map_err(|error| form(key, &error))
}

fn form(key: &str, error: &serde_json::Error) -> KvError {
    KvError::Form { key: key.to_owned(), reason: error.to_string() }
}
