//! Notifies the service manager that the gateway is ready, reloading or stopping (systemd's `sd_notify(3)`).
//!
//! Does nothing without a service manager. One task sends all notifications, so they stay in order, and the gateway
//! doesn't wait for a manager that doesn't read them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use crate::supervisor::status::{PluginState, SupervisorStatus};

/// The time limit for the last notification at shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum number of state changes waiting to be sent.
const STATE_QUEUE: usize = 16;

/// Notifies the service manager, if there is one.
#[derive(Debug)]
pub struct SystemdNotifier(Option<NotifierTask>);

#[derive(Debug)]
struct NotifierTask {
    states: mpsc::Sender<StateChange>,
    task: JoinHandle<()>,
}

/// Notifies the service manager of reloads. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ReloadNotifier(Option<mpsc::Sender<StateChange>>);

/// A change in the gateway's state.
#[derive(Debug)]
enum StateChange {
    Loading(usize),
    Ready(watch::Receiver<Arc<SupervisorStatus>>),
    Reloading,
    Reloaded,
    Stopping,
}

/// A notification to the service manager.
#[derive(Debug)]
enum Notification {
    Status(String),
    Ready(String),
    Reloading,
    Stopping,
    Watchdog,
}

impl SystemdNotifier {
    /// Finds the service manager by `NOTIFY_SOCKET`. Must be called in a tokio runtime.
    #[must_use]
    pub fn find() -> Self {
        if !manager::exists() {
            return Self(None);
        }
        let (states, receiver) = mpsc::channel(STATE_QUEUE);
        let notifier = Notifier {
            states: receiver,
            watchdog: manager::watchdog_timeout().map(watchdog_interval),
            serving: None,
        };
        Self(Some(NotifierTask { states, task: tokio::spawn(notifier.run()) }))
    }

    /// Reports that the gateway is loading this many plugins.
    pub async fn loading(&self, plugins: usize) {
        self.reload_notifier().send(StateChange::Loading(plugins)).await;
    }

    /// Reports that the gateway is ready. From now on, notifications contain a summary of its status.
    pub async fn ready(&self, status: watch::Receiver<Arc<SupervisorStatus>>) {
        self.reload_notifier().send(StateChange::Ready(status)).await;
    }

    /// Reports that the gateway is stopping.
    pub async fn stopping(&self) {
        self.reload_notifier().send(StateChange::Stopping).await;
    }

    /// Notifies the service manager of reloads.
    #[must_use]
    pub fn reload_notifier(&self) -> ReloadNotifier {
        ReloadNotifier(self.0.as_ref().map(|task| task.states.clone()))
    }

    /// Waits until everything is sent. Drop all [`ReloadNotifier`]s first.
    pub async fn finish(self) {
        if let Some(NotifierTask { states, task }) = self.0 {
            drop(states);
            if timeout(FLUSH_TIMEOUT, task).await.is_err() {
                tracing::debug!("the service manager doesn't read notifications");
            }
        }
    }
}

impl ReloadNotifier {
    /// Reports that a reload is starting.
    pub async fn reloading(&self) {
        self.send(StateChange::Reloading).await;
    }

    /// Reports that the reload has ended.
    pub async fn reloaded(&self) {
        self.send(StateChange::Reloaded).await;
    }

    async fn send(&self, change: StateChange) {
        if let Some(states) = &self.0 {
            let _ = states.send(change).await; // the task outlives all senders
        }
    }
}

/// Sends all notifications.
struct Notifier {
    states: mpsc::Receiver<StateChange>,
    watchdog: Option<Interval>,
    serving: Option<Serving>,
}

impl Notifier {
    /// Sends notifications in order until all senders are dropped.
    async fn run(mut self) {
        loop {
            let notification = tokio::select! {
                change = self.states.recv() => match change {
                    None => return,
                    Some(change) => self.on_change(change),
                },
                summary = changed(&mut self.serving) => Some(Notification::Status(summary)),
                () = tick(&mut self.watchdog) => Some(Notification::Watchdog),
            };
            if let Some(notification) = notification {
                manager::send(notification).await;
            }
        }
    }

    fn on_change(&mut self, change: StateChange) -> Option<Notification> {
        match change {
            StateChange::Loading(plugins) => {
                Some(Notification::Status(format!("loading {}", count(plugins, "plugin"))))
            }
            StateChange::Ready(status) => {
                Some(Notification::Ready(self.serving.insert(Serving::new(status)).summary()))
            }
            StateChange::Reloading => Some(Notification::Reloading),
            StateChange::Reloaded => Some(Notification::Ready(self.serving.as_mut()?.summary())),
            StateChange::Stopping => {
                self.serving = None;
                Some(Notification::Stopping)
            }
        }
    }
}

/// Twice within the time after which the manager kills an unresponsive process.
fn watchdog_interval(limit: Duration) -> Interval {
    let mut ticks = interval((limit / 2).max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

async fn tick(ticks: &mut Option<Interval>) {
    match ticks {
        Some(ticks) => drop(ticks.tick().await),
        None => std::future::pending().await,
    }
}

/// The status of a running gateway, and the summary that was sent last.
#[derive(Debug)]
struct Serving {
    status: watch::Receiver<Arc<SupervisorStatus>>,
    sent: String,
}

impl Serving {
    fn new(status: watch::Receiver<Arc<SupervisorStatus>>) -> Self {
        Self { status, sent: String::new() }
    }

    /// The current summary.
    fn summary(&mut self) -> String {
        self.sent = summary(&self.status.borrow_and_update());
        self.sent.clone()
    }

    /// Waits until the summary changes. Cancel-safe.
    async fn changed(&mut self) -> Option<String> {
        loop {
            self.status.changed().await.ok()?;
            let now = summary(&self.status.borrow_and_update());
            if now != self.sent {
                self.sent.clone_from(&now);
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

/// A summary such as `6 plugins, 43 tools; 1 degraded, 1 failed`.
fn summary(status: &SupervisorStatus) -> String {
    let mut plugins = 0;
    let mut degraded = 0;
    let mut failed = 0;
    for plugin in &status.plugins {
        match plugin.state {
            PluginState::Loading => {}
            PluginState::Serving => plugins += 1,
            PluginState::Degraded(_) => {
                plugins += 1;
                degraded += 1;
            }
            PluginState::Failed(_) => failed += 1,
        }
    }
    let tools = status.plugins.iter().map(|plugin| plugin.offer_counts.tools).sum();
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

    use super::Notification;

    pub(super) fn exists() -> bool {
        std::env::var_os("NOTIFY_SOCKET").is_some_and(|socket| !socket.is_empty())
    }

    /// The time after which the manager kills an unresponsive process.
    pub(super) fn watchdog_timeout() -> Option<Duration> {
        sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero())
    }

    pub(super) async fn send(notification: Notification) {
        match spawn_blocking(move || notify(&notification)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "can't notify the service manager"),
            Err(error) => tracing::debug!(%error, "can't notify the service manager: the task failed"),
        }
    }

    fn notify(notification: &Notification) -> io::Result<()> {
        match notification {
            Notification::Status(status) => sd_notify::notify(&[NotifyState::Status(status)]),
            Notification::Ready(status) => {
                sd_notify::notify(&[NotifyState::Ready, NotifyState::Status(status)])
            }
            // The timestamp tells the manager that this isn't the answer to an earlier request.
            Notification::Reloading => {
                let now = NotifyState::monotonic_usec_now()?;
                sd_notify::notify(&[NotifyState::Reloading, now, NotifyState::Status("reloading")])
            }
            Notification::Stopping => {
                sd_notify::notify(&[NotifyState::Stopping, NotifyState::Status("waiting for calls to end")])
            }
            Notification::Watchdog => sd_notify::notify(&[NotifyState::Watchdog]),
        }
    }
}

#[cfg(not(unix))]
mod manager {
    use std::time::Duration;

    use super::Notification;

    pub(super) fn exists() -> bool {
        false
    }

    pub(super) fn watchdog_timeout() -> Option<Duration> {
        None
    }

    pub(super) async fn send(_: Notification) {}
}
