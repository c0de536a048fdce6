//! The work of [`Watch`], a step at a time: wait for the next thing, do what follows from it.
//!
//! Each step may be dropped while it waits, so all that a later one needs is kept in [`Watch`] itself.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::stream::StreamExt as _;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::folders::{Fitted, Folders, Wanted};
use super::look::{Look, Spot};
use super::pass::{PATIENCE, Pass, Passed};
use super::quiet::Burst;
use super::seen::{News, Seen, Told, Why};
use super::sink::Raised;
use super::system::System;
use super::{Events, Place, Watch};

/// After so many passes, each of which found more folders to watch, the next one waits for its time.
const ROUNDS: u32 = 20;

/// What woke [`Watch::step`].
enum Woken {
    Raised,
    Passed(Passed),
    Late(Option<(PathBuf, Look)>),
    Fitted(Option<(Box<Folders>, Fitted)>),
    Time,
}

impl Watch {
    /// Looks at everything and has all folders watched, as far as they answer.
    pub(super) async fn settle(&mut self) {
        let until = Instant::now() + 2 * PATIENCE;
        self.again = true;
        while self.again || self.pass.is_some() || matches!(self.folders, Place::Away { .. }) {
            if timeout_at(until, self.step()).await.is_err() {
                break;
            }
        }
    }

    /// Does the next thing that there is to do, after waiting for it. May be dropped at any time.
    pub(super) async fn step(&mut self) {
        self.begin(Instant::now());
        let time = self.next(Instant::now());
        let woken = {
            let Self { sink, burst, pass, system, stuck, folders, .. } = self;
            tokio::select! {
                passed = ended(pass, system) => Woken::Passed(passed),
                fitted = back(folders) => Woken::Fitted(fitted),
                Some(late) = stuck.next() => Woken::Late(late.ok()),
                // In a burst it is enough to look now and then.
                () = sink.raised(), if burst.is_none() => Woken::Raised,
                () = until(time) => Woken::Time,
            }
        };
        let now = Instant::now();
        match woken {
            Woken::Raised => self.gather(now),
            Woken::Passed(passed) => self.passed(passed, now),
            Woken::Late(late) => self.late(late, now),
            Woken::Fitted(fitted) => self.fitted(fitted, now),
            Woken::Time => self.time(now),
        }
    }

    /// Begins a pass where one is due.
    fn begin(&mut self, now: Instant) {
        if self.pass.is_some() {
            return;
        }
        let is_due = |time: Option<Instant>| time.is_some_and(|time| time <= now);
        let (why, touched) = if is_due(self.burst.map(|burst| burst.due())) {
            self.gather(now);
            self.burst = None;
            let Raised { stirred: _, touched, gone, overflown, failed } = std::mem::take(&mut self.raised);
            self.lost.gone.extend(gone);
            self.lost.all |= overflown;
            self.lost.failed = self.lost.failed.take().or(failed);
            self.rounds = 0;
            (Why::Report, touched)
        } else if is_due(self.next_poll) {
            self.rounds = 0;
            (Why::Check, BTreeSet::new())
        } else if self.again {
            (Why::Check, BTreeSet::new())
        } else {
            return;
        };
        self.again = false;
        let files = self.files.keys().filter(|file| !self.stuck_files.contains(*file)).cloned().collect();
        self.pass = Some(Pass::new(why, touched, files, now));
    }

    /// When there is something to do whatever happens.
    fn next(&self, now: Instant) -> Option<Instant> {
        let late = match &self.folders {
            Place::Away { late_from, .. } if self.trouble.is_none() => Some(*late_from),
            Place::Away { .. } | Place::Here(_) => None,
        };
        if self.pass.is_some() {
            return late;
        }
        let doubt = self.doubt();
        let burst = self.burst.map(|burst| burst.next(now));
        [burst, self.next_poll, doubt.filter(|_| burst.is_none()), late].into_iter().flatten().min()
    }

    /// When a file is to be reported whatever its stamp.
    fn doubt(&self) -> Option<Instant> {
        let answering = self.files.iter().filter(|(file, _)| !self.stuck_files.contains(*file));
        answering.filter_map(|(_, seen)| seen.doubt()).min()
    }

    /// Takes what the system reported.
    fn gather(&mut self, now: Instant) {
        let raised = self.sink.take();
        if !raised.is_empty() {
            self.raised.add(raised);
            self.stirred(now);
        }
    }

    fn stirred(&mut self, now: Instant) {
        match &mut self.burst {
            Some(burst) => burst.more(now),
            None => self.burst = Some(Burst::new(now)),
        }
    }

    fn time(&mut self, now: Instant) {
        if self.burst.is_some() {
            self.gather(now);
        } else if self.doubt().is_some_and(|doubt| doubt <= now) {
            self.stirred(now);
        }
        if let Place::Away { late_from, .. } = &self.folders
            && *late_from <= now
            && self.trouble.is_none()
        {
            self.trouble = Some("a folder can't be watched yet: its file system doesn't answer".to_owned());
            self.look_within_the_interval(now);
        }
    }

    /// The interval may be shorter than when the last pass ended.
    fn look_within_the_interval(&mut self, now: Instant) {
        if let Some(interval) = self.interval() {
            let next = now + interval;
            self.next_poll = Some(self.next_poll.map_or(next, |poll| poll.min(next)));
        }
    }

    /// Takes what a pass found.
    fn passed(&mut self, passed: Passed, now: Instant) {
        let Passed { looks, stuck, running } = passed;
        let Some(pass) = self.pass.take() else { return };
        for file in stuck {
            tracing::warn!(file = %file.display(), "it can't be looked at: its file system doesn't answer");
            self.stuck_files.insert(file);
        }
        self.stuck.extend(running);
        for (file, look) in looks {
            self.take(file, look, pass.why, &pass.touched, now);
        }
        self.next_poll = self.interval().map(|interval| now + interval);
        self.fit(now);
    }

    /// Takes a look of a file that nobody waited for any longer.
    fn late(&mut self, late: Option<(PathBuf, Look)>, now: Instant) {
        if let Some((file, look)) = late {
            tracing::info!(file = %file.display(), "it can be looked at again");
            self.stuck_files.remove(&file);
            if let Some(seen) = self.files.get_mut(&file)
                && seen.look().is_none()
            {
                // The caller didn't wait for this, and has read it meanwhile.
                seen.in_doubt(now);
            }
            self.take(file, look, Why::Check, &BTreeSet::new(), now);
            self.fit(now);
        }
    }

    fn take(&mut self, file: PathBuf, look: Look, why: Why, touched: &BTreeSet<Spot>, now: Instant) {
        let Some(seen) = self.files.get_mut(&file) else { return };
        let told = if look.leads_through(touched) { Told::Yes } else { Told::No };
        match seen.take(look, why, told, now) {
            News::None => {}
            News::Stirred => self.stirred(now),
            News::Report => drop(self.changed.insert(file)),
        }
    }

    /// Has those folders watched that the last looks led through.
    fn fit(&mut self, now: Instant) {
        let hops = self.files.values().filter_map(Seen::look).flat_map(|look| &look.hops);
        self.wanted = match self.events {
            Events::On => Wanted::by(hops),
            Events::Off => Wanted::default(),
        };
        let is_fit =
            self.fitted.as_ref() == Some(&self.wanted) && self.lost.is_empty() && self.trouble.is_none();
        let Place::Here(folders) = &mut self.folders else { return };
        if is_fit {
            return;
        }
        let (wanted, lost) = (self.wanted.clone(), std::mem::take(&mut self.lost));
        // Before the first report can come.
        self.sink.set_interest(wanted.interest());
        self.fitted = Some(wanted.clone());
        let idle = Folders::new(Arc::clone(&self.system), self.sink.clone());
        let (events, mut folders) = (self.events, std::mem::replace(folders, Box::new(idle)));
        let work = spawn_blocking(move || {
            let fitted = match events {
                Events::On => folders.fit(&wanted, lost, now),
                Events::Off => folders.clear(),
            };
            (folders, fitted)
        });
        self.folders = Place::Away { work, late_from: now + PATIENCE };
    }

    /// Takes the folders back.
    fn fitted(&mut self, fitted: Option<(Box<Folders>, Fitted)>, now: Instant) {
        // None: the work has panicked, which it can't, or the runtime ends.
        let (folders, Fitted { grown, trouble }) = fitted.unwrap_or_else(|| {
            let folders = Folders::new(Arc::clone(&self.system), self.sink.clone());
            (Box::new(folders), Fitted { grown: false, trouble: Some("watching folders failed".to_owned()) })
        });
        self.folders = Place::Here(folders);
        self.trouble = trouble;
        // Something may have happened in a folder before it was watched, and the way may lead elsewhere by now.
        // Where names lead elsewhere each time, as on some mounts, this would never end.
        if (grown || !self.lost.is_empty() || self.fitted.as_ref() != Some(&self.wanted))
            && self.rounds < ROUNDS
        {
            self.rounds += 1;
            self.again = true;
        }
        self.look_within_the_interval(now);
    }
}

/// Waits for the pass, if there is one.
async fn ended(pass: &mut Option<Pass>, system: &Arc<dyn System>) -> Passed {
    match pass {
        Some(pass) => pass.end(system).await,
        None => std::future::pending().await,
    }
}

/// Waits for the folders, if they are away.
async fn back(folders: &mut Place) -> Option<(Box<Folders>, Fitted)> {
    match folders {
        Place::Away { work, .. } => work.await.ok(),
        Place::Here(_) => std::future::pending().await,
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
