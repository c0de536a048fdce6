//! What plugins keep from one call to the next: keys and values, on disk or in memory.
//!
//! A store belongs to a plugin, or to a name that several share. Each operation is done as a whole: whatever calls do
//! at once, there is an order in which they did it one after the other. What is allowed is decided here, and the same
//! for both places: in `memory` stores live as long as the host, and nobody waits; on `disk` they are what all gateways
//! on the same folder share, and outlive them.
//! Where the operator asked for disk, there is no way back to memory: what can't be kept there is an error.

mod database;
mod disk;
mod entries;
mod memory;
pub(in crate::host) mod types;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytesize::ByteSize;
use moongate_core::config::{PluginConfig, StateGrant};
use moongate_core::names::{PluginId, StoreName};

use self::database::FILE;
use self::disk::{Disk, Shelf};
use self::memory::Memory;
use crate::blocking::Lane;
use crate::private_dir;

/// The longest key, in bytes.
pub(in crate::host) const KEY: usize = 1 << 10;
/// The longest value, in bytes.
pub(in crate::host) const VALUE: usize = 1 << 20;
/// What a key costs beside its own bytes and its value's: about as much as keeping it takes.
const ENTRY: u64 = 64;
/// How many keys are listed at once.
const PAGE: usize = 500;

/// Why state can't be kept on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateProblem {
    /// Which file or directory, and what is wrong with it.
    pub reason: String,
    /// What to do about it.
    pub hint: String,
}

/// What somebody finds who looks for state in a directory, and changes nothing there.
#[derive(Debug)]
pub enum StateFound {
    /// There is some.
    Some,
    /// There is none yet, and it could be made.
    None,
    /// There is none, and it couldn't be made.
    Problem(StateProblem),
}

/// Looks for state in a directory, and whether it could be made there. The directory may lie where nobody answers, so
/// that is done where it may wait.
pub async fn look_for_state(dir: &Path) -> StateFound {
    let dir = dir.to_owned();
    Lane::new(1).run(move || look(&dir)).await.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => StateFound::None, // only the end of the process takes away a thread that hasn't begun
    })
}

fn look(dir: &Path) -> StateFound {
    if std::fs::symlink_metadata(dir.join(FILE)).is_ok() {
        return StateFound::Some;
    }
    match private_dir::would_be_private(dir) {
        Ok(()) => StateFound::None,
        Err(error) => StateFound::Problem(StateProblem { reason: error.to_string(), hint: error.hint() }),
    }
}

/// All stores. Those in memory stay as long as this: a plugin whose table is taken out, and put back later, finds what
/// it kept.
#[derive(Debug, Default)]
pub(in crate::host) struct Stores {
    disk: Option<Arc<Disk>>,
    all: Mutex<HashMap<Owner, Arc<Kept>>>,
}

/// Whose a store is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Owner {
    Plugin(PluginId),
    Name(StoreName),
}

impl fmt::Display for Owner {
    /// As the database has it. Neither part of it ever holds a colon.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plugin(id) => write!(f, "plugin:{id}"),
            Self::Name(name) => write!(f, "name:{name}"),
        }
    }
}

/// What stands under a key.
pub(in crate::host) type Value = Arc<[u8]>;

/// One store.
pub(in crate::host) struct Kept {
    place: Place,
}

enum Place {
    Memory(Mutex<Memory>),
    Disk(Shelf),
}

/// What a plugin may keep.
#[derive(Debug, Clone)]
pub(in crate::host) enum Access {
    /// It has a store.
    Granted(Arc<Kept>),
    /// It may keep nothing.
    Refused,
}

/// One page of keys.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::host) struct Page {
    pub(in crate::host) keys: Vec<String>,
    /// Where the next one begins; none: this is the last.
    pub(in crate::host) cursor: Option<String>,
}

/// Why something can't be kept or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::host) enum KeepError {
    #[error("the key has {0} bytes, but at most {KEY} are allowed; make it shorter, such as by a hash")]
    LongKey(usize),
    #[error("the value has {}, but at most {} are allowed; keep its parts under keys of their own", size(*.0 as u64), size(VALUE as u64))]
    LongValue(usize),
    #[error("the plugin's state would be larger than {} (`limits.state`)", size(*.0))]
    Full(u64),
    #[error("the key's value is no whole number of 64 bits in decimal digits")]
    NoNumber,
    #[error("the sum is no number of 64 bits")]
    Overflow,
    #[error("the state is in use by others for too long; try again")]
    Busy,
    /// Why is for the operator: it names paths of this machine.
    #[error("state can't be kept or read at present; the gateway's log says why")]
    Unavailable,
}

fn size(bytes: u64) -> String {
    ByteSize::b(bytes).display().iec().to_string()
}

/// Somebody else changed the key; what stands there now.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::host) struct Changed(pub(in crate::host) Option<Value>);

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive() // a plugin's data is for no log
    }
}

impl Stores {
    /// Stores in a folder, or in memory where there is none. The folder is looked at when the first plugin is granted a
    /// store.
    pub(in crate::host) fn new(dir: Option<PathBuf>) -> Self {
        Self { disk: dir.map(|dir| Arc::new(Disk::new(dir))), all: Mutex::default() }
    }

    /// What the plugin is granted.
    pub(in crate::host) fn of(&self, config: &PluginConfig) -> Access {
        let owner = match &config.allow.state {
            StateGrant::Refused => return Access::Refused,
            StateGrant::Own => Owner::Plugin(config.id.clone()),
            StateGrant::Shared(name) => Owner::Name(name.clone()),
        };
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.entry(owner).or_insert_with_key(|owner| Arc::new(self.open(owner)));
        Access::Granted(Arc::clone(kept))
    }

    fn open(&self, owner: &Owner) -> Kept {
        let place = match &self.disk {
            Some(disk) => Place::Disk(Shelf::new(disk, owner)),
            None => Place::Memory(Mutex::default()),
        };
        Kept { place }
    }

    /// Why nothing can be kept on disk now, if nothing can and a plugin is granted a store there.
    pub(in crate::host) async fn problem(&self) -> Option<StateProblem> {
        match &self.disk {
            Some(disk) => disk.problem().await,
            None => None,
        }
    }
}

impl Kept {
    /// The value of a key.
    pub(in crate::host) async fn get(&self, key: String) -> Result<Option<Value>, KeepError> {
        check(&key)?;
        match &self.place {
            Place::Memory(memory) => Ok(lock(memory).get(&key)),
            Place::Disk(shelf) => shelf.get(key).await,
        }
    }

    /// Has the key a value?
    pub(in crate::host) async fn exists(&self, key: String) -> Result<bool, KeepError> {
        check(&key)?;
        match &self.place {
            Place::Memory(memory) => Ok(lock(memory).get(&key).is_some()),
            Place::Disk(shelf) => shelf.exists(key).await,
        }
    }

    /// Sets a key; `most` is how much may be kept in all.
    pub(in crate::host) async fn set(&self, key: String, value: Vec<u8>, most: u64) -> Result<(), KeepError> {
        check(&key)?;
        let value = taken(value)?;
        match &self.place {
            Place::Memory(memory) => lock(memory).put(key, value, most),
            Place::Disk(shelf) => shelf.put(key, value, most).await,
        }
    }

    /// Removes a key. One that isn't there is no error.
    pub(in crate::host) async fn delete(&self, key: String) -> Result<(), KeepError> {
        check(&key)?;
        match &self.place {
            Place::Memory(memory) => {
                lock(memory).delete(&key);
                Ok(())
            }
            Place::Disk(shelf) => shelf.delete(key).await,
        }
    }

    /// The keys after `cursor`, in the order of their bytes. A key that stays is listed exactly once, whatever else
    /// comes and goes between two pages.
    pub(in crate::host) async fn page(&self, cursor: Option<String>) -> Result<Page, KeepError> {
        match &self.place {
            Place::Memory(memory) => Ok(lock(memory).page(cursor.as_deref())),
            Place::Disk(shelf) => shelf.page(cursor).await,
        }
    }

    /// Adds to a number, which is kept in decimal digits. A key that isn't there counts as zero.
    pub(in crate::host) async fn increment(
        &self,
        key: String,
        delta: i64,
        most: u64,
    ) -> Result<i64, KeepError> {
        check(&key)?;
        match &self.place {
            Place::Memory(memory) => lock(memory).increment(key, delta, most),
            Place::Disk(shelf) => shelf.increment(key, delta, most).await,
        }
    }

    /// Sets a key if its value is still `seen`.
    pub(in crate::host) async fn swap(
        &self,
        key: String,
        seen: Option<Value>,
        value: Vec<u8>,
        most: u64,
    ) -> Result<Result<(), Changed>, KeepError> {
        check(&key)?;
        let value = taken(value)?;
        match &self.place {
            Place::Memory(memory) => lock(memory).swap(key, seen.as_ref(), value, most),
            Place::Disk(shelf) => shelf.swap(key, seen, value, most).await,
        }
    }
}

fn lock(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

fn check(key: &str) -> Result<(), KeepError> {
    if key.len() > KEY { Err(KeepError::LongKey(key.len())) } else { Ok(()) }
}

/// A value as it is kept. Made before anything is locked: it copies all bytes.
fn taken(value: Vec<u8>) -> Result<Value, KeepError> {
    if value.len() > VALUE { Err(KeepError::LongValue(value.len())) } else { Ok(value.into()) }
}

// === what both places go by ===

/// What an entry takes of the limit.
fn cost(key: &str, value: u64) -> u64 {
    ENTRY + key.len() as u64 + value
}

/// How much is kept once an entry that cost `before` costs `after`. What makes the store no larger is allowed even
/// where it holds too much already, as it may after its limit was lowered.
fn resized(size: u64, before: u64, after: u64, most: u64) -> Result<u64, KeepError> {
    let new = size.saturating_sub(before) + after;
    if new > most && new > size { Err(KeepError::Full(most)) } else { Ok(new) }
}

/// The sum of a number as it is kept, and `delta`.
fn sum(value: Option<&[u8]>, delta: i64) -> Result<i64, KeepError> {
    let number = match value {
        None => 0,
        Some(value) => number(value).ok_or(KeepError::NoNumber)?,
    };
    number.checked_add(delta).ok_or(KeepError::Overflow)
}

/// The number that these digits are.
fn number(value: &[u8]) -> Option<i64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// The first keys of a longer list as a page.
fn page(mut keys: Vec<String>) -> Page {
    let more = keys.len() > PAGE;
    keys.truncate(PAGE);
    let cursor = if more { keys.last().cloned() } else { None };
    Page { keys, cursor }
}

#[cfg(test)]
mod tests;
