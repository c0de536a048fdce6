//! What a call does with its grants: noted for whoever asks for an explanation; and what it lacks is told to the
//! operator, with the line of `gateway.toml` that would grant it.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use moongate_core::call::{Cure, Entry, Ledger};
use moongate_core::names::PluginId;

use crate::host::diagnostics::log_once::{News, Once};
use crate::host::diagnostics::text;

/// What is logged of grants that a plugin lacks: a target of its own, because for a plugin without a table that is no
/// news, but its limits are.
const GRANTS: &str = "moongate::grants";

/// What the operator was told of a plugin under one table: each thing once.
#[derive(Debug, Default)]
pub(in crate::host) struct Told {
    /// What it wanted and wasn't granted: it may be something else each time.
    lacked: Once<String>,
    /// The keys of limits that it hit, or the names of those without one, however much it wanted before.
    exceeded: Once<&'static str>,
}

/// One call's notes. Cheap to clone, for what goes on beside the guest.
#[derive(Debug, Clone)]
pub(in crate::host) struct Uses {
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
pub(in crate::host) struct Lack {
    /// What the call wanted, such as `GET https://example.com`.
    pub(in crate::host) wanted: String,
    /// What would grant it; none where nothing would.
    pub(in crate::host) cure: Option<Cure>,
}

impl Uses {
    pub(in crate::host) fn new(plugin: PluginId, ledger: Option<Arc<Ledger>>, told: Arc<Told>) -> Self {
        Self { plugin, ledger, told, missed: Arc::default() }
    }

    /// Notes of whatever goes on while nobody calls.
    pub(in crate::host) fn of_nobody(&self) -> Self {
        Self { ledger: None, missed: Arc::default(), ..self.clone() }
    }

    /// Notes that a grant was used. The text is made only where somebody asked for an explanation.
    pub(in crate::host) fn used(&self, grant: impl FnOnce() -> String) {
        if let Some(ledger) = &self.ledger {
            ledger.note(Entry::Used(text::line(&grant(), text::SENTENCE)));
        }
    }

    /// Tells the operator, once, that a call hit a limit and went on. `key` is the limit's, `did` reads on after "it".
    pub(in crate::host) fn exceeded(&self, key: &'static str, did: &str) {
        let plugin = &self.plugin;
        if self.held_back(key, Some(key), did) {
            tracing::warn!(%plugin, "it {did}; `{key}` in `[plugins.{plugin}.limits]` raises that");
        }
    }

    /// The same for a limit that is the call's share of something, and has no key. `name` is the share's; `because` says
    /// what it is a share of.
    pub(in crate::host) fn exceeded_share(&self, name: &'static str, did: &str, because: &str) {
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
    pub(in crate::host) fn lacked(&self, lack: Lack) {
        let key = text::line(&lack.wanted, text::SENTENCE);
        self.tell(key, lack);
    }

    /// The same where the guest's own words say more or less what it is: all of that is told once, because it may say
    /// something else each time.
    pub(in crate::host) fn lacked_some(&self, kind: &'static str, lack: Lack) {
        self.tell(kind.to_owned(), lack);
    }

    /// Notes what may have lacked, for whoever asks for an explanation; none needs to be made where nobody does.
    pub(in crate::host) fn may_have_lacked(&self, lack: impl FnOnce() -> Lack) {
        if let Some(ledger) = &self.ledger {
            let Lack { wanted, cure } = lack();
            let cure = cure.filter(|cure| is_whole(&cure.line()));
            ledger.note(Entry::Lacked { wanted: text::line(&wanted, text::SENTENCE), cure });
        }
    }

    fn tell(&self, key: String, lack: Lack) {
        let wanted = text::line(&lack.wanted, text::SENTENCE);
        let is_curable = lack.cure.is_some();
        let cure = lack.cure.filter(|cure| is_whole(&cure.line()));
        let plugin = &self.plugin;
        match (self.told.lacked.hear(key), cure.as_ref().map(Cure::line)) {
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
    pub(in crate::host) fn lacked_openly(&self, lack: Lack, shown: Option<&str>) {
        let plugin = &self.plugin;
        let wanted = text::line(&lack.wanted, text::SENTENCE);
        let cure = shown.filter(|cure| is_whole(cure)).map(|cure| format!("`{cure}`"));
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

    /// What the caller of a failed call is told of that beside the guest's own words, a sentence each; nothing of what
    /// those say already. `complaint`: the guest's words, if it failed; asked for only if there is something to tell.
    pub(in crate::host) fn missed<'c>(
        &self,
        complaint: impl FnOnce() -> Option<Cow<'c, str>>,
    ) -> Vec<String> {
        let all = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        if all.is_empty() {
            return Vec::new();
        }
        let Some(said) = complaint() else { return Vec::new() };
        let is_news = |missed: &&Missed| !missed.cure.as_ref().is_some_and(|cure| said.contains(cure));
        all.iter().filter(is_news).map(|missed| missed.sentence.clone()).collect()
    }
}

/// Can a line be shown as it is? One that was cut or cleaned would grant something else, or break the file.
fn is_whole(line: &str) -> bool {
    line == text::line(line, text::SENTENCE)
}

#[cfg(test)]
mod tests;
