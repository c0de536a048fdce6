//! Taking another configuration into use, or saying why it isn't.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use moongate_core::config::{self, Config, PluginConfig, Problem, Source, Style, WiderGrants, render};
use moongate_core::names::PluginId;
use tokio::time::Instant;

use crate::supervisor::attend::Look;
use crate::supervisor::desired::{Fate, Wish, fate, policy};
use crate::supervisor::event::Wanted;
use crate::supervisor::report::gone;
use crate::supervisor::slot::{Held, Meanwhile, Put, Slot};

use super::{Keeper, drain};

/// What a configuration changed.
#[derive(Debug, Default)]
struct Changes {
    /// A line each.
    lines: Vec<String>,
    /// Keys that only a restart takes into use, and that are new among those.
    restart: Vec<String>,
    /// What plugins may from now on, and what they may no more: a line for each of those for which that differs.
    grants: Vec<(PluginId, String)>,
    /// Something is to be taken away, which is done at once.
    at_once: bool,
}

impl Keeper {
    /// Takes what was read.
    pub(super) fn read(&mut self, loaded: config::Loaded) {
        let now = Instant::now();
        let wish = self.desired.running.take().unwrap_or(Wish { noticed: now, asked: None });
        let config::Loaded { source, config, problems, files, .. } = loaded;
        match config {
            Some(config) => {
                self.warn(&problems, &source);
                self.desired.files = files;
                self.configure(&config, wish, now);
            }
            None => {
                // Whichever of them changes may be the cure.
                self.desired.files.extend(files);
                self.reject(&problems, &source, wish, now);
            }
        }
        self.watch();
        if wish.asked.is_some() {
            for slot in &mut self.slots {
                slot.look(Look { asked: wish.asked, noticed: wish.noticed, ..Look::at_file(now) });
            }
        }
    }

    /// Says which files are to be watched.
    pub(super) fn watch(&self) {
        let mut files = self.desired.files.clone();
        files.insert(self.desired.started.file.clone());
        for slot in &self.slots {
            files.insert(slot.table.source.clone());
            files.extend(slot.held.iter().map(|held| held.table.source.clone()));
        }
        let wanted = Wanted { files, how: self.desired.watch };
        self.tools.files.wanted.send_if_modified(|before| {
            let other = *before != wanted;
            *before = wanted;
            other
        });
    }

    /// Nothing changes.
    fn reject(&mut self, problems: &[Problem], source: &Source, wish: Wish, now: Instant) {
        let errors = problems.iter().filter(|problem| problem.is_error());
        let reason = errors.map(|problem| located(problem, source)).collect::<Vec<_>>().join("; ");
        self.desired.rejected = Some(reason.clone());
        let drawn = render(problems, source, Style::Plain);
        if self.desired.said.as_ref() == Some(&drawn) {
            return;
        }
        tracing::error!("the configuration can't be used, and what is in use stays:\n{}", drawn.trim_end());
        self.desired.said = Some(drawn);
        self.report.reloads.rejected += 1;
        self.report.failed(None, now - wish.noticed, reason);
    }

    /// Tells what is probably not meant, once.
    fn warn(&mut self, problems: &[Problem], source: &Source) {
        let drawn = render(problems, source, Style::Plain);
        if !drawn.is_empty() && self.desired.warned.as_ref() != Some(&drawn) {
            tracing::warn!("the configuration is used, but:\n{}", drawn.trim_end());
        }
        self.desired.warned = Some(drawn);
        self.desired.said = None;
    }

    /// Takes a configuration into use, all but what has to wait.
    fn configure(&mut self, config: &Config, wish: Wish, now: Instant) {
        let in_force = if wish.asked.is_some() { WiderGrants::Live } else { self.desired.policy };
        let mut changes = Changes::default();
        let order: Vec<_> = self.slots.iter().map(|slot| slot.id().clone()).collect();
        let before = std::mem::take(&mut self.slots);
        let mut before: BTreeMap<PluginId, Slot> =
            before.into_iter().map(|slot| (slot.id().clone(), slot)).collect();
        for table in &config.plugins {
            let slot = match before.remove(&table.id) {
                Some(slot) if slot.is_held_whole() => {
                    self.add(table, in_force, Some(slot), now, &mut changes)
                }
                Some(slot) => self.change(slot, table, in_force, now, &mut changes),
                None => self.add(table, in_force, None, now, &mut changes),
            };
            self.slots.push(slot);
        }
        for slot in before.into_values() {
            self.remove(slot, &mut changes);
        }
        let kept = |id: &&PluginId| self.slots.iter().any(|slot| slot.id() == *id);
        let stays: Vec<_> = order.iter().filter(kept).collect();
        let now_order = self.slots.iter().map(Slot::id).filter(|id| order.contains(id));
        if !stays.into_iter().eq(now_order) {
            changes.lines.push("the plugins' order".to_owned());
            changes.at_once = true;
        }
        self.globals(config, wish, &mut changes);
        if changes.at_once {
            self.publish_at_once();
        }
        self.tell_of(changes, wish, now);
    }

    /// What isn't of a plugin.
    fn globals(&mut self, config: &Config, wish: Wish, changes: &mut Changes) {
        let desired = &mut self.desired;
        let restart = desired.started.needs_restart(config);
        for key in restart.iter().filter(|key| !desired.needs_restart.contains(key)) {
            let before =
                if key == "http.auth.tokens" { "the earlier tokens" } else { "what was there before" };
            tracing::warn!("needs a restart: `{key}` changed, and {before} will be in use until then");
            changes.restart.push(format!("`{key}`"));
        }
        if desired.needs_restart != restart {
            changes.lines.extend(restart.is_empty().then(|| "nothing needs a restart any more".to_owned()));
            desired.needs_restart = restart;
        }
        let next = policy(desired.policy, config.wider_grants, wish.asked.is_some());
        if next != config.wider_grants && !desired.policy_waits {
            tracing::warn!("`wider_grants` was loosened, which waits until the operator asks for a reload");
        }
        desired.policy_waits = next != config.wider_grants;
        if next != desired.policy {
            changes.lines.push("`gateway.wider_grants`".to_owned());
        }
        desired.policy = next;
        if desired.stop_grace != config.stop_grace {
            desired.stop_grace = config.stop_grace;
            changes.lines.push("`gateway.stop_grace`".to_owned());
        }
        if desired.watch != config.watch {
            desired.watch = config.watch;
            changes.lines.push("how files are watched".to_owned());
        }
    }

    /// A new plugin, or one that the operator hasn't admitted yet.
    fn add(
        &mut self,
        table: &Arc<PluginConfig>,
        in_force: WiderGrants,
        waiting: Option<Slot>,
        now: Instant,
        changes: &mut Changes,
    ) -> Slot {
        let serial = self.serial();
        match fate(None, table, in_force) {
            Fate::Take => {
                changes.lines.push(format!("`{}` added", table.id));
                changes.grants(None, table);
                Slot::new(serial, Arc::clone(table), now)
            }
            Fate::Hold(grants) => {
                let mut slot = Slot::held(serial, Arc::clone(table), grants);
                slot.said_waiting = waiting.and_then(|slot| slot.said_waiting);
                slot
            }
        }
    }

    /// A plugin that was there before.
    fn change(
        &mut self,
        mut slot: Slot,
        table: &Arc<PluginConfig>,
        in_force: WiderGrants,
        now: Instant,
        changes: &mut Changes,
    ) -> Slot {
        match fate(Some(&slot.table), table, in_force) {
            Fate::Take => {
                slot.held = None;
                let drain = drain(&slot.table, Some(table));
                let before = Arc::clone(&slot.table);
                match slot.put_under(table, now) {
                    Put::Same => return slot,
                    Put::Changed => {}
                    Put::Sandboxed { earlier, narrower } => {
                        slot.served(&earlier.code);
                        if narrower {
                            // Those that served before may more, too, and conversations may have them still.
                            self.replaced.extend(slot.earlier().map(|earlier| (earlier, drain)));
                        } else {
                            self.replaced.push((earlier.code, drain));
                        }
                        self.ready();
                        changes.at_once |= narrower;
                    }
                }
                changes.lines.push(format!("`{}` changed", table.id));
                changes.grants(Some(&before), table);
            }
            Fate::Hold(grants) => {
                // What holds stands elsewhere in the file at most.
                let earlier = PluginConfig {
                    place: table.place.clone(),
                    source_place: table.source_place.clone(),
                    places: table.places.clone(),
                    ..(*slot.table).clone()
                };
                let _ = slot.put_under(&Arc::new(earlier), now);
                slot.held = Some(Held { table: Arc::clone(table), grants, meanwhile: Meanwhile::Earlier });
            }
        }
        slot
    }

    /// A plugin that is gone from the file.
    fn remove(&mut self, slot: Slot, changes: &mut Changes) {
        changes.lines.push(gone(slot.id(), slot.serving.as_ref().map(|serving| &serving.loaded)));
        changes.at_once = true;
        self.relists.forget(slot.id());
        let drain = drain(&slot.table, None);
        self.replaced.extend(slot.earlier().map(|earlier| (earlier, drain)));
        let loaded = slot.serving.map(|serving| serving.loaded).into_iter();
        let loaded = loaded.chain(slot.fresh.map(|fresh| fresh.loaded)).chain(slot.relisted);
        self.replaced.extend(loaded.map(|loaded| (loaded.code, drain)));
    }

    fn tell_of(&mut self, changes: Changes, wish: Wish, now: Instant) {
        let Changes { lines, restart, grants, at_once: _ } = changes;
        let was_rejected = self.desired.rejected.take().is_some();
        if lines.is_empty() && restart.is_empty() && !was_rejected {
            self.report.reloads.unchanged += u64::from(wish.asked.is_none());
            return;
        }
        self.desired.since = SystemTime::now();
        self.report.reloads.configured += 1;
        let waits = if restart.is_empty() {
            String::new()
        } else {
            format!("needs a restart: {}", restart.join(", "))
        };
        let line = match (lines.is_empty(), restart.is_empty()) {
            (true, true) => "the configuration is in use: as it was before".to_owned(),
            (true, false) => format!("the configuration was read, but {waits}"),
            (false, true) => format!("the configuration is in use: {}", lines.join(", ")),
            (false, false) => format!("the configuration is in use: {}; but {waits}", lines.join(", ")),
        };
        tracing::info!("{line}");
        self.report.changed(None, now - wish.noticed, line);
        for (plugin, line) in grants {
            tracing::info!(%plugin, "{line}");
            self.report.changed(Some(&plugin), now - wish.noticed, line);
        }
    }
}

impl Changes {
    /// Notes what a table grants that the one before didn't, and the other way round.
    fn grants(&mut self, before: Option<&PluginConfig>, table: &PluginConfig) {
        let came = table.alone_wider_than(before);
        let went = before.map(|before| before.alone_wider_than(Some(table))).unwrap_or_default();
        let said = |what: &str, grants: &[String]| {
            (!grants.is_empty()).then(|| format!("{what}: {}", grants.join(", ")))
        };
        let line: Vec<_> =
            [said("granted from now on", &came), said("taken away", &went)].into_iter().flatten().collect();
        if !line.is_empty() {
            self.grants.push((table.id.clone(), line.join("; ")));
        }
    }
}

/// A problem in one line, with its place.
fn located(problem: &Problem, source: &Source) -> String {
    let before = problem.place.as_ref().and_then(|place| source.text.get(..place.start));
    match before {
        Some(before) => {
            let line = before.matches('\n').count() + 1;
            format!("{}:{line}: {problem}", source.path.display())
        }
        None => problem.to_string(),
    }
}
