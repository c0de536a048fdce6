//! Looking at one plugin: at its file, at its code under its table, or at both.
//!
//! A look changes nothing; it says what it came to, and the loop decides. What takes time happens here: reading,
//! compiling, asking the plugin what it offers, compiling schemas. One plugin is compiled at a time; whoever waits for
//! that holds no bytes, and reads the newest ones when it is its turn.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use moongate_core::config::{DirGrant, DirMode, PluginConfig, Reload, overlap};
use moongate_core::names::Digest;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use crate::blocking::Lanes;

use super::code::{Candidate, Code, Failure, Helps, Host, Loaded};
use super::control::{Turn, earlier};

/// How many plugins are loaded at once: each runs to describe itself, and the pool of instances has so many slots to
/// spare.
const LOADED_AT_ONCE: usize = 4;

/// A file that takes longer to read lies where nobody answers; whoever waits for a reload should hear of that.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many files are read at once: their bytes are held until the plugin is loaded, and there may be many.
const READ_AT_ONCE: usize = 8;

/// What to look at, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// When it was noticed that there is something to look at.
    pub(super) noticed: Instant,
    /// At the file.
    pub(super) file: bool,
    /// At what the code that serves offers under the table, though it did so already.
    pub(super) table: bool,
    /// The operator asked: what waits for that is taken. The first request that it is done for.
    pub(super) asked: Option<Turn>,
    /// Nothing changed; what failed is tried again.
    pub(super) retry: bool,
    /// Not now.
    pub(super) not_before: Option<Instant>,
}

impl Look {
    /// Looks at the file.
    pub(super) fn at_file(noticed: Instant) -> Self {
        Self { noticed, file: true, table: false, asked: None, retry: false, not_before: None }
    }

    /// One look for two.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            noticed: self.noticed.min(other.noticed),
            file: self.file || other.file,
            table: self.table || other.table,
            asked: earlier(self.asked, other.asked),
            retry: self.retry && other.retry,
            not_before: self.not_before.zip(other.not_before).map(|(a, b)| a.min(b)),
        }
    }
}

/// A look, and what is known before it.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) look: Look,
    pub(super) table: Arc<PluginConfig>,
    pub(super) serving: Option<Loaded>,
    /// Code that is loaded but can't serve because of others.
    pub(super) fresh: Option<Digest>,
    /// Code of which it is known that it can't be used under this table.
    pub(super) judged: Option<Digest>,
    /// Every plugin's table that holds.
    pub(super) beside: Arc<[Arc<PluginConfig>]>,
}

/// What a look came to.
#[derive(Debug, Default)]
pub(super) struct Attended {
    /// The file; none: it wasn't looked at.
    pub(super) file: Option<Found>,
    /// The code that serves, under the table; none: it wasn't looked at.
    pub(super) table: Option<Result<(), Failure>>,
    /// What should serve from now on.
    pub(super) loaded: Option<Loaded>,
}

/// What the file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// The code that serves.
    Serving(Digest),
    /// The code that is loaded but can't serve because of others.
    Fresh,
    /// The code that was found useless before.
    Judged,
    /// Other code, which the operator has to ask for.
    Waits(Digest),
    /// Other code, which was loaded.
    New,
    /// Nothing that can be used; the digest is there where it was read.
    Failed(Failure, Option<Digest>),
}

/// Who may do what takes much.
#[derive(Debug)]
pub(super) struct Turns {
    reading: Semaphore,
    compiling: Semaphore,
    loading: Semaphore,
    /// Where it is found out where paths lead, for each plugin.
    paths: Lanes,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            reading: Semaphore::new(READ_AT_ONCE),
            compiling: Semaphore::new(1),
            loading: Semaphore::new(LOADED_AT_ONCE),
            paths: Lanes::new(1),
        }
    }
}

/// Looks. A panic is this plugin's failure.
pub(super) async fn attend(host: Arc<dyn Host>, turns: Arc<Turns>, task: Task) -> Attended {
    let (look, table) = (task.look, Arc::clone(&task.table));
    AssertUnwindSafe(task.run(&*host, &turns)).catch_unwind().await.unwrap_or_else(|_| {
        let failure = Failure::internal(&table, &"it panicked, and that isn't the plugin's fault");
        let file = look.file.then(|| Found::Failed(failure.clone(), None));
        Attended { table: file.is_none().then_some(Err(failure)), file, loaded: None }
    })
}

impl Task {
    async fn run(self, host: &dyn Host, turns: &Turns) -> Attended {
        let mut attended = Attended::default();
        if self.look.file {
            let (found, loaded) = self.file(host, turns).await;
            attended = Attended { file: Some(found), table: None, loaded };
        }
        // Code that is about to serve has the table; what serves would take its place again.
        let is_next =
            self.fresh.is_none() || matches!(attended.file, Some(Found::Serving(_) | Found::Waits(_)));
        if attended.loaded.is_none()
            && is_next
            && let Some(serving) = &self.serving
            && (self.look.table || !serving.member.config().says_the_same_as(&self.table))
        {
            let _slot = turns.loading.acquire().await;
            let (loaded, failure) = self.under_table(serving).await;
            attended.loaded = loaded;
            attended.table = Some(failure.map_or(Ok(()), Err));
        }
        attended
    }

    /// Reads the file, and loads it if it is news.
    async fn file(&self, host: &dyn Host, turns: &Turns) -> (Found, Option<Loaded>) {
        let reading = turns.reading.acquire().await;
        let candidate = match self.news(host, turns).await {
            Ok(candidate) => candidate,
            Err(found) => return (found, None),
        };
        if candidate.is_compiled() {
            return self.load(candidate, turns).await;
        }
        drop((candidate, reading));
        let _turn = turns.compiling.acquire().await;
        let _reading = turns.reading.acquire().await;
        match self.news(host, turns).await {
            Ok(candidate) => self.load(candidate, turns).await,
            Err(found) => (found, None),
        }
    }

    /// What the file holds, if it has to be loaded.
    async fn news(&self, host: &dyn Host, turns: &Turns) -> Result<Box<dyn Candidate>, Found> {
        let read = async {
            match self.endangered(turns).await {
                Some(failure) => Err(failure),
                None => host.read(Arc::clone(&self.table)).await,
            }
        };
        let read = timeout(PATIENCE, read).await;
        let read = read.unwrap_or_else(|_| Err(Failure::stuck(&self.table, PATIENCE)));
        let candidate = read.map_err(|failure| Found::Failed(failure, None))?;
        match self.known(candidate.digest()) {
            Some(known) => Err(known),
            None => Ok(candidate),
        }
    }

    /// The way to the file leads to where a plugin may write: whoever can change a component decides what it does.
    async fn endangered(&self, turns: &Turns) -> Option<Failure> {
        let may_write = |dir: &DirGrant| dir.mode == DirMode::ReadWrite;
        if !self.beside.iter().any(|table| table.allow.dirs.iter().any(may_write)) {
            return None;
        }
        let (table, beside) = (Arc::clone(&self.table), Arc::clone(&self.beside));
        let paths = turns.paths.of(&self.table.id);
        match paths.run(move || overlap::of_component(&table, &beside)).await {
            Ok(problem) => Some(Failure { helps: Helps::Time, ..Failure::of(vec![problem?]) }),
            Err(error) => Some(Failure::internal(&self.table, &error)),
        }
    }

    /// What the file holds, where nothing has to be loaded to know.
    fn known(&self, digest: Digest) -> Option<Found> {
        let serving = self.serving.as_ref().map(Loaded::digest);
        let is_pinned = match self.table.reload {
            Reload::Live => false,
            Reload::Pinned => serving.is_some() && self.look.asked.is_none(),
        };
        // It may be the code that serves, under names that it can't have yet.
        if self.fresh == Some(digest) {
            Some(Found::Fresh)
        } else if serving == Some(digest) {
            Some(Found::Serving(digest))
        } else if is_pinned {
            Some(Found::Waits(digest))
        } else if self.judged == Some(digest) {
            Some(Found::Judged)
        } else {
            None
        }
    }

    async fn load(&self, candidate: Box<dyn Candidate>, turns: &Turns) -> (Found, Option<Loaded>) {
        let digest = candidate.digest();
        let _slot = turns.loading.acquire().await;
        let loaded = match candidate.load(Arc::clone(&self.table)).await {
            Ok(code) => self.offered(code).await,
            Err(failure) => Err(failure),
        };
        match loaded {
            Ok(loaded) => (Found::New, Some(loaded)),
            Err(failure) => (Found::Failed(failure, Some(digest)), None),
        }
    }

    /// The code that serves, under the table as it is now. Where that can't be done in full, as much of the table as
    /// possible holds: the new names for the lists that it had; else nothing, and it goes on under its earlier names.
    async fn under_table(&self, serving: &Loaded) -> (Option<Loaded>, Option<Failure>) {
        let code = serving.code.under(Arc::clone(&self.table));
        let failure = match Arc::clone(&code).described_anew().await {
            Ok(described) => match self.offered(described).await {
                Ok(loaded) => return (Some(loaded), None),
                Err(failure) => failure,
            },
            Err(failure) => failure,
        };
        // That was done when it was tried first.
        let loaded = if self.look.retry { None } else { self.offered(code).await.ok() };
        (loaded, Some(failure))
    }

    async fn offered(&self, code: Arc<dyn Code>) -> Result<Loaded, Failure> {
        let table = Arc::clone(&self.table);
        match spawn_blocking(move || Loaded::new(code, table)).await {
            Ok(loaded) => loaded.map_err(Failure::of),
            Err(error) => Err(Failure::internal(&self.table, &error)),
        }
    }
}

impl Found {
    /// Code that can't be used whenever it is tried, and why.
    pub(super) fn is_final(&self) -> Option<(Digest, Failure)> {
        match self {
            Self::Failed(failure @ Failure { helps: Helps::Change, .. }, digest) => {
                Some(((*digest)?, failure.clone()))
            }
            Self::Failed(_, _)
            | Self::Serving(_)
            | Self::Fresh
            | Self::Judged
            | Self::Waits(_)
            | Self::New => None,
        }
    }
}
