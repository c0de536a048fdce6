//! What a call does with its grants: noted for whoever asks for an explanation; and what it lacks is told to the
//! operator, with the line of `gateway.toml` that would grant it.

use std::sync::{Arc, Mutex, PoisonError};

use moongate_core::call::{Entry, Ledger};
use moongate_core::names::PluginId;

use super::once::{News, Once};
use super::text;

/// What is logged of grants that a plugin lacks: a target of its own, because for a plugin without a table that is no
/// news, but its limits are.
const GRANTS: &str = "moongate::grants";

/// What the operator was told of a plugin under one table: each thing once.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// What it wanted and wasn't granted: it may be something else each time.
    lacked: Once<String>,
    /// The keys of limits that it hit, or the names of those without one, however much it wanted before.
    exceeded: Once<&'static str>,
}

/// One call's notes. Cheap to clone, for what goes on beside the guest.
#[derive(Debug, Clone)]
pub(super) struct Uses {
    plugin: PluginId,
    ledger: Option<Arc<Ledger>>,
    told: Arc<Told>,
    /// What the caller is told that the call lacked.
    missed: Arc<Mutex<Vec<Missed>>>,
}

/// What a caller may read of something that isn't granted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Missed {
    sentence: String,
    cure: Option<String>,
}

/// How many such sentences a caller is told at most.
const MISSED: usize = 3;

/// Something that isn't granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lack {
    /// What the call wanted, such as `GET https://example.com`.
    pub(super) wanted: String,
    /// The line of `[plugins.<id>.allow]` that would grant it; none where nothing would.
    pub(super) cure: Option<String>,
}

impl Uses {
    pub(super) fn new(plugin: PluginId, ledger: Option<Arc<Ledger>>, told: Arc<Told>) -> Self {
        Self { plugin, ledger, told, missed: Arc::default() }
    }

    /// Notes of whatever goes on while nobody calls.
    pub(super) fn of_nobody(&self) -> Self {
        Self { ledger: None, missed: Arc::default(), ..self.clone() }
    }

    /// Notes that a grant was used. The text is made only where somebody asked for an explanation.
    pub(super) fn used(&self, grant: impl FnOnce() -> String) {
        if let Some(ledger) = &self.ledger {
            ledger.note(Entry::Used(text::line(&grant(), text::SENTENCE)));
        }
    }

    /// Tells the operator, once, that a call hit a limit and went on. `key` is the limit's, `did` reads on after "it".
    pub(super) fn exceeded(&self, key: &'static str, did: &str) {
        let plugin = &self.plugin;
        if self.held_back(key, Some(key), did) {
            tracing::warn!(%plugin, "it {did}; `{key}` in `[plugins.{plugin}.limits]` raises that");
        }
    }

    /// The same for a limit that is the call's share of something, and has no key. `name` is the share's; `because` says
    /// what it is a share of.
    pub(super) fn exceeded_share(&self, name: &'static str, did: &str, because: &str) {
        let plugin = &self.plugin;
        if self.held_back(name, None, did) {
            tracing::warn!(%plugin, "it {did}; {because}");
        }
    }

    /// Notes a limit that was hit. Is that news to the operator?
    fn held_back(&self, name: &'static str, key: Option<&'static str>, did: &str) -> bool {
        if let Some(ledger) = &self.ledger {
            ledger.note(Entry::HeldBack { key, what: text::line(did, text::SENTENCE) });
        }
        match self.told.exceeded.hear(name) {
            News::Yes => true,
            News::No | News::More => false,
        }
    }

    /// Notes that something isn't granted, and tells the operator, once.
    pub(super) fn lacked(&self, lack: Lack) {
        let wanted = text::line(&lack.wanted, text::SENTENCE);
        // One that was cut or cleaned would grant something else, or break the file.
        let is_whole = |cure: &String| *cure == text::line(cure, text::SENTENCE);
        let is_curable = lack.cure.is_some();
        let cure = lack.cure.filter(is_whole);
        let plugin = &self.plugin;
        match (self.told.lacked.hear(wanted.clone()), &cure) {
            (News::Yes, Some(cure)) => tracing::warn!(
                target: GRANTS,
                %plugin,
                "it wanted {wanted}, which isn't granted; `{cure}` in `[plugins.{plugin}.allow]` grants it"
            ),
            (News::Yes, None) if is_curable => tracing::warn!(
                target: GRANTS,
                %plugin,
                "it wanted {wanted}, which isn't granted; the line that grants it is too long to be shown"
            ),
            (News::Yes, None) => {
                tracing::warn!(target: GRANTS, %plugin, "it wanted {wanted}, which can't be granted");
            }
            (News::More, _) => tracing::warn!(
                target: GRANTS,
                %plugin,
                "it wants more that isn't granted, which isn't logged any more; `moongate call --explain` shows what a \
                 call lacks"
            ),
            (News::No, _) => {}
        }
        if let Some(ledger) = &self.ledger {
            ledger.note(Entry::Lacked { wanted, cure });
        }
    }

    /// The same where the caller may read it too, should the call fail. `shown`: the line that grants it, where it tells
    /// nothing that is the operator's alone.
    pub(super) fn lacked_openly(&self, lack: Lack, shown: Option<&str>) {
        let plugin = &self.plugin;
        let is_whole = |text: &&str| **text == text::line(text, text::SENTENCE);
        let wanted = text::line(&lack.wanted, text::SENTENCE);
        let cure = shown.filter(is_whole).map(|cure| format!("`{cure}`"));
        let how = match &cure {
            Some(cure) => format!("{cure} in `[plugins.{plugin}.allow]` of `gateway.toml` grants it"),
            None => "the gateway's log has the line that grants it".to_owned(),
        };
        let missed = Missed { sentence: format!("it wanted {wanted}, which isn't granted; {how}"), cure };
        let mut all = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MISSED && !all.contains(&missed) {
            all.push(missed);
        }
        drop(all);
        self.lacked(lack);
    }

    /// What the caller is told of that beside the guest's own words, a sentence each; nothing of what those say already.
    pub(super) fn missed(&self, said: &str) -> Vec<String> {
        let all = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = |missed: &&Missed| !missed.cure.as_ref().is_some_and(|cure| said.contains(cure));
        all.iter().filter(is_news).map(|missed| missed.sentence.clone()).collect()
    }
}

#[cfg(test)]
mod tests;
