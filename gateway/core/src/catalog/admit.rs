//! Who serves, where not all can: which plugin goes first, what collides, and who gives way.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::names::PublicName;

use super::claims::{Claims, Overlap, Settled};
use super::{Catalog, Conflict, Instead, Member, Refused, Restart, Subject};

/// A plugin that wants to serve, and what goes on serving where it can't.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The plugin as its file and its table say now.
    pub member: Member,
    /// The plugin as it served before, with what it is granted now; none: nothing serves in its place.
    pub before: Option<Member>,
}

impl From<Member> for Candidate {
    fn from(member: Member) -> Self {
        Self { member, before: None }
    }
}

/// The plugins that serve together.
#[derive(Default)]
pub(super) struct Table {
    /// One for each candidate: as it serves or, if it isn't admitted, as it would.
    pub(super) members: Vec<Member>,
    /// Which of them serve.
    pub(super) admitted: BTreeSet<usize>,
    pub(super) claims: Claims,
    tools: HashMap<PublicName, usize>,
    prompts: HashMap<PublicName, usize>,
}

/// What one plugin has in common with others: names, by rival and subject.
type Found = BTreeMap<(usize, Subject), Vec<String>>;

/// What came of admitting one after the other.
struct Round {
    table: Table,
    /// Who can't serve as it is now, and why.
    refused: BTreeMap<usize, Found>,
    /// Changed plugins in the way of one that served and can't go on, neither as it is now nor as it was.
    in_the_way: BTreeSet<usize>,
}

/// Finds out who serves, and how.
///
/// What is new never takes from what serves: where a plugin could go on only as it was, but another has changed into
/// its way, that one stays as it was too.
pub(super) fn settle(candidates: &[Candidate], previous: Option<&Catalog>) -> (Table, Vec<Refused>) {
    let mut held = BTreeSet::new();
    let Round { mut table, mut refused, .. } = loop {
        let round = Round::run(candidates, previous, &held);
        if round.in_the_way.is_empty() {
            break round;
        }
        held.extend(round.in_the_way);
    };
    for at in held {
        match table.exchanged(at, &candidates[at].member) {
            Ok(better) => table = better,
            Err(found) => drop(refused.insert(at, found)),
        }
    }
    let refused = refused.iter().map(|(at, found)| table.refused(*at, found)).collect();
    (table, refused)
}

/// Who goes first: the plugins that serve and didn't change, then those that changed, then the new ones.
fn rank(member: &Member, previous: Option<&Catalog>) -> u8 {
    match previous.and_then(|catalog| catalog.member(member.id())) {
        Some(before) if before.is(member) => 0,
        Some(_) => 1,
        None => 2,
    }
}

impl Round {
    /// Admits one after the other; those that are `held` as they were before.
    fn run(candidates: &[Candidate], previous: Option<&Catalog>, held: &BTreeSet<usize>) -> Self {
        let members = candidates.iter().enumerate().map(|(at, candidate)| match &candidate.before {
            Some(before) if held.contains(&at) => before.clone(),
            Some(_) | None => candidate.member.clone(),
        });
        let members: Vec<_> = members.collect();
        let mut order: Vec<_> = (0..members.len()).map(|at| (rank(&members[at], previous), at)).collect();
        order.sort_unstable();
        let table = Table { members, ..Table::default() };
        let mut round = Self { table, refused: BTreeMap::new(), in_the_way: BTreeSet::new() };
        for (rank, at) in order {
            let Err(found) = round.table.admit(at) else { continue };
            round.refused.insert(at, found);
            let Some(before) = candidates[at].before.as_ref().filter(|_| !held.contains(&at)) else {
                continue;
            };
            round.table.members[at] = before.clone();
            if let Err(found) = round.table.admit(at)
                && rank < 2
            {
                let may_give_way = |rival: &usize| {
                    let candidate = &candidates[*rival];
                    candidate.before.is_some() && round.table.members[*rival].is(&candidate.member)
                };
                let rivals = found.into_keys().map(|(rival, _)| rival);
                round.in_the_way.extend(rivals.filter(may_give_way).filter(|rival| !held.contains(rival)));
            }
        }
        round
    }
}

impl Table {
    /// Gives the plugin at `at` its names, or none of them.
    fn admit(&mut self, at: usize) -> Result<(), Found> {
        let member = &self.members[at];
        let mut found = Found::new();
        for tool in &member.offer().tools {
            if let Some(rival) = self.tools.get(&tool.public) {
                found.entry((*rival, Subject::Tool)).or_default().push(tool.public.to_string());
            }
        }
        for prompt in &member.offer().prompts {
            if let Some(rival) = self.prompts.get(&prompt.public) {
                found.entry((*rival, Subject::Prompt)).or_default().push(prompt.public.to_string());
            }
        }
        let overlaps = self.claims.overlaps(member, &self.members);
        for Overlap { rival, text, settled } in &overlaps {
            if *settled == Settled::Not {
                found.entry((*rival, Subject::Resource)).or_default().push(text.clone());
            }
        }
        if !found.is_empty() {
            return Err(found);
        }
        let Self { members, admitted, tools, prompts, claims } = self;
        tools.extend(members[at].offer().tools.iter().map(|tool| (tool.public.clone(), at)));
        prompts.extend(members[at].offer().prompts.iter().map(|prompt| (prompt.public.clone(), at)));
        claims.take(at, &members[at], &overlaps);
        admitted.insert(at);
        Ok(())
    }

    /// The same with `member` at `at`, if it fits to all others that serve.
    fn exchanged(&self, at: usize, member: &Member) -> Result<Self, Found> {
        let mut other = Self { members: self.members.clone(), ..Self::default() };
        other.members[at] = member.clone();
        for its in self.admitted.iter().filter(|its| **its != at) {
            other.admit(*its)?;
        }
        other.admit(at)?;
        Ok(other)
    }

    fn refused(&self, at: usize, found: &Found) -> Refused {
        let (plugin, place) = (self.members[at].id().clone(), self.members[at].config().place.clone());
        let conflicts = found
            .iter()
            .map(|((rival, subject), names)| {
                let with = &self.members[*rival];
                let restart = if at < *rival { Restart::TurnsItRound } else { Restart::ChangesNothing };
                let (with, with_place) = (with.id().clone(), with.config().place.clone());
                Conflict { with, with_place, subject: *subject, names: names.clone(), restart }
            })
            .collect();
        let instead = if self.admitted.contains(&at) { Instead::Before } else { Instead::Nothing };
        Refused { plugin, place, conflicts, instead }
    }
}
