//! Noticing that files changed.
//!
//! [`Watch`] says which files may hold something new; what that means is for others to find out. It never fails: where
//! the system doesn't report, files are looked at more often, and it says why.
//!
//! Reports of the system are hints. Each one of interest begins a burst; when it is quiet again all files are looked at,
//! and those whose stamp isn't the one that was reported last are reported. The same is done now and then in any case,
//! because network and container mounts report nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::status::Watching;

mod folders;
mod look;
mod pass;
mod quiet;
mod seen;
mod sink;
mod system;

pub use look::Look;
pub use sink::{Change, Sink};
pub use system::{Failure, Native, Reports, System};

use folders::{Fitted, Folders, Lost, Wanted};
use look::Spot;
use pass::{Looking, PATIENCE, Pass, Passed};
use quiet::Burst;
use seen::{News, Seen, Told, Why};
use sink::Raised;

/// Where the system doesn't report, files are looked at so often at least.
const INSTEAD: Duration = Duration::from_secs(1);

/// After so many passes, each of which found more folders to watch, the next one waits for its time.
const ROUNDS: u32 = 20;

/// How files are watched.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// How often all files are looked at, whatever the system reports; zero: only where it doesn't.
    pub poll: Duration,
    /// Whether the system is asked for reports.
    pub events: Events,
    /// When the caller began to read the files that it names first.
    pub since: SystemTime,
    /// The system.
    pub system: Arc<dyn System>,
}

/// Whether the system is asked for reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Events {
    /// It is.
    On,
    /// It isn't: files are looked at now and then, or not at all where `poll` is zero.
    Off,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(5),
            events: Events::On,
            since: SystemTime::now(),
            system: Arc::new(Native),
        }
    }
}

/// Something that [`Watch`] noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Noticed {
    /// These files may hold something new, or may be gone.
    Files(BTreeSet<PathBuf>),
    /// Files are watched in another way than before.
    Watching(Watching),
}

/// Watches files. Nothing happens but while one of its futures is awaited.
#[derive(Debug)]
pub struct Watch {
    system: Arc<dyn System>,
    events: Events,
    poll: Duration,
    /// The caller may have read files before this that it names after it.
    since: SystemTime,
    sink: Sink,
    files: BTreeMap<PathBuf, Seen>,
    /// What the system reported that wasn't looked at yet.
    raised: Raised,
    burst: Option<Burst>,
    pass: Option<Pass>,
    /// A pass is due whatever the time.
    again: bool,
    rounds: u32,
    next_poll: Option<Instant>,
    stuck: FuturesUnordered<Looking>,
    stuck_files: BTreeSet<PathBuf>,
    folders: Place,
    wanted: Wanted,
    /// What the folders were told to watch last; none: nothing yet, or under other settings.
    fitted: Option<Wanted>,
    lost: Lost,
    trouble: Option<String>,
    changed: BTreeSet<PathBuf>,
    told: Watching,
}

/// Where the folders are: they are taken elsewhere to work on, because that may block.
#[derive(Debug)]
enum Place {
    Here(Box<Folders>),
    Away { work: JoinHandle<(Box<Folders>, Fitted)>, late_from: Instant },
}

/// What woke [`Watch::step`].
enum Woken {
    Raised,
    Passed(Passed),
    Late(Option<(PathBuf, Look)>),
    Fitted(Option<(Box<Folders>, Fitted)>),
    Time,
}

impl Watch {
    /// Watches nothing yet.
    #[must_use]
    pub fn new(options: WatchOptions) -> Self {
        let WatchOptions { poll, events, since, system } = options;
        let sink = Sink::default();
        let folders = Folders::new(Arc::clone(&system), sink.clone());
        let mut watch = Self {
            system,
            events,
            poll,
            since,
            sink,
            files: BTreeMap::new(),
            raised: Raised::default(),
            burst: None,
            pass: None,
            again: false,
            rounds: 0,
            next_poll: None,
            stuck: FuturesUnordered::new(),
            stuck_files: BTreeSet::new(),
            folders: Place::Here(Box::new(folders)),
            wanted: Wanted::default(),
            fitted: None,
            lost: Lost::default(),
            trouble: None,
            changed: BTreeSet::new(),
            told: Watching::Off,
        };
        watch.told = watch.watching();
        watch
    }

    /// From now on these files are watched, and no others.
    ///
    /// When this returns, what is reported later is what changed after this moment, or seems to have since the caller
    /// was told of changes last; so files are best named before they are read. It takes a moment, and a few seconds
    /// where a mount doesn't answer.
    pub async fn set(&mut self, files: BTreeSet<PathBuf>) {
        self.files.retain(|file, _| files.contains(file));
        self.changed.retain(|file| files.contains(file));
        for file in files {
            self.files.entry(file).or_insert_with(|| Seen::new(self.since));
        }
        self.settle().await;
    }

    /// Takes other settings into use.
    pub async fn reconfigure(&mut self, events: Events, poll: Duration) {
        if (self.events, self.poll) != (events, poll) {
            (self.events, self.poll) = (events, poll);
            self.fitted = None;
            self.trouble = None;
            self.settle().await;
        }
    }

    /// Has all files looked at now.
    pub fn rescan(&mut self) {
        self.again = true;
    }

    /// Waits until files changed, or the way in which they are watched. May be dropped at any time: nothing is lost.
    ///
    /// A file is reported when its stamp isn't the one that was reported last, once it has been quiet for a tenth of a
    /// second, or half a second after the first change. It may be reported without a change, never without end.
    pub async fn changed(&mut self) -> Noticed {
        loop {
            let watching = self.watching();
            if watching != self.told {
                self.log(&watching);
                self.told = watching.clone();
                return Noticed::Watching(watching);
            }
            if !self.changed.is_empty() {
                self.since = SystemTime::now();
                return Noticed::Files(std::mem::take(&mut self.changed));
            }
            self.step().await;
        }
    }

    /// How files are watched now.
    #[must_use]
    pub fn watching(&self) -> Watching {
        match (self.events, &self.trouble) {
            (Events::On, None) => Watching::Events,
            (Events::On, Some(reason)) => Watching::Polling(reason.clone()),
            (Events::Off, _) if self.poll.is_zero() => Watching::Off,
            (Events::Off, _) => Watching::Polling("`watch = false`".to_owned()),
        }
    }

    /// How often files are looked at in any case.
    fn interval(&self) -> Option<Duration> {
        match (self.events, &self.trouble) {
            (Events::On, Some(_)) if self.poll.is_zero() => Some(INSTEAD),
            (Events::On, Some(_)) => Some(self.poll.min(INSTEAD)),
            (Events::On, None) | (Events::Off, _) => (!self.poll.is_zero()).then_some(self.poll),
        }
    }

    fn log(&self, watching: &Watching) {
        match watching {
            Watching::Events => tracing::info!("the system reports changes of files again"),
            Watching::Polling(reason) => {
                let every = self.interval().unwrap_or_default();
                tracing::warn!(
                    ?every,
                    "the system doesn't report all changes of files; they are looked at: {reason}"
                );
            }
            Watching::Off => tracing::warn!("files aren't watched any more"),
        }
    }

    /// Looks at everything and has all folders watched, as far as they answer.
    async fn settle(&mut self) {
        let until = Instant::now() + 2 * PATIENCE;
        self.again = true;
        while self.again || self.pass.is_some() || matches!(self.folders, Place::Away { .. }) {
            if timeout_at(until, self.step()).await.is_err() {
                break;
            }
        }
    }

    /// Does the next thing that there is to do, after waiting for it. May be dropped at any time.
    async fn step(&mut self) {
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
        if let Some(interval) = self.interval() {
            let next = now + interval;
            self.next_poll = Some(self.next_poll.map_or(next, |poll| poll.min(next)));
        }
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

#[cfg(test)]
mod tests;
