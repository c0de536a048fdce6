//! What plugins keep from one call to the next: keys and values, in memory.
//!
//! A store belongs to a plugin, or to a name that several share. It lives as long as the host, so that it outlives the
//! instances, and the plugin itself when that is loaded anew; all calls of a plugin see the same. Each operation takes
//! the store's lock, does all of its work and gives it back: whatever two calls do at once, there is an order in which
//! they did it one after the other. Nobody waits for anything while holding it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytesize::ByteSize;
use moongate_core::config::{PluginConfig, StateGrant};
use moongate_core::names::{PluginId, StoreName};

/// The longest key, in bytes.
pub(super) const KEY: usize = 1 << 10;
/// The longest value, in bytes.
pub(super) const VALUE: usize = 1 << 20;
/// What a key costs beside its own bytes and its value's: about as much as keeping it takes.
const ENTRY: u64 = 64;
/// How many keys are listed at once.
const PAGE: usize = 500;

/// All stores.
#[derive(Debug, Default)]
pub(super) struct Stores(Mutex<HashMap<Owner, Arc<Kept>>>);

/// Whose a store is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Owner {
    Plugin(PluginId),
    Name(StoreName),
}

/// What stands under a key.
pub(super) type Value = Arc<[u8]>;

/// One store.
#[derive(Default)]
pub(super) struct Kept {
    entries: Mutex<Entries>,
    /// The operator was told that there is no room.
    told: AtomicBool,
}

/// What a plugin may keep.
#[derive(Debug, Clone)]
pub(super) enum Access {
    /// It has a store.
    Granted(Arc<Kept>),
    /// It may keep nothing. Set: the operator was told that it wanted to.
    Refused(Arc<AtomicBool>),
}

#[derive(Default)]
struct Entries {
    values: BTreeMap<String, Value>,
    /// What they cost together.
    size: u64,
}

/// One page of keys.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) keys: Vec<String>,
    /// Where the next one begins; none: this is the last.
    pub(super) cursor: Option<String>,
}

/// Why something can't be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum KeepError {
    #[error("the key has {0} bytes, but at most {KEY} are allowed")]
    LongKey(usize),
    #[error("the value has {}, but at most {} are allowed", size(*.0 as u64), size(VALUE as u64))]
    LongValue(usize),
    #[error("the plugin's state would be larger than {} (`limits.state`)", size(*.0))]
    Full(u64),
    #[error("the key's value is no whole number of 64 bits in decimal digits")]
    NoNumber,
    #[error("the sum is no number of 64 bits")]
    Overflow,
}

fn size(bytes: u64) -> String {
    ByteSize::b(bytes).display().iec().to_string()
}

/// Somebody else changed the key; what stands there now.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changed(pub(super) Option<Value>);

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive() // a plugin's data is for no log
    }
}

impl Stores {
    /// What the plugin is granted.
    pub(super) fn of(&self, config: &PluginConfig) -> Access {
        let owner = match &config.allow.state {
            StateGrant::Refused => return Access::Refused(Arc::default()),
            StateGrant::Own => Owner::Plugin(config.id.clone()),
            StateGrant::Shared(name) => Owner::Name(name.clone()),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Access::Granted(Arc::clone(all.entry(owner).or_default()))
    }
}

impl Kept {
    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Result<Option<Value>, KeepError> {
        check(key)?;
        Ok(self.lock().values.get(key).cloned())
    }

    /// Sets a key; `most` is how much may be kept in all.
    pub(super) fn set(&self, key: String, value: Vec<u8>, most: u64) -> Result<(), KeepError> {
        check(&key)?;
        let value = taken(value)?;
        self.noted(self.lock().put(key, value, most))
    }

    /// Removes a key. One that isn't there is no error.
    pub(super) fn delete(&self, key: &str) -> Result<(), KeepError> {
        check(key)?;
        let mut entries = self.lock();
        if let Some(value) = entries.values.remove(key) {
            entries.size -= cost(key, &value);
        }
        Ok(())
    }

    /// The keys after `cursor`, in alphabetical order. A key that stays is listed exactly once, whatever else comes and
    /// goes between two pages.
    pub(super) fn page(&self, cursor: Option<&str>) -> Page {
        let entries = self.lock();
        let start = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        let mut keys = entries.values.range::<str, _>((start, Bound::Unbounded)).map(|(key, _)| key);
        let page: Vec<String> = keys.by_ref().take(PAGE).cloned().collect();
        let cursor = keys.next().and_then(|_| page.last().cloned());
        Page { keys: page, cursor }
    }

    /// Adds to a number, which is kept in decimal digits. A key that isn't there counts as zero.
    pub(super) fn increment(&self, key: String, delta: i64, most: u64) -> Result<i64, KeepError> {
        check(&key)?;
        let mut entries = self.lock();
        let number = match entries.values.get(&key) {
            None => 0,
            Some(value) => number(value).ok_or(KeepError::NoNumber)?,
        };
        let sum = number.checked_add(delta).ok_or(KeepError::Overflow)?;
        let value = sum.to_string().into_bytes().into();
        self.noted(entries.put(key, value, most))?;
        Ok(sum)
    }

    /// Sets a key if its value is still `seen`.
    pub(super) fn swap(
        &self,
        key: String,
        seen: Option<&Value>,
        value: Vec<u8>,
        most: u64,
    ) -> Result<Result<(), Changed>, KeepError> {
        let value = taken(value)?;
        let mut entries = self.lock();
        let now = entries.values.get(&key);
        if now != seen {
            return Ok(Err(Changed(now.cloned())));
        }
        self.noted(entries.put(key, value, most)).map(Ok)
    }

    /// Is the operator to be told that there is no room? Once, until there was some again.
    pub(super) fn is_news(&self) -> bool {
        !self.told.swap(true, Ordering::Relaxed)
    }

    fn noted(&self, put: Result<(), KeepError>) -> Result<(), KeepError> {
        if put.is_ok() {
            self.told.store(false, Ordering::Relaxed);
        }
        put
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    /// Sets a key. What makes the store no larger is allowed even where it holds too much already, as it may after its
    /// limit was lowered.
    fn put(&mut self, key: String, value: Value, most: u64) -> Result<(), KeepError> {
        let before = self.values.get(&key).map_or(0, |before| cost(&key, before));
        let size = self.size - before + cost(&key, &value);
        if size > most && size > self.size {
            return Err(KeepError::Full(most));
        }
        self.values.insert(key, value);
        self.size = size;
        Ok(())
    }
}

fn check(key: &str) -> Result<(), KeepError> {
    if key.len() > KEY { Err(KeepError::LongKey(key.len())) } else { Ok(()) }
}

/// A value as it is kept. Made before the store is locked: it copies all bytes.
fn taken(value: Vec<u8>) -> Result<Value, KeepError> {
    if value.len() > VALUE { Err(KeepError::LongValue(value.len())) } else { Ok(value.into()) }
}

fn cost(key: &str, value: &[u8]) -> u64 {
    ENTRY + key.len() as u64 + value.len() as u64
}

/// The number that these digits are.
fn number(value: &[u8]) -> Option<i64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
