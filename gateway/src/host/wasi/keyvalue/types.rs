//! `wasi:keyvalue`: what a plugin remembers between calls.
//!
//! A plugin that is granted a store has one bucket, called `default` or nothing at all. One that isn't gets
//! `access-denied`, and the log says which line of `gateway.toml` would grant it.
//! Where stores are on disk, these functions wait for it, and the call's time goes on meanwhile.

use std::sync::Arc;

use bytesize::ByteSize;
use moongate_core::call::Cure;
use moongate_core::config::StateGrant;
use wasmtime::Result;
use wasmtime::component::Resource;
use wasmtime_wasi::ResourceTableError;

use crate::host::bindings::{kv_atomics, kv_store};
use crate::host::sandbox::store::State;
use crate::host::wasi::grant_audit::Lack;
use crate::host::wasi::keyvalue::{Access, Changed, KeepError, Kept, Value};

/// An open store.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
#[derive(Debug)]
pub struct Bucket(Arc<Kept>);

/// A look at a key of a store, to be swapped.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
#[derive(Debug)]
pub struct Cas {
    kept: Arc<Kept>,
    key: String,
    seen: Option<Value>,
}

impl Cas {
    /// What it keeps alive, in bytes.
    fn size(&self) -> u64 {
        self.key.len() as u64 + self.seen.as_ref().map_or(0, |value| value.len() as u64)
    }
}

/// A call's side of the plugin's store.
#[derive(Debug)]
pub(in crate::host) struct Memory {
    access: Access,
    /// What the looks hold that the call has taken, in bytes: values that nobody else may need any more.
    held: u64,
}

impl Memory {
    pub(in crate::host) fn new(access: Access) -> Self {
        Self { access, held: 0 }
    }
}

type Stored<T> = Result<std::result::Result<T, kv_store::Error>>;

impl State {
    fn kept(&self, bucket: &Resource<Bucket>) -> std::result::Result<Arc<Kept>, ResourceTableError> {
        Ok(Arc::clone(&self.table.get(bucket)?.0))
    }

    /// How much the plugin may keep.
    fn most(&self) -> u64 {
        self.config.limits.state.as_u64()
    }

    fn stored<T>(&self, result: std::result::Result<T, KeepError>) -> Stored<T> {
        Ok(result.map_err(|error| self.error(&error)))
    }

    /// What the guest is told. That there is no room more is told to the operator too.
    fn error(&self, error: &KeepError) -> kv_store::Error {
        match error {
            KeepError::Full(_) => {
                let most = ByteSize::b(self.most()).display().iec();
                self.uses.exceeded("state", &format!("wanted to keep more than the {most} that it may"));
            }
            KeepError::LongKey(_)
            | KeepError::LongValue(_)
            | KeepError::NoNumber
            | KeepError::Overflow
            | KeepError::Busy
            | KeepError::Unavailable => {}
        }
        kv_store::Error::Other(error.to_string())
    }

    /// Remembers a look at a key. Together they hold no more than may cross to the guest at once.
    fn look(&mut self, cas: Cas) -> Stored<Resource<Cas>> {
        let held = self.memory.held.saturating_add(cas.size());
        if held > self.config.limits.transfer.as_u64() {
            let message = "the values that were read for swaps are larger than `limits.transfer`";
            return Ok(Err(kv_store::Error::Other(message.to_owned())));
        }
        let look = self.table.push(cas)?;
        self.memory.held = held;
        Ok(Ok(look))
    }

    fn forget(&mut self, cas: Resource<Cas>) -> std::result::Result<Cas, ResourceTableError> {
        let cas = self.table.delete(cas)?;
        self.memory.held = self.memory.held.saturating_sub(cas.size());
        Ok(cas)
    }
}

impl kv_store::Host for State {
    fn open(&mut self, identifier: String) -> Stored<Resource<Bucket>> {
        let kept = match &self.memory.access {
            Access::Granted(kept) => Arc::clone(kept),
            Access::Refused => {
                let cure = Some(Cure::Line("state = true".to_owned()));
                self.uses.lacked(Lack { wanted: "to keep state".to_owned(), cure });
                return Ok(Err(kv_store::Error::AccessDenied));
            }
        };
        self.uses.used(|| match &self.config.allow.state {
            StateGrant::Shared(name) => format!("state {name}"),
            StateGrant::Own | StateGrant::Refused => "state".to_owned(),
        });
        if !matches!(identifier.as_str(), "" | "default") {
            return Ok(Err(kv_store::Error::NoSuchStore));
        }
        Ok(Ok(self.table.push(Bucket(kept))?))
    }
}

impl kv_store::HostBucket for State {
    async fn get(&mut self, bucket: Resource<Bucket>, key: String) -> Stored<Option<Vec<u8>>> {
        let value = self.kept(&bucket)?.get(key).await;
        self.stored(value.map(|value| value.map(|value| value.to_vec())))
    }

    async fn set(&mut self, bucket: Resource<Bucket>, key: String, value: Vec<u8>) -> Stored<()> {
        let set = self.kept(&bucket)?.set(key, value, self.most()).await;
        self.stored(set)
    }

    async fn delete(&mut self, bucket: Resource<Bucket>, key: String) -> Stored<()> {
        let deleted = self.kept(&bucket)?.delete(key).await;
        self.stored(deleted)
    }

    async fn exists(&mut self, bucket: Resource<Bucket>, key: String) -> Stored<bool> {
        let there = self.kept(&bucket)?.exists(key).await;
        self.stored(there)
    }

    async fn list_keys(
        &mut self,
        bucket: Resource<Bucket>,
        cursor: Option<String>,
    ) -> Stored<kv_store::KeyResponse> {
        let page = self.kept(&bucket)?.page(cursor).await;
        self.stored(page.map(|page| kv_store::KeyResponse { keys: page.keys, cursor: page.cursor }))
    }

    fn drop(&mut self, bucket: Resource<Bucket>) -> Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl kv_atomics::Host for State {
    async fn increment(&mut self, bucket: Resource<Bucket>, key: String, delta: i64) -> Stored<i64> {
        let sum = self.kept(&bucket)?.increment(key, delta, self.most()).await;
        self.stored(sum)
    }

    async fn swap(
        &mut self,
        cas: Resource<Cas>,
        value: Vec<u8>,
    ) -> Result<std::result::Result<(), kv_atomics::CasError>> {
        use kv_atomics::CasError;
        let Cas { kept, key, seen } = self.forget(cas)?;
        let swapped = kept.swap(key.clone(), seen, value, self.most()).await;
        Ok(match swapped {
            Ok(Ok(())) => Ok(()),
            Ok(Err(Changed(now))) => Err(match self.look(Cas { kept, key, seen: now })? {
                Ok(look) => CasError::CasFailed(look),
                Err(error) => CasError::StoreError(error),
            }),
            Err(error) => Err(CasError::StoreError(self.error(&error))),
        })
    }
}

impl kv_atomics::HostCas for State {
    async fn new(&mut self, bucket: Resource<Bucket>, key: String) -> Stored<Resource<Cas>> {
        let kept = self.kept(&bucket)?;
        match kept.get(key.clone()).await {
            Ok(seen) => self.look(Cas { kept, key, seen }),
            Err(error) => self.stored(Err(error)),
        }
    }

    fn current(&mut self, cas: Resource<Cas>) -> Stored<Option<Vec<u8>>> {
        Ok(Ok(self.table.get(&cas)?.seen.as_ref().map(|value| value.to_vec())))
    }

    fn drop(&mut self, cas: Resource<Cas>) -> Result<()> {
        self.forget(cas)?;
        Ok(())
    }
}
