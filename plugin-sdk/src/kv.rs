//! Values that a plugin stores between calls. [`guide::state`](crate::guide::state) has an example.
//!
//! Values are stored as JSON. The functions whose names end in `_bytes` store bytes as is. To avoid lost updates
//! if other calls write between your [`get`] and [`set`], use [`increment`], [`update`] or [`try_update`].

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::host::kv as host;

/// The number of attempts of [`update`].
const MAX_UPDATE_ATTEMPTS: usize = 64;

/// An error in reading or storing a value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KvError {
    /// The operator hasn't granted state.
    NotGranted,
    /// The plugin's storage is full; the string contains the limit. Delete something.
    Full(String),
    /// Other calls kept changing the key.
    Contended {
        /// The key.
        key: String,
    },
    /// The value can't be serialized as JSON, or the stored value has another type.
    Form {
        /// The key.
        key: String,
        /// The reason.
        reason: String,
    },
    /// Any other error, such as a key that is too long, with the gateway's message.
    Other(String),
}

/// Returns the value of `key`, if there is one.
///
/// # Errors
/// The value can't be deserialized as a `T`, or state isn't granted.
pub fn get<T: DeserializeOwned>(key: &str) -> Result<Option<T>, KvError> {
    get_bytes(key)?.map(|bytes| parse(key, &bytes)).transpose()
}

/// Like [`get`], for bytes.
///
/// # Errors
/// State isn't granted.
pub fn get_bytes(key: &str) -> Result<Option<Vec<u8>>, KvError> {
    host::get(key).map_err(failed)
}

/// Stores `value` under `key`, replacing the current value.
///
/// # Errors
/// The value can't be serialized as JSON, the storage is full, or state isn't granted.
pub fn set<T: Serialize + ?Sized>(key: &str, value: &T) -> Result<(), KvError> {
    set_bytes(key, &write(key, value)?)
}

/// Like [`set`], for bytes.
///
/// # Errors
/// The storage is full, or state isn't granted.
pub fn set_bytes(key: &str, value: &[u8]) -> Result<(), KvError> {
    host::set(key, value).map_err(failed)
}

/// Removes `key`. Succeeds if it doesn't exist.
///
/// # Errors
/// State isn't granted.
pub fn delete(key: &str) -> Result<(), KvError> {
    host::delete(key).map_err(failed)
}

/// Returns `true` if there is a value under `key`.
///
/// # Errors
/// State isn't granted.
pub fn exists(key: &str) -> Result<bool, KvError> {
    host::exists(key).map_err(failed)
}

/// Returns all keys, in no particular order.
///
/// # Errors
/// State isn't granted.
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

/// Adds `delta` to the number under `key` atomically and returns the sum. A missing key counts as 0. [`get`] reads it
/// as an `i64`.
///
/// # Errors
/// The stored value isn't an integer, the sum overflows 64 bits, or state isn't granted.
pub fn increment(key: &str, delta: i64) -> Result<i64, KvError> {
    host::increment(key, delta).map_err(failed)
}

/// Replaces the value of `key` with the result of `change` atomically and returns the new value. If another call
/// changes the key in the meantime, `change` is called again with the new current value.
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
/// The stored value can't be deserialized as a `T`, the new value can't be serialized as JSON, the storage is full,
/// other calls keep changing the key, or state isn't granted.
pub fn update<T: Serialize + DeserializeOwned>(
    key: &str,
    mut change: impl FnMut(Option<T>) -> T,
) -> Result<T, KvError> {
    let new = try_update(key, |old| Ok::<_, KvError>(Some(change(old))))?;
    Ok(new.expect("the change always returns a value"))
}

/// Like [`update`], for a change that can fail or be unnecessary: an error or `None` leaves the key unchanged.
/// Returns the new value, if it was written.
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
/// An error of `change`, or as for [`update`].
pub fn try_update<T: Serialize + DeserializeOwned, E: From<KvError>>(
    key: &str,
    mut change: impl FnMut(Option<T>) -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    let mut snapshot = host::KvSnapshot::new(key).map_err(failed)?;
    for _ in 0..MAX_UPDATE_ATTEMPTS {
        let old = snapshot.current().map_err(failed)?.map(|bytes| parse(key, &bytes)).transpose()?;
        let Some(new) = change(old)? else { return Ok(None) };
        match snapshot.swap(&write(key, &new)?).map_err(failed)? {
            None => return Ok(Some(new)),
            Some(newer) => snapshot = newer,
        }
    }
    Err(KvError::Contended { key: key.to_owned() }.into())
}

/// Like [`try_update`], for bytes.
///
/// # Errors
/// The storage is full, other calls keep changing the key, or state isn't granted.
pub fn update_bytes(
    key: &str,
    mut change: impl FnMut(Option<Vec<u8>>) -> Vec<u8>,
) -> Result<Vec<u8>, KvError> {
    let mut snapshot = host::KvSnapshot::new(key).map_err(failed)?;
    for _ in 0..MAX_UPDATE_ATTEMPTS {
        let new = change(snapshot.current().map_err(failed)?);
        match snapshot.swap(&new).map_err(failed)? {
            None => return Ok(new),
            Some(newer) => snapshot = newer,
        }
    }
    Err(KvError::Contended { key: key.to_owned() })
}

impl fmt::Display for KvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted => f.write_str("state isn't granted; an operator can allow it"),
            Self::Full(reason) | Self::Other(reason) => f.write_str(reason),
            Self::Contended { key } => {
                write!(f, "too many concurrent changes to `{key}`; try again")
            }
            Self::Form { key, reason } => write!(f, "invalid value under `{key}`: {reason}"),
        }
    }
}

impl std::error::Error for KvError {}

fn failed(error: host::Error) -> KvError {
    match error {
        host::Error::AccessDenied | host::Error::NoSuchStore => KvError::NotGranted,
        // The contract has no error code for a full storage; the gateway's message names the limit.
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
