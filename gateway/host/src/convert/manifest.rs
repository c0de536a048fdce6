//! The description of a plugin: its information and its lists.

use std::collections::BTreeSet;

use moongate_config::{LimitKey, Limits};
use moongate_model::manifest::{
    ItemKind, PluginInfo, Prompt, PromptArgument, RejectedItem, Resource, ResourceTemplate, Tool, ToolHints,
    UriTemplate,
};
use moongate_model::names::{PromptName, ResourceUri, ToolName};
use moongate_model::text::{is_hidden, truncated};

use super::{
    ConvertError, ErrorPath as _, annotations, description, extra, icons, media_type, meta, name, schema,
    title,
};
use crate::bindings::{lifecycle, prompts, resources, tools, types};
use crate::diagnostics::text;

/// The information about the plugin.
pub(crate) fn info(given: lifecycle::PluginInfo, limits: &Limits) -> Result<PluginInfo, ConvertError> {
    let lifecycle::PluginInfo {
        name: its_name,
        version,
        title: its_title,
        description: about,
        website_url,
        icons: pictures,
        instructions,
        config_schema,
        meta: its_meta,
        extra: more,
    } = given;
    let covered =
        ["name", "version", "title", "description", "websiteUrl", "icons", "instructions", "configSchema"];
    Ok(PluginInfo {
        name: name(&its_name),
        version: text::clean_line(&version, text::MAX_WORD_BYTES),
        title: title(its_title),
        description: description(about),
        website_url: website_url.map(|url| name(&url)).filter(|url| !url.is_empty()),
        icons: icons(pictures)?,
        instructions: instructions
            .map(|text| text::clean_block(text, text::MAX_INSTRUCTIONS_BYTES))
            .filter(|text| !text.trim().is_empty()),
        settings_schema: config_schema
            .map(|given| schema::any(given, limits))
            .transpose()
            .at("`config-schema`")?,
        meta: meta(its_meta)?,
        extra: extra(more, &covered)?,
    })
}

/// An item of a description that can't be offered.
#[derive(Debug)]
pub(crate) struct InvalidItem {
    kind: ItemKind,
    /// The plugin's own name for it.
    name: String,
    pub(crate) error: ConvertError,
}

impl InvalidItem {
    /// A tool that can't be offered.
    pub(crate) fn tool(name: String, reason: impl Into<String>) -> Self {
        Self { kind: ItemKind::Tool, name, error: ConvertError::new(reason) }
    }

    /// The item as the catalog reports it.
    pub(crate) fn into_rejected(self, fix: Option<String>) -> RejectedItem {
        let Self { kind, name, error } = self;
        RejectedItem { kind, name, reason: error.to_string(), fix }
    }
}

/// Checks the length of a list; `what` is the name of its elements, in the singular.
fn check_count(what: &str, found: usize, limits: &Limits) -> Result<(), ConvertError> {
    if found <= limits.items as usize {
        return Ok(());
    }
    let amount = format!("{found} {what}s");
    Err(ConvertError::exceeded(LimitKey::Items, found, &amount, limits.items.into()))
}

/// Converts each item of a list. Invalid items and duplicates are left out. A list that is too long is an error.
fn items<G, T>(
    kind: ItemKind,
    given: Vec<G>,
    limits: &Limits,
    invalid: &mut Vec<InvalidItem>,
    key: impl Fn(&G) -> &str,
    convert: impl Fn(G) -> Result<T, ConvertError>,
) -> Result<Vec<T>, ConvertError> {
    let what = kind.as_str();
    check_count(what, given.len(), limits)?;
    let mut seen = BTreeSet::new();
    let mut valid = Vec::with_capacity(given.len());
    for item in given {
        // The longest name that the configuration can contain.
        let name = truncated(key(&item).to_owned(), ResourceUri::MAX_BYTES);
        let converted = if seen.insert(key(&item).to_owned()) {
            convert(item)
        } else {
            Err(ConvertError::new(format!("an earlier {what} has the same name")))
        };
        match converted {
            Ok(item) => valid.push(item),
            Err(error) => invalid.push(InvalidItem { kind, name, error }),
        }
    }
    Ok(valid)
}

/// The tools.
pub(crate) fn tools(
    given: Vec<tools::Tool>,
    limits: &Limits,
    invalid: &mut Vec<InvalidItem>,
) -> Result<Vec<Tool>, ConvertError> {
    items(ItemKind::Tool, given, limits, invalid, |tool| &tool.name, |given| tool(given, limits))
}

fn tool(given: tools::Tool, limits: &Limits) -> Result<Tool, ConvertError> {
    let tools::Tool {
        name: its_name,
        title: its_title,
        description: about,
        input_schema,
        output_schema,
        annotations: hints,
        icons: pictures,
        meta: its_meta,
        extra: more,
    } = given;
    let its_name = ToolName::new(&its_name).map_err(|error| ConvertError::new(error.to_string()))?;
    let hints = tool_hints(hints).at("annotations")?;
    let its_title = title(its_title);
    let about = description(about)
        .or_else(|| its_title.clone())
        .or_else(|| hints.title.clone())
        .unwrap_or_else(|| format!("The tool `{its_name}` (no description)."));
    let covered = ["name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons"];
    Ok(Tool {
        title: its_title,
        description: about,
        input_schema: schema::arguments(input_schema, limits).at("`input-schema`")?,
        output_schema: output_schema
            .map(|given| schema::any(given, limits))
            .transpose()
            .at("`output-schema`")?,
        hints,
        icons: icons(pictures)?,
        meta: meta(its_meta)?,
        extra: extra(more, &covered)?,
        name: its_name,
    })
}

fn tool_hints(given: Option<tools::ToolAnnotations>) -> Result<ToolHints, ConvertError> {
    let Some(given) = given else { return Ok(ToolHints::default()) };
    let tools::ToolAnnotations {
        title: old_title,
        read_only,
        destructive,
        idempotent,
        open_world,
        extra: more,
    } = given;
    let covered = ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
    Ok(ToolHints {
        title: title(old_title),
        read_only,
        destructive,
        idempotent,
        open_world,
        extra: extra(more, &covered)?,
    })
}

/// The resources.
pub(crate) fn resources(
    given: Vec<types::ResourceInfo>,
    limits: &Limits,
    invalid: &mut Vec<InvalidItem>,
) -> Result<Vec<Resource>, ConvertError> {
    items(ItemKind::Resource, given, limits, invalid, |resource| &resource.uri, resource)
}

/// A resource of a list, or a link to one.
pub(super) fn resource(given: types::ResourceInfo) -> Result<Resource, ConvertError> {
    let types::ResourceInfo {
        uri,
        name: its_name,
        title: its_title,
        description: about,
        mime_type,
        size,
        icons: pictures,
        annotations: hints,
        meta: its_meta,
        extra: more,
    } = given;
    let covered = ["uri", "name", "title", "description", "mimeType", "size", "icons", "annotations", "type"];
    let uri = ResourceUri::new(&uri).map_err(|error| ConvertError::new(error.to_string()))?;
    let its_name = name(&its_name);
    Ok(Resource {
        name: if its_name.is_empty() { name(uri.as_str()) } else { its_name },
        uri,
        title: title(its_title),
        description: description(about),
        mime_type: media_type(mime_type),
        size,
        icons: icons(pictures)?,
        annotations: annotations(hints)?,
        meta: meta(its_meta)?,
        extra: extra(more, &covered)?,
    })
}

/// The resource templates.
pub(crate) fn templates(
    given: Vec<resources::ResourceTemplate>,
    limits: &Limits,
    invalid: &mut Vec<InvalidItem>,
) -> Result<Vec<ResourceTemplate>, ConvertError> {
    items(ItemKind::Template, given, limits, invalid, |template| &template.uri_template, template)
}

fn template(given: resources::ResourceTemplate) -> Result<ResourceTemplate, ConvertError> {
    let resources::ResourceTemplate {
        uri_template,
        name: its_name,
        title: its_title,
        description: about,
        mime_type,
        icons: pictures,
        annotations: hints,
        meta: its_meta,
        extra: more,
    } = given;
    let covered = ["uriTemplate", "name", "title", "description", "mimeType", "icons", "annotations"];
    if uri_template.len() > ResourceUri::MAX_BYTES {
        return Err(ConvertError::new("longer than 4,096 bytes"));
    }
    let uri_template =
        UriTemplate::new(&uri_template).map_err(|error| ConvertError::new(error.to_string()))?;
    let its_name = name(&its_name);
    Ok(ResourceTemplate {
        name: if its_name.is_empty() { name(uri_template.as_str()) } else { its_name },
        uri_template,
        title: title(its_title),
        description: description(about),
        mime_type: media_type(mime_type),
        icons: icons(pictures)?,
        annotations: annotations(hints)?,
        meta: meta(its_meta)?,
        extra: extra(more, &covered)?,
    })
}

/// The prompts.
pub(crate) fn prompts(
    given: Vec<prompts::Prompt>,
    limits: &Limits,
    invalid: &mut Vec<InvalidItem>,
) -> Result<Vec<Prompt>, ConvertError> {
    items(ItemKind::Prompt, given, limits, invalid, |prompt| &prompt.name, |given| prompt(given, limits))
}

fn prompt(given: prompts::Prompt, limits: &Limits) -> Result<Prompt, ConvertError> {
    let prompts::Prompt {
        name: its_name,
        title: its_title,
        description: about,
        args,
        icons: pictures,
        meta: its_meta,
        extra: more,
    } = given;
    let its_name = PromptName::new(&its_name).map_err(|error| ConvertError::new(error.to_string()))?;
    let its_title = title(its_title);
    let about = description(about)
        .or_else(|| its_title.clone())
        .unwrap_or_else(|| format!("The prompt `{its_name}` (no description)."));
    Ok(Prompt {
        title: its_title,
        description: about,
        arguments: arguments(args.unwrap_or_default(), limits)?,
        icons: icons(pictures)?,
        meta: meta(its_meta)?,
        extra: extra(more, &["name", "title", "description", "arguments", "icons"])?,
        name: its_name,
    })
}

/// The arguments of a prompt. A duplicate makes the prompt invalid.
fn arguments(
    given: Vec<prompts::PromptArgument>,
    limits: &Limits,
) -> Result<Vec<PromptArgument>, ConvertError> {
    check_count("argument", given.len(), limits)?;
    let mut seen = BTreeSet::new();
    given
        .into_iter()
        .map(|given| {
            let place = format!("argument `{}`", text::clean_line(&given.name, text::MAX_WORD_BYTES));
            if !seen.insert(given.name.clone()) {
                return Err(ConvertError::new(format!("duplicate {place}")));
            }
            argument(given).at(place)
        })
        .collect()
}

fn argument(given: prompts::PromptArgument) -> Result<PromptArgument, ConvertError> {
    let prompts::PromptArgument {
        name: its_name,
        title: its_title,
        description: about,
        required,
        extra: more,
    } = given;
    // The plugin looks up arguments by this name, so an unclean name is rejected instead of cleaned.
    if its_name.is_empty() || its_name.len() > text::MAX_NAME_BYTES || its_name.contains(is_hidden) {
        return Err(ConvertError::new(
            "the argument's name is empty, too long or contains invisible characters",
        ));
    }
    Ok(PromptArgument {
        name: its_name,
        title: title(its_title),
        description: description(about),
        required: required.unwrap_or(false),
        extra: extra(more, &["name", "title", "description", "required"])?,
    })
}
