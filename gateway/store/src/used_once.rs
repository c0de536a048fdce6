//! States that are used once, as one bit for each: a gateway numbers the states that it issues.

use std::sync::LazyLock;
use std::time::Duration;

use moongate_model::shared_store::{SharedOnce, SharedStoreDown, SharedStoreFuture};
use redis::Script;

use crate::connection::{SharedStore, StoreUse, script};

/// The number of states in a key: half a kilobyte.
const CHUNK_STATES: u64 = 4_096;

/// Arguments: the position of the bit, and the time to keep it in milliseconds. Returns the bit.
const MARK: &str = "
local used = redis.call('SETBIT', KEYS[1], ARGV[1], 1)
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return used
";

static MARK_SCRIPT: LazyLock<Script> = LazyLock::new(|| script(MARK));

impl SharedOnce for SharedStore {
    fn mark_used(&self, issuer: u64, number: u64, keep: Duration) -> SharedStoreFuture<'_, bool> {
        Box::pin(async move {
            let key = self.key(&format!("used:{issuer:016x}:{}", number / CHUNK_STATES));
            let keep = u64::try_from(keep.as_millis()).unwrap_or(u64::MAX);
            let mut call = MARK_SCRIPT.key(key);
            call.arg(number % CHUNK_STATES).arg(keep);
            let used: u8 = self.run_script(StoreUse::UsedOnce, &call).await.map_err(|_| SharedStoreDown)?;
            Ok(used == 0)
        })
    }
}
