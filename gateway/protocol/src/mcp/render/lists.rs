//! The results of list requests (2026-07-28, server/tools, server/resources, server/prompts and
//! server/utilities/pagination).

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::catalog::Catalog;

use super::super::identity::Identity;
use super::super::revision::{Feature, Revision};
use super::{PromptItem, ToolItem, View};

/// The time for which clients may cache a list, in milliseconds. It is short because a plugin can be replaced at any
/// time.
const LIST_TTL_MS: u64 = 5_000;

/// The kind of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp) enum ListedItems {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl ListedItems {
    /// The member of the result that contains the items.
    pub(in crate::mcp) fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }
}

/// The callers that can get a result from a cache between client and gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheScope {
    /// Shared: anyone may call the gateway.
    Public,
    /// Not shared: callers authenticate.
    Private,
}

impl CacheScope {
    pub(in crate::mcp) fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

/// The result of a list request.
pub(in crate::mcp) struct ListResult<'a> {
    pub(in crate::mcp) catalog: &'a Catalog,
    pub(in crate::mcp) revision: Revision,
    pub(in crate::mcp) kind: ListedItems,
    pub(in crate::mcp) server: &'a Identity,
    pub(in crate::mcp) scope: CacheScope,
    /// The indices of the items. `None` means all items.
    pub(in crate::mcp) items: Option<&'a [usize]>,
    /// The cursor of the next page.
    pub(in crate::mcp) next: Option<String>,
}

impl ListResult<'_> {
    /// The selected items of `all`.
    fn pick<'i, T>(&self, all: &'i [T]) -> Vec<&'i T> {
        match self.items {
            None => all.iter().collect(),
            Some(items) => items.iter().filter_map(|at| all.get(*at)).collect(),
        }
    }

    fn write_items<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let Self { catalog, revision, kind, .. } = *self;
        let member = kind.member();
        match kind {
            ListedItems::Tools => {
                let tools = self.pick(catalog.tools());
                let items: Vec<_> = tools
                    .into_iter()
                    .map(|entry| ToolItem {
                        name: entry.public_name(),
                        tool: entry.tool(),
                        description: entry.description(),
                        input_schema: entry.shown_input(),
                        output_schema: entry.shown_output(),
                    })
                    .collect();
                map.serialize_entry(member, &views(&items, revision))
            }
            ListedItems::Prompts => {
                let prompts = self.pick(catalog.prompts());
                let items: Vec<_> = prompts
                    .into_iter()
                    .map(|entry| PromptItem { name: entry.public_name(), prompt: entry.prompt() })
                    .collect();
                map.serialize_entry(member, &views(&items, revision))
            }
            ListedItems::Resources => {
                let resources = self.pick(catalog.resources());
                let items: Vec<_> =
                    resources.into_iter().map(|entry| View::new(entry.resource(), revision)).collect();
                map.serialize_entry(member, &items)
            }
            ListedItems::Templates => {
                let templates = self.pick(catalog.templates());
                let items: Vec<_> =
                    templates.into_iter().map(|entry| View::new(entry.template(), revision)).collect();
                map.serialize_entry(member, &items)
            }
        }
    }
}

impl Serialize for ListResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.revision.has(Feature::ResultTypes) {
            map.serialize_entry("resultType", "complete")?;
            map.serialize_entry("ttlMs", &LIST_TTL_MS)?;
            map.serialize_entry("cacheScope", self.scope.as_str())?;
        }
        self.write_items(&mut map)?;
        if let Some(next) = &self.next {
            map.serialize_entry("nextCursor", next)?;
        }
        self.server.write_meta(&mut map, self.revision, &Vec::new())?;
        map.end()
    }
}

fn views<T>(items: &[T], revision: Revision) -> Vec<View<'_, T>> {
    items.iter().map(|item| View::new(item, revision)).collect()
}
