//! `wasi:keyvalue`: what a plugin remembers between calls. No plugin is granted a store yet, so nobody holds a bucket.

use wasmtime::Result;
use wasmtime::component::Resource;

use crate::host::bindings::{kv_atomics, kv_store};
use crate::host::store::State;

/// An open store.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub enum Bucket {}

/// A look at a key of a store, to be swapped.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub enum Cas {}

type Stored<T> = Result<std::result::Result<T, kv_store::Error>>;

impl kv_store::Host for State {
    fn open(&mut self, _identifier: String) -> Stored<Resource<Bucket>> {
        Ok(Err(kv_store::Error::AccessDenied))
    }
}

impl kv_store::HostBucket for State {
    fn get(&mut self, _: Resource<Bucket>, _: String) -> Stored<Option<Vec<u8>>> {
        Ok(Err(kv_store::Error::AccessDenied))
    }

    fn set(&mut self, _: Resource<Bucket>, _: String, _: Vec<u8>) -> Stored<()> {
        Ok(Err(kv_store::Error::AccessDenied))
    }

    fn delete(&mut self, _: Resource<Bucket>, _: String) -> Stored<()> {
        Ok(Err(kv_store::Error::AccessDenied))
    }

    fn exists(&mut self, _: Resource<Bucket>, _: String) -> Stored<bool> {
        Ok(Err(kv_store::Error::AccessDenied))
    }

    fn list_keys(&mut self, _: Resource<Bucket>, _: Option<String>) -> Stored<kv_store::KeyResponse> {
        Ok(Err(kv_store::Error::AccessDenied))
    }

    fn drop(&mut self, bucket: Resource<Bucket>) -> Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl kv_atomics::Host for State {
    fn increment(&mut self, _: Resource<Bucket>, _: String, _: i64) -> Stored<i64> {
        Ok(Err(kv_store::Error::AccessDenied))
    }

    fn swap(
        &mut self,
        _: Resource<Cas>,
        _: Vec<u8>,
    ) -> Result<std::result::Result<(), kv_atomics::CasError>> {
        Ok(Err(kv_atomics::CasError::StoreError(kv_store::Error::AccessDenied)))
    }
}

impl kv_atomics::HostCas for State {
    fn new(&mut self, _: Resource<Bucket>, _: String) -> Stored<Resource<Cas>> {
        Ok(Err(kv_store::Error::AccessDenied))
    }

    fn current(&mut self, _: Resource<Cas>) -> Stored<Option<Vec<u8>>> {
        Ok(Err(kv_store::Error::AccessDenied))
    }

    fn drop(&mut self, cas: Resource<Cas>) -> Result<()> {
        self.table.delete(cas)?;
        Ok(())
    }
}
