//! State in memory, which exists as long as the host: a plugin that is removed from the configuration and added again later
//! finds its data.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use moongate_model::state::{
    KeyPage, MAX_PAGE_KEYS, StateBackend, StateDiagnostic, StateError, StateFuture, StateOwner, StoredValue,
    SwapConflict, add_to_number, entry_size, new_store_size,
};

/// The stores in memory.
#[derive(Default)]
pub(super) struct MemoryState(Mutex<BTreeMap<StateOwner, MemoryStore>>);

/// The entries of one store.
#[derive(Default)]
struct MemoryStore {
    values: BTreeMap<String, StoredValue>,
    /// The total size of all entries.
    size: u64,
}

impl MemoryStore {
    fn put(&mut self, key: String, value: StoredValue, limit: u64) -> Result<(), StateError> {
        let before = self.values.get(&key).map_or(0, |before| entry_size(&key, before.len() as u64));
        self.size = new_store_size(self.size, before, entry_size(&key, value.len() as u64), limit)?;
        self.values.insert(key, value);
        Ok(())
    }

    fn page(&self, cursor: Option<&str>) -> KeyPage {
        let start = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        let keys = self.values.range::<str, _>((start, Bound::Unbounded)).map(|(key, _)| key);
        KeyPage::first_of(keys.take(MAX_PAGE_KEYS + 1).cloned().collect())
    }
}

impl MemoryState {
    fn stores(&self) -> MutexGuard<'_, BTreeMap<StateOwner, MemoryStore>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs an operation that reads.
    fn read<T: Default>(&self, owner: &StateOwner, read: impl FnOnce(&MemoryStore) -> T) -> T {
        self.stores().get(owner).map(read).unwrap_or_default()
    }

    /// Runs an operation that can write.
    fn write<T>(&self, owner: &StateOwner, write: impl FnOnce(&mut MemoryStore) -> T) -> T {
        let mut stores = self.stores();
        match stores.get_mut(owner) {
            Some(store) => write(store),
            None => write(stores.entry(owner.clone()).or_default()),
        }
    }
}

fn ready<'a, T: Send + 'a>(result: Result<T, StateError>) -> StateFuture<'a, T> {
    Box::pin(std::future::ready(result))
}

impl fmt::Debug for MemoryState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryState").finish_non_exhaustive() // a plugin's data is never logged
    }
}

impl StateBackend for MemoryState {
    fn get<'a>(&'a self, owner: &'a StateOwner, key: String) -> StateFuture<'a, Option<StoredValue>> {
        ready(Ok(self.read(owner, |store| store.values.get(&key).cloned())))
    }

    fn exists<'a>(&'a self, owner: &'a StateOwner, key: String) -> StateFuture<'a, bool> {
        ready(Ok(self.read(owner, |store| store.values.contains_key(&key))))
    }

    fn set<'a>(
        &'a self,
        owner: &'a StateOwner,
        key: String,
        value: StoredValue,
        limit: u64,
    ) -> StateFuture<'a, ()> {
        ready(self.write(owner, |store| store.put(key, value, limit)))
    }

    fn delete<'a>(&'a self, owner: &'a StateOwner, key: String) -> StateFuture<'a, ()> {
        self.write(owner, |store| {
            if let Some(value) = store.values.remove(&key) {
                store.size -= entry_size(&key, value.len() as u64);
            }
        });
        ready(Ok(()))
    }

    fn page<'a>(&'a self, owner: &'a StateOwner, cursor: Option<String>) -> StateFuture<'a, KeyPage> {
        let stores = self.stores();
        let page = stores.get(owner).map(|store| store.page(cursor.as_deref()));
        ready(Ok(page.unwrap_or(KeyPage { keys: Vec::new(), cursor: None })))
    }

    fn increment<'a>(
        &'a self,
        owner: &'a StateOwner,
        key: String,
        delta: i64,
        limit: u64,
    ) -> StateFuture<'a, i64> {
        ready(self.write(owner, |store| {
            let sum = add_to_number(store.values.get(&key).map(|value| &value[..]), delta)?;
            store.put(key, sum.to_string().into_bytes().into(), limit)?;
            Ok(sum)
        }))
    }

    fn swap<'a>(
        &'a self,
        owner: &'a StateOwner,
        key: String,
        seen: Option<StoredValue>,
        value: StoredValue,
        limit: u64,
    ) -> StateFuture<'a, Result<(), SwapConflict>> {
        ready(self.write(owner, |store| {
            let current = store.values.get(&key);
            if current != seen.as_ref() {
                return Ok(Err(SwapConflict(current.cloned())));
            }
            store.put(key, value, limit).map(Ok)
        }))
    }

    fn owners(&self) -> StateFuture<'_, Vec<(StateOwner, u64)>> {
        let stores = self.stores();
        let owners = stores.iter().filter(|(_, store)| store.size > 0);
        ready(Ok(owners.map(|(owner, store)| (owner.clone(), store.size)).collect()))
    }

    fn problem(&self) -> Pin<Box<dyn Future<Output = Option<StateDiagnostic>> + Send + '_>> {
        Box::pin(std::future::ready(None))
    }
}
