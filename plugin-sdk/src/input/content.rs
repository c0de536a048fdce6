//! Content blocks in messages to and from a model, as MCP's JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::{Annotations, Content, MediaContent, Role, TextContent};

/// The block as JSON, or the reason why it can't be part of such a message.
pub(super) fn write(block: &Content) -> Result<Value, String> {
    let (mut json, annotations, extra) = match block {
        Content::Text(TextContent { text, annotations, extra, .. }) => {
            (json!({ "type": "text", "text": text }), annotations, extra)
        }
        Content::Image(media) => (write_media("image", media), &media.annotations, &media.extra),
        Content::Audio(media) => (write_media("audio", media), &media.annotations, &media.extra),
        Content::Other(json) => {
            return serde_json::from_str(json)
                .map_err(|error| format!("a content block isn't valid JSON: {error}"));
        }
        Content::Link(_) | Content::Embedded(_) => {
            return Err("messages to a model can contain text, images and audio, but no resources".to_owned());
        }
    };
    if let Some(annotations) = annotations {
        json["annotations"] = write_annotations(annotations);
    }
    for (name, value) in extra.iter().flatten() {
        json[name.as_str()] =
            serde_json::from_str(value).map_err(|error| format!("`{name}` isn't JSON: {error}"))?;
    }
    Ok(json)
}

/// Parses a block. Unknown kinds become [`Content::Other`].
pub(super) fn read(json: &Value) -> Content {
    known(json).unwrap_or_else(|| Content::Other(json.to_string()))
}

fn known(json: &Value) -> Option<Content> {
    let text = |name: &str| json[name].as_str();
    Some(match text("type")? {
        "text" => Content::text(text("text")?),
        "image" => Content::image(STANDARD.decode(text("data")?).ok()?, text("mimeType")?),
        "audio" => Content::audio(STANDARD.decode(text("data")?).ok()?, text("mimeType")?),
        _ => return None,
    })
}

fn write_media(kind: &str, media: &MediaContent) -> Value {
    json!({ "type": kind, "data": STANDARD.encode(&media.data), "mimeType": media.mime_type })
}

fn write_annotations(annotations: &Annotations) -> Value {
    let Annotations { audience, priority, last_modified, .. } = annotations;
    let mut json = Map::new();
    if let Some(audience) = audience {
        let names = audience.iter().map(|role| match role {
            Role::User => "user",
            Role::Assistant => "assistant",
        });
        json.insert("audience".to_owned(), names.collect::<Vec<_>>().into());
    }
    if let Some(priority) = priority {
        json.insert("priority".to_owned(), (*priority).into());
    }
    if let Some(time) = last_modified {
        json.insert("lastModified".to_owned(), time.as_str().into());
    }
    json.into()
}
