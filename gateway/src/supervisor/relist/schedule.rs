//! Who is asked when.

use std::collections::BTreeMap;
use std::time::Duration;

use moongate_core::names::PluginId;
use tokio::time::Instant;

/// A plugin is asked at most this often: it may say in every call that something has changed.
pub(super) const EVERY: Duration = Duration::from_secs(1);

/// How many plugins are asked at once. The pool has a few slots more than calls take.
const AT_ONCE: usize = 2;

/// The turns of all plugins that were ever asked or are to be.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    turns: BTreeMap<PluginId, Turn>,
    running: usize,
}

#[derive(Debug, Default)]
struct Turn {
    /// It is to be asked.
    wanted: bool,
    /// It is being asked.
    running: bool,
    /// When it was asked last.
    last: Option<Instant>,
}

impl Turn {
    /// From when on it may be asked; none where it isn't to be, or not before it has answered.
    fn due(&self) -> Option<Due> {
        (self.wanted && !self.running).then(|| self.last.map_or(Due::AtOnce, |last| Due::At(last + EVERY)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    AtOnce,
    At(Instant),
}

impl Schedule {
    /// The plugin is to be asked.
    pub(super) fn want(&mut self, plugin: PluginId) {
        self.turns.entry(plugin).or_default().wanted = true;
    }

    /// The plugin whose turn it is: it counts as being asked from now on.
    pub(super) fn start(&mut self, now: Instant) -> Option<PluginId> {
        if self.running >= AT_ONCE {
            return None;
        }
        let due = self.turns.iter_mut().filter_map(|(plugin, turn)| Some((turn.due()?, plugin, turn)));
        let (_, plugin, turn) =
            due.filter(|(due, _, _)| *due <= Due::At(now)).min_by_key(|(due, _, _)| *due)?;
        *turn = Turn { wanted: false, running: true, last: Some(now) };
        self.running += 1;
        Some(plugin.clone())
    }

    /// The plugin has answered.
    pub(super) fn ended(&mut self, plugin: &PluginId) {
        if let Some(turn) = self.turns.get_mut(plugin)
            && std::mem::replace(&mut turn.running, false)
        {
            self.running -= 1;
        }
    }

    /// Will it answer yet, now or later?
    pub(super) fn awaits(&self, plugin: &PluginId) -> bool {
        self.turns.get(plugin).is_some_and(|turn| turn.wanted || turn.running)
    }

    /// When to look again, if there is such a time; an answer comes in between.
    pub(super) fn next(&self) -> Option<Instant> {
        if self.running >= AT_ONCE {
            return None;
        }
        let times = self.turns.values().filter_map(|turn| match turn.due()? {
            Due::At(time) => Some(time),
            Due::AtOnce => None, // was started
        });
        times.min()
    }
}

#[cfg(test)]
mod tests;
