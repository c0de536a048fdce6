//! The description of a plugin: its information and its lists.

use std::collections::BTreeSet;

use moongate_config::{LimitKey, Limits};
use moongate_model::manifest::{
    PluginInfo, Prompt, PromptArgument, Resource, ResourceTemplate, Tool, ToolHints, UriTemplate,
};
use moongate_model::names::{PromptName, ResourceUri, ToolName};
use moongate_model::text::is_hidden;

use super::{
    At as _, ConvertError, annotations, description, extra, icons, media_type, meta, name, schema, title,
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

/// Converts each item of a list. A list that is too long or contains a duplicate is rejected.
fn list<G, T>(
    kind: &str,
    given: Vec<G>,
    limits: &Limits,
    key: impl Fn(&G) -> &str,
    convert: impl Fn(G) -> Result<T, ConvertError>,
) -> Result<Vec<T>, ConvertError> {
    if given.len() > limits.items as usize {
        let found = given.len();
        return Err(ConvertError::exceeded(
            LimitKey::Items,
            found,
            &format!("{found} {kind}s"),
            limits.items.into(),
        ));
    }
    let mut seen = BTreeSet::new();
    if let Some(duplicate) = given.iter().map(&key).find(|&key| !seen.insert(key)) {
        let duplicate = text::clean_line(duplicate, text::MAX_WORD_BYTES);
        return Err(ConvertError::new(format!("duplicate {kind} `{duplicate}`")));
    }
    given
        .into_iter()
        .map(|item| {
            let place = format!("{kind} `{}`", text::clean_line(key(&item), text::MAX_WORD_BYTES));
            convert(item).at(place)
        })
        .collect()
}

/// The tools.
pub(crate) fn tools(given: Vec<tools::Tool>, limits: &Limits) -> Result<Vec<Tool>, ConvertError> {
    list("tool", given, limits, |tool| &tool.name, |given| tool(given, limits))
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
) -> Result<Vec<Resource>, ConvertError> {
    list("resource", given, limits, |resource| &resource.uri, resource)
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
) -> Result<Vec<ResourceTemplate>, ConvertError> {
    list("template", given, limits, |template| &template.uri_template, template)
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
pub(crate) fn prompts(given: Vec<prompts::Prompt>, limits: &Limits) -> Result<Vec<Prompt>, ConvertError> {
    list("prompt", given, limits, |prompt| &prompt.name, |given| prompt(given, limits))
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
        arguments: list("argument", args.unwrap_or_default(), limits, |argument| &argument.name, argument)?,
        icons: icons(pictures)?,
        meta: meta(its_meta)?,
        extra: extra(more, &["name", "title", "description", "arguments", "icons"])?,
        name: its_name,
    })
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
