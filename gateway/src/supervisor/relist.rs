//! Asking plugins anew what they offer, when they say that it has changed.
//!
//! One task takes what plugins report. A plugin is asked in a fresh instance of the code that it has, at most once a
//! second and never twice at once; what it reports meanwhile makes one more round, so that the last change is never
//! lost. Lists that can't be used change nothing. Calls notice nothing of all this: those that run keep the catalog that
//! they began with.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use moongate_core::catalog::{Build, Catalog, Diff, Member, Plugin};
use moongate_core::changes::Updates;
use moongate_core::config::Problem;
use moongate_core::names::{PluginId, ResourceUri};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use crate::host::{Inbox, Reported, WasmPlugin};

mod schedule;

use schedule::Schedule;

/// How many resources of one plugin may wait for its lists: what is said to have changed may be listed only then.
const WAITING: usize = 4096;

/// A plugin that was loaded, whether it serves or is refused because of others.
#[derive(Debug, Clone)]
pub(super) struct Loaded {
    pub(super) wasm: Arc<WasmPlugin>,
    pub(super) member: Member,
}

/// What the task works on.
pub(super) struct Relisting {
    /// In the order of `gateway.toml`.
    loaded: Vec<Loaded>,
    /// What was warned of when the catalog was built last.
    warnings: Vec<Problem>,
    catalog: watch::Sender<Arc<Catalog>>,
    updates: Arc<Updates>,
    schedule: Schedule,
    /// Resources outside of a plugin's space as it is; they may lie in what it will list next.
    waiting: BTreeMap<PluginId, BTreeSet<ResourceUri>>,
    /// Why lists can't be used, as it was said last.
    said: BTreeMap<PluginId, String>,
}

/// What came of asking: the plugin with its new lists; none: they are the same. Or why it can't be used.
type Asked = Result<Option<Loaded>, String>;

impl Relisting {
    pub(super) fn new(
        loaded: Vec<Loaded>,
        warnings: Vec<Problem>,
        catalog: watch::Sender<Arc<Catalog>>,
        updates: Arc<Updates>,
    ) -> Self {
        let schedule = Schedule::default();
        let (waiting, said) = (BTreeMap::new(), BTreeMap::new());
        Self { loaded, warnings, catalog, updates, schedule, waiting, said }
    }

    /// Works for ever.
    pub(super) async fn run(mut self, inbox: Arc<Inbox>) {
        let mut asked = FuturesUnordered::new();
        loop {
            while let Some(plugin) = self.schedule.start(Instant::now()) {
                match self.at(&plugin) {
                    Some(at) => asked.push(ask(plugin, self.loaded[at].clone())),
                    None => self.schedule.ended(&plugin),
                }
            }
            let next = self.schedule.next();
            tokio::select! {
                reported = inbox.take() => self.reported(reported),
                Some((plugin, asked)) = asked.next() => self.answered(&plugin, asked),
                () = until(next) => {}
            }
        }
    }

    /// Notes whom to ask, and tells of resources.
    fn reported(&mut self, reported: BTreeMap<PluginId, Reported>) {
        for (plugin, Reported { lists, resources }) in reported {
            if lists {
                self.schedule.want(plugin.clone());
            }
            let foreign = self.tell_of_its_own(&plugin, resources);
            if self.schedule.awaits(&plugin) {
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
            } else {
                refuse(&plugin, &foreign);
            }
        }
    }

    /// Takes what a plugin answered.
    fn answered(&mut self, plugin: &PluginId, asked: Asked) {
        self.schedule.ended(plugin);
        let taken = asked.and_then(|anew| match anew {
            // Nothing of it is changed before all of it is built.
            Some(anew) => {
                catch_unwind(AssertUnwindSafe(|| self.replace(anew))).unwrap_or_else(|_| Err(failed()))
            }
            None => Ok(()),
        });
        match taken {
            Ok(()) => drop(self.said.remove(plugin)),
            // The same again and again is no news: a plugin may report in every call.
            Err(reason) if self.said.get(plugin) == Some(&reason) => {}
            Err(reason) => {
                tracing::warn!(%plugin, "its lists stay as they were: {reason}");
                self.said.insert(plugin.clone(), reason);
            }
        }
        if let Some(waiting) = self.waiting.remove(plugin) {
            let foreign = self.tell_of_its_own(plugin, waiting);
            if self.schedule.awaits(plugin) {
                self.waiting.insert(plugin.clone(), foreign);
            } else {
                refuse(plugin, &foreign);
            }
        }
    }

    /// Publishes a catalog with the plugin as it is now. Others may come in that were refused because of what it had.
    fn replace(&mut self, anew: Loaded) -> Result<(), String> {
        let Some(at) = self.at(anew.member.id()) else { return Ok(()) };
        let before = Arc::clone(&self.catalog.borrow());
        let members = self.loaded.iter().enumerate();
        let members = members.map(|(its, loaded)| if its == at { &anew.member } else { &loaded.member });
        let members = members.cloned().collect();
        let Build { catalog, refused, warnings } =
            Catalog::build(before.generation() + 1, members, Some(&before));
        if let Some(refused) = refused.iter().find(|refused| refused.plugin == *anew.member.id()) {
            return Err(said(&refused.problems()));
        }
        for warning in warnings.iter().filter(|warning| !self.warnings.contains(warning)) {
            tracing::warn!("{warning}");
        }
        self.warnings = warnings;
        log(anew.member.id(), &Diff::between(&before, &catalog));
        self.loaded[at] = anew;
        self.catalog.send_replace(Arc::new(catalog));
        Ok(())
    }

    /// Tells of the resources that are the plugin's own, and gives the others back.
    fn tell_of_its_own(&self, plugin: &PluginId, resources: BTreeSet<ResourceUri>) -> BTreeSet<ResourceUri> {
        let catalog = Arc::clone(&self.catalog.borrow());
        let owns = |uri: &ResourceUri| {
            catalog.resource_owner(uri.as_str()).is_some_and(|owner| owner.id() == plugin)
        };
        let (own, foreign): (BTreeSet<_>, _) = resources.into_iter().partition(owns);
        own.iter().for_each(|uri| self.updates.updated(uri));
        foreign
    }

    fn at(&self, plugin: &PluginId) -> Option<usize> {
        self.loaded.iter().position(|loaded| loaded.member.id() == plugin)
    }
}

/// Asks a plugin what it offers now. A panic is its failure alone: others are asked after it, and it is asked again.
async fn ask(plugin: PluginId, before: Loaded) -> (PluginId, Asked) {
    let asked = async {
        let wasm = before.wasm.described_anew().await.map_err(|error| error.to_string())?;
        if wasm.manifest() == before.wasm.manifest() {
            return Ok(None);
        }
        let wasm = Arc::new(wasm);
        let plugin: Arc<dyn Plugin> = Arc::<WasmPlugin>::clone(&wasm);
        let member = spawn_blocking(move || before.member.listed_anew(plugin)).await;
        let member = member.map_err(|error| format!("the gateway failed: {error}"))?;
        member.map(|member| Some(Loaded { wasm, member })).map_err(|problems| said(&problems))
    };
    (plugin, guarded(asked).await)
}

/// A panic is an error like another.
async fn guarded(asked: impl Future<Output = Asked>) -> Asked {
    AssertUnwindSafe(asked).catch_unwind().await.unwrap_or_else(|_| Err(failed()))
}

fn failed() -> String {
    "the gateway failed at it, and it isn't the plugin's fault".to_owned()
}

/// Several problems in one line.
fn said(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}

/// Nobody is told of what isn't the plugin's own.
fn refuse(plugin: &PluginId, foreign: &BTreeSet<ResourceUri>) {
    if let Some(first) = foreign.first() {
        let count = foreign.len();
        tracing::warn!(%plugin, count, "it said that resources changed which aren't its own, such as `{first}`; nobody is told");
    }
}

fn log(plugin: &PluginId, diff: &Diff) {
    tracing::info!(%plugin, "it has new lists: {diff}");
    for warning in diff.warnings() {
        tracing::warn!(%plugin, "{warning}");
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
