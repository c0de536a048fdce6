//! From plugins to a catalog: who goes first, what collides, and which name means what.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::config::Problem;
use crate::names::{Digest, PublicName};

use super::claims::{Claims, Overlap, Settled};
use super::{
    Catalog, Conflict, Instead, Member, PromptEntry, Refused, ResourceEntry, Restart, Subject, TemplateEntry,
    ToolEntry,
};

/// A catalog, and what the operator should know about how it came to be.
#[derive(Debug)]
pub struct Build {
    /// The catalog.
    pub catalog: Catalog,
    /// Plugins that aren't in it, or only as they were before, because they conflict with others.
    pub refused: Vec<Refused>,
    /// What is probably not meant.
    pub warnings: Vec<Problem>,
}

impl Catalog {
    /// Puts `members`, in the order of `gateway.toml`, together.
    ///
    /// Where two conflict, the one that stands in `previous` goes on: first the plugins that didn't change since,
    /// then those that did, then the new ones, each in the order of the file. The other is refused whole. If it was
    /// in `previous` with a configuration that says the same, it is served as it was then: a change that can't be
    /// used takes nothing away.
    #[must_use]
    pub fn build(generation: u64, members: Vec<Member>, previous: Option<&Self>) -> Build {
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by_key(|at| rank(&members[*at], previous)); // stable: the order of the file within a rank
        // Also those of plugins that are refused: an unknown name in `rename` may be why.
        let warnings = members.iter().flat_map(Member::warnings).collect();
        let mut table = Table { members, warnings, ..Table::default() };
        let mut refused = Vec::new();
        for at in order {
            let Err(conflicts) = table.admit(at) else { continue };
            let (plugin, place) = (table.members[at].id().clone(), table.members[at].config().place.clone());
            let mut instead = Instead::Nothing;
            if let Some(before) = before(&table.members[at], previous) {
                table.members[at] = before;
                if table.admit(at).is_ok() {
                    instead = Instead::Before;
                }
            }
            refused.push((at, Refused { plugin, place, conflicts, instead }));
        }
        refused.sort_by_key(|(at, _)| *at);
        let refused = refused.into_iter().map(|(_, refused)| refused).collect();
        let (catalog, warnings) = table.finish(generation);
        Build { catalog, refused, warnings }
    }
}

/// Who goes first.
fn rank(member: &Member, previous: Option<&Catalog>) -> u8 {
    match previous.and_then(|catalog| catalog.member(member.id())) {
        Some(before) if before.is(member) => 0,
        Some(_) => 1,
        None => 2,
    }
}

/// The same plugin as it was in `previous`, unless that is what it is, or it was allowed something else then.
fn before(member: &Member, previous: Option<&Catalog>) -> Option<Member> {
    let before = previous?.member(member.id())?;
    if before.is(member) { None } else { before.moved_to(Arc::clone(member.config())) }
}

/// Who has which name, while plugins are admitted one after the other.
#[derive(Default)]
struct Table {
    members: Vec<Member>,
    admitted: Vec<usize>,
    tools: HashMap<PublicName, usize>,
    prompts: HashMap<PublicName, usize>,
    claims: Claims,
    warnings: Vec<Problem>,
}

impl Table {
    /// Gives the plugin at `at` its names, or none of them.
    fn admit(&mut self, at: usize) -> Result<(), Vec<Conflict>> {
        let member = &self.members[at];
        let mut found = BTreeMap::<(usize, Subject), Vec<String>>::new();
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
            return Err(found
                .into_iter()
                .map(|((rival, subject), names)| self.conflict(at, rival, subject, names))
                .collect());
        }
        let Self { members, admitted, tools, prompts, claims, .. } = self;
        tools.extend(members[at].offer().tools.iter().map(|tool| (tool.public.clone(), at)));
        prompts.extend(members[at].offer().prompts.iter().map(|prompt| (prompt.public.clone(), at)));
        claims.take(at, &members[at], &overlaps);
        admitted.push(at);
        Ok(())
    }

    fn conflict(&self, at: usize, rival: usize, subject: Subject, names: Vec<String>) -> Conflict {
        let with = &self.members[rival];
        let restart = if at < rival { Restart::TurnsItRound } else { Restart::ChangesNothing };
        Conflict { with: with.id().clone(), with_place: with.config().place.clone(), subject, names, restart }
    }

    /// Lists what the admitted plugins offer.
    fn finish(mut self, generation: u64) -> (Catalog, Vec<Problem>) {
        self.admitted.sort_unstable();
        let admitted = std::mem::take(&mut self.admitted);
        self.claims.renumber(|at| admitted.binary_search(&at).expect("claims belong to admitted plugins"));
        let members: Vec<Arc<Member>> =
            admitted.iter().map(|at| Arc::new(self.members[*at].clone())).collect();
        let mut tools = Vec::new();
        let mut prompts = Vec::new();
        let mut resources = Vec::new();
        let mut templates = Vec::new();
        for (owner, member) in members.iter().enumerate() {
            let offer = member.offer();
            tools.extend((0..offer.tools.len()).map(|at| ToolEntry { member: Arc::clone(member), at }));
            prompts.extend((0..offer.prompts.len()).map(|at| PromptEntry { member: Arc::clone(member), at }));
            let manifest = member.plugin().manifest();
            for (at, resource) in manifest.resources.iter().enumerate() {
                if self.keeps(owner, member, resource.uri.as_str()) {
                    resources.push(ResourceEntry { member: Arc::clone(member), at });
                }
            }
            for (at, template) in manifest.templates.iter().enumerate() {
                if self.keeps(owner, member, template.uri_template.prefix()) {
                    templates.push(TemplateEntry { member: Arc::clone(member), at });
                }
            }
        }
        self.look_alikes("tool", tools.iter().map(|entry| (entry.public(), entry.member())));
        self.look_alikes("prompt", prompts.iter().map(|entry| (entry.public(), entry.member())));
        let digests = [
            all(tools.iter().map(ToolEntry::digest)),
            all(prompts.iter().map(PromptEntry::digest)),
            all(resources
                .iter()
                .map(ResourceEntry::digest)
                .chain([Digest::of(b"templates")])
                .chain(templates.iter().map(TemplateEntry::digest))),
        ];
        let catalog = Catalog {
            generation,
            tool_at: tools.iter().enumerate().map(|(at, entry)| (entry.public().clone(), at)).collect(),
            prompt_at: prompts.iter().enumerate().map(|(at, entry)| (entry.public().clone(), at)).collect(),
            resource_at: resources
                .iter()
                .enumerate()
                .map(|(at, entry)| (entry.resource().uri.clone(), at))
                .collect(),
            members,
            tools,
            prompts,
            resources,
            templates,
            claims: self.claims,
            digests,
        };
        (catalog, self.warnings)
    }

    /// Is it still the plugin's own, or did the configuration grant it to another?
    fn keeps(&mut self, owner: usize, member: &Member, text: &str) -> bool {
        let keeps = self.claims.holds(owner, text);
        if !keeps {
            let id = member.id();
            let message =
                format!("`{text}` of plugin `{id}` isn't listed: `uris` grants it to another plugin");
            self.warnings.push(Problem::warning(message).at(member.config().place.clone()));
        }
        keeps
    }

    /// Names that differ by nothing but case, `-` and `_`: hosts that tidy names make one of them.
    fn look_alikes<'a>(
        &mut self,
        kind: &str,
        names: impl Iterator<Item = (&'a PublicName, &'a Arc<Member>)>,
    ) {
        let mut seen = HashMap::<String, &PublicName>::new();
        for (name, member) in names {
            let tidy = name.as_str().to_ascii_lowercase().replace('-', "_");
            if let Some(other) = seen.insert(tidy, name) {
                let message = format!(
                    "the {kind} names `{other}` and `{name}` differ by nothing but case, `-` and `_`; some hosts take them for one"
                );
                let id = member.id();
                let hint = format!(
                    "set another `prefix` in `[plugins.{id}]`, or give the tool another name in `[plugins.{id}.tools.rename]`"
                );
                self.warnings.push(Problem::warning(message).at(member.config().place.clone()).hint(hint));
            }
        }
    }
}

/// The digest of digests in their order.
fn all(digests: impl Iterator<Item = Digest>) -> Digest {
    Digest::of(&digests.flat_map(|digest| *digest.as_bytes()).collect::<Vec<u8>>())
}
