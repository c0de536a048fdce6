//! What changed from one catalog to the next: for the log, and for operators who watch what plugins become.
//!
//! A plugin is chosen for what it says of itself, and its next version may say something else. So whatever clients see
//! is compared field by field, and each field that differs is named; its texts, which are the plugin's, never are.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::PluginId;
use crate::text::quotable;

use super::{Catalog, Member, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};

mod hints;
mod lines;
mod parts;

pub use hints::Weaker;
pub use parts::Part;

/// What changed, kind by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// Tools, by public name.
    pub tools: KindDiff,
    /// Prompts, by public name.
    pub prompts: KindDiff,
    /// Resources by URI, templates by their text.
    pub resources: KindDiff,
    /// Plugins whose advice to the model came, went or changed, in alphabetical order.
    pub instructions: Vec<PluginId>,
}

/// What changed in one kind. All lists are in alphabetical order; names are cut where they are longer than a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KindDiff {
    /// New.
    pub added: Vec<String>,
    /// Gone.
    pub removed: Vec<String>,
    /// Still there and different.
    pub changed: Vec<Change>,
    /// What was there and still is comes in another order.
    pub reordered: bool,
}

/// An item that is still there and different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its name, or its URI.
    pub name: String,
    /// Which parts of it differ; never empty.
    pub parts: Vec<Part>,
    /// Which hints say less of what it may do; only tools have some.
    pub weaker: Vec<Weaker>,
}

/// An item of a list, to be compared with one of the same name.
trait Item {
    fn key(&self) -> &str;

    fn member(&self) -> &Member;

    /// Which of its member's items.
    fn at(&self) -> usize;

    /// Which parts differ from `before`, and which hints got weaker.
    fn compared(&self, before: &Self) -> (Vec<Part>, Vec<Weaker>);
}

/// A resource or a template.
enum Place<'c> {
    Resource(&'c ResourceEntry),
    Template(&'c TemplateEntry),
}

impl Diff {
    /// From `old` to `new`. It is empty only where clients would see the same, all [`Catalog::digest`]s alike.
    #[must_use]
    pub fn between(old: &Catalog, new: &Catalog) -> Self {
        Self {
            tools: KindDiff::between(old.tools(), new.tools()),
            prompts: KindDiff::between(old.prompts(), new.prompts()),
            resources: KindDiff::between(&places(old), &places(new)),
            instructions: instructions(old, new),
        }
    }

    /// Nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { tools, prompts, resources, instructions } = self;
        tools.is_empty() && prompts.is_empty() && resources.is_empty() && instructions.is_empty()
    }

    /// The tools whose hints say less now of what a call may do: clients may ask people less before they call them.
    pub fn weakened(&self) -> impl Iterator<Item = &Change> {
        self.tools.changed.iter().filter(|change| !change.weaker.is_empty())
    }
}

impl KindDiff {
    fn between<I: Item>(old: &[I], new: &[I]) -> Self {
        let (before, now) = (by_key(old), by_key(new));
        let missing = |from: &BTreeMap<&str, &I>, of: &BTreeMap<&str, &I>| {
            of.keys().filter(|key| !from.contains_key(*key)).map(|key| quotable(key)).collect()
        };
        let changed = now.iter().filter_map(|(key, item)| {
            let before = before.get(key)?;
            if item.member().is(before.member()) && item.at() == before.at() {
                return None; // most plugins, at most times
            }
            let (parts, weaker) = item.compared(before);
            (!parts.is_empty()).then(|| Change { name: quotable(key), parts, weaker })
        });
        let stayed = |item: &&I| before.contains_key(item.key()) && now.contains_key(item.key());
        let order = |items: &'_ [I]| -> Vec<String> {
            items.iter().filter(stayed).map(|item| item.key().to_owned()).collect()
        };
        Self {
            added: missing(&before, &now),
            removed: missing(&now, &before),
            changed: changed.collect(),
            reordered: order(old) != order(new),
        }
    }

    /// Nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { added, removed, changed, reordered } = self;
        added.is_empty() && removed.is_empty() && changed.is_empty() && !reordered
    }
}

fn by_key<I: Item>(items: &[I]) -> BTreeMap<&str, &I> {
    items.iter().map(|item| (item.key(), item)).collect()
}

fn places(catalog: &Catalog) -> Vec<Place<'_>> {
    let templates = catalog.templates().iter().map(Place::Template);
    catalog.resources().iter().map(Place::Resource).chain(templates).collect()
}

/// The plugins whose advice, as far as it is granted, differs.
fn instructions(old: &Catalog, new: &Catalog) -> Vec<PluginId> {
    fn advice(catalog: &Catalog) -> BTreeMap<&PluginId, &str> {
        let granted = catalog.members().iter().filter(|member| member.policy().instructions);
        let all =
            granted.map(|member| (member.id(), member.plugin().manifest().info.instructions.as_deref()));
        all.filter_map(|(id, instructions)| Some((id, instructions?))).collect()
    }
    let (before, now) = (advice(old), advice(new));
    let plugins: BTreeSet<_> = before.keys().chain(now.keys()).copied().collect();
    plugins.into_iter().filter(|plugin| before.get(plugin) != now.get(plugin)).cloned().collect()
}

impl Item for ToolEntry {
    fn key(&self) -> &str {
        self.public().as_str()
    }

    fn member(&self) -> &Member {
        &self.member
    }

    fn at(&self) -> usize {
        self.at
    }

    fn compared(&self, before: &Self) -> (Vec<Part>, Vec<Weaker>) {
        let weaker = Weaker::between(&before.tool().hints, &self.tool().hints);
        (parts::of_tool(before, self), weaker)
    }
}

impl Item for PromptEntry {
    fn key(&self) -> &str {
        self.public().as_str()
    }

    fn member(&self) -> &Member {
        &self.member
    }

    fn at(&self) -> usize {
        self.at
    }

    fn compared(&self, before: &Self) -> (Vec<Part>, Vec<Weaker>) {
        (parts::of_prompt(before, self), Vec::new())
    }
}

impl Item for Place<'_> {
    fn key(&self) -> &str {
        match self {
            Self::Resource(entry) => entry.resource().uri.as_str(),
            Self::Template(entry) => entry.template().uri_template.as_str(),
        }
    }

    fn member(&self) -> &Member {
        match self {
            Self::Resource(entry) => &entry.member,
            Self::Template(entry) => &entry.member,
        }
    }

    fn at(&self) -> usize {
        match self {
            Self::Resource(entry) => entry.at,
            Self::Template(entry) => entry.at,
        }
    }

    fn compared(&self, before: &Self) -> (Vec<Part>, Vec<Weaker>) {
        let parts = match (before, self) {
            (Self::Resource(before), Self::Resource(now)) => parts::of_resource(before, now),
            (Self::Template(before), Self::Template(now)) => parts::of_template(before, now),
            // No URI is a template: the braces of the one can't stand in the other.
            (Self::Resource(_), Self::Template(_)) | (Self::Template(_), Self::Resource(_)) => {
                vec![Part::Origin]
            }
        };
        (parts, Vec::new())
    }
}

#[cfg(test)]
mod tests;
