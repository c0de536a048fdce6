//! A number of bytes that a call may use, and what is left of it. Used by `http` and `linker::files`.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use bytesize::ByteSize;

/// What is left of a limit. Shown as the limit is: `64.0 MiB`.
#[derive(Debug)]
pub(in crate::host) struct Allowance {
    most: u64,
    left: AtomicU64,
}

impl Allowance {
    pub(in crate::host) fn new(most: ByteSize) -> Self {
        Self { most: most.as_u64(), left: AtomicU64::new(most.as_u64()) }
    }

    /// Takes so many bytes if so many are left.
    pub(in crate::host) fn take(&self, bytes: u64) -> bool {
        let take = |left: u64| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// How many are left.
    pub(in crate::host) fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// How many there were, in bytes.
    pub(in crate::host) fn most(&self) -> u64 {
        self.most
    }
}

impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ByteSize::b(self.most).display().iec().fmt(f)
    }
}
