//! The resources of `wasi:keyvalue`, which the generated bindings name.

use std::sync::Arc;

use moongate_model::state::StoredValue;

use super::KeyValueStore;

/// An open store.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
#[derive(Debug)]
pub struct Bucket(pub(super) Arc<KeyValueStore>);

/// The value of a key at one time, for a later compare-and-swap.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
#[derive(Debug)]
pub struct Cas {
    pub(super) store: Arc<KeyValueStore>,
    pub(super) key: String,
    pub(super) seen: Option<StoredValue>,
}

impl Cas {
    /// The memory that it keeps alive, in bytes.
    pub(super) fn size(&self) -> u64 {
        self.key.len() as u64 + self.seen.as_ref().map_or(0, |value| value.len() as u64)
    }
}
