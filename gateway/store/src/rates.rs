//! Rates of calls in the store: the same algorithm as `moongate_system::rate_table`, in one script.
//!
//! Each key has the time at which its whole burst is possible again, and the rate that it was counted with. The time is
//! the server's, in microseconds. A key expires at its time, so nothing has to be cleaned up.

use std::sync::LazyLock;
use std::time::Duration;

use moongate_model::call_rate::CallRate;
use moongate_model::shared_store::{ExceededRate, SharedRates, SharedStoreDown, SharedStoreFuture};
use redis::Script;
use sha2::{Digest as _, Sha256};

use crate::connection::{SharedStore, StoreUse, script};
use crate::error::StoreError;

/// The family of the keys, with the hash tag that keeps them together.
const FAMILY: &str = "rate:{rates}:";

/// Keys: one for each rate. Arguments: the interval in microseconds and the burst of each. Returns the index of the rate
/// with the longest time to wait, from 1, and that time in microseconds; or 0 if the event was counted.
const COUNT: &str = "
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local pending = {}
local exceeded, longest = 0, 0
for i, key in ipairs(KEYS) do
  local interval, burst = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  local value = redis.call('GET', key)
  local left = 0
  if value then
    local refilled, counted = string.match(value, '^([%d.]+) ([%d.]+)$')
    if not refilled then
      return redis.error_reply('FOREIGN ' .. key)
    end
    -- The events that aren't refilled yet count for the new rate. The clock can have been set back.
    left = math.max(tonumber(refilled) - now, 0) / tonumber(counted) * interval
    left = math.min(left, interval * burst)
  end
  pending[i] = left + interval
  local wait = pending[i] - interval * burst
  if wait > 0.5 and wait > longest then
    exceeded, longest = i, wait
  end
end
if exceeded > 0 then
  return {exceeded, math.ceil(longest)}
end
for i, key in ipairs(KEYS) do
  local value = string.format('%.1f %.3f', now + pending[i], tonumber(ARGV[2 * i - 1]))
  redis.call('SET', key, value, 'PX', math.ceil(pending[i] / 1000) + 1)
end
return {0, 0}
";

static COUNT_SCRIPT: LazyLock<Script> = LazyLock::new(|| script(COUNT));

impl SharedRates for SharedStore {
    fn count<'a>(&'a self, rates: &'a [(String, CallRate)]) -> SharedStoreFuture<'a, Option<ExceededRate>> {
        Box::pin(async move {
            let mut call = COUNT_SCRIPT.prepare_invoke();
            for (name, rate) in rates {
                // Names of callers have any length, and can identify people.
                let digest = Sha256::digest(name.as_bytes());
                let name: String = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
                call.key(self.key(&format!("{FAMILY}{name}")));
                call.arg(rate.interval().as_secs_f64() * 1e6).arg(rate.burst.get());
            }
            let counted: Result<(usize, u64), StoreError> = self.run_script(StoreUse::Rates, &call).await;
            let (index, wait) = counted.map_err(|_| SharedStoreDown)?;
            Ok(index
                .checked_sub(1)
                .map(|index| ExceededRate { index, retry_after: Duration::from_micros(wait) }))
        })
    }
}

#[cfg(test)]
mod tests;
