//! From slots to the next catalog: which state of each plugin goes in.
//!
//! Each plugin has up to three: what should serve, the code that serves with lists that changed, and what serves. The
//! best that fits beside the others is taken. What serves fits beside what else serves, so nothing that a plugin
//! brings can take another away.

use std::collections::BTreeMap;
use std::sync::Arc;

use moongate_core::catalog::{Build, Catalog, Instead, Member, Refused};
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
    pub(super) warnings: Vec<Problem>,
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
    let mut at = vec![0; slots.len()];
    let (mut refused, mut passed_over) = (BTreeMap::new(), Vec::new());
    let previous = (before.generation() > 0).then_some(before);
    loop {
        let chosen = states.iter().zip(&at).map(|(its, at)| its.get(*at));
        let members: Vec<Member> = chosen.flatten().map(|(_, loaded)| loaded.member.clone()).collect();
        let Build { catalog, refused: now, warnings } =
            Catalog::build(before.generation() + 1, members, previous);
        let mut out = BTreeMap::new();
        let mut again = false;
        for no in now {
            let slot = slots.iter().position(|slot| *slot.id() == no.plugin);
            let slot = slot.expect("only what was put in is refused");
            // Without an earlier state it may still fit when others had to fall back on theirs.
            if at[slot] + 1 < states[slot].len() {
                // An unknown name in `rename` may be why.
                passed_over.extend(states[slot][at[slot]].1.member.warnings());
                at[slot] += 1;
                again = true;
                refused.insert(no.plugin.clone(), Refused { instead: Instead::Before, ..no });
            } else {
                out.insert(no.plugin.clone(), no);
            }
        }
        if again {
            continue;
        }
        let pick = |((slot, its), at): ((&Slot, &Vec<(Pick, &Loaded)>), &usize)| {
            its.get(*at).map(|(pick, _)| *pick).filter(|_| !out.contains_key(slot.id()))
        };
        let picks = slots.iter().zip(&states).zip(&at).map(pick).collect();
        refused.extend(out);
        let mut warnings = warnings;
        warnings.extend(passed_over);
        return Joined { catalog, warnings, picks, refused };
    }
}

/// Would clients and calls find the same?
pub(super) fn same(a: &Catalog, b: &Catalog) -> bool {
    a.members().len() == b.members().len()
        && a.members()
            .iter()
            .zip(b.members())
            .all(|(a, b)| Arc::ptr_eq(a.plugin(), b.plugin()) && a.config().says_the_same_as(b.config()))
}
