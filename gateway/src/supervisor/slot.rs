//! One plugin of the configuration: what is wanted of it, what serves, and what is known of its file.
//!
//! Plain values, and what follows from what: nothing here waits, reads or loads.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use moongate_core::config::PluginConfig;
use moongate_core::names::{Digest, PluginId};
use tokio::time::Instant;

use super::attend::{Attended, Found, Look, Task};
use super::backoff::Backoff;
use super::code::{Code, Failure, Helps, Loaded};
use super::control::Turn;
use super::status::Waiting;

mod put;

pub(super) use put::Put;

/// A file that isn't there may be in the middle of being replaced: it is looked for once more.
const SECOND_LOOK: Duration = Duration::from_secs(1);

/// One plugin.
#[derive(Debug)]
pub(super) struct Slot {
    /// Tells it from another that had its name before.
    pub(super) serial: u64,
    pub(super) table: Arc<PluginConfig>,
    /// What stands in the file but waits for the operator.
    pub(super) held: Option<Held>,
    pub(super) serving: Option<Serving>,
    /// What should serve, and does as soon as others let it.
    pub(super) fresh: Option<Fresh>,
    /// The code that serves, with lists that changed.
    pub(super) relisted: Option<Loaded>,
    /// To be looked at.
    pub(super) want: Option<Look>,
    /// Being looked at.
    pub(super) running: Option<Look>,
    /// Why its file can't be used.
    pub(super) of_file: Option<Trouble>,
    /// Why the code that serves can't be used as its table says.
    pub(super) of_table: Option<Trouble>,
    /// Why it can't serve beside others.
    pub(super) conflict: Option<Failure>,
    /// Code that the operator has to ask for.
    pub(super) waits: Option<Digest>,
    /// What was said last of why it isn't used as it is now.
    pub(super) said: Option<String>,
    /// What was said last of what waits.
    pub(super) said_waiting: Option<Waiting>,
    /// When it was noticed what it was looked at for last.
    pub(super) looked_at: Option<Instant>,
    /// It said that its lists changed while other code was about to take its place.
    pub(super) relist_again: bool,
    /// Code that can't be used whenever it is tried, and why.
    judged: Option<(Digest, Failure)>,
    /// What served before, as far as somebody still has it.
    earlier: Vec<Weak<dyn Code>>,
    missing: Missing,
    backoff: Backoff,
}

/// A table that waits for the operator.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) table: Arc<PluginConfig>,
    /// What it would grant.
    pub(super) grants: Vec<String>,
    /// What holds meanwhile.
    pub(super) meanwhile: Meanwhile,
}

/// What holds while a table waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meanwhile {
    /// The earlier table.
    Earlier,
    /// Nothing: the plugin is new.
    Nothing,
}

/// What serves.
#[derive(Debug, Clone)]
pub(super) struct Serving {
    pub(super) loaded: Loaded,
    pub(super) since: SystemTime,
}

/// What should serve.
#[derive(Debug, Clone)]
pub(super) struct Fresh {
    pub(super) loaded: Loaded,
    /// When the change was noticed.
    pub(super) noticed: Instant,
}

/// A failure, and when it is tried again.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    pub(super) failure: Failure,
    pub(super) retry: Option<Retry>,
}

/// When something is tried again: by the loop's clock, and as people tell the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Retry {
    at: Instant,
    pub(super) told: SystemTime,
}

/// Whether its file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// As far as is known.
    Not,
    /// It wasn't at this time, and not since.
    Since(Instant),
    /// It isn't, and that is its trouble.
    Told,
}

/// Whether anything came of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// There is something to publish.
    Something,
    /// A file changed, but not what it holds.
    Unchanged,
    /// Neither.
    Nothing,
}

impl Slot {
    /// A plugin that is to be loaded.
    pub(super) fn new(serial: u64, table: Arc<PluginConfig>, now: Instant) -> Self {
        Self { want: Some(Look::at_file(now)), ..Self::idle(serial, table) }
    }

    /// A new plugin whose table waits for the operator.
    pub(super) fn held(serial: u64, table: Arc<PluginConfig>, grants: Vec<String>) -> Self {
        let held = Held { table: Arc::clone(&table), grants, meanwhile: Meanwhile::Nothing };
        Self { held: Some(held), ..Self::idle(serial, table) }
    }

    fn idle(serial: u64, table: Arc<PluginConfig>) -> Self {
        Self {
            serial,
            table,
            held: None,
            serving: None,
            fresh: None,
            relisted: None,
            want: None,
            running: None,
            of_file: None,
            of_table: None,
            conflict: None,
            waits: None,
            said: None,
            said_waiting: None,
            looked_at: None,
            relist_again: false,
            judged: None,
            earlier: Vec::new(),
            missing: Missing::Not,
            backoff: Backoff::default(),
        }
    }

    /// The key of its table.
    pub(super) fn id(&self) -> &PluginId {
        &self.table.id
    }

    /// Nothing may be done for it before the operator says so.
    pub(super) fn is_held_whole(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.meanwhile == Meanwhile::Nothing)
    }

    /// Wants it to be looked at, once more if that is being done.
    pub(super) fn look(&mut self, look: Look) {
        if self.is_held_whole() {
            return;
        }
        if !look.retry {
            self.backoff.reset();
        }
        self.want = Some(self.want.map_or(look, |want| want.and(look)));
    }

    /// What to do for it now, if there is anything: that counts as begun. `beside`: every table that holds.
    pub(super) fn begin(&mut self, now: Instant, beside: &Arc<[Arc<PluginConfig>]>) -> Option<Task> {
        let due = |at: &mut Option<Trouble>| {
            let trouble = at.as_mut()?;
            trouble.retry.take_if(|retry| retry.at <= now)
        };
        let (file, table) = (due(&mut self.of_file).is_some(), due(&mut self.of_table).is_some());
        if file || table {
            self.look(Look { file, table, retry: true, ..Look::at_file(now) });
        }
        if self.running.is_some() || self.want?.not_before.is_some_and(|time| time > now) {
            return None;
        }
        let look = self.want.take()?;
        self.running = Some(look);
        Some(Task {
            look,
            table: Arc::clone(&self.table),
            serving: self.serving.as_ref().map(|serving| serving.loaded.clone()),
            fresh: self.fresh.as_ref().map(|fresh| fresh.loaded.digest()),
            judged: self.judged.as_ref().map(|(digest, _)| *digest),
            beside: Arc::clone(beside),
        })
    }

    /// When there is something to do for it, if nothing happens before.
    pub(super) fn due(&self) -> Option<Instant> {
        if self.running.is_some() {
            return None;
        }
        let retries =
            [&self.of_file, &self.of_table].into_iter().flatten().filter_map(|it| Some(it.retry?.at));
        retries.chain(self.want.and_then(|look| look.not_before)).min()
    }

    /// Is something being done for it, or to be done before a retry?
    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some() || self.want.is_some()
    }

    /// The first request of the operator for which something is still to be done.
    pub(super) fn owes(&self) -> Option<Turn> {
        [self.running, self.want].into_iter().flatten().filter_map(|look| look.asked).min()
    }

    /// Takes what a look came to. `table`: the one that it looked with.
    pub(super) fn attended(&mut self, table: &PluginConfig, attended: Attended, now: Instant) -> Came {
        let Some(look) = self.running.take() else { return Came::Nothing };
        self.looked_at = Some(look.noticed);
        if !table.says_the_same_as(&self.table) {
            // It holds no more what was looked with; whoever put another in its place wants a look with that.
            self.look(Look { table: true, not_before: None, ..look });
            return Came::Nothing;
        }
        let Attended { file, table, loaded } = attended;
        let is_known = matches!(file, Some(Found::Serving(_) | Found::Fresh | Found::Judged));
        let changes_nothing = is_known && loaded.is_none() && look.asked.is_none() && !look.retry;
        if let Some(found) = file {
            self.found(found, look, now);
        }
        match table {
            Some(Ok(())) => self.of_table = None,
            Some(Err(failure)) => self.of_table = Some(self.trouble(failure, now)),
            None => {}
        }
        let came = loaded.is_some();
        if let Some(loaded) = loaded {
            self.take(loaded, look.noticed);
        }
        if self.of_file.is_none() && self.of_table.is_none() {
            self.backoff.reset();
        }
        match (came, changes_nothing) {
            (true, _) => Came::Something,
            (false, true) => Came::Unchanged,
            (false, false) => Came::Nothing,
        }
    }

    fn found(&mut self, found: Found, look: Look, now: Instant) {
        if let Some(judged) = found.is_final() {
            self.judged = Some(judged);
        }
        if let Found::Serving(digest) = found
            && self.serving.as_ref().is_none_or(|serving| serving.loaded.digest() != digest)
        {
            // Other code took its place while the file was read.
            return self.look(Look { not_before: None, ..look });
        }
        let was = std::mem::replace(&mut self.missing, Missing::Not);
        match found {
            Found::Serving(_) => {
                (self.of_file, self.fresh, self.conflict, self.waits) = (None, None, None, None);
            }
            Found::Fresh => (self.of_file, self.waits) = (None, None),
            Found::New => (self.of_file, self.of_table, self.waits) = (None, None, None),
            Found::Waits(digest) => {
                (self.of_file, self.fresh, self.conflict) = (None, None, None);
                self.waits = Some(digest);
            }
            // Something else may have stood there meanwhile; trying again is of no use.
            Found::Judged => {
                let judged = self.judged.clone();
                self.of_file = judged.map(|(_, failure)| Trouble { failure, retry: None });
            }
            Found::Failed(failure @ Failure { helps: Helps::Return, .. }, _) => {
                let since = match was {
                    Missing::Not if self.serving.is_some() => Some(now),
                    Missing::Since(time) if now < time + SECOND_LOOK => Some(time),
                    Missing::Not | Missing::Since(_) | Missing::Told => None,
                };
                if let Some(since) = since {
                    self.missing = Missing::Since(since);
                    // The table was looked at just now.
                    self.look(Look { table: false, not_before: Some(since + SECOND_LOOK), ..look });
                } else {
                    self.missing = Missing::Told;
                    self.of_file = Some(self.trouble(failure, now));
                }
            }
            Found::Failed(failure, _) => self.of_file = Some(self.trouble(failure, now)),
        }
    }

    /// Notes what served until now.
    pub(super) fn served(&mut self, code: &Arc<dyn Code>) {
        self.earlier.retain(|earlier| earlier.strong_count() > 0);
        self.earlier.push(Arc::downgrade(code));
    }

    /// All that served before and that somebody still has.
    pub(super) fn earlier(&self) -> impl Iterator<Item = Arc<dyn Code>> {
        self.earlier.iter().filter_map(Weak::upgrade)
    }

    fn trouble(&mut self, failure: Failure, now: Instant) -> Trouble {
        let retry = match failure.helps {
            Helps::Change => None,
            Helps::Time | Helps::Return => {
                let wait = self.backoff.failed();
                Some(Retry { at: now + wait, told: SystemTime::now() + wait })
            }
        };
        Trouble { failure, retry }
    }

    /// Something that should serve.
    fn take(&mut self, loaded: Loaded, noticed: Instant) {
        // The table may stand elsewhere by now.
        let loaded = loaded.moved_to(&self.table).unwrap_or(loaded);
        self.fresh = Some(Fresh { loaded, noticed });
        self.relisted = None;
    }

    /// The failure that counts, if there is one, and when it is tried again.
    pub(super) fn failure(&self) -> Option<(&Failure, Option<SystemTime>)> {
        let troubles = self.of_file.iter().chain(&self.of_table);
        let retry = troubles.filter_map(|trouble| trouble.retry).min().map(|retry| retry.told);
        Some((self.failures().next()?, retry))
    }

    /// All of them.
    pub(super) fn failures(&self) -> impl Iterator<Item = &Failure> {
        let troubles = self.of_file.iter().chain(&self.of_table);
        troubles.map(|trouble| &trouble.failure).chain(&self.conflict)
    }
}
