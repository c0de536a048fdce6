//! Whose space a URI lies in.
//!
//! A plugin claims the URIs that it lists and, for each template, every URI that starts with the literal text before
//! its first `{`. Two claims overlap where one starts with the other. The overlap belongs to the plugin that the
//! configuration grants it to (`uris`, the longest grant counts); if neither or both have it, the plugins conflict.

use std::collections::BTreeMap;

use super::Member;

/// Which URIs belong to which plugin, by the plugin's place among those asked.
#[derive(Debug, Default)]
pub(super) struct Claims {
    by_text: BTreeMap<String, Claim>,
    /// How many templates' beginnings have this length.
    lengths: BTreeMap<usize, usize>,
}

#[derive(Debug, Clone, Copy)]
struct Claim {
    owner: usize,
    /// The URI itself is listed.
    exact: bool,
    /// Every URI that starts with it.
    prefix: bool,
}

/// What stands in a claim's way.
#[derive(Debug)]
pub(super) struct Overlap {
    pub(super) rival: usize,
    /// The narrower of the two claims: what they overlap in.
    pub(super) text: String,
    pub(super) settled: Settled,
}

/// How an overlap is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settled {
    /// It isn't.
    Not,
    /// The configuration grants it to the one that asks.
    Asker,
    /// The configuration grants it to the rival.
    Rival,
}

/// What one plugin claims: each text once, with whether it is listed and whether it is a beginning.
pub(super) fn claimed(member: &Member) -> BTreeMap<&str, (bool, bool)> {
    let manifest = member.plugin().manifest();
    let mut all = BTreeMap::<&str, (bool, bool)>::new();
    for resource in &manifest.resources {
        all.entry(resource.uri.as_str()).or_default().0 = true;
    }
    for template in &manifest.templates {
        all.entry(template.uri_template.prefix()).or_default().1 = true;
    }
    all
}

impl Claims {
    /// Everything that overlaps with what `member` claims. `members` are those that claims were taken from.
    pub(super) fn overlaps(&self, member: &Member, members: &[Member]) -> Vec<Overlap> {
        let mut found = Vec::new();
        let mut note = |rival: usize, text: &str| {
            let settled = settle(text, member, &members[rival]);
            found.push(Overlap { rival, text: text.to_owned(), settled });
        };
        for (text, (_, prefix)) in claimed(member) {
            for (_, above) in self.above(text).filter(|(above, _)| above.len() < text.len()) {
                note(above.owner, text);
            }
            let same_or_below = self.by_text.range(text.to_owned()..);
            for (below, claim) in same_or_below.take_while(|(below, _)| below.starts_with(text)) {
                // The same text overlaps always: two plugins list it, or one lists what the other's begins with.
                if below == text || prefix {
                    note(claim.owner, below);
                }
            }
        }
        found
    }

    /// Takes over what `member` claims, as `owner`, and settles the overlaps as the configuration says.
    pub(super) fn take(&mut self, owner: usize, member: &Member, overlaps: &[Overlap]) {
        for Overlap { rival, text, settled } in overlaps {
            // The rival keeps what is wider than the overlap: the longest beginning counts.
            if *settled == Settled::Asker && self.by_text.get(text).is_some_and(|claim| claim.owner == *rival)
            {
                self.remove(text);
            }
        }
        for (text, (exact, prefix)) in claimed(member) {
            let granted_away = |it: &Overlap| it.settled == Settled::Rival && it.text == text;
            if !overlaps.iter().any(granted_away) {
                self.by_text.insert(text.to_owned(), Claim { owner, exact, prefix });
                if prefix {
                    *self.lengths.entry(text.len()).or_default() += 1;
                }
            }
        }
    }

    /// Gives each owner another number.
    pub(super) fn renumber(&mut self, number: impl Fn(usize) -> usize) {
        self.by_text.values_mut().for_each(|claim| claim.owner = number(claim.owner));
    }

    /// Did `owner` keep its claim on exactly this text?
    pub(super) fn holds(&self, owner: usize, text: &str) -> bool {
        self.by_text.get(text).is_some_and(|claim| claim.owner == owner)
    }

    /// The plugin whose space `uri` lies in.
    pub(super) fn owner(&self, uri: &str) -> Option<usize> {
        if let Some(claim) = self.by_text.get(uri).filter(|claim| claim.exact) {
            return Some(claim.owner);
        }
        self.above(uri).map(|(_, claim)| claim.owner).next()
    }

    /// The beginnings of `text` that are claimed with all that starts with them, the longest first.
    fn above<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (&'a str, Claim)> {
        self.lengths.range(..=text.len()).rev().filter_map(move |(length, _)| {
            let start = text.get(..*length)?;
            let claim = self.by_text.get(start).filter(|claim| claim.prefix)?;
            Some((start, *claim))
        })
    }

    fn remove(&mut self, text: &str) {
        let Some(claim) = self.by_text.remove(text) else { return };
        if claim.prefix
            && let Some(count) = self.lengths.get_mut(&text.len())
        {
            *count -= 1;
            if *count == 0 {
                self.lengths.remove(&text.len());
            }
        }
    }
}

/// To whom the configuration grants `text`: the longest grant that it starts with counts.
fn settle(text: &str, asker: &Member, rival: &Member) -> Settled {
    let granted = |member: &Member| {
        member.policy().uris.iter().filter(|grant| text.starts_with(grant.as_str())).map(String::len).max()
    };
    match granted(asker).cmp(&granted(rival)) {
        std::cmp::Ordering::Equal => Settled::Not,
        std::cmp::Ordering::Greater => Settled::Asker,
        std::cmp::Ordering::Less => Settled::Rival,
    }
}
