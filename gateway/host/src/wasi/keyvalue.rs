//! `wasi:keyvalue`: keys and values that plugins keep between calls, on disk or in memory.
//!
//! A store belongs to a plugin, or to a name that several plugins share. Operations are atomic, as if calls ran them
//! one after the other. This module checks the limits, which are the same for both backends. Stores in [`memory`] exist
//! as long as the host; those on [`disk`] outlive it, and all gateways with the same state directory share them. If the
//! operator chose the disk, nothing falls back to memory: an unusable disk is an error.

mod database;
mod disk;
mod entries;
pub(crate) mod host;
mod memory;
pub(crate) mod types;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytesize::ByteSize;
use moongate_config::{PluginConfig, StateGrant, StateScope};
use moongate_model::names::{PluginId, Principal, StoreName};

use self::database::{DATABASE_FILE, STATE_FILES};
use self::disk::{DiskStore, StateDatabase};
use self::memory::MemoryStore;
use moongate_system::blocking::BlockingLimiter;
use moongate_system::private_dir::PrivateDir;

/// The maximum length of a key, in bytes.
pub(crate) const MAX_KEY_BYTES: usize = 1 << 10;
/// The maximum length of a value, in bytes.
pub(crate) const MAX_VALUE_BYTES: usize = 1 << 20;
/// The size of an entry in addition to its key and value: about its storage overhead.
const ENTRY_OVERHEAD_BYTES: u64 = 64;
/// The maximum number of keys on one page of a listing.
const MAX_PAGE_KEYS: usize = 500;

/// A problem that keeps state from being stored on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDiagnostic {
    /// The file or directory, and the problem with it.
    pub reason: String,
    /// The hint for the operator.
    pub hint: String,
}

/// The result of a read-only search for state in a directory.
#[derive(Debug)]
pub enum StateProbe {
    /// The directory contains state.
    Some,
    /// The directory contains no state yet, and state can be created.
    None,
    /// The directory contains no state, and state can't be created.
    Problem(StateDiagnostic),
}

/// Looks for state in a directory, and checks if state can be created there. It runs on a blocking thread, because the
/// directory's file system may not respond.
pub async fn probe_state(dir: &Path) -> StateProbe {
    let dir = dir.to_owned();
    BlockingLimiter::new(1).run(move || look(&dir)).await.unwrap_or_else(|error| {
        match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => StateProbe::None, // a task that hasn't started is dropped only when the process ends
        }
    })
}

fn look(dir: &Path) -> StateProbe {
    match PrivateDir::find(dir, STATE_FILES) {
        Ok(dir) if std::fs::symlink_metadata(dir.join(DATABASE_FILE)).is_ok() => StateProbe::Some,
        Ok(_) => StateProbe::None,
        Err(error) => StateProbe::Problem(StateDiagnostic { reason: error.to_string(), hint: error.hint() }),
    }
}

/// All stores. Those in memory exist as long as this value: a plugin that is removed from the configuration and added
/// again later finds its data.
#[derive(Debug, Default)]
pub(crate) struct KeyValueStores {
    disk: Option<Arc<StateDatabase>>,
    open: Mutex<HashMap<StoreOwner, Arc<KeyValueStore>>>,
}

/// The owner of a store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct StoreOwner {
    name: StoreOwnerName,
    /// The caller whose state it is. `None` means that all callers share it.
    caller: Option<Principal>,
}

/// The plugin or name that a store belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum StoreOwnerName {
    Plugin(PluginId),
    Shared(StoreName),
}

impl fmt::Display for StoreOwner {
    /// The owner as stored in the database. The first part never contains a colon or a slash, and an issuer no space.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            StoreOwnerName::Plugin(id) => write!(f, "plugin:{id}")?,
            StoreOwnerName::Shared(name) => write!(f, "name:{name}")?,
        }
        match &self.caller {
            None => Ok(()),
            Some(Principal::Local) => f.write_str("/stdio"),
            Some(Principal::Anonymous) => f.write_str("/anonymous"),
            Some(Principal::Named(name)) => write!(f, "/token:{name}"),
            Some(Principal::Certificate(name)) => write!(f, "/certificate:{name}"),
            Some(Principal::User(user)) => write!(f, "/uid:{}", user.uid()),
            Some(Principal::Subject(subject)) => {
                write!(f, "/subject:{} {}", subject.issuer(), subject.subject())
            }
        }
    }
}

/// The value of a key.
pub(crate) type StoredValue = Arc<[u8]>;

/// One store.
pub(crate) struct KeyValueStore {
    backend: Backend,
}

enum Backend {
    Memory(Mutex<MemoryStore>),
    Disk(DiskStore),
}

/// The store that a plugin is granted for a call.
#[derive(Debug, Clone)]
pub(crate) enum StoreAccess {
    Granted(Arc<KeyValueStore>),
    Refused,
}

/// One page of keys.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KeyPage {
    pub(crate) keys: Vec<String>,
    /// The start of the next page. `None` for the last page.
    pub(crate) cursor: Option<String>,
}

/// An error when reading or writing a value. Guests see these texts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyValueError {
    #[error("the key has {0} bytes, and the limit is {MAX_KEY_BYTES}; use a shorter key, such as a hash")]
    KeyTooLong(usize),
    #[error("the value has {}, and the limit is {}; split it over several keys", display_size(*.0 as u64), display_size(MAX_VALUE_BYTES as u64))]
    ValueTooLong(usize),
    #[error("the plugin's state would be larger than {} (`limits.state`)", display_size(*.0))]
    Full(u64),
    #[error("the key's value isn't a 64-bit integer in decimal digits")]
    NotANumber,
    #[error("the sum doesn't fit into a 64-bit integer")]
    Overflow,
    #[error("the state was locked by another process for too long; try again")]
    Busy,
    #[error("no space left on the disk with the gateway's state; nothing was changed")]
    NoSpace,
    #[error("the gateway's state isn't writable; nothing was changed")]
    ReadOnly,
    /// The reason is for the operator only, because it contains paths of this machine.
    #[error("state is unavailable; the gateway's log shows the reason")]
    Unavailable,
}

fn display_size(bytes: u64) -> String {
    ByteSize::b(bytes).display().iec().to_string()
}

/// The key was changed since it was read. This is its current value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SwapConflict(pub(crate) Option<StoredValue>);

impl fmt::Debug for KeyValueStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyValueStore").finish_non_exhaustive() // a plugin's data is never logged
    }
}

impl KeyValueStores {
    /// Stores in a directory, or in memory without a directory. The directory is opened when the first plugin is
    /// granted a store.
    pub(crate) fn new(dir: Option<PathBuf>) -> Self {
        Self { disk: dir.map(|dir| Arc::new(StateDatabase::new(dir))), open: Mutex::default() }
    }

    /// The store of a plugin for this caller.
    pub(crate) fn of(&self, config: &PluginConfig, caller: &Principal) -> StoreAccess {
        let name = match &config.allow.state {
            StateGrant::NotGranted => return StoreAccess::Refused,
            StateGrant::Own => StoreOwnerName::Plugin(config.id.clone()),
            StateGrant::Shared(name) => StoreOwnerName::Shared(name.clone()),
        };
        let caller = match config.allow.state_scope {
            StateScope::Plugin => None,
            StateScope::Caller => Some(caller.clone()),
        };
        let owner = StoreOwner { name, caller };
        if owner.caller.is_some() && self.disk.is_some() {
            return StoreAccess::Granted(Arc::new(self.open_store(&owner))); // nothing to keep in memory
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let store = open.entry(owner).or_insert_with_key(|owner| Arc::new(self.open_store(owner)));
        StoreAccess::Granted(Arc::clone(store))
    }

    /// Opens the disk, so that its problems are logged at the start.
    pub(crate) fn prepare(&self, config: &PluginConfig) {
        match (&config.allow.state, &self.disk) {
            (StateGrant::NotGranted, _) | (_, None) => {}
            (StateGrant::Own | StateGrant::Shared(_), Some(disk)) => disk.start(),
        }
    }

    fn open_store(&self, owner: &StoreOwner) -> KeyValueStore {
        let backend = match &self.disk {
            Some(disk) => Backend::Disk(DiskStore::new(disk, owner)),
            None => Backend::Memory(Mutex::default()),
        };
        KeyValueStore { backend }
    }

    /// The reason that the disk currently can't be used. `None` if it can, or if no plugin is granted a store on it.
    pub(crate) async fn problem(&self) -> Option<StateDiagnostic> {
        match &self.disk {
            Some(disk) => disk.problem().await,
            None => None,
        }
    }
}

impl KeyValueStore {
    /// The value of a key.
    pub(crate) async fn get(&self, key: String) -> Result<Option<StoredValue>, KeyValueError> {
        check_key(&key)?;
        match &self.backend {
            Backend::Memory(memory) => Ok(lock(memory).get(&key)),
            Backend::Disk(store) => store.get(key).await,
        }
    }

    /// True if the key has a value.
    pub(crate) async fn exists(&self, key: String) -> Result<bool, KeyValueError> {
        check_key(&key)?;
        match &self.backend {
            Backend::Memory(memory) => Ok(lock(memory).get(&key).is_some()),
            Backend::Disk(store) => store.exists(key).await,
        }
    }

    /// Sets a key. `limit` is the maximum size of the store.
    pub(crate) async fn set(&self, key: String, value: Vec<u8>, limit: u64) -> Result<(), KeyValueError> {
        check_key(&key)?;
        let value = stored_value(value)?;
        match &self.backend {
            Backend::Memory(memory) => lock(memory).put(key, value, limit),
            Backend::Disk(store) => store.put(key, value, limit).await,
        }
    }

    /// Removes a key. A missing key isn't an error.
    pub(crate) async fn delete(&self, key: String) -> Result<(), KeyValueError> {
        check_key(&key)?;
        match &self.backend {
            Backend::Memory(memory) => {
                lock(memory).delete(&key);
                Ok(())
            }
            Backend::Disk(store) => store.delete(key).await,
        }
    }

    /// The keys after `cursor`, ordered by their bytes. A key that isn't removed is listed exactly once, regardless of
    /// other changes between two pages.
    pub(crate) async fn first_page(&self, cursor: Option<String>) -> Result<KeyPage, KeyValueError> {
        match &self.backend {
            Backend::Memory(memory) => Ok(lock(memory).page(cursor.as_deref())),
            Backend::Disk(store) => store.page(cursor).await,
        }
    }

    /// Adds to a number, which is stored in decimal digits. A missing key counts as zero.
    pub(crate) async fn increment(&self, key: String, delta: i64, limit: u64) -> Result<i64, KeyValueError> {
        check_key(&key)?;
        match &self.backend {
            Backend::Memory(memory) => lock(memory).increment(key, delta, limit),
            Backend::Disk(store) => store.increment(key, delta, limit).await,
        }
    }

    /// Sets a key if its value is still `seen`.
    pub(crate) async fn swap(
        &self,
        key: String,
        seen: Option<StoredValue>,
        value: Vec<u8>,
        limit: u64,
    ) -> Result<Result<(), SwapConflict>, KeyValueError> {
        check_key(&key)?;
        let value = stored_value(value)?;
        match &self.backend {
            Backend::Memory(memory) => lock(memory).swap(key, seen.as_ref(), value, limit),
            Backend::Disk(store) => store.swap(key, seen, value, limit).await,
        }
    }
}

fn lock(memory: &Mutex<MemoryStore>) -> MutexGuard<'_, MemoryStore> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

fn check_key(key: &str) -> Result<(), KeyValueError> {
    if key.len() > MAX_KEY_BYTES { Err(KeyValueError::KeyTooLong(key.len())) } else { Ok(()) }
}

/// A value as it is stored. Created before anything is locked, because this copies all bytes.
fn stored_value(value: Vec<u8>) -> Result<StoredValue, KeyValueError> {
    if value.len() > MAX_VALUE_BYTES {
        Err(KeyValueError::ValueTooLong(value.len()))
    } else {
        Ok(value.into())
    }
}

// === rules of both backends ===

/// The size of an entry, as counted for the limit.
fn entry_size(key: &str, value: u64) -> u64 {
    ENTRY_OVERHEAD_BYTES + key.len() as u64 + value
}

/// The size of a store after an entry of size `before` is replaced by one of size `after`. A change that doesn't
/// enlarge the store is allowed even if the store exceeds the limit, because the limit may have been lowered.
fn new_store_size(size: u64, before: u64, after: u64, limit: u64) -> Result<u64, KeyValueError> {
    let new = size.saturating_sub(before) + after;
    if new > limit && new > size { Err(KeyValueError::Full(limit)) } else { Ok(new) }
}

/// The sum of a stored number and `delta`.
fn add_to_number(value: Option<&[u8]>, delta: i64) -> Result<i64, KeyValueError> {
    let number = match value {
        None => 0,
        Some(value) => number(value).ok_or(KeyValueError::NotANumber)?,
    };
    number.checked_add(delta).ok_or(KeyValueError::Overflow)
}

fn number(value: &[u8]) -> Option<i64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// The first page of a list of keys.
fn page(mut keys: Vec<String>) -> KeyPage {
    let more = keys.len() > MAX_PAGE_KEYS;
    keys.truncate(MAX_PAGE_KEYS);
    let cursor = if more { keys.last().cloned() } else { None };
    KeyPage { keys, cursor }
}

#[cfg(test)]
mod tests;
