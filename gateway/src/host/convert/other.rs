//! Content blocks that came as JSON (`content.other`): one that has a case of its own is read as that case, so that
//! nothing passes unchecked under another name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use moongate_core::json::Json;

use super::members::Members;
use super::{At as _, Bad, strict};
use crate::host::bindings::types;

/// What became of a block.
pub(super) enum Retyped {
    /// It has a case.
    Known(Box<types::Content>),
    /// It is of a later revision: its `type`, and the object.
    Unknown(String, Json),
}

/// Reads a block.
pub(super) fn retype(given: String) -> Result<Retyped, Bad> {
    let json = strict(given)?;
    let mut members = Members::read(&json)?;
    let kind: String = members.need("type")?;
    let known = match kind.as_str() {
        "text" => types::Content::Text(types::TextContent {
            text: members.need("text")?,
            annotations: annotations(&mut members)?,
            meta: meta(&mut members)?,
            extra: members.rest(),
        }),
        "image" => types::Content::Image(media(members)?),
        "audio" => types::Content::Audio(media(members)?),
        "resource_link" => types::Content::Link(link(members)?),
        "resource" => types::Content::Embedded(types::EmbeddedResource {
            contents: contents(members.object("resource")?.ok_or_else(|| Bad::new("`resource` is missing"))?)
                .at("`resource`")?,
            annotations: annotations(&mut members)?,
            meta: meta(&mut members)?,
            extra: members.rest(),
        }),
        _ => return Ok(Retyped::Unknown(kind, json)),
    };
    Ok(Retyped::Known(Box::new(known)))
}

fn media(mut members: Members) -> Result<types::MediaContent, Bad> {
    Ok(types::MediaContent {
        data: bytes(&members.need::<String>("data")?).at("`data`")?,
        mime_type: members.need("mimeType")?,
        annotations: annotations(&mut members)?,
        meta: meta(&mut members)?,
        extra: members.rest(),
    })
}

fn link(mut members: Members) -> Result<types::ResourceInfo, Bad> {
    Ok(types::ResourceInfo {
        uri: members.need("uri")?,
        name: members.need("name")?,
        title: members.read_as("title")?,
        description: members.read_as("description")?,
        mime_type: members.read_as("mimeType")?,
        size: members.read_as("size")?,
        icons: icons(&mut members)?,
        annotations: annotations(&mut members)?,
        meta: meta(&mut members)?,
        extra: members.rest(),
    })
}

fn contents(mut members: Members) -> Result<types::ResourceContents, Bad> {
    let uri = members.need("uri")?;
    let mime_type = members.read_as("mimeType")?;
    let text: Option<String> = members.read_as("text")?;
    let blob: Option<String> = members.read_as("blob")?;
    let body = match (text, blob) {
        (Some(text), None) => types::ResourceBody::Text(text),
        (None, Some(blob)) => types::ResourceBody::Blob(bytes(&blob).at("`blob`")?),
        (Some(_), Some(_)) | (None, None) => return Err(Bad::new("it needs either `text` or `blob`")),
    };
    let meta = meta(&mut members)?;
    Ok(types::ResourceContents { uri, mime_type, body, meta, extra: members.rest() })
}

fn annotations(members: &mut Members) -> Result<Option<types::Annotations>, Bad> {
    let Some(mut members) = members.object("annotations")? else { return Ok(None) };
    let audience: Option<Vec<String>> = members.read_as("audience")?;
    let audience = audience.map(|names| names.iter().map(|name| role(name)).collect()).transpose()?;
    Ok(Some(types::Annotations {
        audience,
        priority: members.read_as("priority")?,
        last_modified: members.read_as("lastModified")?,
        extra: members.rest(),
    }))
}

fn role(name: &str) -> Result<types::Role, Bad> {
    match name {
        "user" => Ok(types::Role::User),
        "assistant" => Ok(types::Role::Assistant),
        _ => Err(Bad::new("`audience` knows `user` and `assistant` only")),
    }
}

fn icons(members: &mut Members) -> Result<Option<Vec<types::Icon>>, Bad> {
    let Some(given) = members.read_as::<Vec<Members>>("icons")? else { return Ok(None) };
    given.into_iter().map(icon).collect::<Result<_, _>>().map(Some)
}

fn icon(mut members: Members) -> Result<types::Icon, Bad> {
    let theme: Option<String> = members.read_as("theme")?;
    Ok(types::Icon {
        src: members.need("src")?,
        mime_type: members.read_as("mimeType")?,
        sizes: members.read_as("sizes")?,
        theme: match theme.as_deref() {
            None => None,
            Some("light") => Some(types::IconTheme::Light),
            Some("dark") => Some(types::IconTheme::Dark),
            Some(_) => return Err(Bad::new("`theme` knows `light` and `dark` only")),
        },
        extra: members.rest(),
    })
}

fn meta(members: &mut Members) -> Result<Option<types::Entries>, Bad> {
    Ok(members.object("_meta")?.and_then(Members::rest))
}

fn bytes(text: &str) -> Result<Vec<u8>, Bad> {
    STANDARD.decode(text).map_err(|error| Bad::new(format!("it is no Base64: {error}")))
}
