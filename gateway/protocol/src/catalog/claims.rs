//! Ownership of URIs.
//!
//! A plugin claims the URIs that it offers and, for each template, every URI that starts with the literal text before
//! its first `{`, which can be a whole scheme. Two claims overlap if one starts with the other. The overlap belongs to the plugin that the
//! configuration grants it to (`uris`; the longest grant counts). If neither or both have a grant, the plugins
//! conflict.

use std::collections::BTreeMap;

use super::CatalogPlugin;

/// The owner of each claimed URI and prefix. Owners are indices of plugins.
#[derive(Debug, Default)]
pub(super) struct UriClaims {
    by_text: BTreeMap<String, UriClaim>,
    /// The number of claimed template prefixes of each length.
    prefix_lengths: BTreeMap<usize, usize>,
}

#[derive(Debug, Clone, Copy)]
struct UriClaim {
    owner: usize,
    /// The URI itself is listed.
    is_exact: bool,
    /// The claim covers every URI that starts with it.
    is_prefix: bool,
}

/// The claim that covers a URI.
#[derive(Debug, Clone, Copy)]
pub(super) struct CoveringClaim {
    pub(super) owner: usize,
    /// The length of the template's prefix. `None` if the URI itself is listed.
    pub(super) prefix: Option<usize>,
}

/// An overlap with another claim.
#[derive(Debug)]
pub(super) struct ClaimOverlap {
    pub(super) rival: usize,
    /// The narrower of the two claims.
    pub(super) text: String,
    pub(super) owner: OverlapOwner,
}

/// The owner of an overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OverlapOwner {
    /// Undecided.
    Undecided,
    /// The new plugin, by its grant.
    NewPlugin,
    /// The rival, by its grant.
    Rival,
}

/// The claims of one plugin: each text once, with whether it is a listed URI and whether it is a prefix.
pub(super) fn claims_of(catalog_plugin: &CatalogPlugin) -> BTreeMap<&str, (bool, bool)> {
    let manifest = catalog_plugin.plugin().manifest();
    let mut all = BTreeMap::<&str, (bool, bool)>::new();
    for resource in &catalog_plugin.offer().resources {
        all.entry(manifest.resources[resource.index].uri.as_str()).or_default().0 = true;
    }
    for template in &catalog_plugin.offer().templates {
        all.entry(manifest.templates[template.index].uri_template.prefix()).or_default().1 = true;
    }
    all
}

impl UriClaims {
    /// All overlaps with the claims of `catalog_plugin`. The existing claims belong to `plugins`.
    pub(super) fn overlaps(
        &self,
        catalog_plugin: &CatalogPlugin,
        plugins: &[CatalogPlugin],
    ) -> Vec<ClaimOverlap> {
        let mut found = Vec::new();
        let mut note = |rival: usize, text: &str| {
            let settled = overlap_owner(text, catalog_plugin, &plugins[rival]);
            found.push(ClaimOverlap { rival, text: text.to_owned(), owner: settled });
        };
        for (text, (_, prefix)) in claims_of(catalog_plugin) {
            for (_, above) in self.claimed_prefixes(text).filter(|(above, _)| above.len() < text.len()) {
                note(above.owner, text);
            }
            let same_or_below = self.by_text.range(text.to_owned()..);
            for (below, claim) in same_or_below.take_while(|(below, _)| below.starts_with(text)) {
                // Equal texts always overlap: two plugins list the same URI, or one lists the other's prefix.
                if below == text || prefix {
                    note(claim.owner, below);
                }
            }
        }
        found
    }

    /// Adds the claims of `catalog_plugin`, owned by `owner`, and settles the overlaps by the configuration.
    pub(super) fn add(&mut self, owner: usize, catalog_plugin: &CatalogPlugin, overlaps: &[ClaimOverlap]) {
        for ClaimOverlap { rival, text, owner: settled } in overlaps {
            // The rival keeps its wider claims: the longest prefix counts.
            if *settled == OverlapOwner::NewPlugin
                && self.by_text.get(text).is_some_and(|claim| claim.owner == *rival)
            {
                self.remove(text);
            }
        }
        for (text, (exact, prefix)) in claims_of(catalog_plugin) {
            let granted_away = |it: &ClaimOverlap| it.owner == OverlapOwner::Rival && it.text == text;
            if !overlaps.iter().any(granted_away) {
                self.by_text.insert(text.to_owned(), UriClaim { owner, is_exact: exact, is_prefix: prefix });
                if prefix {
                    *self.prefix_lengths.entry(text.len()).or_default() += 1;
                }
            }
        }
    }

    /// Renumbers the owners.
    pub(super) fn renumber(&mut self, number: impl Fn(usize) -> usize) {
        self.by_text.values_mut().for_each(|claim| claim.owner = number(claim.owner));
    }

    /// Reports whether `owner` has a claim on exactly this text.
    pub(super) fn holds(&self, owner: usize, text: &str) -> bool {
        self.by_text.get(text).is_some_and(|claim| claim.owner == owner)
    }

    /// The claim that covers `uri`, as if there were only owners that meet the condition.
    pub(super) fn covering(&self, uri: &str, counts: impl Fn(usize) -> bool) -> Option<CoveringClaim> {
        if let Some(claim) = self.by_text.get(uri).filter(|claim| claim.is_exact && counts(claim.owner)) {
            return Some(CoveringClaim { owner: claim.owner, prefix: None });
        }
        let (prefix, claim) = self.claimed_prefixes(uri).find(|(_, claim)| counts(claim.owner))?;
        Some(CoveringClaim { owner: claim.owner, prefix: Some(prefix.len()) })
    }

    /// The claimed prefixes of `text`, longest first.
    fn claimed_prefixes<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (&'a str, UriClaim)> {
        self.prefix_lengths.range(..=text.len()).rev().filter_map(move |(length, _)| {
            let start = text.get(..*length)?;
            let claim = self.by_text.get(start).filter(|claim| claim.is_prefix)?;
            Some((start, *claim))
        })
    }

    fn remove(&mut self, text: &str) {
        let Some(claim) = self.by_text.remove(text) else { return };
        if claim.is_prefix
            && let Some(count) = self.prefix_lengths.get_mut(&text.len())
        {
            *count -= 1;
            if *count == 0 {
                self.prefix_lengths.remove(&text.len());
            }
        }
    }
}

/// The plugin that the configuration grants `text` to: the longest matching grant counts.
fn overlap_owner(text: &str, asker: &CatalogPlugin, rival: &CatalogPlugin) -> OverlapOwner {
    let granted = |catalog_plugin: &CatalogPlugin| {
        catalog_plugin
            .policy()
            .uris
            .iter()
            .filter(|grant| text.starts_with(grant.as_str()))
            .map(String::len)
            .max()
    };
    match granted(asker).cmp(&granted(rival)) {
        std::cmp::Ordering::Equal => OverlapOwner::Undecided,
        std::cmp::Ordering::Greater => OverlapOwner::NewPlugin,
        std::cmp::Ordering::Less => OverlapOwner::Rival,
    }
}
