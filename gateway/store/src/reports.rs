//! Reports of the gateways that use the store, so that each can show all of them.
//!
//! A hash has a field for each gateway, with the time of its last report and the report. A gateway that doesn't repeat its
//! report in time is removed by the next one that does. Without any, the hash expires after a day.

use std::sync::LazyLock;
use std::time::Duration;

use redis::Script;

use crate::connection::{SharedStore, StoreUse, script};
use crate::error::StoreError;

/// The key of the hash, after the prefix.
const REPORTS_KEY: &str = "gateway:reports";

/// Arguments: the gateway, its report, and the time for which it counts in milliseconds. Returns pairs of a gateway and its
/// report.
const REPORT: &str = "
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local keep = tonumber(ARGV[3])
redis.call('HSET', KEYS[1], ARGV[1], now .. ' ' .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], 86400000)
local reports = {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local at, report = string.match(all[i + 1], '^(%d+) (.*)$')
  if at and now - at < keep then
    reports[#reports + 1] = all[i]
    reports[#reports + 1] = report
  else
    redis.call('HDEL', KEYS[1], all[i])
  end
end
return reports
";

static REPORT_SCRIPT: LazyLock<Script> = LazyLock::new(|| script(REPORT));

impl SharedStore {
    /// Replaces the report of this gateway, which counts for `keep`. Returns the reports of all gateways, each with the
    /// gateway's id.
    ///
    /// # Errors
    /// The store can't be used.
    pub async fn report(
        &self,
        gateway: &str,
        report: &str,
        keep: Duration,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let mut call = REPORT_SCRIPT.key(self.key(REPORTS_KEY));
        call.arg(gateway).arg(report).arg(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX));
        let reports: Vec<String> = self.run_script(StoreUse::Messages, &call).await?;
        let pairs = reports.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
        Ok(pairs.collect())
    }

    /// Removes the report of a gateway that stops.
    ///
    /// # Errors
    /// The store can't be used.
    pub async fn remove_report(&self, gateway: &str) -> Result<(), StoreError> {
        let mut remove = redis::cmd("HDEL");
        remove.arg(self.key(REPORTS_KEY)).arg(gateway);
        self.run::<i64>(StoreUse::Messages, &remove).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_server::TestServer;

    #[tokio::test]
    async fn gateways_that_report_nothing_more_are_forgotten() {
        let Some(server) = TestServer::start(&[]).await else { return };
        let store = SharedStore::open(&server.config(), None).await;
        store.connected().await.unwrap();
        let long = Duration::from_secs(600);
        store.report("a", "of a\nand more", long).await.unwrap();
        let pair = |gateway: &str, report: &str| (gateway.to_owned(), report.to_owned());
        let mut both = store.report("b", "of b", long).await.unwrap();
        both.sort();
        assert_eq!(both, [pair("a", "of a\nand more"), pair("b", "of b")]);
        store.remove_report("b").await.unwrap();
        // Every earlier report is older than a millisecond when this one counts for none.
        let mut left = store.report("c", "of c", Duration::from_millis(1)).await.unwrap();
        while left.iter().any(|(gateway, _)| gateway == "a") {
            left = store.report("c", "of c", Duration::from_millis(1)).await.unwrap();
        }
        assert_eq!(left, [pair("c", "of c")]);
    }
}
