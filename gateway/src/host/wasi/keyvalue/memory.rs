//! A store in memory, for as long as the host lives.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::{Changed, KeepError, PAGE, Page, Value, cost, page, resized, sum};

/// One store's entries.
#[derive(Default)]
pub(super) struct Memory {
    values: BTreeMap<String, Value>,
    /// What they cost together.
    pub(super) size: u64,
}

impl Memory {
    pub(super) fn get(&self, key: &str) -> Option<Value> {
        self.values.get(key).cloned()
    }

    pub(super) fn put(&mut self, key: String, value: Value, most: u64) -> Result<(), KeepError> {
        let before = self.values.get(&key).map_or(0, |before| cost(&key, before.len() as u64));
        self.size = resized(self.size, before, cost(&key, value.len() as u64), most)?;
        self.values.insert(key, value);
        Ok(())
    }

    pub(super) fn delete(&mut self, key: &str) {
        if let Some(value) = self.values.remove(key) {
            self.size -= cost(key, value.len() as u64);
        }
    }

    pub(super) fn page(&self, cursor: Option<&str>) -> Page {
        let start = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        let keys = self.values.range::<str, _>((start, Bound::Unbounded)).map(|(key, _)| key);
        page(keys.take(PAGE + 1).cloned().collect())
    }

    pub(super) fn increment(&mut self, key: String, delta: i64, most: u64) -> Result<i64, KeepError> {
        let sum = sum(self.values.get(&key).map(|value| &value[..]), delta)?;
        self.put(key, sum.to_string().into_bytes().into(), most)?;
        Ok(sum)
    }

    pub(super) fn swap(
        &mut self,
        key: String,
        seen: Option<&Value>,
        value: Value,
        most: u64,
    ) -> Result<Result<(), Changed>, KeepError> {
        let now = self.values.get(&key);
        if now != seen {
            return Ok(Err(Changed(now.cloned())));
        }
        self.put(key, value, most).map(Ok)
    }
}
