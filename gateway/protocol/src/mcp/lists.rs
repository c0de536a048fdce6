//! List results: complete lists are rendered once for each catalog, revision and kind, pages on request (2026-07-28,
//! server/tools, server/resources, server/prompts and server/utilities/pagination).

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::catalog::Catalog;

use super::errors::ProtocolError;
use super::identity::Identity;
use super::params::Params;
use super::render::{PromptItem, ToolItem, View, render};
use super::revision::{Feature, Revision};
use super::{Protocol, RequestAnswer, RequestContext};

mod page;

use page::{Page, SortedItems};
#[cfg(any(test, feature = "fuzz"))]
pub(super) use page::{read_cursor, write_cursor};

/// The time for which clients may cache a list, in milliseconds. It is short because a plugin can be replaced at any
/// time.
const LIST_TTL_MS: u64 = 5_000;

/// The kind of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListedItems {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl ListedItems {
    /// The member of the result that contains the items.
    fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }
}

/// The callers that can get a result from a cache between client and gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheScope {
    /// Shared: anyone may call the gateway.
    Public,
    /// Not shared: callers authenticate.
    Private,
}

impl CacheScope {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

/// The rendered lists of one catalog, rendered on first use.
#[derive(Debug, Default)]
struct RenderedLists {
    generation: u64,
    bodies: [[OnceLock<Arc<RawValue>>; 4]; Revision::ALL.len()],
    sorted: [OnceLock<SortedItems>; 4],
}

/// The rendered lists of the latest catalog that was used.
#[derive(Debug)]
pub(super) struct ListCache {
    page_size: Option<NonZeroU32>,
    current: Mutex<Arc<RenderedLists>>,
}

impl Protocol {
    /// The result of a list request: the whole list, or a page if there is a page size.
    pub(super) fn list(
        &self,
        exchange: &RequestContext,
        kind: ListedItems,
        params: &Params,
    ) -> Result<RequestAnswer, ProtocolError> {
        let after = match params.get("cursor") {
            None | Some(Value::Null) => None,
            Some(Value::String(cursor)) => {
                Some(page::read_cursor(&self.sealing_key, kind, cursor).ok_or_else(invalid_cursor)?)
            }
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                return Err(ProtocolError::params("/cursor", "`cursor` must be a string"));
            }
        };
        let scope = self.cache_scope;
        let page_size = self.lists.page_size;
        let catalog = self.dispatcher.catalog();
        let rendered = self.lists.rendered(catalog.generation());
        let list = |items, next| {
            let catalog = &*catalog;
            let revision = exchange.revision;
            let server = &self.identity;
            render(&ListResult { catalog, revision, kind, server, scope, items, next })
        };
        let fits = |size: NonZeroU32| page::count(&catalog, kind) <= size.get() as usize;
        if after.is_none() && page_size.is_none_or(fits) {
            let slot = &rendered.bodies[exchange.revision as usize][kind as usize];
            return Ok(RequestAnswer::Shared(Arc::clone(slot.get_or_init(|| Arc::from(list(None, None))))));
        }
        let sorted = rendered.sorted[kind as usize].get_or_init(|| SortedItems::new(&catalog, kind));
        let Page { items, last } = sorted.page(&catalog, kind, after.as_deref(), page_size);
        let next = last.map(|last| page::write_cursor(&self.sealing_key, kind, last)).transpose();
        let next = next.map_err(|error| ProtocolError::internal(error.to_string()))?;
        Ok(RequestAnswer::Result(list(Some(items), next)))
    }
}

fn invalid_cursor() -> ProtocolError {
    let message = "invalid cursor for this list; request the first page again";
    ProtocolError::params("/cursor", message)
}

impl ListCache {
    /// Lists in pages of `page_size`, or whole lists.
    pub(super) fn new(page_size: Option<NonZeroU32>) -> Self {
        Self { page_size, current: Mutex::default() }
    }

    fn rendered(&self, generation: u64) -> Arc<RenderedLists> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.generation != generation {
            *current = Arc::new(RenderedLists { generation, ..RenderedLists::default() });
        }
        Arc::clone(&current)
    }
}

struct ListResult<'a> {
    catalog: &'a Catalog,
    revision: Revision,
    kind: ListedItems,
    server: &'a Identity,
    scope: CacheScope,
    /// The indices of the items. `None` means all items.
    items: Option<&'a [usize]>,
    /// The cursor of the next page.
    next: Option<String>,
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

#[cfg(test)]
mod tests;
