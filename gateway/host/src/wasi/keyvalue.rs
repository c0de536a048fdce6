//! `wasi:keyvalue`: keys and values that plugins keep between calls.
//!
//! A store belongs to a plugin, or to a name that several plugins share. [`moongate_model::state`] has the rules, which
//! are the same for all backends. State in [`memory`] exists as long as the host; that on [`disk`] outlives it, and all
//! gateways with the same state directory share it. A backend can also come from outside, for gateways on several
//! machines. If the operator chose a backend, nothing falls back to memory: an unusable one is an error.

mod database;
mod disk;
mod entries;
pub(crate) mod host;
mod memory;
pub(crate) mod types;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use moongate_config::{PluginConfig, StateGrant, StateScope};
use moongate_model::names::Principal;
use moongate_model::state::{
    KeyPage, MAX_KEY_BYTES, MAX_VALUE_BYTES, StateBackend, StateDiagnostic, StateError, StateOwner,
    StateOwnerName, StoredValue, SwapConflict,
};
use moongate_system::blocking::BlockingLimiter;
use moongate_system::machine::machine_id;
use moongate_system::private_dir::PrivateDir;

use self::database::{DATABASE_FILE, STATE_FILES};
use self::disk::StateDatabase;
use self::memory::MemoryState;

/// The place where plugins' state is kept.
#[derive(Debug, Clone)]
pub enum StateLocation {
    /// In memory, as long as the host exists.
    Memory,
    /// In this directory.
    Directory(PathBuf),
    /// In a store outside of the gateway, which gateways on other machines can share.
    Shared(Arc<dyn StateBackend>),
}

impl StateLocation {
    /// The backend that keeps the state. A directory is opened when it is first used.
    #[must_use]
    pub fn backend(self) -> Arc<dyn StateBackend> {
        match self {
            Self::Memory => Arc::new(MemoryState::default()),
            Self::Directory(dir) => Arc::new(StateDatabase::new(dir)),
            Self::Shared(backend) => backend,
        }
    }
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

/// All stores.
#[derive(Debug)]
pub(crate) struct KeyValueStores {
    backend: Arc<dyn StateBackend>,
    /// Identifies this machine if others share the backend.
    machine: Option<String>,
}

/// One store.
pub(crate) struct KeyValueStore {
    backend: Arc<dyn StateBackend>,
    owner: StateOwner,
}

/// The store that a plugin is granted for a call.
#[derive(Debug, Clone)]
pub(crate) enum StoreAccess {
    Granted(Arc<KeyValueStore>),
    Refused,
}

impl fmt::Debug for KeyValueStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyValueStore").finish_non_exhaustive() // a plugin's data is never logged
    }
}

impl KeyValueStores {
    pub(crate) fn new(location: StateLocation) -> Self {
        let machine = match &location {
            StateLocation::Memory | StateLocation::Directory(_) => None,
            StateLocation::Shared(_) => machine_id(),
        };
        Self { backend: location.backend(), machine }
    }

    /// The store of a plugin for this caller.
    pub(crate) fn of(&self, config: &PluginConfig, caller: &Principal) -> StoreAccess {
        let name = match &config.allow.state {
            StateGrant::NotGranted => return StoreAccess::Refused,
            StateGrant::Own => StateOwnerName::Plugin(config.id.clone()),
            StateGrant::Shared(name) => StateOwnerName::Shared(name.clone()),
        };
        let caller = match config.allow.state_scope {
            StateScope::Plugin => None,
            StateScope::Caller => Some(caller),
        };
        let owner = StateOwner::new(&name, caller, self.machine.as_deref());
        StoreAccess::Granted(Arc::new(KeyValueStore { backend: Arc::clone(&self.backend), owner }))
    }

    /// Opens the backend, so that its problems are logged at the start.
    pub(crate) fn prepare(&self, config: &PluginConfig) {
        match &config.allow.state {
            StateGrant::NotGranted => {}
            StateGrant::Own | StateGrant::Shared(_) => self.backend.start(),
        }
    }

    /// The reason that state currently can't be kept. `None` if it can, or if no plugin is granted a store.
    pub(crate) async fn problem(&self) -> Option<StateDiagnostic> {
        self.backend.problem().await
    }
}

impl KeyValueStore {
    /// The value of a key.
    pub(crate) async fn get(&self, key: String) -> Result<Option<StoredValue>, StateError> {
        check_key(&key)?;
        self.backend.get(&self.owner, key).await
    }

    /// True if the key has a value.
    pub(crate) async fn exists(&self, key: String) -> Result<bool, StateError> {
        check_key(&key)?;
        self.backend.exists(&self.owner, key).await
    }

    /// Sets a key. `limit` is the maximum size of the store.
    pub(crate) async fn set(&self, key: String, value: Vec<u8>, limit: u64) -> Result<(), StateError> {
        check_key(&key)?;
        let value = stored_value(value)?;
        self.backend.set(&self.owner, key, value, limit).await
    }

    /// Removes a key. A missing key isn't an error.
    pub(crate) async fn delete(&self, key: String) -> Result<(), StateError> {
        check_key(&key)?;
        self.backend.delete(&self.owner, key).await
    }

    /// The keys after `cursor`.
    pub(crate) async fn page(&self, cursor: Option<String>) -> Result<KeyPage, StateError> {
        // No key is longer, and the server of a shared store would have to read it all.
        if cursor.as_ref().is_some_and(|cursor| cursor.len() > MAX_KEY_BYTES) {
            return Err(StateError::KeyTooLong(cursor.map_or(0, |cursor| cursor.len())));
        }
        self.backend.page(&self.owner, cursor).await
    }

    /// Adds to a number, which is stored in decimal digits. A missing key counts as zero.
    pub(crate) async fn increment(&self, key: String, delta: i64, limit: u64) -> Result<i64, StateError> {
        check_key(&key)?;
        self.backend.increment(&self.owner, key, delta, limit).await
    }

    /// Sets a key if its value is still `seen`.
    pub(crate) async fn swap(
        &self,
        key: String,
        seen: Option<StoredValue>,
        value: Vec<u8>,
        limit: u64,
    ) -> Result<Result<(), SwapConflict>, StateError> {
        check_key(&key)?;
        let value = stored_value(value)?;
        self.backend.swap(&self.owner, key, seen, value, limit).await
    }
}

fn check_key(key: &str) -> Result<(), StateError> {
    if key.len() > MAX_KEY_BYTES { Err(StateError::KeyTooLong(key.len())) } else { Ok(()) }
}

/// A value as it is stored. Created before anything is locked, because this copies all bytes.
fn stored_value(value: Vec<u8>) -> Result<StoredValue, StateError> {
    if value.len() > MAX_VALUE_BYTES { Err(StateError::ValueTooLong(value.len())) } else { Ok(value.into()) }
}

#[cfg(test)]
mod tests;
