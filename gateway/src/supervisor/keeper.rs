//! The loop: keeps what serves as the files say.
//!
//! One task owns the state: the configuration in use, a slot for each plugin, and what is to be told. An event changes
//! the state; after each event whatever is due is begun, what is ready is published, and the status is told. What takes
//! time runs in tasks of its own, each of which ends in an event. Nothing that goes wrong with one event ends the loop.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use moongate_core::catalog::Catalog;
use moongate_core::changes::Updates;
use moongate_core::config::{Config, PluginConfig, Problem};
use moongate_core::gate::Gate;
use moongate_core::mcp;
use moongate_core::names::PluginId;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::host::Inbox;

use super::attend::{Turns, attend};
use super::code::{Code, Host};
use super::control::Request;
use super::desired::{Desired, InForce, Reader, settled};
use super::event::{Done, Event, Files, Noticed, until};
use super::relist::{Relists, ask};
use super::report::Report;
use super::slot::Slot;
use super::status::{Status, Watching};

mod configure;
mod publish;
mod take;
mod tell;

/// What is ready is published no later, whatever else is still being loaded.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the loop works with.
pub(super) struct Tools {
    pub(super) host: Arc<dyn Host>,
    pub(super) reader: Arc<dyn Reader>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) files: Files,
    pub(super) requests: mpsc::Receiver<Request>,
    pub(super) gate: Arc<Gate>,
    pub(super) updates: Arc<Updates>,
    pub(super) catalog: watch::Sender<Arc<Catalog>>,
}

/// The loop.
pub(super) struct Keeper {
    tools: Tools,
    watching: Watching,
    turns: Arc<Turns>,
    jobs: JoinSet<Done>,
    desired: Desired,
    /// In the order of `gateway.toml`.
    slots: Vec<Slot>,
    serials: u64,
    relists: Relists,
    report: Report,
    status: watch::Sender<Arc<Status>>,
    /// Since when something is ready to be published.
    ready_since: Option<Instant>,
    /// What was told when the catalog was built last.
    problems: Vec<Problem>,
    /// What serves no more, and how long it is still needed.
    replaced: Vec<(Arc<dyn Code>, Duration)>,
    phase: Phase,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing serves before all plugins were tried once; what can't be used is told by whoever starts it.
    Starting,
    /// It serves.
    Serving,
}

impl Keeper {
    /// Nothing is loaded yet. `files`: those that the configuration was read from.
    pub(super) fn new(config: Config, files: BTreeSet<PathBuf>, tools: Tools) -> Self {
        let now = Instant::now();
        let tables = config.plugins.clone();
        let desired = Desired::new(config, files);
        let status = tell::nothing(&desired);
        let mut keeper = Self {
            tools,
            watching: Watching::Off,
            turns: Arc::default(),
            jobs: JoinSet::new(),
            desired,
            slots: Vec::new(),
            serials: 0,
            relists: Relists::default(),
            report: Report::default(),
            status: watch::channel(Arc::new(status)).0,
            ready_since: None,
            problems: Vec::new(),
            replaced: Vec::new(),
            phase: Phase::Starting,
        };
        for table in tables {
            let serial = keeper.serial();
            keeper.slots.push(Slot::new(serial, table, now));
        }
        keeper.watch();
        keeper
    }

    /// Loads all plugins and publishes what they offer together.
    pub(super) async fn load_all(&mut self) {
        self.begin(Instant::now());
        while self.slots.iter().any(Slot::is_busy) {
            self.step().await;
        }
        self.ready_since = Some(Instant::now());
        self.publish();
        // Whoever starts it tells what is wrong at the start, with places: also what was found in publishing.
        self.tell();
        self.phase = Phase::Serving;
        self.tell();
    }

    /// Works for ever.
    pub(super) async fn run(mut self) {
        let _alarm = Alarm;
        loop {
            self.step().await;
        }
    }

    /// What is wrong with the plugins, in the order of the file.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let failures = self.slots.iter().flat_map(Slot::failures).flat_map(|failure| &failure.problems);
        let mut problems: Vec<_> = failures.chain(&self.problems).cloned().collect();
        problems.sort_by_key(|problem| problem.place.as_ref().map_or(0, |place| place.start));
        problems
    }

    /// The plugins that don't serve.
    pub(super) fn unusable(&self) -> Vec<PluginId> {
        let slots = self.slots.iter().filter(|slot| slot.serving.is_none());
        slots.map(|slot| slot.id().clone()).collect()
    }

    /// The status, now and later.
    pub(super) fn status(&self) -> watch::Receiver<Arc<Status>> {
        self.status.subscribe()
    }

    /// Waits for what happens next, and does what follows from it.
    async fn step(&mut self) {
        let event = self.next().await;
        // A plugin may report in every call; that is in no status.
        let is_report = matches!(event, Event::Reported(_));
        // Whatever a mistake of ours leaves undone is done with the next event.
        let done = catch_unwind(AssertUnwindSafe(|| {
            self.take(event);
            let now = Instant::now();
            self.begin(now);
            if !is_report {
                self.publish_if_due(now);
                self.tell();
            }
        }));
        if done.is_err() {
            tracing::error!("the gateway failed at a change, and goes on; this is a mistake in it");
        }
    }

    async fn next(&mut self) -> Event {
        let due = self.due();
        let Tools { inbox, files, requests, .. } = &mut self.tools;
        tokio::select! {
            Some(noticed) = files.noticed.recv() => match noticed {
                Noticed::Changed(files) => Event::Changed(files),
                Noticed::Watching(watching) => Event::Watching(watching),
            },
            Some(request) = requests.recv() => Event::Asked(request),
            reported = inbox.take() => Event::Reported(reported),
            Some(done) = self.jobs.join_next() => match done {
                Ok(done) => Event::Done(Box::new(done)),
                Err(error) => {
                    tracing::error!("something of a reload was lost: {error}");
                    Event::Due
                }
            },
            () = until(due) => Event::Due,
        }
    }

    /// When there is something to do, if nothing happens before.
    fn due(&self) -> Option<Instant> {
        let slots = self.slots.iter().filter_map(Slot::due);
        let publish = match self.phase {
            Phase::Serving => self.ready_since.map(|since| since + PATIENCE),
            Phase::Starting => None, // all are waited for, however long that takes
        };
        slots.chain(publish).chain(self.relists.next()).min()
    }

    /// Begins whatever may begin.
    fn begin(&mut self, now: Instant) {
        let beside: Arc<[_]> = self.tables().into();
        if self.desired.begin() {
            let (reader, lane) = (Arc::clone(&self.tools.reader), self.desired.lane.clone());
            let in_force =
                InForce { started: Arc::clone(&self.desired.started), tables: Arc::clone(&beside) };
            self.jobs.spawn(async move { Done::Read(Box::new(settled(reader, lane, in_force).await)) });
        }
        for slot in &mut self.slots {
            let Some(task) = slot.begin(now, &beside) else { continue };
            let (serial, table) = (slot.serial, Arc::clone(&task.table));
            let (host, turns) = (Arc::clone(&self.tools.host), Arc::clone(&self.turns));
            self.jobs.spawn(async move {
                let attended = attend(host, turns, task).await;
                Done::Attended { serial, table, attended }
            });
        }
        while let Some(plugin) = self.relists.start(now) {
            let slot = self.slots.iter().find(|slot| *slot.id() == plugin);
            match slot.and_then(|slot| Some((slot.serial, slot.serving.as_ref()?.loaded.clone()))) {
                Some((serial, before)) => drop(self.jobs.spawn(async move {
                    let asked = ask(before.clone()).await;
                    Done::Relisted { serial, plugin, before, asked }
                })),
                None => self.relists.ended(&plugin),
            }
        }
    }

    /// Every table that holds.
    fn tables(&self) -> Vec<Arc<PluginConfig>> {
        let serving = self.slots.iter().filter_map(|slot| slot.serving.as_ref());
        let serving = serving.map(|serving| Arc::clone(&serving.loaded.config));
        self.slots.iter().map(|slot| Arc::clone(&slot.table)).chain(serving).collect()
    }

    /// Not later than this, if anything serves yet.
    fn publish_at_once(&mut self) {
        match self.phase {
            Phase::Serving => self.publish(),
            Phase::Starting => self.ready(),
        }
    }

    /// There is something to publish.
    fn ready(&mut self) {
        self.ready_since.get_or_insert_with(Instant::now);
    }

    /// All that is ready at once: when nothing more is to come, but others aren't waited for long.
    fn publish_if_due(&mut self, now: Instant) {
        let Some(since) = self.ready_since else { return };
        let more = self.slots.iter().any(Slot::is_busy);
        match self.phase {
            Phase::Serving if !more || now >= since + PATIENCE => self.publish(),
            Phase::Serving | Phase::Starting => {}
        }
    }

    fn serial(&mut self) -> u64 {
        self.serials += 1;
        self.serials
    }
}

/// Says so where the loop ends by a mistake of ours: nothing would change any more, and nobody would know why.
struct Alarm;

impl Drop for Alarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!("changes of files are no longer taken, because the gateway failed: restart it");
        }
    }
}

/// How long code that serves no more is kept for those who came before: calls that run, calls that wait for their turn,
/// and conversations that will call again when a person has answered. `now`: the table of what serves instead.
///
/// Where that is granted less, or nothing serves instead, only calls that run are waited for: what was taken away isn't
/// to be used minutes later.
fn drain(before: &PluginConfig, now: Option<&PluginConfig>) -> Duration {
    let running = before.limits.timeout + before.limits.cancel_grace;
    match now {
        Some(now) if before.wider_than(Some(now)).is_empty() => mcp::PATIENCE + running,
        Some(_) | None => running,
    }
}

#[cfg(test)]
mod tests;
