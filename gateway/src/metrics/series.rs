//! Values by label: looked up with every call, added seldom.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{PoisonError, RwLock};

/// One value for each key, made when it is first needed.
#[derive(Debug)]
pub(super) struct Series<K, V> {
    all: RwLock<HashMap<K, V>>,
    make: fn() -> V,
}

impl<K: Clone + Debug + Eq + Hash, V: Clone + Debug> Series<K, V> {
    pub(super) fn new(make: fn() -> V) -> Self {
        Self { all: RwLock::default(), make }
    }

    /// Hands over the value of `key`. Was it new?
    pub(super) fn with(&self, key: &K, change: impl Fn(&V)) -> bool {
        if let Some(value) = self.all.read().unwrap_or_else(PoisonError::into_inner).get(key) {
            change(value);
            return false;
        }
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let before = all.len();
        change(all.entry(key.clone()).or_insert_with(self.make));
        all.len() > before
    }

    /// Drops what `keep` doesn't want.
    pub(super) fn retain(&self, keep: impl Fn(&K) -> bool) {
        self.all.write().unwrap_or_else(PoisonError::into_inner).retain(|key, _| keep(key));
    }

    /// All of them, in no particular order.
    pub(super) fn all(&self) -> Vec<(K, V)> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}
