//! What is told after each event: what can't be used, what waits, who asked, and the status.

use std::sync::Arc;
use std::time::Duration;

use moongate_core::catalog::{Catalog, Member};
use moongate_core::config::PluginConfig;
use moongate_core::names::PluginId;

use crate::supervisor::code::Failure;
use crate::supervisor::desired::Desired;
use crate::supervisor::slot::{Held, Slot};
use crate::supervisor::status::{
    About, ConfigStatus, Offers, PluginState, PluginStatus, Reloads, Status, Trouble, Waiting, Watching,
};

use super::{Keeper, Phase};

/// What the operator can do about what waits.
const ASK: &str = "ask for a reload to take it: send SIGHUP, or `moongate reload`";
/// The key that isn't loosened before the operator asks for it.
const LOOSER: &str = "gateway.wider_grants";

impl Keeper {
    /// Tells all that is new.
    pub(super) fn tell(&mut self) {
        for at in 0..self.slots.len() {
            self.tell_of_trouble(at);
            self.tell_of_waiting(at);
        }
        if self.report.is_awaited() && self.ready_since.is_none() {
            let owed = self.slots.iter().filter_map(Slot::owes).chain(self.desired.owes()).min();
            let (desired, slots) = (&self.desired, &self.slots);
            self.report.answer(owed, &desired.needs_restart, || failures(desired, slots));
        }
        let status = self.compose();
        self.status.send_if_modified(|before| {
            let other = **before != status;
            if other {
                *before = Arc::new(status);
            }
            other
        });
    }

    fn tell_of_trouble(&mut self, at: usize) {
        let is_serving = self.phase == Phase::Serving;
        let slot = &mut self.slots[at];
        let id = slot.id().clone();
        match (slot.failure().map(|(failure, _)| failure.clone()), &slot.said) {
            (Some(failure), said) if said.as_ref() != Some(&failure.reason) => {
                slot.said = Some(failure.reason.clone());
                if !is_serving {
                    return;
                }
                let (took, serves) = (slot.took(), slot.serving.is_some());
                // What a conflict leads to stands in its reason.
                let so = match (slot.conflict.as_ref() == Some(&failure), serves) {
                    (true, _) => String::new(),
                    (false, true) if failure.ends_calls => {
                        format!("; calls of `{id}` fail until it can be opened")
                    }
                    (false, true) => "; it goes on serving as it was before".to_owned(),
                    (false, false) => "; it doesn't serve".to_owned(),
                };
                let Failure { reason, hint, .. } = failure;
                let hint = hint.map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
                if serves {
                    tracing::warn!(plugin = %id, "{reason}{so}{hint}");
                } else {
                    tracing::error!(plugin = %id, "{reason}{so}{hint}");
                }
                self.report.reloads.failed += 1;
                self.report.failed(Some(&id), took, reason);
            }
            (None, Some(_)) if slot.serving.is_some() && slot.fresh.is_none() && !slot.is_busy() => {
                slot.said = None;
                tracing::info!(plugin = %id, "`{id}` is used as its file and its table say again");
            }
            (Some(_) | None, _) => {}
        }
    }

    fn tell_of_waiting(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        let waiting = slot.waiting();
        if waiting == slot.said_waiting {
            return;
        }
        let plugin = slot.id();
        match &waiting {
            Some(Waiting::Code(digest)) => tracing::warn!(
                %plugin,
                "the file of `{plugin}` holds other code, {}, which waits because of `reload = \"pinned\"`; {ASK}",
                digest.short()
            ),
            Some(Waiting::Grants(grants)) => tracing::warn!(
                %plugin,
                "the table of `{plugin}` waits because of `wider_grants = \"wait\"`: it would grant {}; {ASK}",
                grants.join(", ")
            ),
            None => {}
        }
        slot.said_waiting = waiting;
    }

    fn compose(&self) -> Status {
        let catalog = Arc::clone(&self.tools.catalog.borrow());
        let is_busy = self.desired.is_busy() || self.slots.iter().any(Slot::is_busy);
        Status {
            generation: catalog.generation(),
            config: config(&self.desired),
            plugins: self.slots.iter().map(|slot| plugin(slot, &catalog)).collect(),
            watching: self.watching.clone(),
            settled: self.phase == Phase::Serving && !is_busy && self.ready_since.is_none(),
            reloads: self.report.reloads,
            history: self.report.history.clone(),
        }
    }
}

/// All that can't be used now, a line each.
fn failures(desired: &Desired, slots: &[Slot]) -> Vec<String> {
    let config = desired.rejected.iter().map(|reason| format!("the configuration: {reason}"));
    let plugins = slots.iter().filter_map(|slot| {
        let (Failure { reason, hint, .. }, _) = slot.failure()?;
        let hint = hint.as_ref().map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
        Some(format!("`{}`: {reason}{hint}", slot.id()))
    });
    config.chain(plugins).collect()
}

/// The status before anything is loaded.
pub(super) fn nothing(desired: &Desired) -> Status {
    Status {
        generation: 0,
        config: config(desired),
        plugins: Vec::new(),
        watching: Watching::Off,
        settled: false,
        reloads: Reloads::default(),
        history: std::collections::VecDeque::new(),
    }
}

fn config(desired: &Desired) -> ConfigStatus {
    ConfigStatus {
        file: desired.started.file.clone(),
        since: desired.since,
        rejected: desired.rejected.clone(),
        needs_restart: desired.needs_restart.clone(),
        waiting: desired.policy_waits.then(|| LOOSER.to_owned()).into_iter().collect(),
        stop_grace: desired.stop_grace,
    }
}

fn plugin(slot: &Slot, catalog: &Catalog) -> PluginStatus {
    let PluginConfig { id, source, .. } = &*slot.table;
    PluginStatus {
        id: id.clone(),
        source: source.clone(),
        state: slot.state(),
        digest: slot.serving.as_ref().map(|serving| serving.loaded.digest()),
        since: slot.serving.as_ref().map(|serving| serving.since),
        about: catalog.member(id).map(|member| about(member)),
        offers: offers(id, catalog),
        waiting: slot.waiting(),
    }
}

fn about(member: &Member) -> About {
    let info = &member.plugin().manifest().info;
    let (title, description) = (info.title.clone(), info.description.clone());
    About { title, description, version: info.version.clone() }
}

fn offers(id: &PluginId, catalog: &Catalog) -> Offers {
    Offers {
        tools: catalog.tools().iter().filter(|it| it.member().id() == id).count(),
        resources: catalog.resources().iter().filter(|it| it.member().id() == id).count(),
        templates: catalog.templates().iter().filter(|it| it.member().id() == id).count(),
        prompts: catalog.prompts().iter().filter(|it| it.member().id() == id).count(),
    }
}

impl Slot {
    /// Whether it serves.
    fn state(&self) -> PluginState {
        let trouble = self.failure().map(|(Failure { reason, hint, ends_calls, .. }, retry_at)| Trouble {
            reason: reason.clone(),
            hint: hint.clone(),
            ends_calls: *ends_calls,
            retry_at,
        });
        match (trouble, &self.serving) {
            (Some(trouble), Some(_)) => PluginState::Degraded(trouble),
            (Some(trouble), None) => PluginState::Failed(trouble),
            (None, Some(_)) => PluginState::Serving,
            (None, None) if self.is_held_whole() => PluginState::Failed(Trouble {
                reason: "it is new, and what its table grants waits for the operator".to_owned(),
                hint: Some(ASK.to_owned()),
                ends_calls: true,
                retry_at: None,
            }),
            (None, None) => PluginState::Loading,
        }
    }

    /// What waits for the operator.
    fn waiting(&self) -> Option<Waiting> {
        match (&self.held, self.waits) {
            (Some(Held { grants, .. }), _) => Some(Waiting::Grants(grants.clone())),
            (None, Some(digest)) => Some(Waiting::Code(digest)),
            (None, None) => None,
        }
    }

    /// How long the last look took.
    fn took(&self) -> Duration {
        self.looked_at.map_or(Duration::ZERO, |noticed| noticed.elapsed())
    }
}
