//! Comparison of listed items, part by part.
//!
//! The digest of an item is made of the same values as those of its parts: if it differs, a part differs.

use crate::manifest::{Prompt, Resource, ResourceTemplate, Tool, ToolHints};
use crate::names::Digest;

use super::super::offer::debug_digest;
use super::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};

/// A part of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemPart {
    /// The owner: another plugin, or another item of the plugin under the same public name.
    Origin,
    /// A resource's name.
    Name,
    /// The display name.
    Title,
    /// The description.
    Description,
    /// The schema of a tool's arguments.
    InputSchema,
    /// The schema of a tool's structured result.
    OutputSchema,
    /// A tool's hints on its effects.
    Hints,
    /// A prompt's arguments.
    Arguments,
    /// A resource's media type.
    MediaType,
    /// A resource's size.
    Size,
    /// The icons.
    Icons,
    /// The audience and importance.
    Annotations,
    /// MCP's `_meta`.
    Meta,
    /// Members that aren't modelled yet.
    Others,
}

impl ItemPart {
    /// The name in the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Origin => "origin",
            Self::Name => "name",
            Self::Title => "title",
            Self::Description => "description",
            Self::InputSchema => "input schema",
            Self::OutputSchema => "output schema",
            Self::Hints => "hints",
            Self::Arguments => "arguments",
            Self::MediaType => "media type",
            Self::Size => "size",
            Self::Icons => "icons",
            Self::Annotations => "annotations",
            Self::Meta => "metadata",
            Self::Others => "other members",
        }
    }
}

/// A digest of each part of an item, in the order of the enum.
pub(super) type PartDigests = Vec<(ItemPart, Digest)>;

/// The parts that differ between two items of the same kind.
pub(super) fn differing_parts(before: &PartDigests, now: &PartDigests) -> Vec<ItemPart> {
    let pairs = before.iter().zip(now);
    pairs.filter(|(before, now)| before != now).map(|((part, _), _)| *part).collect()
}

// In these functions, new fields must be added to the parts.

/// The parts of a tool.
pub(super) fn tool_parts(entry: &ToolEntry) -> PartDigests {
    let Tool { name, title, description: _, input_schema, output_schema, hints, icons, meta, extra } =
        entry.tool();
    let ToolHints { title: hint_title, read_only, destructive, idempotent, open_world, extra: hint_extra } =
        hints;
    vec![
        (ItemPart::Origin, debug_digest(&(entry.plugin().id(), name))),
        (ItemPart::Title, debug_digest(&(title, hint_title))),
        (ItemPart::Description, debug_digest(&entry.description())),
        (ItemPart::InputSchema, debug_digest(&(input_schema, entry.shown_input()))),
        (ItemPart::OutputSchema, debug_digest(&(output_schema, entry.shown_output()))),
        (ItemPart::Hints, debug_digest(&(read_only, destructive, idempotent, open_world, hint_extra))),
        (ItemPart::Icons, debug_digest(icons)),
        (ItemPart::Meta, debug_digest(meta)),
        (ItemPart::Others, debug_digest(extra)),
    ]
}

/// The parts of a prompt.
pub(super) fn prompt_parts(entry: &PromptEntry) -> PartDigests {
    let Prompt { name, title, description, arguments, icons, meta, extra } = entry.prompt();
    vec![
        (ItemPart::Origin, debug_digest(&(entry.plugin().id(), name))),
        (ItemPart::Title, debug_digest(title)),
        (ItemPart::Description, debug_digest(description)),
        (ItemPart::Arguments, debug_digest(arguments)),
        (ItemPart::Icons, debug_digest(icons)),
        (ItemPart::Meta, debug_digest(meta)),
        (ItemPart::Others, debug_digest(extra)),
    ]
}

/// The parts of a resource.
pub(super) fn resource_parts(entry: &ResourceEntry) -> PartDigests {
    let Resource { uri: _, name, title, description, mime_type, size, icons, annotations, meta, extra } =
        entry.resource();
    vec![
        (ItemPart::Origin, debug_digest(entry.plugin().id())),
        (ItemPart::Name, debug_digest(name)),
        (ItemPart::Title, debug_digest(title)),
        (ItemPart::Description, debug_digest(description)),
        (ItemPart::MediaType, debug_digest(mime_type)),
        (ItemPart::Size, debug_digest(size)),
        (ItemPart::Icons, debug_digest(icons)),
        (ItemPart::Annotations, debug_digest(annotations)),
        (ItemPart::Meta, debug_digest(meta)),
        (ItemPart::Others, debug_digest(extra)),
    ]
}

/// The parts of a template.
pub(super) fn template_parts(entry: &TemplateEntry) -> PartDigests {
    let ResourceTemplate {
        uri_template: _,
        name,
        title,
        description,
        mime_type,
        icons,
        annotations,
        meta,
        extra,
    } = entry.template();
    vec![
        (ItemPart::Origin, debug_digest(entry.plugin().id())),
        (ItemPart::Name, debug_digest(name)),
        (ItemPart::Title, debug_digest(title)),
        (ItemPart::Description, debug_digest(description)),
        (ItemPart::MediaType, debug_digest(mime_type)),
        (ItemPart::Icons, debug_digest(icons)),
        (ItemPart::Annotations, debug_digest(annotations)),
        (ItemPart::Meta, debug_digest(meta)),
        (ItemPart::Others, debug_digest(extra)),
    ]
}
