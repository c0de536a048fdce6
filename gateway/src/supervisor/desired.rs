//! The configuration that is wanted: the one in use, what stands in the file, and what of it has to wait.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use moongate_core::config::{
    self, Config, Environment, PluginConfig, Problem, Source, WatchConfig, WiderGrants, load, overlap,
};
use tokio::time::{Instant, sleep, timeout};

use crate::blocking::Lane;

use super::control::{Turn, earlier};

/// A file may be read while it is being written: it is used when it was the same twice, so long apart.
const PAUSE: Duration = Duration::from_millis(100);
/// The same for a file that isn't there, which may be in the middle of being replaced.
const LONG_PAUSE: Duration = Duration::from_secs(1);
/// Where it takes longer, something that is read lies where nobody answers.
const PATIENCE: Duration = Duration::from_secs(30);
/// A file that never is the same twice is used as it is.
const LOOKS: usize = 20;

/// Reads the configuration.
pub(super) trait Reader: Send + Sync {
    /// Reads it; blocks meanwhile.
    fn read(&self) -> config::Loaded;
}

/// Reads it from its file.
pub(super) struct FromFile {
    pub(super) file: PathBuf,
    pub(super) environment: Arc<dyn Environment + Send + Sync>,
    pub(super) look: Option<super::Look>,
}

impl Reader for FromFile {
    fn read(&self) -> config::Loaded {
        let mut loaded = load(&self.file, &*self.environment);
        if loaded.config.is_none() && !self.file.exists() {
            // What serves was started from this one.
            let back = "put it back; until then everything stays as it is";
            loaded.problems.iter_mut().for_each(|problem| problem.hint = Some(back.to_owned()));
        }
        match &self.look {
            Some(look) => look(loaded),
            None => loaded,
        }
    }
}

/// What a configuration that is read is compared with, beside itself.
#[derive(Debug, Clone)]
pub(super) struct InForce {
    /// The configuration that the gateway started with.
    pub(super) started: Arc<Config>,
    /// Every table that holds.
    pub(super) tables: Arc<[Arc<PluginConfig>]>,
}

impl InForce {
    /// Refuses what would let a plugin reach what the gateway lives by until it is restarted, or what a plugin may have
    /// written. Looks at directories; blocks meanwhile.
    fn check(&self, loaded: config::Loaded) -> config::Loaded {
        let config::Loaded { source, config, mut problems, of_http, files } = loaded;
        // What a restart would move elsewhere is still in use, and no plugin may reach it.
        let endangered = config.as_ref().map(|new| self.started.endangered_by(new)).unwrap_or_default();
        let foreign = overlap::of_configuration(&self.started.file, &self.tables);
        let config = config.filter(|_| endangered.is_empty() && foreign.is_none());
        problems.extend(endangered.into_iter().chain(foreign));
        config::Loaded { source, config, problems, of_http, files }
    }
}

/// Reads it until it is the same twice.
pub(super) async fn settled(reader: Arc<dyn Reader>, lane: Lane, beside: InForce) -> config::Loaded {
    let read = || read(&reader, &lane, &beside);
    let mut before = read().await;
    for _ in 0..LOOKS {
        let is_there = before.config.is_some() || !before.source.text.is_empty();
        sleep(if is_there { PAUSE } else { LONG_PAUSE }).await;
        let now = read().await;
        if is_same(&now, &before) {
            return now;
        }
        before = now;
    }
    before
}

/// Did both read the same? Files of secrets may be written to as well.
fn is_same(a: &config::Loaded, b: &config::Loaded) -> bool {
    let tables = |loaded: &config::Loaded| {
        loaded.config.as_ref().map(|config| config.plugins.clone()).unwrap_or_default()
    };
    a.source.text == b.source.text
        && a.problems == b.problems
        && tables(a).iter().zip(&tables(b)).all(|(a, b)| a.says_the_same_as(b))
}

async fn read(reader: &Arc<dyn Reader>, lane: &Lane, beside: &InForce) -> config::Loaded {
    let (this, beside) = (Arc::clone(reader), beside.clone());
    let why = match timeout(PATIENCE, lane.run(move || beside.check(this.read()))).await {
        Ok(Ok(loaded)) => return loaded,
        Ok(Err(error)) => format!("the gateway failed to read the configuration: {error}"),
        Err(_) => format!("reading the configuration, and what it names, takes longer than {PATIENCE:?}"),
    };
    config::Loaded {
        source: Source { path: PathBuf::new(), text: String::new() },
        config: None,
        problems: vec![Problem::error(why)],
        of_http: Vec::new(),
        files: BTreeSet::new(),
    }
}

/// A wish to read the configuration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    /// When it was noticed that there is something to read.
    pub(super) noticed: Instant,
    /// The operator asked: the first request that it is done for.
    pub(super) asked: Option<Turn>,
}

/// The configuration in use, and what is known of its file.
#[derive(Debug)]
pub(super) struct Desired {
    /// As it was at the start.
    pub(super) started: Arc<Config>,
    /// Where it is read: once at a time, even where the last time never came to an end.
    pub(super) lane: Lane,
    pub(super) since: SystemTime,
    /// All files that it, or what stands in its file now, was read from.
    pub(super) files: BTreeSet<PathBuf>,
    /// Why what stands in the file now isn't in use.
    pub(super) rejected: Option<String>,
    /// What was said last of that.
    pub(super) said: Option<String>,
    pub(super) needs_restart: Vec<String>,
    /// What becomes of tables that grant more.
    pub(super) policy: WiderGrants,
    /// The file says something else of it, which waits for the operator.
    pub(super) policy_waits: bool,
    pub(super) watch: WatchConfig,
    pub(super) stop_grace: Duration,
    /// What was warned of last.
    pub(super) warned: Option<String>,
    pub(super) want: Option<Wish>,
    pub(super) running: Option<Wish>,
}

impl Desired {
    pub(super) fn new(config: Config, files: BTreeSet<PathBuf>) -> Self {
        Self {
            since: SystemTime::now(),
            files,
            rejected: None,
            said: None,
            needs_restart: Vec::new(),
            policy: config.wider_grants,
            policy_waits: false,
            watch: config.watch,
            stop_grace: config.stop_grace,
            warned: None,
            want: None,
            running: None,
            started: Arc::new(config),
            lane: Lane::new(1),
        }
    }

    /// Wants it to be read, once more if that is being done.
    pub(super) fn read(&mut self, wish: Wish) {
        self.want = Some(self.want.map_or(wish, |want| Wish {
            noticed: want.noticed.min(wish.noticed),
            asked: earlier(want.asked, wish.asked),
        }));
    }

    /// Should it be read now? That counts as begun.
    pub(super) fn begin(&mut self) -> bool {
        if self.running.is_some() {
            return false;
        }
        self.running = self.want.take();
        self.running.is_some()
    }

    /// Is it being read, or to be read?
    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some() || self.want.is_some()
    }

    /// The first request of the operator for which something is still to be done.
    pub(super) fn owes(&self) -> Option<Turn> {
        [self.running, self.want].into_iter().flatten().filter_map(|wish| wish.asked).min()
    }
}

/// Whether a table holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// At once.
    Take,
    /// When the operator says so, because it would grant this.
    Hold(Vec<String>),
}

/// What becomes of a table. `before`: the one that holds now; none: the plugin is new.
pub(super) fn fate(before: Option<&PluginConfig>, table: &PluginConfig, policy: WiderGrants) -> Fate {
    let wider = match policy {
        WiderGrants::Live => return Fate::Take,
        WiderGrants::Wait => table.wider_than(before),
    };
    if wider.is_empty() { Fate::Take } else { Fate::Hold(wider) }
}

/// What becomes of tables that grant more, after a file that says `written`: that they needn't wait any more is the
/// operator's to say, because whoever may write the file could say so first and grant in the next step.
pub(super) fn policy(now: WiderGrants, written: WiderGrants, asked: bool) -> WiderGrants {
    match now {
        WiderGrants::Wait if !asked => WiderGrants::Wait,
        WiderGrants::Wait | WiderGrants::Live => written,
    }
}

#[cfg(test)]
mod tests;
