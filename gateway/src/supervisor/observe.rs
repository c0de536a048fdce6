//! Watching files for the loop, in a task of its own: naming a file on a mount that doesn't answer takes a while.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use moongate_core::config::WatchConfig;
use tokio::sync::{mpsc, watch};

use super::event::{self, Wanted};
use super::status::Watching;
use super::watch::{Events, Noticed, System, Watch, WatchOptions};

/// [`observe`], which says so if it breaks off.
pub(super) async fn observed(
    wanted: watch::Receiver<Wanted>,
    notice: mpsc::Sender<event::Noticed>,
    since: SystemTime,
    system: Arc<dyn System>,
) {
    let observing = observe(wanted, notice.clone(), since, system);
    if AssertUnwindSafe(observing).catch_unwind().await.is_err() {
        tracing::error!("changes of files are noticed no more, by a mistake in the gateway: restart it");
        let _ = notice.send(event::Noticed::Watching(Watching::Off)).await;
    }
}

/// Watches what is wanted until nobody wants to know. `since`: when the files were read that are wanted first.
async fn observe(
    mut wanted: watch::Receiver<Wanted>,
    notice: mpsc::Sender<event::Noticed>,
    since: SystemTime,
    system: Arc<dyn System>,
) {
    let Wanted { files, how } = wanted.borrow_and_update().clone();
    let (events, poll) = settings(how);
    let mut watch = Watch::new(WatchOptions { poll, events, since, system });
    watch.set(named(files, how)).await;
    if notice.send(event::Noticed::Watching(told(&watch, how))).await.is_err() {
        return;
    }
    let mut before = how;
    loop {
        let noticed = tokio::select! {
            still = wanted.changed() => {
                if still.is_err() {
                    return;
                }
                let Wanted { files, how } = wanted.borrow_and_update().clone();
                if before != how {
                    let (events, poll) = settings(how);
                    watch.reconfigure(events, poll).await;
                }
                watch.set(named(files, how)).await;
                if std::mem::replace(&mut before, how) == how {
                    continue;
                }
                event::Noticed::Watching(told(&watch, how))
            }
            noticed = watch.changed() => match noticed {
                Noticed::Files(files) => event::Noticed::Changed(files),
                Noticed::Watching(_) => event::Noticed::Watching(told(&watch, before)),
            },
        };
        if notice.send(noticed).await.is_err() {
            return;
        }
    }
}

/// Where files aren't watched, there are none to look at.
fn named<T: Default>(files: T, how: WatchConfig) -> T {
    if how.events { files } else { T::default() }
}

fn settings(how: WatchConfig) -> (Events, Duration) {
    if how.events { (Events::On, how.poll) } else { (Events::Off, Duration::ZERO) }
}

fn told(watch: &Watch, how: WatchConfig) -> Watching {
    if how.events { watch.watching() } else { Watching::Off }
}

#[cfg(test)]
mod tests;
