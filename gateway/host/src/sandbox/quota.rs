//! Quotas of one call: limits on bytes and on items, and their remaining amounts.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytesize::ByteSize;

/// A limit in bytes and its remaining amount. Displayed as the limit: `64.0 MiB`.
#[derive(Debug)]
pub(crate) struct ByteQuota(Quota);

/// A limit on a number of items and its remaining amount. Displayed as the limit.
#[derive(Debug)]
pub(crate) struct CountQuota(Quota);

/// Bytes of a quota that are returned when this is dropped.
#[derive(Debug)]
pub(crate) struct BytePermit {
    quota: Arc<ByteQuota>,
    bytes: u64,
}

/// One item of a quota that is returned when this is dropped.
#[derive(Debug)]
pub(crate) struct CountPermit(Arc<CountQuota>);

#[derive(Debug)]
struct Quota {
    limit: u64,
    left: AtomicU64,
}

impl Quota {
    fn new(limit: u64) -> Self {
        Self { limit, left: AtomicU64::new(limit) }
    }

    fn take(&self, amount: u64) -> bool {
        let take = |left: u64| left.checked_sub(amount);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    fn give_back(&self, amount: u64) {
        let give = |left: u64| Some(left.saturating_add(amount).min(self.limit));
        let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, give);
    }

    fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }
}

impl ByteQuota {
    pub(crate) fn new(limit: ByteSize) -> Self {
        Self(Quota::new(limit.as_u64()))
    }

    /// Takes the bytes permanently. Returns false, and takes nothing, if fewer are left.
    pub(crate) fn take(&self, bytes: u64) -> bool {
        self.0.take(bytes)
    }

    /// Takes the bytes until the permit is dropped. `None` if fewer are left.
    pub(crate) fn acquire(self: &Arc<Self>, bytes: u64) -> Option<BytePermit> {
        self.take(bytes).then(|| BytePermit { quota: Arc::clone(self), bytes })
    }

    /// Returns bytes that were [taken](Self::take).
    pub(crate) fn give_back(&self, bytes: u64) {
        self.0.give_back(bytes);
    }

    pub(crate) fn left(&self) -> u64 {
        self.0.left()
    }

    pub(crate) fn used(&self) -> u64 {
        self.0.limit - self.0.left()
    }

    pub(crate) fn limit(&self) -> u64 {
        self.0.limit
    }
}

impl CountQuota {
    pub(crate) fn new(limit: u32) -> Self {
        Self(Quota::new(limit.into()))
    }

    /// Takes this many items permanently. Returns false, and takes nothing, if fewer are left.
    pub(crate) fn take(&self, count: u64) -> bool {
        self.0.take(count)
    }

    /// Returns items that were [taken](Self::take).
    pub(crate) fn give_back(&self, count: u64) {
        self.0.give_back(count);
    }

    /// Takes one item until the permit is dropped. `None` if none is left.
    pub(crate) fn acquire(self: &Arc<Self>) -> Option<CountPermit> {
        self.take(1).then(|| CountPermit(Arc::clone(self)))
    }

    pub(crate) fn left(&self) -> u64 {
        self.0.left()
    }

    pub(crate) fn used(&self) -> u64 {
        self.0.limit - self.0.left()
    }
}

impl fmt::Display for ByteQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ByteSize::b(self.0.limit).display().iec().fmt(f)
    }
}

impl fmt::Display for CountQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.limit.fmt(f)
    }
}

impl Drop for BytePermit {
    fn drop(&mut self) {
        self.quota.give_back(self.bytes);
    }
}

impl Drop for CountPermit {
    fn drop(&mut self) {
        self.0.0.give_back(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_quota_takes_all_or_nothing() {
        let quota = ByteQuota::new(ByteSize::kib(1));
        assert!(quota.take(1000) && !quota.take(25) && quota.take(24));
        assert_eq!((quota.left(), quota.used(), quota.limit()), (0, 1024, 1024));
        quota.give_back(2000);
        assert_eq!(quota.left(), 1024, "never above the limit");
        assert_eq!(quota.to_string(), "1.0 KiB");
    }

    #[test]
    fn dropped_permits_are_given_back() {
        let bytes = Arc::new(ByteQuota::new(ByteSize::b(10)));
        let permit = bytes.acquire(8).unwrap();
        assert!(bytes.acquire(3).is_none());
        drop(permit);
        assert_eq!(bytes.left(), 10);
        let count = Arc::new(CountQuota::new(1));
        let permit = count.acquire().unwrap();
        assert!(count.acquire().is_none() && !count.take(1));
        drop(permit);
        assert!(count.take(1) && count.acquire().is_none());
    }
}
