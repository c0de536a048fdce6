//! The process's limit on open files, and each call's share of it.
//!
//! A file that a guest opens uses one of the process's descriptors, and so does a client's connection. Each call has a
//! share, so that all calls together leave enough descriptors for everything else.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The number of descriptors reserved for connections, the gateway's own files and short-lived ones; at most half of
/// all.
const RESERVED_FILES: u64 = 2048;

/// The maximum share of a call. No legitimate plugin needs more.
const MAX_PER_CALL: u64 = 256;

/// The minimum share of a call. With less, even simple plugins would fail.
pub(crate) const MIN_PER_CALL: u32 = 8;

/// Raises the process's limit as far as the system allows. Most systems start with 1,024.
pub(crate) fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // `None` means no limit.
    if current.is_none() || current == maximum {
        return;
    }
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!(%error, "can't raise the limit on open files, which stays at {current:?}");
    }
}

/// The number of files that each of this many concurrent calls can have open. Call this after [`raise_limit`].
pub(crate) fn per_call(concurrency: u32) -> u32 {
    share_of(getrlimit(Resource::Nofile).current, concurrency)
}

/// The number of files that plugins leave to connections and the gateway itself. Call this after [`raise_limit`].
#[must_use]
pub fn reserved_files() -> u64 {
    reserve_of(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
}

fn reserve_of(limit: u64) -> u64 {
    RESERVED_FILES.min(limit / 2)
}

/// `limit` is the process's limit. `None` means no limit.
fn share_of(limit: Option<u64>, concurrency: u32) -> u32 {
    let limit = limit.unwrap_or(u64::MAX);
    let free = limit - reserve_of(limit);
    let share = (free / u64::from(concurrency.max(1))).clamp(MIN_PER_CALL.into(), MAX_PER_CALL);
    u32::try_from(share).expect("the share is at most `MAX_PER_CALL`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_depends_on_the_limit_and_the_concurrency() {
        for (limit, concurrency, share) in [
            (None, 64, 256),
            (Some(1_048_576), 64, 256),
            (Some(20_000), 64, 256),
            (Some(8192), 64, 96),
            (Some(4096), 64, 32),
            (Some(1024), 64, 8),
            (Some(1024), 4, 128),
            (Some(256), 16, 8),
            (Some(0), 1, 8),
        ] {
            assert_eq!(share_of(limit, concurrency), share, "{limit:?} for {concurrency} calls");
        }
    }
}
