//! Plugins' state: keys and values that plugins keep between calls.
//!
//! A store belongs to a plugin, or to a name that several plugins share, and optionally to one of its callers. All
//! backends follow the rules here, so that a plugin can't tell them apart: operations are atomic, as if calls ran them
//! one after the other, keys are ordered by their bytes, and the same limits apply.

use std::fmt;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;

use bytesize::ByteSize;

use crate::names::{PluginId, Principal, StoreName};

/// The maximum length of a key, in bytes.
pub const MAX_KEY_BYTES: usize = 1 << 10;

/// The maximum length of a value, in bytes.
pub const MAX_VALUE_BYTES: usize = 1 << 20;

/// The size of an entry in addition to its key and value: about its storage overhead.
pub const ENTRY_OVERHEAD_BYTES: u64 = 64;

/// The maximum number of keys on one page of a listing.
pub const MAX_PAGE_KEYS: usize = 500;

/// The value of a key.
pub type StoredValue = Arc<[u8]>;

/// The future of an operation on state.
pub type StateFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StateError>> + Send + 'a>>;

/// Keeps the state of plugins.
///
/// Keys and values are no longer than [`MAX_KEY_BYTES`] and [`MAX_VALUE_BYTES`]. `limit` is the maximum size of the
/// owner's store, in bytes. A confirmed operation was executed. One that fails with [`StateError::Uncertain`] might
/// have been executed; with any other error, it wasn't.
pub trait StateBackend: fmt::Debug + Send + Sync {
    /// Opens the backend, so that its problems are logged before the first operation.
    fn start(&self) {}

    /// The value of a key.
    fn get<'a>(&'a self, owner: &'a StateOwner, key: String) -> StateFuture<'a, Option<StoredValue>>;

    /// True if the key has a value.
    fn exists<'a>(&'a self, owner: &'a StateOwner, key: String) -> StateFuture<'a, bool>;

    /// Sets a key.
    fn set<'a>(
        &'a self,
        owner: &'a StateOwner,
        key: String,
        value: StoredValue,
        limit: u64,
    ) -> StateFuture<'a, ()>;

    /// Removes a key. A missing key isn't an error.
    fn delete<'a>(&'a self, owner: &'a StateOwner, key: String) -> StateFuture<'a, ()>;

    /// The keys after `cursor`, ordered by their bytes. A key that isn't removed is listed exactly once, regardless of
    /// other changes between two pages.
    fn page<'a>(&'a self, owner: &'a StateOwner, cursor: Option<String>) -> StateFuture<'a, KeyPage>;

    /// Adds to a number, which is stored in decimal digits. A missing key counts as zero.
    fn increment<'a>(
        &'a self,
        owner: &'a StateOwner,
        key: String,
        delta: i64,
        limit: u64,
    ) -> StateFuture<'a, i64>;

    /// Sets a key if its value is still `seen`.
    fn swap<'a>(
        &'a self,
        owner: &'a StateOwner,
        key: String,
        seen: Option<StoredValue>,
        value: StoredValue,
        limit: u64,
    ) -> StateFuture<'a, Result<(), SwapConflict>>;

    /// The owners that have entries, and the sizes of their stores in bytes, ordered by their text.
    fn owners(&self) -> StateFuture<'_, Vec<(StateOwner, u64)>>;

    /// The reason that state currently can't be kept. `None` if it can, or if the backend wasn't opened.
    fn problem(&self) -> Pin<Box<dyn Future<Output = Option<StateDiagnostic>> + Send + '_>>;
}

/// The owner of a store, in the form in which backends keep it, such as `plugin:notes/token:ann`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateOwner(Arc<str>);

/// The plugin or name that a store belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateOwnerName {
    /// A plugin.
    Plugin(PluginId),
    /// A name that several plugins share.
    Shared(StoreName),
}

/// A text that doesn't name an owner.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid owner of state; it starts with `plugin:` or `name:`, such as `plugin:notes`")]
pub struct InvalidOwnerError;

impl StateOwner {
    /// The owner of a store. Without a caller, all callers share it. If several machines share the backend, `machine`
    /// distinguishes callers that only this machine knows.
    #[must_use]
    pub fn new(name: &StateOwnerName, caller: Option<&Principal>, machine: Option<&str>) -> Self {
        // The first part never contains a colon or a slash, and an issuer no space.
        let name = match name {
            StateOwnerName::Plugin(id) => format!("plugin:{id}"),
            StateOwnerName::Shared(name) => format!("name:{name}"),
        };
        let at_machine = machine.map(|machine| format!("@{machine}")).unwrap_or_default();
        Self(match caller {
            None => name.into(),
            Some(Principal::Local) => format!("{name}/stdio{at_machine}").into(),
            Some(Principal::Anonymous) => format!("{name}/anonymous").into(),
            Some(Principal::Operator) => format!("{name}/operator").into(),
            Some(Principal::Named(token)) => format!("{name}/token:{token}").into(),
            Some(Principal::Certificate(certificate)) => format!("{name}/certificate:{certificate}").into(),
            Some(Principal::User(user)) => format!("{name}/uid:{}{at_machine}", user.uid()).into(),
            Some(Principal::Subject(subject)) => {
                format!("{name}/subject:{} {}", subject.issuer(), subject.subject()).into()
            }
        })
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The plugin or name, and the caller. The caller is empty, or starts with a slash.
    #[must_use]
    pub fn parts(&self) -> (&str, &str) {
        self.0.split_at(self.0.find('/').unwrap_or(self.0.len()))
    }
}

impl FromStr for StateOwner {
    type Err = InvalidOwnerError;

    fn from_str(text: &str) -> Result<Self, InvalidOwnerError> {
        let owner = Self(text.into());
        let (name, caller) = owner.parts();
        let is_valid = match name.split_once(':') {
            Some(("plugin", id)) => PluginId::new(id).is_ok(),
            Some(("name", name)) => StoreName::new(name).is_ok(),
            Some(_) | None => false,
        };
        if is_valid && caller != "/" { Ok(owner) } else { Err(InvalidOwnerError) }
    }
}

impl fmt::Display for StateOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One page of keys.
#[derive(Debug, PartialEq, Eq)]
pub struct KeyPage {
    /// The keys.
    pub keys: Vec<String>,
    /// The start of the next page. `None` for the last page.
    pub cursor: Option<String>,
}

impl KeyPage {
    /// The first page of a list of keys, of which the backend needs at most [`MAX_PAGE_KEYS`] and one more.
    #[must_use]
    pub fn first_of(mut keys: Vec<String>) -> Self {
        let more = keys.len() > MAX_PAGE_KEYS;
        keys.truncate(MAX_PAGE_KEYS);
        let cursor = if more { keys.last().cloned() } else { None };
        Self { keys, cursor }
    }
}

/// The key was changed since it was read. This is its current value.
#[derive(Debug, PartialEq, Eq)]
pub struct SwapConflict(pub Option<StoredValue>);

/// A problem that keeps state from being stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDiagnostic {
    /// The file, directory or address, and the problem with it.
    pub reason: String,
    /// The hint for the operator.
    pub hint: String,
}

/// An error when reading or writing a value. Guests see these texts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The key is too long.
    #[error("the key has {0} bytes, and the limit is {MAX_KEY_BYTES}; use a shorter key, such as a hash")]
    KeyTooLong(usize),
    /// The value is too long.
    #[error("the value has {}, and the limit is {}; split it over several keys", display_size(*.0 as u64), display_size(MAX_VALUE_BYTES as u64))]
    ValueTooLong(usize),
    /// The store would exceed this limit, in bytes.
    #[error("the plugin's state would be larger than {} (`limits.state`)", display_size(*.0))]
    Full(u64),
    /// The value isn't a number.
    #[error("the key's value isn't a 64-bit integer in decimal digits")]
    NotANumber,
    /// The sum is out of range.
    #[error("the sum doesn't fit into a 64-bit integer")]
    Overflow,
    /// Another process holds a lock.
    #[error("the state was locked by another process for too long; try again")]
    Busy,
    /// The disk is full.
    #[error("no space left on the disk with the gateway's state; nothing was changed")]
    NoSpace,
    /// The shared store has no memory left.
    #[error("no memory left in the gateway's shared store; nothing was changed")]
    NoMemory,
    /// The backend can only be read.
    #[error("the gateway's state isn't writable; nothing was changed")]
    ReadOnly,
    /// The shared store can't be reached, and the operation wasn't sent.
    #[error("the gateway's shared store isn't reachable; nothing was changed; try again later")]
    Unreachable,
    /// The shared store didn't respond.
    #[error("the gateway's shared store didn't respond; a change might have been made; try again later")]
    Uncertain,
    /// The reason is for the operator only, because it contains paths of this machine.
    #[error("state is unavailable; the gateway's log shows the reason")]
    Unavailable,
}

fn display_size(bytes: u64) -> String {
    ByteSize::b(bytes).display().iec().to_string()
}

/// The size of an entry, as counted for the limit.
#[must_use]
pub fn entry_size(key: &str, value: u64) -> u64 {
    ENTRY_OVERHEAD_BYTES + key.len() as u64 + value
}

/// The size of a store after an entry of size `before` is replaced by one of size `after`. A change that doesn't
/// enlarge the store is allowed even if the store exceeds the limit, because the limit may have been lowered.
///
/// # Errors
/// [`StateError::Full`]: the store would exceed the limit.
pub fn new_store_size(size: u64, before: u64, after: u64, limit: u64) -> Result<u64, StateError> {
    let new = size.saturating_sub(before) + after;
    if new > limit && new > size { Err(StateError::Full(limit)) } else { Ok(new) }
}

/// The sum of a stored number and `delta`.
///
/// # Errors
/// The value isn't a number, or the sum is out of range.
pub fn add_to_number(value: Option<&[u8]>, delta: i64) -> Result<i64, StateError> {
    let number = match value {
        None => 0,
        Some(value) => parse_number(value).ok_or(StateError::NotANumber)?,
    };
    number.checked_add(delta).ok_or(StateError::Overflow)
}

fn parse_number(value: &[u8]) -> Option<i64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(any(test, feature = "test-support"))]
#[expect(clippy::unwrap_used, reason = "a test reports failures by panicking")]
pub mod contract;
