//! Listed items: tools, resources, templates, prompts (2026-07-28, server/tools, server/resources, server/prompts).

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::json::Json;
use crate::manifest::{Prompt, PromptArgument, Resource, ResourceTemplate, Tool, ToolHints};
use crate::names::PublicName;

use super::super::revision::Feature;
use super::{CommonMembers, View, has_later_members, write_later_members, write_optional};
use crate::mcp::structured;

/// A tool under its public name.
#[derive(Debug)]
pub(in crate::mcp) struct ToolItem<'a> {
    /// The public name.
    pub(in crate::mcp) name: &'a PublicName,
    /// The tool.
    pub(in crate::mcp) tool: &'a Tool,
    /// The description that clients see.
    pub(in crate::mcp) description: &'a str,
    /// The schema of its arguments, as shown to clients.
    pub(in crate::mcp) input_schema: &'a Json,
    /// The schema of its structured result, as shown to clients.
    pub(in crate::mcp) output_schema: Option<&'a Json>,
}

/// A prompt under its public name.
#[derive(Debug)]
pub(in crate::mcp) struct PromptItem<'a> {
    /// The public name.
    pub(in crate::mcp) name: &'a PublicName,
    /// The prompt.
    pub(in crate::mcp) prompt: &'a Prompt,
}

impl Serialize for View<'_, ToolItem<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ToolItem { name, tool, description, input_schema, output_schema } = self.value;
        let Tool {
            name: _,
            title,
            description: _,
            input_schema: _,
            output_schema: _,
            hints,
            icons,
            meta,
            extra,
        } = tool;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", name.as_str())?;
        map.serialize_entry("description", description)?;
        if self.revision.has(Feature::BooleanSchemas) {
            map.serialize_entry("inputSchema", input_schema)?;
        } else {
            map.serialize_entry("inputSchema", &*structured::plain_properties(input_schema))?;
        }
        if self.revision.has(Feature::AnyStructured) {
            write_optional(&mut map, "outputSchema", *output_schema)?;
        } else if self.revision.has(Feature::Structured) {
            let schema = output_schema.map(structured::object_schema);
            write_optional(&mut map, "outputSchema", schema.as_deref())?;
        }
        let hints = self.of(hints);
        if self.revision.has(Feature::ToolHints) && hints.say_something() {
            map.serialize_entry("annotations", &hints)?;
        }
        let common = CommonMembers { title: title.as_ref(), icons, annotations: None, meta, extra };
        common.write(&mut map, self.revision)?;
        map.end()
    }
}

impl View<'_, ToolHints> {
    /// Reports whether there is anything that the revision has.
    fn say_something(&self) -> bool {
        let bare = ToolHints { extra: Vec::new(), ..self.value.clone() };
        bare != ToolHints::default() || (!self.value.extra.is_empty() && has_later_members(self.revision))
    }
}

impl Serialize for View<'_, ToolHints> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ToolHints { title, read_only, destructive, idempotent, open_world, extra } = self.value;
        let mut map = serializer.serialize_map(None)?;
        write_optional(&mut map, "title", title.as_ref())?;
        write_optional(&mut map, "readOnlyHint", read_only.as_ref())?;
        write_optional(&mut map, "destructiveHint", destructive.as_ref())?;
        write_optional(&mut map, "idempotentHint", idempotent.as_ref())?;
        write_optional(&mut map, "openWorldHint", open_world.as_ref())?;
        write_later_members(&mut map, self.revision, extra)?;
        map.end()
    }
}

impl View<'_, Resource> {
    /// The members of a resource, which a link to it also has.
    pub(super) fn write_members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let Resource { uri, name, title, description, mime_type, size, icons, annotations, meta, extra } =
            self.value;
        map.serialize_entry("uri", uri.as_str())?;
        map.serialize_entry("name", name)?;
        write_optional(map, "description", description.as_ref())?;
        write_optional(map, "mimeType", mime_type.as_ref())?;
        write_optional(map, "size", size.as_ref())?;
        let common =
            CommonMembers { title: title.as_ref(), icons, annotations: annotations.as_ref(), meta, extra };
        common.write(map, self.revision)
    }
}

impl Serialize for View<'_, Resource> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write_members(&mut map)?;
        map.end()
    }
}

impl Serialize for View<'_, ResourceTemplate> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ResourceTemplate {
            uri_template,
            name,
            title,
            description,
            mime_type,
            icons,
            annotations,
            meta,
            extra,
        } = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("uriTemplate", uri_template.as_str())?;
        map.serialize_entry("name", name)?;
        write_optional(&mut map, "description", description.as_ref())?;
        write_optional(&mut map, "mimeType", mime_type.as_ref())?;
        let common =
            CommonMembers { title: title.as_ref(), icons, annotations: annotations.as_ref(), meta, extra };
        common.write(&mut map, self.revision)?;
        map.end()
    }
}

impl Serialize for View<'_, PromptItem<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let PromptItem { name, prompt } = self.value;
        let Prompt { name: _, title, description, arguments, icons, meta, extra } = prompt;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", name.as_str())?;
        map.serialize_entry("description", description)?;
        if !arguments.is_empty() {
            map.serialize_entry("arguments", &self.each(arguments))?;
        }
        CommonMembers { title: title.as_ref(), icons, annotations: None, meta, extra }
            .write(&mut map, self.revision)?;
        map.end()
    }
}

impl Serialize for View<'_, PromptArgument> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let PromptArgument { name, title, description, required, extra } = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", name)?;
        if self.revision.has(Feature::Titles) {
            write_optional(&mut map, "title", title.as_ref())?;
        }
        write_optional(&mut map, "description", description.as_ref())?;
        map.serialize_entry("required", required)?;
        write_later_members(&mut map, self.revision, extra)?;
        map.end()
    }
}
