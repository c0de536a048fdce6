//! What a call does with its grants: noted for whoever asks for an explanation; and what it lacks is told to the
//! operator, with the line of `gateway.toml` that would grant it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use moongate_core::call::{Entry, Ledger};
use moongate_core::names::PluginId;

use super::text;

/// So many different refusals of a plugin are told; a guest can want something else each time.
const MOST: usize = 64;

/// What the operator was told of a plugin under one table: each thing once.
#[derive(Debug, Default)]
pub(super) struct Told(Mutex<BTreeSet<String>>);

/// One call's notes. Cheap to clone, for what goes on beside the guest.
#[derive(Debug, Clone)]
pub(super) struct Uses {
    plugin: PluginId,
    ledger: Option<Arc<Ledger>>,
    told: Arc<Told>,
}

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
        Self { plugin, ledger, told }
    }

    /// Notes of whatever goes on while nobody calls.
    pub(super) fn of_nobody(&self) -> Self {
        Self { ledger: None, ..self.clone() }
    }

    /// Notes that a grant was used. The text is made only where somebody asked for an explanation.
    pub(super) fn used(&self, grant: impl FnOnce() -> String) {
        if let Some(ledger) = &self.ledger {
            ledger.note(Entry::Used(text::line(&grant(), text::SENTENCE)));
        }
    }

    /// Tells the operator, once, that a call hit a limit and went on. `key` is the limit's, `did` reads on after "it".
    pub(super) fn exceeded(&self, key: &'static str, did: &str) {
        if self.told.is_news(key) {
            let plugin = &self.plugin;
            tracing::warn!(%plugin, "it {did}; `{key}` in `[plugins.{plugin}.limits]` raises that");
        }
        if let Some(ledger) = &self.ledger {
            ledger.note(Entry::HeldBack { key, what: text::line(did, text::SENTENCE) });
        }
    }

    /// Notes that something isn't granted, and tells the operator, once.
    pub(super) fn lacked(&self, lack: Lack) {
        let wanted = text::line(&lack.wanted, text::SENTENCE);
        let cure = lack.cure.map(|cure| text::line(&cure, text::SENTENCE));
        if self.told.is_news(&wanted) {
            let plugin = &self.plugin;
            match &cure {
                Some(cure) => tracing::warn!(
                    %plugin,
                    "it wanted {wanted}, which isn't granted; `{cure}` in `[plugins.{plugin}.allow]` grants it"
                ),
                None => tracing::warn!(%plugin, "it wanted {wanted}, which can't be granted"),
            }
        }
        if let Some(ledger) = &self.ledger {
            ledger.note(Entry::Lacked { wanted, cure });
        }
    }
}

impl Told {
    fn is_news(&self, wanted: &str) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.len() < MOST && told.insert(wanted.to_owned())
    }
}
