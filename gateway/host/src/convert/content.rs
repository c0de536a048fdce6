//! Content blocks.

use moongate_model::call::{
    Content, EmbeddedResource, MediaContent, PromptMessage, ResourceBody, ResourceContents, TextContent,
};
use moongate_model::names::ResourceUri;

use super::{
    ConvertError, ErrorPath as _, annotations, extra, json_content, manifest, media_type, meta, role,
};
use crate::bindings::{prompts, types};
use crate::diagnostics::text;

/// The blocks of a result.
pub(super) fn contents(given: Vec<types::Content>) -> Result<Vec<Content>, ConvertError> {
    given
        .into_iter()
        .enumerate()
        .map(|(index, block)| content(block).at(format_args!("content block {index}")))
        .collect()
}

/// One block. An `other` block whose `type` has its own case is converted to that case first.
pub(super) fn content(given: types::Content) -> Result<Content, ConvertError> {
    Ok(match given {
        types::Content::Text(given) => Content::Text(plain(given)?),
        types::Content::Image(given) => Content::Image(media(given)?),
        types::Content::Audio(given) => Content::Audio(media(given)?),
        types::Content::Link(given) => Content::Link(Box::new(manifest::resource(given)?)),
        types::Content::Embedded(given) => Content::Embedded(embedded(given)?),
        types::Content::Other(given) => match json_content::parse_block(given)? {
            json_content::ParsedBlock::Known(known) => return content(*known),
            json_content::ParsedBlock::Unknown(kind, json) => Content::Other(kind, json),
        },
    })
}

fn plain(given: types::TextContent) -> Result<TextContent, ConvertError> {
    let types::TextContent { text, annotations: hints, meta: its_meta, extra: more } = given;
    Ok(TextContent {
        text,
        annotations: annotations(hints)?,
        meta: meta(its_meta)?,
        extra: extra(more, &["type", "text", "annotations"])?,
    })
}

fn media(given: types::MediaContent) -> Result<MediaContent, ConvertError> {
    let types::MediaContent { data, mime_type, annotations: hints, meta: its_meta, extra: more } = given;
    Ok(MediaContent {
        data,
        mime_type: text::clean_line(&mime_type, text::MAX_WORD_BYTES),
        annotations: annotations(hints)?,
        meta: meta(its_meta)?,
        extra: extra(more, &["type", "data", "mimeType", "annotations"])?,
    })
}

fn embedded(given: types::EmbeddedResource) -> Result<EmbeddedResource, ConvertError> {
    let types::EmbeddedResource { contents, annotations: hints, meta: its_meta, extra: more } = given;
    Ok(EmbeddedResource {
        contents: resource_contents(contents)?,
        annotations: annotations(hints)?,
        meta: meta(its_meta)?,
        extra: extra(more, &["type", "resource", "annotations"])?,
    })
}

/// The contents of a resource.
pub(super) fn resource_contents(given: types::ResourceContents) -> Result<ResourceContents, ConvertError> {
    let types::ResourceContents { uri, mime_type, body, meta: its_meta, extra: more } = given;
    Ok(ResourceContents {
        uri: ResourceUri::new(&uri).map_err(|error| ConvertError::new(error.to_string()))?,
        mime_type: media_type(mime_type),
        body: match body {
            types::ResourceBody::Text(text) => ResourceBody::Text(text),
            types::ResourceBody::Blob(bytes) => ResourceBody::Blob(bytes),
        },
        meta: meta(its_meta)?,
        extra: extra(more, &["uri", "mimeType", "text", "blob"])?,
    })
}

/// The messages of a prompt.
pub(super) fn messages(given: Vec<prompts::PromptMessage>) -> Result<Vec<PromptMessage>, ConvertError> {
    let message = |(index, given): (usize, prompts::PromptMessage)| {
        let prompts::PromptMessage { role: who, content: what, extra: more } = given;
        let message = |what| {
            Ok(PromptMessage {
                role: role(who),
                content: content(what)?,
                extra: extra(more, &["role", "content"])?,
            })
        };
        message(what).at(format_args!("message {index}"))
    };
    given.into_iter().enumerate().map(message).collect()
}
