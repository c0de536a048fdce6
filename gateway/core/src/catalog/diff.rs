//! What changed from one catalog to the next, as clients see it: for the log, and for whom to tell.

use std::collections::BTreeMap;

use crate::names::Digest;

use super::{Catalog, Kind};

/// What changed, kind by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// Tools, by public name.
    pub tools: KindDiff,
    /// Prompts, by public name.
    pub prompts: KindDiff,
    /// Resources by URI, templates by their text.
    pub resources: KindDiff,
}

/// What changed in one kind. All lists are in alphabetical order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KindDiff {
    /// New.
    pub added: Vec<String>,
    /// Gone.
    pub removed: Vec<String>,
    /// Still there and different: another schema, description or hint.
    pub changed: Vec<String>,
}

impl Diff {
    /// From `old` to `new`. A list in another order is no difference here, though its [`Catalog::digest`] is another.
    #[must_use]
    pub fn between(old: &Catalog, new: &Catalog) -> Self {
        let compare = |kind| KindDiff::between(&items(old, kind), &items(new, kind));
        Self {
            tools: compare(Kind::Tools),
            prompts: compare(Kind::Prompts),
            resources: compare(Kind::Resources),
        }
    }

    /// Nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { tools, prompts, resources } = self;
        tools.is_empty() && prompts.is_empty() && resources.is_empty()
    }
}

impl KindDiff {
    fn between(old: &BTreeMap<&str, Digest>, new: &BTreeMap<&str, Digest>) -> Self {
        let missing = |from: &BTreeMap<&str, Digest>, of: &BTreeMap<&str, Digest>| {
            of.keys().filter(|name| !from.contains_key(*name)).map(|name| (*name).to_owned()).collect()
        };
        let changed =
            new.iter().filter(|(name, digest)| old.get(*name).is_some_and(|before| before != *digest));
        Self {
            added: missing(old, new),
            removed: missing(new, old),
            changed: changed.map(|(name, _)| (*name).to_owned()).collect(),
        }
    }

    /// Nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { added, removed, changed } = self;
        added.is_empty() && removed.is_empty() && changed.is_empty()
    }
}

/// The items of one kind with the digest of each.
fn items(catalog: &Catalog, kind: Kind) -> BTreeMap<&str, Digest> {
    match kind {
        Kind::Tools => catalog.tools().iter().map(|it| (it.public().as_str(), it.digest())).collect(),
        Kind::Prompts => catalog.prompts().iter().map(|it| (it.public().as_str(), it.digest())).collect(),
        Kind::Resources => {
            let listed = catalog.resources().iter().map(|it| (it.resource().uri.as_str(), it.digest()));
            let families =
                catalog.templates().iter().map(|it| (it.template().uri_template.as_str(), it.digest()));
            listed.chain(families).collect()
        }
    }
}
