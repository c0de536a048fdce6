//! List requests: complete lists are rendered once for each view, revision and kind, pages on request (2026-07-28,
//! server/tools, server/resources, server/prompts and server/utilities/pagination).

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::catalog::ViewId;
use crate::json::{self, Json};

use super::errors::ProtocolError;
use super::params::Params;
use super::render::{CacheScope, ListResult, ListedItems, render};
use super::revision::Revision;
use super::{Protocol, RequestAnswer, RequestContext};

mod page;

use page::{Page, SortedItems};
#[cfg(any(test, feature = "fuzz"))]
pub(super) use page::{read_cursor, write_cursor};

/// The maximum number of views whose lists are kept.
const MAX_RENDERED_VIEWS: usize = 32;

/// The size of the kept lists, in bytes, above which they are dropped for those of another view.
const MAX_RENDERED_BYTES: usize = 16 << 20;

/// The rendered lists of one view, rendered on first use.
#[derive(Debug, Default)]
struct RenderedLists {
    bodies: [[OnceLock<Arc<Json>>; 4]; Revision::ALL.len()],
    sorted: [OnceLock<SortedItems>; 4],
}

impl RenderedLists {
    fn bytes(&self) -> usize {
        self.bodies.iter().flatten().filter_map(OnceLock::get).map(|body| body.get().len()).sum()
    }
}

/// The rendered lists of the latest catalog that was used, and of its views.
#[derive(Debug)]
pub(super) struct ListCache {
    page_size: Option<NonZeroU32>,
    current: Mutex<HashMap<(ViewId, CacheScope), Arc<RenderedLists>>>,
}

impl Protocol {
    /// The result of a list request: the whole list, or a page if there is a page size.
    pub(super) fn list(
        &self,
        request_context: &RequestContext,
        kind: ListedItems,
        params: &Params,
    ) -> Result<RequestAnswer, ProtocolError> {
        let principal = request_context.caller.principal();
        let view = self.dispatcher.view_for(&principal);
        let purpose = page::purpose(kind, &view);
        let after = match params.get("cursor").filter(|cursor| *cursor != "null") {
            None => None,
            Some(cursor) => {
                let not_string = || ProtocolError::params("/cursor", "`cursor` must be a string");
                let cursor = json::string_value(cursor).ok_or_else(not_string)?;
                Some(page::read_cursor(&self.sealing_key, &purpose, &cursor).ok_or_else(invalid_cursor)?)
            }
        };
        let scope = self.cache_scope(&principal, &view);
        let page_size = self.lists.page_size;
        let rendered = self.lists.rendered(view.view_id(), scope);
        let list = |items, next| {
            let catalog = &*view;
            let revision = request_context.revision;
            let server = &self.identity;
            render(&ListResult { catalog, revision, kind, server, scope, items, next })
        };
        let fits = |size: NonZeroU32| page::count(&view, kind) <= size.get() as usize;
        if after.is_none() && page_size.is_none_or(fits) {
            let slot = &rendered.bodies[request_context.revision as usize][kind as usize];
            return Ok(RequestAnswer::Shared(Arc::clone(slot.get_or_init(|| Arc::new(list(None, None))))));
        }
        let sorted = rendered.sorted[kind as usize].get_or_init(|| SortedItems::new(&view, kind));
        let Page { items, last } = sorted.page(&view, kind, after.as_deref(), page_size);
        let next = last.map(|last| page::write_cursor(&self.sealing_key, &purpose, last)).transpose();
        let next = next.map_err(|error| ProtocolError::internal(error.to_string()))?;
        Ok(list(Some(items), next).into())
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

    fn rendered(&self, id: ViewId, scope: CacheScope) -> Arc<RenderedLists> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if !current.contains_key(&(id, scope)) {
            let bytes: usize = current.values().map(|lists| lists.bytes()).sum();
            if current.len() >= MAX_RENDERED_VIEWS || bytes > MAX_RENDERED_BYTES {
                current.clear();
            }
        }
        if current.keys().next().is_some_and(|(other, _)| other.generation != id.generation) {
            current.clear();
        }
        Arc::clone(current.entry((id, scope)).or_default())
    }
}

#[cfg(test)]
mod tests;
