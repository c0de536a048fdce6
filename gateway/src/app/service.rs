//! The service manager hears how the gateway is: that it serves, loads anew, or stops (systemd's `sd_notify(3)`).
//!
//! Where no manager listens, nothing of this happens. Everything goes through one task, so that it is told in order and
//! nobody waits for a manager that doesn't read.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use crate::supervisor::status::{PluginState, Status};

/// How long the end of the process waits for the last word to be taken.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many words may wait.
const WAITING: usize = 16;

/// The service manager, if there is one.
#[derive(Debug)]
pub struct Service(Option<Heard>);

#[derive(Debug)]
struct Heard {
    words: mpsc::Sender<Word>,
    teller: JoinHandle<()>,
}

/// Tells the manager of reloads. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Teller(Option<mpsc::Sender<Word>>);

/// What is told.
#[derive(Debug)]
enum Word {
    Loading(usize),
    Ready(watch::Receiver<Arc<Status>>),
    Reloading,
    Reloaded,
    Stopping,
}

/// What the manager is sent.
#[derive(Debug)]
enum Note {
    Status(String),
    Ready(String),
    Reloading,
    Stopping,
    Alive,
}

impl Service {
    /// Looks for a manager that wants to hear something: one that set `NOTIFY_SOCKET`.
    ///
    /// Call it inside a tokio runtime.
    #[must_use]
    pub fn find() -> Self {
        if !manager::is_there() {
            return Self(None);
        }
        let (words, heard) = mpsc::channel(WAITING);
        Self(Some(Heard { words, teller: tokio::spawn(tell(heard)) }))
    }

    /// So many plugins are being loaded.
    pub async fn loading(&self, plugins: usize) {
        self.teller().say(Word::Loading(plugins)).await;
    }

    /// The gateway serves, and what it serves from now on is part of what is told.
    pub async fn ready(&self, status: watch::Receiver<Arc<Status>>) {
        self.teller().say(Word::Ready(status)).await;
    }

    /// The gateway stops.
    pub async fn stopping(&self) {
        self.teller().say(Word::Stopping).await;
    }

    /// For whoever reloads.
    #[must_use]
    pub fn teller(&self) -> Teller {
        Teller(self.0.as_ref().map(|heard| heard.words.clone()))
    }

    /// Waits until everything was told. Nobody else may hold a [`Teller`] any more.
    pub async fn finish(self) {
        if let Some(Heard { words, teller }) = self.0 {
            drop(words);
            if timeout(PATIENCE, teller).await.is_err() {
                tracing::debug!("the service manager doesn't listen");
            }
        }
    }
}

impl Teller {
    /// A reload begins.
    pub async fn reloading(&self) {
        self.say(Word::Reloading).await;
    }

    /// It is done.
    pub async fn reloaded(&self) {
        self.say(Word::Reloaded).await;
    }

    async fn say(&self, word: Word) {
        if let Some(words) = &self.0 {
            let _ = words.send(word).await; // the task ends after all senders
        }
    }
}

/// Tells everything in order, and now and then that the process is alive.
async fn tell(mut words: mpsc::Receiver<Word>) {
    let mut alive = manager::watchdog().map(ticks);
    let mut serving: Option<Serving> = None;
    loop {
        let note = tokio::select! {
            word = words.recv() => match word {
                None => return,
                Some(Word::Loading(plugins)) => Note::Status(format!("loading {}", count(plugins, "plugin"))),
                Some(Word::Ready(status)) => Note::Ready(serving.insert(Serving::new(status)).summary()),
                Some(Word::Reloading) => Note::Reloading,
                Some(Word::Reloaded) => match &mut serving {
                    Some(serving) => Note::Ready(serving.summary()),
                    None => continue,
                },
                Some(Word::Stopping) => {
                    serving = None;
                    Note::Stopping
                }
            },
            summary = changed(&mut serving) => Note::Status(summary),
            () = tick(&mut alive) => Note::Alive,
        };
        manager::send(note).await;
    }
}

/// Twice within the time after which the manager takes silence for death.
fn ticks(patience: Duration) -> Interval {
    let mut ticks = interval((patience / 2).max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

async fn tick(ticks: &mut Option<Interval>) {
    match ticks {
        Some(ticks) => drop(ticks.tick().await),
        None => std::future::pending().await,
    }
}

/// What is served, and what was said of it.
#[derive(Debug)]
struct Serving {
    status: watch::Receiver<Arc<Status>>,
    said: String,
}

impl Serving {
    fn new(status: watch::Receiver<Arc<Status>>) -> Self {
        Self { status, said: String::new() }
    }

    /// What is served now.
    fn summary(&mut self) -> String {
        self.said = summary(&self.status.borrow_and_update());
        self.said.clone()
    }

    /// Waits until there is something else to say. Cancel-safe.
    async fn changed(&mut self) -> Option<String> {
        loop {
            self.status.changed().await.ok()?;
            let now = summary(&self.status.borrow_and_update());
            if now != self.said {
                self.said.clone_from(&now);
                return Some(now);
            }
        }
    }
}

async fn changed(serving: &mut Option<Serving>) -> String {
    if let Some(serving) = serving
        && let Some(summary) = serving.changed().await
    {
        return summary;
    }
    std::future::pending().await
}

/// What is served, in a few words: `6 plugins, 43 tools; 1 degraded, 1 failed`.
fn summary(status: &Status) -> String {
    let (mut plugins, mut degraded, mut failed) = (0, 0, 0);
    for plugin in &status.plugins {
        match plugin.state {
            PluginState::Loading => {}
            PluginState::Serving => plugins += 1,
            PluginState::Degraded(_) => (plugins, degraded) = (plugins + 1, degraded + 1),
            PluginState::Failed(_) => failed += 1,
        }
    }
    let tools = status.plugins.iter().map(|plugin| plugin.offers.tools).sum();
    let trouble = [(degraded, "degraded"), (failed, "failed")];
    let trouble =
        trouble.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{number} {what}"));
    let trouble = trouble.collect::<Vec<_>>().join(", ");
    let served = format!("{}, {}", count(plugins, "plugin"), count(tools, "tool"));
    if trouble.is_empty() { served } else { format!("{served}; {trouble}") }
}

fn count(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

#[cfg(unix)]
mod manager {
    use std::io;
    use std::time::Duration;

    use sd_notify::NotifyState;
    use tokio::task::spawn_blocking;

    use super::Note;

    pub(super) fn is_there() -> bool {
        std::env::var_os("NOTIFY_SOCKET").is_some_and(|socket| !socket.is_empty())
    }

    /// After which time of silence it takes the process for dead, if at all.
    pub(super) fn watchdog() -> Option<Duration> {
        sd_notify::watchdog_enabled().filter(|patience| !patience.is_zero())
    }

    pub(super) async fn send(note: Note) {
        match spawn_blocking(move || notify(&note)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the service manager can't be told"),
            Err(error) => tracing::debug!(%error, "telling the service manager was cut short"),
        }
    }

    fn notify(note: &Note) -> io::Result<()> {
        match note {
            Note::Status(status) => sd_notify::notify(&[NotifyState::Status(status)]),
            Note::Ready(status) => sd_notify::notify(&[NotifyState::Ready, NotifyState::Status(status)]),
            // The time proves to the manager that this isn't the answer to an earlier request.
            Note::Reloading => {
                let now = NotifyState::monotonic_usec_now()?;
                sd_notify::notify(&[NotifyState::Reloading, now, NotifyState::Status("loading anew")])
            }
            Note::Stopping => {
                sd_notify::notify(&[NotifyState::Stopping, NotifyState::Status("waiting for calls to end")])
            }
            Note::Alive => sd_notify::notify(&[NotifyState::Watchdog]),
        }
    }
}

#[cfg(not(unix))]
mod manager {
    use std::time::Duration;

    use super::Note;

    pub(super) fn is_there() -> bool {
        false
    }

    pub(super) fn watchdog() -> Option<Duration> {
        None
    }

    pub(super) async fn send(_: Note) {}
}
