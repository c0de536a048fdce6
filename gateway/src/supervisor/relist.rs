//! Asking plugins anew what they offer, when they say that it has changed.
//!
//! A plugin is asked in a fresh instance of the code that it has, at most once a second and never twice at once; what
//! it reports meanwhile makes one more round, so that the last change is never lost. Lists that can't be used change
//! nothing. Calls notice nothing of all this: those that run keep the catalog that they began with.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use moongate_core::catalog::Catalog;
use moongate_core::changes::Updates;
use moongate_core::config::Problem;
use moongate_core::names::{PluginId, ResourceUri};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::host::Reported;

use super::code::Loaded;

mod schedule;

use schedule::Schedule;

/// How many resources of one plugin may wait for its lists: what is said to have changed may be listed only then.
const WAITING: usize = 4096;

/// Who is asked when, and what waits for the answers.
#[derive(Debug, Default)]
pub(super) struct Relists {
    schedule: Schedule,
    /// Resources outside of a plugin's space as it is; they may lie in what it will list next.
    waiting: BTreeMap<PluginId, BTreeSet<ResourceUri>>,
    /// Why lists can't be used, as it was said last.
    said: BTreeMap<PluginId, String>,
}

/// What came of asking: the plugin with its new lists; none: they are the same. Or why it can't be used.
pub(super) type Asked = Result<Option<Loaded>, String>;

impl Relists {
    /// The plugin whose turn it is: it counts as being asked from now on.
    pub(super) fn start(&mut self, now: Instant) -> Option<PluginId> {
        self.schedule.start(now)
    }

    /// When to look again, if there is such a time; an answer comes in between.
    pub(super) fn next(&self) -> Option<Instant> {
        self.schedule.next()
    }

    /// The plugin is to be asked.
    pub(super) fn want(&mut self, plugin: PluginId) {
        self.schedule.want(plugin);
    }

    /// The plugin has answered, or there is nobody to ask.
    pub(super) fn ended(&mut self, plugin: &PluginId) {
        self.schedule.ended(plugin);
    }

    /// Notes whom to ask, and tells of resources.
    pub(super) fn reported(
        &mut self,
        plugin: &PluginId,
        what: Reported,
        catalog: &Catalog,
        updates: &Updates,
    ) {
        let Reported { lists, resources } = what;
        if lists {
            self.schedule.want(plugin.clone());
        }
        let foreign = tell_of_its_own(plugin, resources, catalog, updates);
        if !self.schedule.awaits(plugin) {
            refuse(plugin, &foreign);
            return;
        }
        let waiting = self.waiting.entry(plugin.clone()).or_default();
        let known = waiting.len();
        let room = WAITING.saturating_sub(known);
        let mut more = foreign.into_iter().filter(|uri| !waiting.contains(uri)).collect::<Vec<_>>();
        let dropped = more.split_off(more.len().min(room));
        waiting.extend(more);
        // Once: until its lists are there it is full.
        if !dropped.is_empty() && known < WAITING {
            tracing::warn!(
                %plugin,
                "it said that more than {WAITING} resources changed which it doesn't list; nobody is told of the rest"
            );
        }
    }

    /// Its new lists were taken, or couldn't be.
    pub(super) fn taken(&mut self, plugin: &PluginId, taken: Result<(), String>) {
        match taken {
            Ok(()) => drop(self.said.remove(plugin)),
            // The same again and again is no news: a plugin may report in every call.
            Err(reason) if self.said.get(plugin) == Some(&reason) => {}
            Err(reason) => {
                tracing::warn!(%plugin, "its lists stay as they were: {reason}");
                self.said.insert(plugin.clone(), reason);
            }
        }
    }

    /// Tells of resources that waited for the lists which are there now.
    pub(super) fn tell(&mut self, plugin: &PluginId, catalog: &Catalog, updates: &Updates) {
        let Some(waiting) = self.waiting.remove(plugin) else { return };
        let foreign = tell_of_its_own(plugin, waiting, catalog, updates);
        if self.schedule.awaits(plugin) {
            self.waiting.insert(plugin.clone(), foreign);
        } else {
            refuse(plugin, &foreign);
        }
    }

    /// The plugin is gone.
    pub(super) fn forget(&mut self, plugin: &PluginId) {
        self.waiting.remove(plugin);
        self.said.remove(plugin);
    }
}

/// Asks a plugin what it offers now. A panic is its failure alone: others are asked after it, and it is asked again.
pub(super) async fn ask(before: Loaded) -> Asked {
    let asked = async {
        let code = Arc::clone(&before.code).described_anew().await;
        let code = code.map_err(|failure| failure.reason)?;
        if code.manifest() == before.code.manifest() {
            return Ok(None);
        }
        let plugin = Arc::clone(&code);
        let config = Arc::clone(&before.config);
        let member = spawn_blocking(move || before.member.listed_anew(plugin)).await;
        let member = member.map_err(|error| format!("the gateway failed: {error}"))?;
        member.map(|member| Some(Loaded { code, member, config })).map_err(|problems| said(&problems))
    };
    guarded(asked).await
}

/// A panic is an error like another.
async fn guarded(asked: impl Future<Output = Asked>) -> Asked {
    AssertUnwindSafe(asked)
        .catch_unwind()
        .await
        .unwrap_or_else(|_| Err("the gateway failed at it, and it isn't the plugin's fault".to_owned()))
}

/// Several problems in one line.
pub(super) fn said(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}

/// Tells of the resources that are the plugin's own, and gives the others back.
fn tell_of_its_own(
    plugin: &PluginId,
    resources: BTreeSet<ResourceUri>,
    catalog: &Catalog,
    updates: &Updates,
) -> BTreeSet<ResourceUri> {
    let owns =
        |uri: &ResourceUri| catalog.resource_owner(uri.as_str()).is_some_and(|owner| owner.id() == plugin);
    let (own, foreign): (BTreeSet<_>, _) = resources.into_iter().partition(owns);
    own.iter().for_each(|uri| updates.updated(uri));
    foreign
}

/// Nobody is told of what isn't the plugin's own.
fn refuse(plugin: &PluginId, foreign: &BTreeSet<ResourceUri>) {
    if let Some(first) = foreign.first() {
        let count = foreign.len();
        tracing::warn!(%plugin, count, "it said that resources changed which aren't its own, such as `{first}`; nobody is told");
    }
}

#[cfg(test)]
mod tests;
