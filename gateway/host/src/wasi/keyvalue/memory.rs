//! A store in memory, which exists as long as the host.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::{
    KeyPage, KeyValueError, MAX_PAGE_KEYS, StoredValue, SwapConflict, add_to_number, entry_size,
    new_store_size, page,
};

/// The entries of one store.
#[derive(Default)]
pub(super) struct MemoryStore {
    values: BTreeMap<String, StoredValue>,
    /// The total size of all entries.
    pub(super) size: u64,
}

impl MemoryStore {
    pub(super) fn get(&self, key: &str) -> Option<StoredValue> {
        self.values.get(key).cloned()
    }

    pub(super) fn put(&mut self, key: String, value: StoredValue, limit: u64) -> Result<(), KeyValueError> {
        let before = self.values.get(&key).map_or(0, |before| entry_size(&key, before.len() as u64));
        self.size = new_store_size(self.size, before, entry_size(&key, value.len() as u64), limit)?;
        self.values.insert(key, value);
        Ok(())
    }

    pub(super) fn delete(&mut self, key: &str) {
        if let Some(value) = self.values.remove(key) {
            self.size -= entry_size(key, value.len() as u64);
        }
    }

    pub(super) fn page(&self, cursor: Option<&str>) -> KeyPage {
        let start = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        let keys = self.values.range::<str, _>((start, Bound::Unbounded)).map(|(key, _)| key);
        page(keys.take(MAX_PAGE_KEYS + 1).cloned().collect())
    }

    pub(super) fn increment(&mut self, key: String, delta: i64, limit: u64) -> Result<i64, KeyValueError> {
        let sum = add_to_number(self.values.get(&key).map(|value| &value[..]), delta)?;
        self.put(key, sum.to_string().into_bytes().into(), limit)?;
        Ok(sum)
    }

    pub(super) fn swap(
        &mut self,
        key: String,
        seen: Option<&StoredValue>,
        value: StoredValue,
        limit: u64,
    ) -> Result<Result<(), SwapConflict>, KeyValueError> {
        let current = self.values.get(&key);
        if current != seen {
            return Ok(Err(SwapConflict(current.cloned())));
        }
        self.put(key, value, limit).map(Ok)
    }
}
