//! How many descriptors the process may have, and how many of them are one call's.
//!
//! A file that a guest opens is one of the process's descriptors; so is a connection of a client. Each call has a share
//! of its own, so that all of them together leave enough for everybody else.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Kept for connections, the gateway's own files and what is open for a moment. Half of what there is, if that is less.
const RESERVE: u64 = 2048;

/// A call's share is never larger, however many there are: nothing honest needs more.
const MOST: u64 = 256;

/// A call's share is never smaller, or the simplest plugin wouldn't work.
pub(in crate::host) const LEAST: u32 = 8;

/// Takes as many as the system lets this user have. Most systems begin with 1,024, for programs from long ago.
pub(in crate::host) fn take_all() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // None: no limit.
    if current.is_none() || current == maximum {
        return;
    }
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!(%error, "the limit of open files stays {current:?}");
    }
}

/// How many files a call may have open where so many calls run at once. To be asked after [`take_all`].
pub(in crate::host) fn share(concurrency: u32) -> u32 {
    share_of(getrlimit(Resource::Nofile).current, concurrency)
}

/// `limit`: how many descriptors the process may have; none: as many as it likes.
fn share_of(limit: Option<u64>, concurrency: u32) -> u32 {
    let limit = limit.unwrap_or(u64::MAX);
    let free = limit - RESERVE.min(limit / 2);
    let share = (free / u64::from(concurrency.max(1))).clamp(LEAST.into(), MOST);
    u32::try_from(share).expect("it is no more than the most")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_its_share_of_what_the_system_gives() {
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
