//! `wasi:keyvalue`: the functions that plugins call.
//!
//! A plugin that is granted a store has one bucket, called `default` or the empty string. Other plugins get
//! `access-denied`, and the log shows the line of `gateway.toml` that grants it. If stores aren't in memory, these
//! functions wait for the disk or the network, and the call's timeout continues to run.

use std::sync::Arc;

use bytesize::ByteSize;
use moongate_config::{PluginConfig, StateGrant};
use moongate_model::call::GrantFix;
use moongate_model::state::{StateError, SwapConflict};
use wasmtime::Result;
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::ResourceTableError;

use super::types::{Bucket, Cas};
use super::{KeyValueStore, StoreAccess};
use crate::bindings::{kv_atomics, kv_store};
use crate::sandbox::quota::ByteQuota;
use crate::wasi::grant_audit::{GrantAudit, MissingGrant};

/// A store's part for keys and values.
#[derive(Debug)]
pub(crate) struct KeyValueState {
    access: StoreAccess,
    config: Arc<PluginConfig>,
    audit: GrantAudit,
    /// The memory of values that were read for swaps, which may have no other owner any more.
    cas_bytes: ByteQuota,
}

impl KeyValueState {
    pub(crate) fn new(access: StoreAccess, config: Arc<PluginConfig>, audit: GrantAudit) -> Self {
        let cas_bytes = ByteQuota::new(config.limits.transfer);
        Self { access, config, audit, cas_bytes }
    }

    /// The state of an idle instance.
    pub(crate) fn without_call(&self, audit: GrantAudit) -> Self {
        Self::new(self.access.clone(), Arc::clone(&self.config), audit)
    }

    /// The maximum size of the plugin's store, in bytes.
    fn limit(&self) -> u64 {
        self.config.limits.state.as_u64()
    }

    fn answer<T>(&self, result: std::result::Result<T, StateError>) -> KeyValueResult<T> {
        Ok(result.map_err(|error| self.error(&error)))
    }

    /// The guest's error. A full store is also reported to the operator.
    fn error(&self, error: &StateError) -> kv_store::Error {
        match error {
            StateError::Full(_) => {
                let limit = ByteSize::b(self.limit()).display().iec();
                self.audit.report_limit("state", &format!("tried to store more than {limit} of state"));
            }
            StateError::KeyTooLong(_)
            | StateError::ValueTooLong(_)
            | StateError::NotANumber
            | StateError::Overflow
            | StateError::Busy
            | StateError::NoSpace
            | StateError::NoMemory
            | StateError::ReadOnly
            | StateError::Unreachable
            | StateError::Uncertain
            | StateError::Unavailable => {}
        }
        kv_store::Error::Other(error.to_string())
    }
}

type KeyValueResult<T> = Result<std::result::Result<T, kv_store::Error>>;

/// The parts of a store that these functions need.
pub(crate) struct KeyValueView<'a> {
    pub(crate) state: &'a mut KeyValueState,
    pub(crate) table: &'a mut ResourceTable,
}

/// Tells the bindings to use a [`KeyValueView`].
pub(crate) struct KeyValueData;

impl HasData for KeyValueData {
    type Data<'a> = KeyValueView<'a>;
}

impl KeyValueView<'_> {
    fn store(
        &self,
        bucket: &Resource<Bucket>,
    ) -> std::result::Result<Arc<KeyValueStore>, ResourceTableError> {
        Ok(Arc::clone(&self.table.get(bucket)?.0))
    }

    /// Keeps a value for a swap. Together, these values are no larger than the maximum that can be passed to the guest
    /// at once.
    fn push_cas(&mut self, cas: Cas) -> KeyValueResult<Resource<Cas>> {
        let size = cas.size();
        if !self.state.cas_bytes.take(size) {
            let message = "the values that were read for swaps are larger than `limits.transfer`";
            return Ok(Err(kv_store::Error::Other(message.to_owned())));
        }
        match self.table.push(cas) {
            Ok(cas) => Ok(Ok(cas)),
            Err(error) => {
                self.state.cas_bytes.give_back(size);
                Err(error.into())
            }
        }
    }

    fn delete_cas(&mut self, cas: Resource<Cas>) -> std::result::Result<Cas, ResourceTableError> {
        let cas = self.table.delete(cas)?;
        self.state.cas_bytes.give_back(cas.size());
        Ok(cas)
    }
}

impl kv_store::Host for KeyValueView<'_> {
    fn open(&mut self, identifier: String) -> KeyValueResult<Resource<Bucket>> {
        let KeyValueState { access, config, audit, .. } = &*self.state;
        let store = match access {
            StoreAccess::Granted(store) => Arc::clone(store),
            StoreAccess::Refused => {
                let fix = Some(GrantFix::Line("state = true".to_owned()));
                audit.report_missing(&MissingGrant { wanted: "a key-value store".to_owned(), fix });
                return Ok(Err(kv_store::Error::AccessDenied));
            }
        };
        audit.note_used(|| match &config.allow.state {
            StateGrant::Shared(name) => format!("state {name}"),
            StateGrant::Own | StateGrant::NotGranted => "state".to_owned(),
        });
        if !matches!(identifier.as_str(), "" | "default") {
            return Ok(Err(kv_store::Error::NoSuchStore));
        }
        Ok(Ok(self.table.push(Bucket(store))?))
    }
}

impl kv_store::HostBucket for KeyValueView<'_> {
    async fn get(&mut self, bucket: Resource<Bucket>, key: String) -> KeyValueResult<Option<Vec<u8>>> {
        let value = self.store(&bucket)?.get(key).await;
        self.state.answer(value.map(|value| value.map(|value| value.to_vec())))
    }

    async fn set(&mut self, bucket: Resource<Bucket>, key: String, value: Vec<u8>) -> KeyValueResult<()> {
        let result = self.store(&bucket)?.set(key, value, self.state.limit()).await;
        self.state.answer(result)
    }

    async fn delete(&mut self, bucket: Resource<Bucket>, key: String) -> KeyValueResult<()> {
        let result = self.store(&bucket)?.delete(key).await;
        self.state.answer(result)
    }

    async fn exists(&mut self, bucket: Resource<Bucket>, key: String) -> KeyValueResult<bool> {
        let exists = self.store(&bucket)?.exists(key).await;
        self.state.answer(exists)
    }

    async fn list_keys(
        &mut self,
        bucket: Resource<Bucket>,
        cursor: Option<String>,
    ) -> KeyValueResult<kv_store::KeyResponse> {
        let page = self.store(&bucket)?.page(cursor).await;
        self.state.answer(page.map(|page| kv_store::KeyResponse { keys: page.keys, cursor: page.cursor }))
    }

    fn drop(&mut self, bucket: Resource<Bucket>) -> Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl kv_atomics::Host for KeyValueView<'_> {
    async fn increment(&mut self, bucket: Resource<Bucket>, key: String, delta: i64) -> KeyValueResult<i64> {
        let sum = self.store(&bucket)?.increment(key, delta, self.state.limit()).await;
        self.state.answer(sum)
    }

    async fn swap(
        &mut self,
        cas: Resource<Cas>,
        value: Vec<u8>,
    ) -> Result<std::result::Result<(), kv_atomics::CasError>> {
        use kv_atomics::CasError;
        let Cas { store, key, seen } = self.delete_cas(cas)?;
        let swapped = store.swap(key.clone(), seen, value, self.state.limit()).await;
        Ok(match swapped {
            Ok(Ok(())) => Ok(()),
            Ok(Err(SwapConflict(current))) => {
                Err(match self.push_cas(Cas { store, key, seen: current })? {
                    Ok(cas) => CasError::CasFailed(cas),
                    Err(error) => CasError::StoreError(error),
                })
            }
            Err(error) => Err(CasError::StoreError(self.state.error(&error))),
        })
    }
}

impl kv_atomics::HostCas for KeyValueView<'_> {
    async fn new(&mut self, bucket: Resource<Bucket>, key: String) -> KeyValueResult<Resource<Cas>> {
        let store = self.store(&bucket)?;
        match store.get(key.clone()).await {
            Ok(seen) => self.push_cas(Cas { store, key, seen }),
            Err(error) => self.state.answer(Err(error)),
        }
    }

    fn current(&mut self, cas: Resource<Cas>) -> KeyValueResult<Option<Vec<u8>>> {
        Ok(Ok(self.table.get(&cas)?.seen.as_ref().map(|value| value.to_vec())))
    }

    fn drop(&mut self, cas: Resource<Cas>) -> Result<()> {
        self.delete_cas(cas)?;
        Ok(())
    }
}
