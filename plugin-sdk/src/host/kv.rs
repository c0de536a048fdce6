//! `wasi:keyvalue` as plain functions, so that the fake needs no WASI resources. A plugin has one bucket.

use crate::bindings::imports::wasi::keyvalue::atomics::{self, Cas, CasError};
use crate::bindings::imports::wasi::keyvalue::store::{self, Bucket};
pub(crate) use crate::bindings::imports::wasi::keyvalue::store::{Error, KeyResponse};

/// A snapshot of a key's value, to be replaced if it hasn't changed.
pub(crate) struct KvSnapshot(Cas);

impl KvSnapshot {
    pub(crate) fn new(key: &str) -> Result<Self, Error> {
        Cas::new(&bucket()?, key).map(Self)
    }

    pub(crate) fn current(&self) -> Result<Option<Vec<u8>>, Error> {
        self.0.current()
    }

    /// Replaces the value. Returns a newer snapshot if it has changed.
    pub(crate) fn swap(self, value: &[u8]) -> Result<Option<Self>, Error> {
        match atomics::swap(self.0, value) {
            Ok(()) => Ok(None),
            Err(CasError::CasFailed(newer)) => Ok(Some(Self(newer))),
            Err(CasError::StoreError(error)) => Err(error),
        }
    }
}

pub(crate) fn get(key: &str) -> Result<Option<Vec<u8>>, Error> {
    bucket()?.get(key)
}

pub(crate) fn set(key: &str, value: &[u8]) -> Result<(), Error> {
    bucket()?.set(key, value)
}

pub(crate) fn delete(key: &str) -> Result<(), Error> {
    bucket()?.delete(key)
}

pub(crate) fn exists(key: &str) -> Result<bool, Error> {
    bucket()?.exists(key)
}

pub(crate) fn list_keys(cursor: Option<&str>) -> Result<KeyResponse, Error> {
    bucket()?.list_keys(cursor)
}

pub(crate) fn increment(key: &str, delta: i64) -> Result<i64, Error> {
    atomics::increment(&bucket()?, key, delta)
}

fn bucket() -> Result<Bucket, Error> {
    store::open("default")
}
