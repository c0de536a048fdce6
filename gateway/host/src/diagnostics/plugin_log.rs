//! The rate at which a plugin adds lines to the gateway's log, over all of its calls.
//!
//! The limits of one call don't bound the log: a call that prints 64 KiB takes less than a millisecond, so a few clients
//! that repeat it would fill a disk. Lines above the rate are dropped and counted, and one line per second gives their
//! number. Lines that the gateway logs because of a plugin count as the plugin's if it can cause them in every call.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytesize::ByteSize;
use moongate_model::names::PluginId;
use tokio::time::Instant;

/// The minimum cost of a line, in bytes: the log adds the time, plugin and target to each line.
pub(crate) const MIN_LINE_COST: u64 = 64;
/// The time whose lines can arrive at once: the rate is an average over it.
const AVERAGED_OVER: Duration = Duration::from_secs(10);
/// The interval of lines about dropped ones.
const SUMMARY_INTERVAL: Duration = Duration::from_secs(1);

/// The log of one plugin.
#[derive(Debug)]
pub(crate) struct PluginLog {
    plugin: PluginId,
    bytes_per_second: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The time at which everything logged so far is within the rate.
    paid_at: Instant,
    /// The dropped lines that weren't reported yet.
    dropped: u64,
}

impl PluginLog {
    /// `rate` is the number of bytes per second.
    pub(crate) fn new(plugin: PluginId, rate: ByteSize) -> Arc<Self> {
        let state = Mutex::new(State { paid_at: Instant::now(), dropped: 0 });
        Arc::new(Self { plugin, bytes_per_second: rate.as_u64(), state })
    }

    /// Counts a line that is about to be logged. False if it must be dropped.
    pub(crate) fn admits(self: &Arc<Self>, line_bytes: usize) -> bool {
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(paid_at) = self.paid_at(state.paid_at.max(now), line_bytes as u64)
            // A long line must not be impossible, however low the rate is.
            && (state.paid_at <= now || paid_at <= now + AVERAGED_OVER)
        {
            state.paid_at = paid_at;
            return true;
        }
        state.dropped += 1;
        let is_first = state.dropped == 1;
        drop(state);
        if is_first {
            self.report_later();
        }
        false
    }

    /// The time at which another line is within the rate. `None` if it never is.
    fn paid_at(&self, start: Instant, line_bytes: u64) -> Option<Instant> {
        let nanos = u128::from(line_bytes.max(MIN_LINE_COST)) * 1_000_000_000;
        let nanos = nanos.checked_div(self.bytes_per_second.into())?;
        start.checked_add(Duration::from_nanos(u64::try_from(nanos).ok()?))
    }

    /// Reports the dropped lines in a second. Without a runtime, they are reported when the log is dropped.
    fn report_later(self: &Arc<Self>) {
        let log = Arc::downgrade(self);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(SUMMARY_INTERVAL).await;
                if let Some(log) = log.upgrade() {
                    log.report_dropped();
                }
            });
        }
    }

    fn report_dropped(&self) {
        let dropped = std::mem::take(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).dropped);
        if dropped > 0 {
            let plugin = &self.plugin;
            tracing::warn!(
                target: "plugin",
                %plugin,
                "{dropped} log lines dropped in the last second: plugin `{plugin}` wrote more than `limits.log_rate`"
            );
        }
    }
}

impl Drop for PluginLog {
    fn drop(&mut self) {
        self.report_dropped();
    }
}

#[cfg(test)]
mod tests;
