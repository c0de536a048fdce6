//! List results, rendered once for each catalog, revision and kind.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::catalog::Catalog;

use super::identity::Identity;
use super::project::{PromptItem, ToolItem, View, render};
use super::revision::{Feature, Revision};

/// How long a client may keep a list, in milliseconds: short, since a plugin can be replaced at any time.
const LIST_TTL_MS: u64 = 5_000;

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

/// Whether a cache between client and gateway may give one caller's copy to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheScope {
    /// Everybody may call, so everybody may have it.
    Public,
    /// Only who authenticated may have it.
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

/// The rendered lists of one catalog.
#[derive(Debug, Default)]
struct Rendered {
    generation: u64,
    bodies: [[OnceLock<Arc<RawValue>>; 4]; Revision::ALL.len()],
}

/// The rendered lists of the newest catalog that somebody asked for.
#[derive(Debug, Default)]
pub(super) struct Lists {
    current: Mutex<Arc<Rendered>>,
}

impl Lists {
    /// The result of a list request.
    pub(super) fn body(
        &self,
        catalog: &Catalog,
        revision: Revision,
        kind: Kind,
        server: &Identity,
        scope: CacheScope,
    ) -> Arc<RawValue> {
        let rendered = self.rendered(catalog.generation());
        let slot = &rendered.bodies[revision as usize][kind as usize];
        Arc::clone(
            slot.get_or_init(|| Arc::from(render(&ListResult { catalog, revision, kind, server, scope }))),
        )
    }

    fn rendered(&self, generation: u64) -> Arc<Rendered> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.generation != generation {
            *current = Arc::new(Rendered { generation, ..Rendered::default() });
        }
        Arc::clone(&current)
    }
}

struct ListResult<'a> {
    catalog: &'a Catalog,
    revision: Revision,
    kind: Kind,
    server: &'a Identity,
    scope: CacheScope,
}

impl Serialize for ListResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { catalog, revision, kind, server, scope } = *self;
        let mut map = serializer.serialize_map(None)?;
        if revision.has(Feature::ResultTypes) {
            map.serialize_entry("resultType", "complete")?;
            map.serialize_entry("ttlMs", &LIST_TTL_MS)?;
            map.serialize_entry("cacheScope", scope.as_str())?;
        }
        match kind {
            Kind::Tools => {
                let items: Vec<_> = catalog
                    .tools()
                    .iter()
                    .map(|entry| ToolItem { name: entry.public(), tool: entry.tool() })
                    .collect();
                map.serialize_entry("tools", &views(&items, revision))?;
            }
            Kind::Prompts => {
                let items: Vec<_> = catalog
                    .prompts()
                    .iter()
                    .map(|entry| PromptItem { name: entry.public(), prompt: entry.prompt() })
                    .collect();
                map.serialize_entry("prompts", &views(&items, revision))?;
            }
            Kind::Resources => {
                let items: Vec<_> =
                    catalog.resources().iter().map(|entry| View::new(entry.resource(), revision)).collect();
                map.serialize_entry("resources", &items)?;
            }
            Kind::Templates => {
                let items: Vec<_> =
                    catalog.templates().iter().map(|entry| View::new(entry.template(), revision)).collect();
                map.serialize_entry("resourceTemplates", &items)?;
            }
        }
        server.write_meta(&mut map, revision, &Vec::new())?;
        map.end()
    }
}

fn views<T>(items: &[T], revision: Revision) -> Vec<View<'_, T>> {
    items.iter().map(|item| View::new(item, revision)).collect()
}
