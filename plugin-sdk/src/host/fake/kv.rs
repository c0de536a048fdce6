//! The fake of `wasi:keyvalue`: a map, and a record of each write that a restarted call would repeat.

use super::{Gateway, read, rounds, tell};
pub(crate) use crate::bindings::imports::wasi::keyvalue::store::{Error, KeyResponse};

/// The number of keys listed at once. It is small so that tests need several pages.
const KEYS_PER_PAGE: usize = 3;

/// A snapshot of a key's value.
pub(crate) struct KvSnapshot {
    key: String,
    seen: Option<Vec<u8>>,
}

impl KvSnapshot {
    pub(crate) fn new(key: &str) -> Result<Self, Error> {
        Ok(Self { key: key.to_owned(), seen: get(key)? })
    }

    #[expect(clippy::unnecessary_wraps, reason = "the real one can fail")]
    pub(crate) fn current(&self) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.seen.clone())
    }

    pub(crate) fn swap(self, value: &[u8]) -> Result<Option<Self>, Error> {
        let won = write(&format!("kv::update(\"{}\")", self.key), |gateway| {
            if let Some((key, value)) = gateway.kv_meanwhile.pop_front() {
                gateway.kv.insert(key, value);
                return false;
            }
            if gateway.kv_contention > 0 {
                gateway.kv_contention -= 1;
                return false;
            }
            gateway.kv.insert(self.key.clone(), value.to_vec());
            true
        })?;
        if won { Ok(None) } else { Self::new(&self.key).map(Some) }
    }
}

pub(crate) fn get(key: &str) -> Result<Option<Vec<u8>>, Error> {
    granted()?;
    Ok(read(|gateway| gateway.kv.get(key).cloned()))
}

pub(crate) fn set(key: &str, value: &[u8]) -> Result<(), Error> {
    write(&format!("kv::set(\"{key}\")"), |gateway| {
        gateway.kv.insert(key.to_owned(), value.to_vec());
    })
}

pub(crate) fn delete(key: &str) -> Result<(), Error> {
    write(&format!("kv::delete(\"{key}\")"), |gateway| {
        gateway.kv.remove(key);
    })
}

pub(crate) fn exists(key: &str) -> Result<bool, Error> {
    get(key).map(|value| value.is_some())
}

pub(crate) fn list_keys(cursor: Option<&str>) -> Result<KeyResponse, Error> {
    granted()?;
    Ok(read(|gateway| {
        let after = |key: &&String| cursor.is_none_or(|cursor| key.as_str() > cursor);
        let mut keys = gateway.kv.keys().filter(after).cloned();
        let page: Vec<String> = keys.by_ref().take(KEYS_PER_PAGE).collect();
        let cursor = keys.next().and_then(|_| page.last().cloned());
        KeyResponse { keys: page, cursor }
    }))
}

pub(crate) fn increment(key: &str, delta: i64) -> Result<i64, Error> {
    write(&format!("kv::increment(\"{key}\")"), |gateway| {
        let bytes = gateway.kv.get(key).map_or("0".as_bytes(), Vec::as_slice);
        let number = std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<i64>().ok());
        let sum = number.and_then(|number| number.checked_add(delta));
        let sum = sum.ok_or_else(|| {
            Error::Other(format!("cannot add {delta} to `{key}`: not a 64-bit integer, or it overflows"))
        })?;
        gateway.kv.insert(key.to_owned(), sum.to_string().into_bytes());
        Ok(sum)
    })?
}

fn write<R>(what: &str, change: impl FnOnce(&mut Gateway) -> R) -> Result<R, Error> {
    granted()?;
    rounds::record_effect(what);
    Ok(tell(change))
}

fn granted() -> Result<(), Error> {
    if read(|gateway| gateway.kv_denied) { Err(Error::AccessDenied) } else { Ok(()) }
}
