//! Content blocks passed as JSON (`content.other`). A block whose type has its own case is parsed as that case, so that
//! it gets the same checks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use moongate_model::json::Json;

use super::members::Members;
use super::{ConvertError, ErrorPath as _, strict};
use crate::bindings::types;

/// A parsed block.
pub(super) enum ParsedBlock {
    /// A type with its own case.
    Known(Box<types::Content>),
    /// A type from a later revision: the `type`, and the object.
    Unknown(String, Json),
}

/// Parses a block.
pub(super) fn parse_block(given: String) -> Result<ParsedBlock, ConvertError> {
    let json = strict(given)?;
    let mut members = Members::read(&json)?;
    let kind: String = members.required("type")?;
    let known = match kind.as_str() {
        "text" => types::Content::Text(types::TextContent {
            text: members.required("text")?,
            annotations: annotations(&mut members)?,
            meta: meta(&mut members)?,
            extra: members.rest(),
        }),
        "image" => types::Content::Image(media(members)?),
        "audio" => types::Content::Audio(media(members)?),
        "resource_link" => types::Content::Link(link(members)?),
        "resource" => types::Content::Embedded(types::EmbeddedResource {
            contents: contents(
                members.object("resource")?.ok_or_else(|| ConvertError::new("`resource` is missing"))?,
            )
            .at("`resource`")?,
            annotations: annotations(&mut members)?,
            meta: meta(&mut members)?,
            extra: members.rest(),
        }),
        _ => return Ok(ParsedBlock::Unknown(kind, json)),
    };
    Ok(ParsedBlock::Known(Box::new(known)))
}

fn media(mut members: Members) -> Result<types::MediaContent, ConvertError> {
    Ok(types::MediaContent {
        data: bytes(&members.required::<String>("data")?).at("`data`")?,
        mime_type: members.required("mimeType")?,
        annotations: annotations(&mut members)?,
        meta: meta(&mut members)?,
        extra: members.rest(),
    })
}

fn link(mut members: Members) -> Result<types::ResourceInfo, ConvertError> {
    Ok(types::ResourceInfo {
        uri: members.required("uri")?,
        name: members.required("name")?,
        title: members.optional("title")?,
        description: members.optional("description")?,
        mime_type: members.optional("mimeType")?,
        size: members.optional("size")?,
        icons: icons(&mut members)?,
        annotations: annotations(&mut members)?,
        meta: meta(&mut members)?,
        extra: members.rest(),
    })
}

fn contents(mut members: Members) -> Result<types::ResourceContents, ConvertError> {
    let uri = members.required("uri")?;
    let mime_type = members.optional("mimeType")?;
    let text: Option<String> = members.optional("text")?;
    let blob: Option<String> = members.optional("blob")?;
    let body = match (text, blob) {
        (Some(text), None) => types::ResourceBody::Text(text),
        (None, Some(blob)) => types::ResourceBody::Blob(bytes(&blob).at("`blob`")?),
        (Some(_), Some(_)) | (None, None) => {
            return Err(ConvertError::new("exactly one of `text` and `blob` is required"));
        }
    };
    let meta = meta(&mut members)?;
    Ok(types::ResourceContents { uri, mime_type, body, meta, extra: members.rest() })
}

fn annotations(members: &mut Members) -> Result<Option<types::Annotations>, ConvertError> {
    let Some(mut members) = members.object("annotations")? else { return Ok(None) };
    let audience: Option<Vec<String>> = members.optional("audience")?;
    let audience = audience.map(|names| names.iter().map(|name| role(name)).collect()).transpose()?;
    Ok(Some(types::Annotations {
        audience,
        priority: members.optional("priority")?,
        last_modified: members.optional("lastModified")?,
        extra: members.rest(),
    }))
}

fn role(name: &str) -> Result<types::Role, ConvertError> {
    match name {
        "user" => Ok(types::Role::User),
        "assistant" => Ok(types::Role::Assistant),
        _ => Err(ConvertError::new("`audience` must contain only `user` and `assistant`")),
    }
}

fn icons(members: &mut Members) -> Result<Option<Vec<types::Icon>>, ConvertError> {
    let Some(given) = members.optional::<Vec<Members>>("icons")? else { return Ok(None) };
    given.into_iter().map(icon).collect::<Result<_, _>>().map(Some)
}

fn icon(mut members: Members) -> Result<types::Icon, ConvertError> {
    let theme: Option<String> = members.optional("theme")?;
    Ok(types::Icon {
        src: members.required("src")?,
        mime_type: members.optional("mimeType")?,
        sizes: members.optional("sizes")?,
        theme: match theme.as_deref() {
            None => None,
            Some("light") => Some(types::IconTheme::Light),
            Some("dark") => Some(types::IconTheme::Dark),
            Some(_) => return Err(ConvertError::new("`theme` must be `light` or `dark`")),
        },
        extra: members.rest(),
    })
}

fn meta(members: &mut Members) -> Result<Option<types::Entries>, ConvertError> {
    Ok(members.object("_meta")?.and_then(Members::rest))
}

fn bytes(text: &str) -> Result<Vec<u8>, ConvertError> {
    STANDARD.decode(text).map_err(|error| ConvertError::new(format!("invalid Base64: {error}")))
}
