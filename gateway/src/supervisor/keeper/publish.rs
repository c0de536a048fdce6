//! Publishing what is ready as one new catalog, and letting go of what it takes the place of.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::SystemTime;

use moongate_core::catalog::{Diff, Refused};
use moongate_core::config::Severity;
use moongate_core::names::PluginId;
use tokio::time::Instant;

use crate::supervisor::code::{Failure, Loaded};
use crate::supervisor::join::{Joined, Pick, join, same};
use crate::supervisor::relist::said;
use crate::supervisor::report::{difference, line};
use crate::supervisor::slot::{Fresh, Serving, Slot};

use super::{Keeper, Phase, drain};

/// What a catalog made of one plugin.
enum Became {
    /// What it was.
    Nothing,
    /// Something new serves.
    Serves { before: Option<Loaded>, noticed: Instant },
    /// The code that served has other lists.
    Relisted { before: Loaded },
    /// Its other lists can't be used.
    Kept(String),
}

impl Keeper {
    /// Publishes all that is ready and fits together.
    pub(super) fn publish(&mut self) {
        self.ready_since = None;
        let before = Arc::clone(&self.tools.catalog.borrow());
        // Nothing is changed before all of it is built.
        let Ok(joined) = catch_unwind(AssertUnwindSafe(|| join(&self.slots, &before))) else {
            return self.give_up();
        };
        let Joined { catalog, problems, picks, refused } = joined;
        let mut became = Vec::new();
        for (slot, pick) in self.slots.iter_mut().zip(picks) {
            became.push(slot.picked(pick, refused.get(slot.id())));
        }
        if before.generation() == 0 || !same(&before, &catalog) {
            self.tools.catalog.send_replace(Arc::new(catalog));
        }
        for (at, became) in became.into_iter().enumerate() {
            self.told(at, became);
        }
        if self.phase == Phase::Serving {
            for problem in problems.iter().filter(|problem| !self.problems.contains(problem)) {
                match problem.severity {
                    Severity::Error => tracing::error!("{problem}"),
                    Severity::Warning => tracing::warn!("{problem}"),
                }
            }
        }
        self.problems = problems;
        let slots = &self.slots;
        self.tools.gate.retain(|id| slots.iter().any(|slot| slot.id() == id));
        for (code, after) in self.replaced.drain(..) {
            code.retire(after);
        }
    }

    /// Tells what a catalog made of a plugin.
    fn told(&mut self, at: usize, became: Became) {
        let slot = &mut self.slots[at];
        let id = slot.id().clone();
        match became {
            Became::Nothing => {}
            Became::Kept(reason) => self.relists.taken(&id, Err(reason)),
            Became::Relisted { before } => {
                slot.served(&before.code);
                let Some(now) = &slot.serving else { return };
                let diff = difference(Some(&before), &now.loaded);
                tracing::info!(plugin = %id, "`{id}` has new lists: {diff}");
                warn(&id, &diff);
                self.relists.taken(&id, Ok(()));
            }
            Became::Serves { before, noticed } => {
                if std::mem::take(&mut slot.relist_again) {
                    self.relists.want(id.clone());
                }
                if let Some(before) = &before {
                    slot.served(&before.code);
                }
                let Some(now) = &slot.serving else { return };
                let took = noticed.elapsed();
                let diff = difference(before.as_ref(), &now.loaded);
                let text = line(before.as_ref(), &now.loaded, &diff, took);
                let to = now.loaded.digest().short();
                let from = before.as_ref().map(|before| before.digest().short());
                if let Some(before) = before {
                    let table = Arc::clone(&before.config);
                    if before.digest() != now.loaded.digest() || !table.says_the_same_as(&now.loaded.config) {
                        let drain = drain(&table, Some(&now.loaded.config));
                        self.replaced.push((before.code, drain));
                    }
                }
                // What keeps it from serving is told instead, where that is all.
                let fails = diff.is_empty() && slot.failures().any(|failure| failure.ends_calls);
                if self.phase == Phase::Serving && !fails {
                    // A hint that got weaker stands in the line, too, but whoever filters by level should see it.
                    warn(&id, &diff);
                    tracing::info!(plugin = %id, from, to, "`{id}` {text}");
                    self.report.reloads.replaced += 1;
                    self.report.changed(Some(&id), took, text);
                } else {
                    tracing::debug!(plugin = %id, digest = to, ?took, "a plugin was loaded");
                }
            }
        }
    }

    /// Joining failed, by a mistake of ours: what is served stays.
    fn give_up(&mut self) {
        tracing::error!("the gateway failed to join what the plugins offer; this is a mistake in it");
        let mut fewer = false;
        for slot in &mut self.slots {
            fewer |= slot.relisted.take().is_some() || slot.fresh.is_some();
            if slot.fresh.take().is_some() {
                slot.conflict = Some(Failure::internal(&slot.table, &"joining what is offered panicked"));
            }
        }
        // What was taken away must not go on being served because of them.
        if fewer {
            self.ready();
        }
    }
}

fn warn(plugin: &PluginId, diff: &Diff) {
    for warning in diff.warnings() {
        tracing::warn!(%plugin, "{warning}");
    }
}

impl Slot {
    /// What went into the catalog serves. `refused`: why something better didn't.
    fn picked(&mut self, pick: Option<Pick>, refused: Option<&Refused>) -> Became {
        let conflict = refused.map(|refused| Failure::of(refused.problems()));
        match pick {
            Some(Pick::Fresh) => {
                let Some(Fresh { loaded, noticed }) = self.fresh.take() else { return Became::Nothing };
                let since = match &self.serving {
                    Some(before) if before.loaded.digest() == loaded.digest() => before.since,
                    Some(_) | None => SystemTime::now(),
                };
                (self.conflict, self.relisted) = (None, None);
                let before = self.serving.replace(Serving { loaded, since });
                Became::Serves { before: before.map(|before| before.loaded), noticed }
            }
            Some(Pick::Relisted) => {
                self.conflict = conflict.filter(|_| self.fresh.is_some());
                match (&mut self.serving, self.relisted.take()) {
                    (Some(serving), Some(anew)) => {
                        Became::Relisted { before: std::mem::replace(&mut serving.loaded, anew) }
                    }
                    (_, anew) => {
                        self.relisted = anew;
                        Became::Nothing
                    }
                }
            }
            Some(Pick::Serving) | None => {
                let relisted = self.relisted.take();
                if pick.is_none()
                    && self.fresh.is_none()
                    && let Some(Serving { loaded, since: _ }) = self.serving.take()
                {
                    self.fresh = Some(Fresh { loaded, noticed: Instant::now() });
                }
                self.conflict = conflict.filter(|_| self.fresh.is_some());
                match (relisted, refused) {
                    (Some(_), Some(refused)) => Became::Kept(said(&refused.problems())),
                    (_, _) => Became::Nothing,
                }
            }
        }
    }
}
