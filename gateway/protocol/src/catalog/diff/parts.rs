//! Comparison of listed items, part by part.
//!
//! Parts are compared by `member::see`, which the digests are made of too: if digests differ, a part differs.

use std::fmt::Debug;

use crate::manifest::{Prompt, Resource, ResourceTemplate, Tool, ToolHints};

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

/// The parts that differ, in the order of the enum.
#[derive(Default)]
struct DifferingParts(Vec<ItemPart>);

impl DifferingParts {
    fn compare(mut self, part: ItemPart, before: &dyn Debug, now: &dyn Debug) -> Self {
        if debug_digest(before) != debug_digest(now) {
            self.0.push(part);
        }
        self
    }
}

/// The parts of a tool that differ.
pub(super) fn tool_parts(old: &ToolEntry, new: &ToolEntry) -> Vec<ItemPart> {
    let before = old.tool();
    let now = new.tool();
    // New fields must be compared.
    let Tool { name, title, description, input_schema, output_schema, hints, icons, meta, extra } = before;
    let ToolHints { title: hinted, read_only, destructive, idempotent, open_world, extra: hinted_others } =
        hints;
    let its = &now.hints;
    DifferingParts::default()
        .compare(ItemPart::Origin, &(old.plugin().id(), name), &(new.plugin().id(), &now.name))
        .compare(ItemPart::Title, &(title, hinted), &(&now.title, &its.title))
        .compare(ItemPart::Description, description, &now.description)
        .compare(
            ItemPart::InputSchema,
            &(input_schema, old.shown_input()),
            &(&now.input_schema, new.shown_input()),
        )
        .compare(
            ItemPart::OutputSchema,
            &(output_schema, old.shown_output()),
            &(&now.output_schema, new.shown_output()),
        )
        .compare(
            ItemPart::Hints,
            &(read_only, destructive, idempotent, open_world, hinted_others),
            &(&its.read_only, &its.destructive, &its.idempotent, &its.open_world, &its.extra),
        )
        .compare(ItemPart::Icons, icons, &now.icons)
        .compare(ItemPart::Meta, meta, &now.meta)
        .compare(ItemPart::Others, extra, &now.extra)
        .0
}

/// The parts of a prompt that differ.
pub(super) fn prompt_parts(old: &PromptEntry, new: &PromptEntry) -> Vec<ItemPart> {
    let before = old.prompt();
    let now = new.prompt();
    let Prompt { name, title, description, arguments, icons, meta, extra } = before;
    DifferingParts::default()
        .compare(ItemPart::Origin, &(old.plugin().id(), name), &(new.plugin().id(), &now.name))
        .compare(ItemPart::Title, title, &now.title)
        .compare(ItemPart::Description, description, &now.description)
        .compare(ItemPart::Arguments, arguments, &now.arguments)
        .compare(ItemPart::Icons, icons, &now.icons)
        .compare(ItemPart::Meta, meta, &now.meta)
        .compare(ItemPart::Others, extra, &now.extra)
        .0
}

/// The parts of a resource that differ.
pub(super) fn resource_parts(old: &ResourceEntry, new: &ResourceEntry) -> Vec<ItemPart> {
    let before = old.resource();
    let now = new.resource();
    let Resource { uri: _, name, title, description, mime_type, size, icons, annotations, meta, extra } =
        before;
    DifferingParts::default()
        .compare(ItemPart::Origin, old.plugin().id(), new.plugin().id())
        .compare(ItemPart::Name, name, &now.name)
        .compare(ItemPart::Title, title, &now.title)
        .compare(ItemPart::Description, description, &now.description)
        .compare(ItemPart::MediaType, mime_type, &now.mime_type)
        .compare(ItemPart::Size, size, &now.size)
        .compare(ItemPart::Icons, icons, &now.icons)
        .compare(ItemPart::Annotations, annotations, &now.annotations)
        .compare(ItemPart::Meta, meta, &now.meta)
        .compare(ItemPart::Others, extra, &now.extra)
        .0
}

/// The parts of a template that differ.
pub(super) fn template_parts(old: &TemplateEntry, new: &TemplateEntry) -> Vec<ItemPart> {
    let before = old.template();
    let now = new.template();
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
    } = before;
    DifferingParts::default()
        .compare(ItemPart::Origin, old.plugin().id(), new.plugin().id())
        .compare(ItemPart::Name, name, &now.name)
        .compare(ItemPart::Title, title, &now.title)
        .compare(ItemPart::Description, description, &now.description)
        .compare(ItemPart::MediaType, mime_type, &now.mime_type)
        .compare(ItemPart::Icons, icons, &now.icons)
        .compare(ItemPart::Annotations, annotations, &now.annotations)
        .compare(ItemPart::Meta, meta, &now.meta)
        .compare(ItemPart::Others, extra, &now.extra)
        .0
}
