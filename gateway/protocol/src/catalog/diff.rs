//! Differences between two catalogs: for the log, and for operators who review new versions of plugins.
//!
//! Operators choose a plugin by its description of itself, which the next version can change. So everything that
//! clients see is compared field by field, and each field that differs is named. The plugin's own texts are never
//! shown.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::PluginId;
use crate::text::quotable;

use super::{Catalog, CatalogPlugin, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};

mod hints;
mod lines;
mod parts;

pub use hints::WeakerHint;
pub use parts::ItemPart;

/// All differences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogDiff {
    /// Tools, by public name.
    pub tools: KindDiff,
    /// Prompts, by public name.
    pub prompts: KindDiff,
    /// Resources by URI, templates by their text.
    pub resources: KindDiff,
    /// Plugins whose instructions to the model were added, removed or changed, in alphabetical order.
    pub instructions: Vec<PluginId>,
}

/// The differences of one kind. All lists are in alphabetical order. Names are cut if they are longer than a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KindDiff {
    /// New items.
    pub added: Vec<String>,
    /// Removed items.
    pub removed: Vec<String>,
    /// Changed items.
    pub changed: Vec<ItemChange>,
    /// True if the remaining items are in another order.
    pub reordered: bool,
}

/// A changed item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemChange {
    /// Its name or URI.
    pub name: String,
    /// The parts that differ; never empty.
    pub parts: Vec<ItemPart>,
    /// The hints that promise more safety than before. Only tools have hints.
    pub weaker_hints: Vec<WeakerHint>,
}

/// An item of a list, comparable with another one of the same name.
trait DiffItem {
    fn key(&self) -> &str;

    fn member(&self) -> &CatalogPlugin;

    /// The index of the item in its plugin's offer.
    fn at(&self) -> usize;

    /// The parts that differ from `before`, and the weakened hints.
    fn compared(&self, before: &Self) -> (Vec<ItemPart>, Vec<WeakerHint>);
}

/// A resource or a template.
enum ResourceItem<'c> {
    Resource(&'c ResourceEntry),
    Template(&'c TemplateEntry),
}

impl CatalogDiff {
    /// The differences from `old` to `new`. Empty if and only if clients see the same, that is, if all
    /// [`Catalog::digest`]s are equal.
    #[must_use]
    pub fn between(old: &Catalog, new: &Catalog) -> Self {
        Self {
            tools: KindDiff::between(old.tools(), new.tools()),
            prompts: KindDiff::between(old.prompts(), new.prompts()),
            resources: KindDiff::between(&resource_items(old), &resource_items(new)),
            instructions: changed_instructions(old, new),
        }
    }

    /// Reports whether there are no differences.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { tools, prompts, resources, instructions } = self;
        tools.is_empty() && prompts.is_empty() && resources.is_empty() && instructions.is_empty()
    }

    /// The tools whose hints promise more safety than before: clients can ask users less often before they call them.
    pub fn weakened_tools(&self) -> impl Iterator<Item = &ItemChange> {
        self.tools.changed.iter().filter(|change| !change.weaker_hints.is_empty())
    }
}

impl KindDiff {
    fn between<I: DiffItem>(old: &[I], new: &[I]) -> Self {
        let before = by_key(old);
        let now = by_key(new);
        let missing = |from: &BTreeMap<&str, &I>, of: &BTreeMap<&str, &I>| {
            of.keys().filter(|key| !from.contains_key(*key)).map(|key| quotable(key)).collect()
        };
        let changed = now.iter().filter_map(|(key, item)| {
            let before = before.get(key)?;
            if item.member().is_same_load(before.member()) && item.at() == before.at() {
                return None; // the usual case
            }
            let (parts, weaker) = item.compared(before);
            (!parts.is_empty()).then(|| ItemChange { name: quotable(key), parts, weaker_hints: weaker })
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

    /// Reports whether there are no differences.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { added, removed, changed, reordered } = self;
        added.is_empty() && removed.is_empty() && changed.is_empty() && !reordered
    }
}

fn by_key<I: DiffItem>(items: &[I]) -> BTreeMap<&str, &I> {
    items.iter().map(|item| (item.key(), item)).collect()
}

fn resource_items(catalog: &Catalog) -> Vec<ResourceItem<'_>> {
    let templates = catalog.templates().iter().map(ResourceItem::Template);
    catalog.resources().iter().map(ResourceItem::Resource).chain(templates).collect()
}

/// The plugins whose granted instructions differ.
fn changed_instructions(old: &Catalog, new: &Catalog) -> Vec<PluginId> {
    fn advice(catalog: &Catalog) -> BTreeMap<&PluginId, &str> {
        let granted = catalog.plugins().iter().filter(|member| member.policy().instructions);
        let all =
            granted.map(|member| (member.id(), member.plugin().manifest().info.instructions.as_deref()));
        all.filter_map(|(id, instructions)| Some((id, instructions?))).collect()
    }
    let before = advice(old);
    let now = advice(new);
    let plugins: BTreeSet<_> = before.keys().chain(now.keys()).copied().collect();
    plugins.into_iter().filter(|plugin| before.get(plugin) != now.get(plugin)).cloned().collect()
}

impl DiffItem for ToolEntry {
    fn key(&self) -> &str {
        self.public_name().as_str()
    }

    fn member(&self) -> &CatalogPlugin {
        &self.member
    }

    fn at(&self) -> usize {
        self.index
    }

    fn compared(&self, before: &Self) -> (Vec<ItemPart>, Vec<WeakerHint>) {
        let weaker = WeakerHint::between(&before.tool().hints, &self.tool().hints);
        (parts::tool_parts(before, self), weaker)
    }
}

impl DiffItem for PromptEntry {
    fn key(&self) -> &str {
        self.public_name().as_str()
    }

    fn member(&self) -> &CatalogPlugin {
        &self.member
    }

    fn at(&self) -> usize {
        self.index
    }

    fn compared(&self, before: &Self) -> (Vec<ItemPart>, Vec<WeakerHint>) {
        (parts::prompt_parts(before, self), Vec::new())
    }
}

impl DiffItem for ResourceItem<'_> {
    fn key(&self) -> &str {
        match self {
            Self::Resource(entry) => entry.resource().uri.as_str(),
            Self::Template(entry) => entry.template().uri_template.as_str(),
        }
    }

    fn member(&self) -> &CatalogPlugin {
        match self {
            Self::Resource(entry) => &entry.member,
            Self::Template(entry) => &entry.member,
        }
    }

    fn at(&self) -> usize {
        match self {
            Self::Resource(entry) => entry.index,
            Self::Template(entry) => entry.index,
        }
    }

    fn compared(&self, before: &Self) -> (Vec<ItemPart>, Vec<WeakerHint>) {
        let parts = match (before, self) {
            (Self::Resource(before), Self::Resource(now)) => parts::resource_parts(before, now),
            (Self::Template(before), Self::Template(now)) => parts::template_parts(before, now),
            // No URI is a template: URIs can't contain braces.
            (Self::Resource(_), Self::Template(_)) | (Self::Template(_), Self::Resource(_)) => {
                vec![ItemPart::Origin]
            }
        };
        (parts, Vec::new())
    }
}

#[cfg(test)]
mod tests;
