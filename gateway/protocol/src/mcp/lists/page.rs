//! Pages of a list, and the cursors between them (2026-07-28, server/utilities/pagination).
//!
//! Pages are sorted by the items' keys, and a cursor contains the key of the last item that was shown. So an item that
//! stays is listed exactly once, however the catalog changes between two pages.

use std::num::NonZeroU32;

use crate::catalog::Catalog;

use super::super::render::ListedItems;
use super::super::seal::{RandomnessError, SealingKey};

/// The indices of the items of one kind in the catalog, sorted by key.
#[derive(Debug)]
pub(super) struct SortedItems(Vec<usize>);

/// A page of a list.
#[derive(Debug)]
pub(super) struct Page<'a> {
    /// The indices of its items in the catalog.
    pub(super) items: &'a [usize],
    /// The key of the last item, if more items follow.
    pub(super) last: Option<&'a str>,
}

impl SortedItems {
    pub(super) fn new(catalog: &Catalog, kind: ListedItems) -> Self {
        let keys = keys(catalog, kind);
        let mut places: Vec<usize> = (0..keys.len()).collect();
        places.sort_by_key(|at| keys[*at]);
        Self(places)
    }

    /// The items after the key `after`, or from the first if it is `None`. Without a size, all items that are left.
    pub(super) fn page<'a>(
        &'a self,
        catalog: &'a Catalog,
        kind: ListedItems,
        after: Option<&str>,
        size: Option<NonZeroU32>,
    ) -> Page<'a> {
        let keys = keys(catalog, kind);
        let shown = after.map_or(0, |after| self.0.partition_point(|at| keys[*at] <= after));
        let rest = &self.0[shown..];
        let size = size.map_or(rest.len(), |size| rest.len().min(size.get() as usize));
        let (items, others) = rest.split_at(size);
        let last = items.last().filter(|_| !others.is_empty()).map(|at| keys[*at]);
        Page { items, last }
    }
}

/// The number of items of one kind.
pub(super) fn count(catalog: &Catalog, kind: ListedItems) -> usize {
    match kind {
        ListedItems::Tools => catalog.tools().len(),
        ListedItems::Prompts => catalog.prompts().len(),
        ListedItems::Resources => catalog.resources().len(),
        ListedItems::Templates => catalog.templates().len(),
    }
}

/// The keys of the items of one kind, in the order of the catalog.
pub(super) fn keys(catalog: &Catalog, kind: ListedItems) -> Vec<&str> {
    match kind {
        ListedItems::Tools => catalog.tools().iter().map(|it| it.public_name().as_str()).collect(),
        ListedItems::Prompts => catalog.prompts().iter().map(|it| it.public_name().as_str()).collect(),
        ListedItems::Resources => catalog.resources().iter().map(|it| it.resource().uri.as_str()).collect(),
        ListedItems::Templates => {
            catalog.templates().iter().map(|it| it.template().uri_template.as_str()).collect()
        }
    }
}

/// The cursor after the item with the key `last`.
pub(in crate::mcp) fn write_cursor(
    key: &SealingKey,
    purpose: &str,
    last: &str,
) -> Result<String, RandomnessError> {
    key.seal(purpose, last.as_bytes())
}

/// The key in a cursor. `None` if the cursor isn't valid for this list.
pub(in crate::mcp) fn read_cursor(key: &SealingKey, purpose: &str, cursor: &str) -> Option<String> {
    String::from_utf8(key.open(purpose, cursor)?).ok()
}

/// The purpose of the cursors of a list. Those of one view aren't valid in another. The names of the roles identify the
/// view, so that a cursor stays valid if their patterns or the plugins change.
pub(in crate::mcp) fn purpose(kind: ListedItems, view: &Catalog) -> String {
    let roles = view.role_names().map(|names| format!(" for roles {}", names.join(" "))).unwrap_or_default();
    format!("cursor of {}{roles}", kind.member())
}
