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

use futures_util::stream::FuturesUnordered;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::status::Watching;

mod folders;
mod look;
mod pass;
mod quiet;
mod seen;
mod sink;
mod steps;
mod system;

pub use look::Look;
pub use sink::{Change, Sink};
pub use system::{Failure, Native, Reports, System};

use folders::{Fitted, Folders, Lost, Wanted};
use pass::{Looking, Pass};
use quiet::Burst;
use seen::Seen;
use sink::Raised;

/// Where the system doesn't report, files are looked at so often at least.
const INSTEAD: Duration = Duration::from_secs(1);

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
    /// How often that was so in a row.
    rounds: u32,
    next_poll: Option<Instant>,
    /// Looks that don't end, and at which files.
    stuck: FuturesUnordered<Looking>,
    stuck_files: BTreeSet<PathBuf>,
    folders: Place,
    /// What is to be watched, after the last look.
    wanted: Wanted,
    /// What the folders were told to watch last; none: nothing yet, or under other settings.
    fitted: Option<Wanted>,
    /// What the folders weren't told of yet.
    lost: Lost,
    /// Why the system doesn't report everything.
    trouble: Option<String>,
    /// What is to be reported.
    changed: BTreeSet<PathBuf>,
    /// What was said last of how files are watched.
    told: Watching,
}

/// Where the folders are: they are taken elsewhere to work on, because that may block.
#[derive(Debug)]
enum Place {
    Here(Box<Folders>),
    Away { work: JoinHandle<(Box<Folders>, Fitted)>, late_from: Instant },
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
}

#[cfg(test)]
mod tests;
