//! SIGHUP: the operator asks the gateway to look at everything anew.

use tokio_util::task::AbortOnDropHandle;

use crate::app::{App, Hangups, Teller};
use crate::supervisor::control::{Cause, Ended, Reloaded};

impl App {
    /// Reloads at each hangup from now on, until the gateway stops; those that come during a reload are one more.
    pub fn reload_on(&mut self, mut hangups: Hangups, teller: Teller) {
        let reloader = self.supervisor.reloader();
        let task = tokio::spawn(async move {
            loop {
                hangups.next().await;
                teller.reloading().await;
                let reloaded = reloader.reload(Cause::Signal).await;
                teller.reloaded().await;
                match reloaded {
                    Ok(Reloaded { changed, failed, needs_restart }) => {
                        let (changed, failed) = (changed.len(), failed.len());
                        if needs_restart.is_empty() {
                            tracing::info!(signal = "SIGHUP", changed, failed, "reloaded");
                        } else {
                            let keys = needs_restart.join("`, `");
                            tracing::warn!(
                                signal = "SIGHUP",
                                changed,
                                failed,
                                "reloaded, but needs a restart: `{keys}`"
                            );
                        }
                    }
                    Err(Ended) => return,
                }
            }
        });
        self.reloading = Some(AbortOnDropHandle::new(task));
    }
}
