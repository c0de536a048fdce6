//! The schedule for asking plugins for their lists.

use std::collections::BTreeMap;
use std::time::Duration;

use moongate_model::names::PluginId;
use tokio::time::Instant;

/// The minimum time between two requests to a plugin, which may report changes in every call.
pub(super) const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// The maximum number of plugins that are asked at once. The instance pool has a few more slots than calls use.
const MAX_CONCURRENT_REFRESHES: usize = 2;

/// All plugins that were ever asked or are due.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    plugins: BTreeMap<PluginId, PluginSchedule>,
    running: usize,
}

#[derive(Debug, Default)]
struct PluginSchedule {
    is_requested: bool,
    is_running: bool,
    last_start: Option<Instant>,
}

impl PluginSchedule {
    /// The next time to ask the plugin. `None` if it isn't due, or is being asked.
    fn due(&self) -> Option<DueTime> {
        let is_waiting = self.is_requested && !self.is_running;
        is_waiting.then(|| self.last_start.map_or(DueTime::Now, |last| DueTime::At(last + MIN_INTERVAL)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DueTime {
    Now,
    At(Instant),
}

impl Schedule {
    /// Schedules a request for the plugin's lists.
    pub(super) fn request(&mut self, plugin: PluginId) {
        self.plugins.entry(plugin).or_default().is_requested = true;
    }

    /// The next plugin to ask. It counts as being asked from now on.
    pub(super) fn start(&mut self, now: Instant) -> Option<PluginId> {
        if self.running >= MAX_CONCURRENT_REFRESHES {
            return None;
        }
        let due = self.plugins.iter_mut().filter_map(|(id, plugin)| Some((plugin.due()?, id, plugin)));
        let (_, id, plugin) =
            due.filter(|(due, _, _)| *due <= DueTime::At(now)).min_by_key(|(due, _, _)| *due)?;
        *plugin = PluginSchedule { is_requested: false, is_running: true, last_start: Some(now) };
        self.running += 1;
        Some(id.clone())
    }

    /// The plugin has answered.
    pub(super) fn finish(&mut self, plugin: &PluginId) {
        if let Some(plugin) = self.plugins.get_mut(plugin)
            && std::mem::replace(&mut plugin.is_running, false)
        {
            self.running -= 1;
        }
    }

    /// True if the plugin is being asked or is due.
    pub(super) fn is_pending(&self, plugin: &PluginId) -> bool {
        self.plugins.get(plugin).is_some_and(|plugin| plugin.is_requested || plugin.is_running)
    }

    /// The next time to call [`Self::start`], unless an answer arrives first.
    pub(super) fn due(&self) -> Option<Instant> {
        if self.running >= MAX_CONCURRENT_REFRESHES {
            return None;
        }
        let times = self.plugins.values().filter_map(|plugin| match plugin.due()? {
            DueTime::At(time) => Some(time),
            DueTime::Now => None, // already started
        });
        times.min()
    }
}

#[cfg(test)]
mod tests;
