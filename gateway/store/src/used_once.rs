//! States that are used once: a gateway numbers the states that it issues.
//!
//! A hash has a field for each used state, with a random text of the request that used it. If the store doesn't answer in
//! time, the request is refused, and the state is released as soon as the store answers again.

use std::sync::LazyLock;
use std::time::Duration;

use moongate_model::shared_store::{SharedOnce, SharedStoreDown, SharedStoreFuture};
use redis::Script;
use tokio::time::{sleep, timeout};

use crate::connection::{SharedStore, StoreUse, script};

/// The number of states in a hash, which the server keeps in a compact form.
const CHUNK_STATES: u64 = 128;

/// The time between attempts to release a state.
const RELEASE_PAUSE: Duration = Duration::from_secs(1);

/// Arguments: the state, the text of the request, and the time to keep them in milliseconds. Returns 1 if the state
/// wasn't used before.
const MARK: &str = "
local is_first = redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return is_first
";

/// Arguments: the state, and the text of the request.
const RELEASE: &str = "
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then
  redis.call('HDEL', KEYS[1], ARGV[1])
end
return 1
";

static MARK_SCRIPT: LazyLock<Script> = LazyLock::new(|| script(MARK));
static RELEASE_SCRIPT: LazyLock<Script> = LazyLock::new(|| script(RELEASE));

/// The use of a state by a request.
struct StateMark {
    key: String,
    state: u64,
    /// Identifies the request.
    request: String,
}

impl SharedOnce for SharedStore {
    fn mark_used(&self, issuer: u64, number: u64, keep: Duration) -> SharedStoreFuture<'_, bool> {
        Box::pin(async move {
            let mut request = [0_u8; 8];
            getrandom::fill(&mut request).map_err(|_| SharedStoreDown)?;
            let mark = StateMark {
                key: self.key(&format!("used:{issuer:016x}:{}", number / CHUNK_STATES)),
                state: number % CHUNK_STATES,
                request: format!("{:016x}", u64::from_be_bytes(request)),
            };
            let mut call = MARK_SCRIPT.key(&mark.key);
            call.arg(mark.state).arg(&mark.request);
            call.arg(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX));
            match self.run_script::<u8>(StoreUse::UsedOnce, &call).await {
                Ok(is_first) => Ok(is_first == 1),
                Err(error) => {
                    if error.is_uncertain() {
                        self.link().runtime().spawn(release(self.clone(), mark, keep));
                    }
                    Err(SharedStoreDown)
                }
            }
        })
    }
}

/// Releases a state that a refused request might have marked, so that its client can send the request again.
async fn release(store: SharedStore, mark: StateMark, keep: Duration) {
    let StateMark { key, state, request } = mark;
    let released = async {
        let mut call = RELEASE_SCRIPT.key(key);
        call.arg(state).arg(request);
        while store.run_script::<u8>(StoreUse::UsedOnce, &call).await.is_err() {
            sleep(RELEASE_PAUSE).await;
        }
    };
    let _ = timeout(keep, released).await; // then the store has forgotten it
}

#[cfg(test)]
mod tests;
