//! From slots to the next catalog: which state of each plugin goes in.
//!
//! Each plugin has up to three: what should serve, the code that serves with lists that changed, and what serves. The
//! best that fits beside the others is taken. What serves fits beside what else serves, so nothing that a plugin
//! brings can take another away.

use std::collections::BTreeMap;
use std::sync::Arc;

use moongate_core::catalog::{Build, Candidate, Catalog, Refused};
use moongate_core::config::Problem;
use moongate_core::names::PluginId;

use super::code::Loaded;
use super::slot::Slot;

/// A state of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pick {
    /// What should serve.
    Fresh,
    /// The code that serves, with lists that changed.
    Relisted,
    /// What serves.
    Serving,
}

/// The next catalog.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) catalog: Catalog,
    pub(super) problems: Vec<Problem>,
    /// For each slot what went in.
    pub(super) picks: Vec<Option<Pick>>,
    /// Why something better didn't.
    pub(super) refused: BTreeMap<PluginId, Refused>,
}

impl Slot {
    /// Its states, the best first.
    fn states(&self) -> Vec<(Pick, &Loaded)> {
        let fresh = self.fresh.as_ref().map(|fresh| (Pick::Fresh, &fresh.loaded));
        let relisted = self.relisted.as_ref().map(|loaded| (Pick::Relisted, loaded));
        let serving = self.serving.as_ref().map(|serving| (Pick::Serving, &serving.loaded));
        fresh.into_iter().chain(relisted).chain(serving).collect()
    }
}

/// Joins the slots, which stand in the order of the file.
pub(super) fn join(slots: &[Slot], before: &Catalog) -> Joined {
    let states: Vec<_> = slots.iter().map(Slot::states).collect();
    let candidates: Vec<_> = states.iter().filter_map(|its| candidate(its)).collect();
    let previous = (before.generation() > 0).then_some(before);
    let Build { catalog, picks, refused, problems } =
        Catalog::join(before.generation() + 1, &candidates, previous);
    let mut numbers = picks.into_iter();
    let picks = states.iter().map(|its| {
        if its.is_empty() {
            return None; // it was no candidate and has no number
        }
        its.get(numbers.next()??).map(|(pick, _)| *pick)
    });
    let picks = picks.collect();
    let refused = refused.into_iter().map(|no| (no.plugin.clone(), no)).collect();
    Joined { catalog, problems, picks, refused }
}

/// A slot with all its states; none where it has none.
fn candidate(states: &[(Pick, &Loaded)]) -> Option<Candidate> {
    let mut members = states.iter().map(|(_, loaded)| loaded.member.clone());
    let best = Candidate::new(members.next()?);
    Some(members.fold(best, Candidate::or))
}

/// Would clients and calls find the same?
pub(super) fn same(a: &Catalog, b: &Catalog) -> bool {
    a.members().len() == b.members().len()
        && a.members()
            .iter()
            .zip(b.members())
            .all(|(a, b)| Arc::ptr_eq(a.plugin(), b.plugin()) && a.policy().is_equivalent_to(b.policy()))
}
