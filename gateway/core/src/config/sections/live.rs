//! What may change while the gateway serves, and when: keys of `[gateway]`, and `reload` of a plugin.

use std::time::Duration;

use crate::config::model::diagnostic::Problem;
use crate::config::read::reader::{Reading, Table};

/// The shortest time between two looks at all files: shorter would only keep the disk busy.
const SHORTEST_POLL: Duration = Duration::from_millis(100);

/// How changed files are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchConfig {
    /// Whether files are watched at all. Without that, changes come into force only where the operator asks for it.
    pub events: bool,
    /// How often every file is looked at, whatever the system tells: some mounts tell nothing. From 100 ms to an
    /// hour.
    pub poll: Duration,
}

impl Default for WatchConfig {
    fn default() -> Self {
        Self { events: true, poll: Duration::from_secs(5) }
    }
}

/// When a change of the configuration that grants a plugin more comes into force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WiderGrants {
    /// At once, as every other change.
    #[default]
    Live,
    /// When the operator asks for it, by SIGHUP or at the admin listener.
    Wait,
}

/// Whether a changed component is taken by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reload {
    /// As soon as it is noticed.
    #[default]
    Live,
    /// When the operator asks for it, by SIGHUP or at the admin listener.
    Pinned,
}

impl Reading<'_> {
    /// How changed files are noticed.
    pub(in crate::config) fn watch(&mut self, gateway: &Table<'_>) -> WatchConfig {
        let usual = WatchConfig::default();
        let poll = self.duration(gateway, "poll", usual.poll);
        if let Some(value) = gateway.get("poll")
            && poll < SHORTEST_POLL
        {
            let problem = Problem::error(format!("`{}` can't be less than 100ms", value.path));
            self.note(problem.at(value.place).hint(
                "most changes are noticed at once; this is for file systems that don't tell of changes",
            ));
        }
        WatchConfig { events: self.boolean(gateway, "watch", usual.events), poll }
    }

    /// When wider grants come into force.
    pub(in crate::config) fn wider_grants(&mut self, gateway: &Table<'_>) -> WiderGrants {
        let written = self.text(gateway, "wider_grants");
        match written.as_ref().map(|text| text.text.as_str()) {
            Some("wait") => WiderGrants::Wait,
            Some(_) | None => WiderGrants::Live, // anything else was noted
        }
    }

    /// Whether a plugin's changed file is taken by itself.
    pub(in crate::config) fn reload(&mut self, plugin: &Table<'_>) -> Reload {
        let written = self.text(plugin, "reload");
        match written.as_ref().map(|text| text.text.as_str()) {
            Some("pinned") => Reload::Pinned,
            Some(_) | None => Reload::Live, // anything else was noted
        }
    }
}
