//! Content blocks, and their replacements in older revisions (2026-07-28, server/tools and server/prompts).

use base64::Engine as _;
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::call::{Content, EmbeddedResource, MediaContent, ResourceBody, ResourceContents, TextContent};

use super::super::revision::Feature;
use super::{JsonObject, View, write_decoration, write_later_members, write_optional};

impl Serialize for View<'_, Content> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Content::Text(text) => self.of(text).serialize(serializer),
            Content::Image(media) => self.of(media).write(serializer, "image"),
            Content::Audio(media) if self.revision.has(Feature::Audio) => {
                self.of(media).write(serializer, "audio")
            }
            Content::Audio(media) => {
                let size = media.data.len();
                stand_in(serializer, &format!("[audio of type {}, {size} bytes]", media.mime_type))
            }
            Content::Link(resource) if self.revision.has(Feature::ResourceLinks) => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("type", "resource_link")?;
                self.of(&**resource).write_members(&mut map)?;
                map.end()
            }
            Content::Link(resource) => stand_in(serializer, resource.uri.as_str()),
            Content::Embedded(embedded) => self.of(embedded).serialize(serializer),
            // No released revision has it: its text is better than a block that clients drop.
            Content::Other(_, block) => stand_in(serializer, block.get()),
        }
    }
}

/// A text block instead of one that the revision doesn't have.
fn stand_in<S: Serializer>(serializer: S, text: &str) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("type", "text")?;
    map.serialize_entry("text", text)?;
    map.end()
}

impl Serialize for View<'_, TextContent> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let TextContent { text, annotations, meta, extra } = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "text")?;
        map.serialize_entry("text", text)?;
        write_decoration(&mut map, self.revision, annotations.as_ref(), meta, extra)?;
        map.end()
    }
}

impl View<'_, MediaContent> {
    fn write<S: Serializer>(&self, serializer: S, kind: &str) -> Result<S::Ok, S::Error> {
        let MediaContent { data, mime_type, annotations, meta, extra } = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", kind)?;
        map.serialize_entry("data", &Base64(data))?;
        map.serialize_entry("mimeType", mime_type)?;
        write_decoration(&mut map, self.revision, annotations.as_ref(), meta, extra)?;
        map.end()
    }
}

impl Serialize for View<'_, EmbeddedResource> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let EmbeddedResource { contents, annotations, meta, extra } = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "resource")?;
        map.serialize_entry("resource", &self.of(contents))?;
        write_decoration(&mut map, self.revision, annotations.as_ref(), meta, extra)?;
        map.end()
    }
}

impl Serialize for View<'_, ResourceContents> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ResourceContents { uri, mime_type, body, meta, extra } = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("uri", uri.as_str())?;
        write_optional(&mut map, "mimeType", mime_type.as_ref())?;
        match body {
            ResourceBody::Text(text) => map.serialize_entry("text", text)?,
            ResourceBody::Blob(bytes) => map.serialize_entry("blob", &Base64(bytes))?,
        }
        if self.revision.has(Feature::ItemMeta) && !meta.is_empty() {
            map.serialize_entry("_meta", &JsonObject(meta))?;
        }
        write_later_members(&mut map, self.revision, extra)?;
        map.end()
    }
}

/// Bytes in standard Base64 with padding, as MCP requires.
struct Base64<'a>(&'a [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.len() < 1024 {
            return serializer.collect_str(&Base64Display::new(self.0, &STANDARD));
        }
        serializer.serialize_str(&STANDARD.encode(self.0))
    }
}
