//! Converts the internal model to a revision's JSON: the only module that depends on the form of MCP's objects
//! (2025-11-25, schema; 2026-07-28, schema).
//!
//! A [`View`] pairs a value with a revision and serialises as that revision's object. Members that the revision doesn't
//! have are left out, absent members are never written as `null`, and unsupported kinds of content become text.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::json::{self, Json};
use crate::manifest::{Annotations, Icon, IconTheme, JsonMembers, Role};

use super::revision::{Feature, Revision};

mod content;
mod items;
mod lists;
mod results;

pub use lists::CacheScope;

pub(super) use items::{PromptItem, ToolItem};
pub(super) use lists::{ListResult, ListedItems};
pub(super) use results::{CompletionResult, InputRequired, PromptMessages, ReadContents, ToolAnswer};

/// A value as one revision sees it.
#[derive(Debug)]
pub(super) struct View<'a, T: ?Sized> {
    value: &'a T,
    revision: Revision,
}

impl<T: ?Sized> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for View<'_, T> {}

impl<'a, T: ?Sized> View<'a, T> {
    /// `value` as `revision` sees it.
    pub(super) fn new(value: &'a T, revision: Revision) -> Self {
        Self { value, revision }
    }

    /// Another value, seen by the same revision.
    fn of<U: ?Sized>(&self, value: &'a U) -> View<'a, U> {
        View { value, revision: self.revision }
    }

    /// A list of values, each seen by the same revision.
    fn each<U>(&self, values: &'a [U]) -> Vec<View<'a, U>> {
        values.iter().map(|value| self.of(value)).collect()
    }
}

/// The text of any view as JSON.
pub(super) fn render(value: &impl Serialize) -> Json {
    json::to_json(value).expect("views have text keys and no fallible parts")
}

/// Writes an optional member.
fn write_optional<M: SerializeMap>(
    map: &mut M,
    key: &str,
    value: Option<&impl Serialize>,
) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(key, value),
        None => Ok(()),
    }
}

/// The common members of listed items: `title`, `icons`, `annotations`, `_meta`, and members of a later revision.
struct CommonMembers<'a> {
    title: Option<&'a String>,
    icons: &'a [Icon],
    annotations: Option<&'a Annotations>,
    meta: &'a JsonMembers,
    extra: &'a JsonMembers,
}

impl CommonMembers<'_> {
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        let Self { title, icons, annotations, meta, extra } = self;
        if revision.has(Feature::Titles) {
            write_optional(map, "title", *title)?;
        }
        if revision.has(Feature::Icons) && !icons.is_empty() {
            map.serialize_entry("icons", &View::new(*icons, revision).each(icons))?;
        }
        write_decoration(map, revision, *annotations, meta, extra)
    }
}

/// The common members of content blocks: `annotations`, `_meta`, and members of a later revision.
fn write_decoration<M: SerializeMap>(
    map: &mut M,
    revision: Revision,
    annotations: Option<&Annotations>,
    meta: &JsonMembers,
    extra: &JsonMembers,
) -> Result<(), M::Error> {
    if let Some(annotations) = annotations.map(|it| View::new(it, revision)).filter(View::says_something) {
        map.serialize_entry("annotations", &annotations)?;
    }
    if revision.has(Feature::ItemMeta) && !meta.is_empty() {
        map.serialize_entry("_meta", &JsonObject(meta))?;
    }
    write_later_members(map, revision, extra)
}

/// Members that aren't modelled yet. Only the latest revision can have them.
fn write_later_members<M: SerializeMap>(
    map: &mut M,
    revision: Revision,
    extra: &JsonMembers,
) -> Result<(), M::Error> {
    if has_later_members(revision) {
        for (key, value) in extra {
            map.serialize_entry(key, value)?;
        }
    }
    Ok(())
}

fn has_later_members(revision: Revision) -> bool {
    Revision::ALL.last() == Some(&revision)
}

/// An object of exactly these members.
pub(super) struct JsonObject<'a>(pub(super) &'a JsonMembers);

impl Serialize for JsonObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl Serialize for View<'_, Icon> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Icon { src, mime_type, sizes, theme, extra } = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("src", src)?;
        write_optional(&mut map, "mimeType", mime_type.as_ref())?;
        write_optional(&mut map, "sizes", sizes.as_ref())?;
        let theme = theme.map(|theme| match theme {
            IconTheme::Light => "light",
            IconTheme::Dark => "dark",
        });
        write_optional(&mut map, "theme", theme.as_ref())?;
        write_later_members(&mut map, self.revision, extra)?;
        map.end()
    }
}

impl Serialize for View<'_, Annotations> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Annotations { audience, priority, last_modified, extra } = self.value;
        let mut map = serializer.serialize_map(None)?;
        let audience = audience
            .as_ref()
            .filter(|roles| !roles.is_empty())
            .map(|roles| roles.iter().map(|role| role_name(*role)).collect::<Vec<_>>());
        write_optional(&mut map, "audience", audience.as_ref())?;
        write_optional(&mut map, "priority", priority.as_ref())?;
        if self.revision.has(Feature::LastModified) {
            write_optional(&mut map, "lastModified", last_modified.as_ref())?;
        }
        write_later_members(&mut map, self.revision, extra)?;
        map.end()
    }
}

impl View<'_, Annotations> {
    /// Reports whether there is anything that the revision has.
    fn says_something(&self) -> bool {
        let Annotations { audience, priority, last_modified, extra } = self.value;
        audience.as_ref().is_some_and(|roles| !roles.is_empty())
            || priority.is_some()
            || (last_modified.is_some() && self.revision.has(Feature::LastModified))
            || (!extra.is_empty() && has_later_members(self.revision))
    }
}

/// MCP's name for a role.
fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}
