//! Taking what happened into the state.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use moongate_core::config::PluginConfig;
use moongate_core::names::PluginId;
use tokio::time::Instant;

use crate::host::Reported;
use crate::supervisor::attend::{Attended, Look};
use crate::supervisor::code::Loaded;
use crate::supervisor::control::Request;
use crate::supervisor::desired::Wish;
use crate::supervisor::event::{Done, Event};
use crate::supervisor::relist::Asked;
use crate::supervisor::slot::Came;

use super::Keeper;

impl Keeper {
    /// Takes what happened.
    pub(super) fn take(&mut self, event: Event) {
        match event {
            Event::Changed(files) => self.changed(&files),
            Event::Asked(request) => self.asked(request),
            Event::Reported(reported) => self.reported(reported),
            Event::Done(done) => self.done(*done),
            Event::Watching(watching) => self.watching = watching,
            Event::Due => {}
        }
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Attended { serial, table, attended } => self.attended(serial, &table, attended),
            Done::Relisted { serial, plugin, before, asked } => {
                self.relisted(serial, &plugin, &before, asked);
            }
            Done::Read(loaded) => self.read(*loaded),
        }
    }

    /// Finds out whose files they are. What isn't a component is of the configuration.
    fn changed(&mut self, files: &BTreeSet<PathBuf>) {
        let now = Instant::now();
        let mut of_plugins = BTreeSet::new();
        for slot in &mut self.slots {
            let held = slot.held.iter().map(|held| &held.table.source);
            of_plugins.extend(held.filter(|source| files.contains(*source)).cloned());
            if files.contains(&slot.table.source) {
                of_plugins.insert(slot.table.source.clone());
                slot.look(Look::at_file(now));
            }
        }
        let rejected = self.desired.rejected.is_some(); // whatever it was rejected for may be cured
        if rejected || files.iter().any(|file| !of_plugins.contains(file)) {
            self.desired.read(Wish { noticed: now, asked: None });
        }
    }

    /// Everything is read anew, beginning with the configuration.
    fn asked(&mut self, Request { cause, done }: Request) {
        tracing::info!(?cause, "reading everything anew, as it was asked for");
        let turn = self.report.tell(done);
        self.desired.read(Wish { noticed: Instant::now(), asked: Some(turn) });
    }

    fn reported(&mut self, reported: BTreeMap<PluginId, Reported>) {
        let catalog = Arc::clone(&self.tools.catalog.borrow());
        for (plugin, what) in reported {
            if what.lists
                && let Some(slot) = self.slots.iter_mut().find(|slot| *slot.id() == plugin)
            {
                // What is about to take its place may have been asked before this.
                slot.relist_again |= slot.running.is_some() || slot.fresh.is_some();
            }
            self.relists.reported(&plugin, what, &catalog, &self.tools.updates);
        }
    }

    fn attended(&mut self, serial: u64, table: &PluginConfig, attended: Attended) {
        let now = Instant::now();
        let Some(slot) = self.slots.iter_mut().find(|slot| slot.serial == serial) else { return };
        match slot.attended(table, attended, now) {
            Came::Something => self.ready(),
            Came::Unchanged => self.report.reloads.unchanged += 1,
            Came::Nothing => {}
        }
    }

    fn relisted(&mut self, serial: u64, plugin: &PluginId, before: &Loaded, asked: Asked) {
        self.relists.ended(plugin);
        let slot = self.slots.iter_mut().find(|slot| slot.serial == serial);
        let Some(slot) = slot else { return self.relists.forget(plugin) };
        if slot.serving.as_ref().is_some_and(|serving| serving.loaded.is(before)) {
            match asked {
                Ok(None) => self.relists.taken(plugin, Ok(())),
                Ok(Some(anew)) => {
                    slot.relisted = Some(anew);
                    self.publish_at_once();
                }
                Err(reason) => self.relists.taken(plugin, Err(reason)),
            }
        } else {
            // Another took its place meanwhile, which may not know yet.
            self.relists.want(plugin.clone());
        }
        let catalog = Arc::clone(&self.tools.catalog.borrow());
        self.relists.tell(plugin, &catalog, &self.tools.updates);
    }
}
