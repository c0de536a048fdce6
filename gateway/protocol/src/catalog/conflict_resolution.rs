//! Conflict resolution: selects the plugins that serve, and their versions, if names or URIs collide.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::names::PublicName;

use super::claims::{ClaimOverlap, OverlapOwner, UriClaims};
use super::{
    Catalog, CatalogPlugin, ConflictSubject, PluginConflict, RefusedPlugin, Replacement, RestartEffect,
};

/// A plugin that is to serve: its current version, and the versions to fall back to.
#[derive(Debug, Clone)]
pub struct CatalogCandidate {
    /// The versions, best first; never empty.
    versions: Vec<CatalogPlugin>,
}

impl CatalogCandidate {
    /// The plugin in its current version, without a fallback.
    #[must_use]
    pub fn new(member: CatalogPlugin) -> Self {
        Self { versions: vec![member] }
    }

    /// Adds a fallback: an earlier version of the plugin, with the current grants.
    #[must_use]
    pub fn with_fallback(mut self, before: CatalogPlugin) -> Self {
        self.versions.push(before);
        self
    }

    /// The current version.
    pub(super) fn current(&self) -> &CatalogPlugin {
        &self.versions[0]
    }

    /// The versions up to the one with this number.
    pub(super) fn versions_up_to(&self, state: Option<usize>) -> &[CatalogPlugin] {
        let last = state.unwrap_or(self.versions.len() - 1);
        &self.versions[..=last]
    }
}

/// The plugins that serve together.
#[derive(Default)]
pub(super) struct ConflictTable {
    /// One for each candidate: the version that serves or, if none is admitted, the one that was tried.
    pub(super) members: Vec<CatalogPlugin>,
    /// The candidates that serve, and the number of the version of each.
    pub(super) admitted: BTreeMap<usize, usize>,
    pub(super) claims: UriClaims,
    tools: HashMap<PublicName, usize>,
    prompts: HashMap<PublicName, usize>,
}

/// The collisions of one plugin: names, by rival and subject.
type Collisions = BTreeMap<(usize, ConflictSubject), Vec<String>>;

/// The result of admitting all candidates one by one.
struct AdmissionRound {
    table: ConflictTable,
    /// Plugins with fallbacks left that block a plugin that served and now can't continue in any version.
    blocking: BTreeSet<usize>,
}

/// The result of conflict resolution.
pub(super) struct Resolution {
    pub(super) table: ConflictTable,
    /// For each candidate the number of the version that serves. `None` if none does.
    pub(super) picks: Vec<Option<usize>>,
    pub(super) refused: Vec<RefusedPlugin>,
}

/// Chooses a version of each candidate.
///
/// A new version never takes anything from a plugin that serves: if a plugin can only continue in its earlier version,
/// and the new version of another one uses its names, the other one continues in its earlier version too.
pub(super) fn resolve_conflicts(candidates: &[CatalogCandidate], previous: Option<&Catalog>) -> Resolution {
    // The best version that is still allowed for each candidate.
    let mut from = vec![0; candidates.len()];
    let mut table = loop {
        let round = AdmissionRound::run(candidates, previous, &from);
        if round.blocking.is_empty() {
            break round.table;
        }
        round.blocking.iter().for_each(|at| from[*at] += 1);
    };
    // A plugin can have ended up without the names that another one gave up for it, so try better versions again.
    while let Some(better) =
        candidates.iter().enumerate().find_map(|(at, its)| table.with_better_version(at, its))
    {
        table = better;
    }
    let not_the_best = candidates.iter().enumerate().filter(|(at, _)| table.admitted.get(at) != Some(&0));
    let refused = not_the_best.filter_map(|(at, candidate)| {
        let found = table.with_version(at, 0, candidate.current()).err()?;
        Some(table.refused_plugin(at, found))
    });
    let refused = refused.collect();
    let picks = (0..candidates.len()).map(|at| table.admitted.get(&at).copied()).collect();
    Resolution { table, picks, refused }
}

/// The order of admission: the plugins that serve unchanged, then the changed ones, then the new ones.
fn admission_rank(member: &CatalogPlugin, previous: Option<&Catalog>) -> u8 {
    match previous.and_then(|catalog| catalog.plugin(member.id())) {
        Some(before) if before.is_same_load(member) => 0,
        Some(_) => 1,
        None => 2,
    }
}

impl AdmissionRound {
    /// Admits the candidates one by one, each in its best allowed version that fits.
    fn run(candidates: &[CatalogCandidate], previous: Option<&Catalog>, from: &[usize]) -> Self {
        let members: Vec<_> =
            candidates.iter().zip(from).map(|(candidate, from)| candidate.versions[*from].clone()).collect();
        let mut order: Vec<_> =
            (0..members.len()).map(|at| (admission_rank(&members[at], previous), at)).collect();
        order.sort_unstable();
        let table = ConflictTable { members, ..ConflictTable::default() };
        let mut round = Self { table, blocking: BTreeSet::new() };
        for (rank, at) in order {
            let mut rivals = BTreeSet::new();
            for (number, state) in candidates[at].versions.iter().enumerate().skip(from[at]) {
                round.table.members[at] = state.clone();
                let Err(found) = round.table.admit(at, number) else {
                    rivals.clear();
                    break;
                };
                if rivals.is_empty() || self::admission_rank(state, previous) == 0 {
                    rivals = found.into_keys().map(|(rival, _)| rival).collect();
                }
            }
            // A plugin that serves unchanged blocks nothing, and a plugin that didn't serve loses nothing.
            let may_give_way = |rival: &usize| {
                let has_others = |state: &usize| state + 1 < candidates[*rival].versions.len();
                round.table.admitted.get(rival).is_some_and(has_others)
                    && self::admission_rank(&round.table.members[*rival], previous) > 0
            };
            round.blocking.extend(rivals.into_iter().filter(|rival| rank < 2 && may_give_way(rival)));
        }
        round
    }
}

impl ConflictTable {
    /// Reserves all names of the plugin at `at`, in the version with the number `state`, or none of them.
    fn admit(&mut self, at: usize, state: usize) -> Result<(), Collisions> {
        let member = &self.members[at];
        let mut found = Collisions::new();
        for tool in &member.offer().tools {
            if let Some(rival) = self.tools.get(&tool.public) {
                found.entry((*rival, ConflictSubject::Tool)).or_default().push(tool.public.to_string());
            }
        }
        for prompt in &member.offer().prompts {
            if let Some(rival) = self.prompts.get(&prompt.public) {
                found.entry((*rival, ConflictSubject::Prompt)).or_default().push(prompt.public.to_string());
            }
        }
        let overlaps = self.claims.overlaps(member, &self.members);
        for ClaimOverlap { rival, text, owner: settled } in &overlaps {
            if *settled == OverlapOwner::Undecided {
                found.entry((*rival, ConflictSubject::Resource)).or_default().push(text.clone());
            }
        }
        if !found.is_empty() {
            return Err(found);
        }
        let Self { members, admitted, tools, prompts, claims } = self;
        tools.extend(members[at].offer().tools.iter().map(|tool| (tool.public.clone(), at)));
        prompts.extend(members[at].offer().prompts.iter().map(|prompt| (prompt.public.clone(), at)));
        claims.add(at, &members[at], &overlaps);
        admitted.insert(at, state);
        Ok(())
    }

    /// This selection with the candidate at `at` in a better version. `None` if no better one fits.
    fn with_better_version(&self, at: usize, candidate: &CatalogCandidate) -> Option<Self> {
        let better = self.admitted.get(&at).copied().unwrap_or(candidate.versions.len());
        let states = candidate.versions[..better].iter().enumerate();
        states.filter_map(|(state, member)| self.with_version(at, state, member).ok()).next()
    }

    /// This selection with `member`, version number `state` of the candidate at `at`. The error is its conflicts with
    /// the other plugins that serve.
    fn with_version(&self, at: usize, state: usize, member: &CatalogPlugin) -> Result<Self, Collisions> {
        let mut other = Self { members: self.members.clone(), ..Self::default() };
        other.members[at] = member.clone();
        for (its, state) in self.admitted.iter().filter(|(its, _)| **its != at) {
            other.admit(*its, *state)?;
        }
        other.admit(at, state)?;
        Ok(other)
    }

    fn refused_plugin(&self, at: usize, found: Collisions) -> RefusedPlugin {
        let plugin = self.members[at].id().clone();
        let place = self.members[at].policy().place.clone();
        let conflicts = found
            .into_iter()
            .map(|((rival, subject), names)| {
                let with = &self.members[rival];
                let restart = if at < rival { RestartEffect::SwapsPlugins } else { RestartEffect::NoChange };
                let with_place = with.policy().place.clone();
                let with = with.id().clone();
                PluginConflict { other: with, other_place: with_place, subject, names, restart }
            })
            .collect();
        let instead =
            if self.admitted.contains_key(&at) { Replacement::EarlierVersion } else { Replacement::Nothing };
        RefusedPlugin { plugin, place, conflicts, replacement: instead }
    }
}
