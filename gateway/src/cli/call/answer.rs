//! What a tool answered, for people and for programs. Used by `call`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use moongate_core::call::{Content, EmbeddedResource, MediaContent, ResourceBody, ToolResult};
use serde_json::{Value, json};

/// The blocks one below the other; of bytes only how many there are.
pub(super) fn text(result: &ToolResult) -> String {
    let mut lines: Vec<String> = result.content.iter().map(block).collect();
    if lines.is_empty() {
        lines.extend(result.structured.as_ref().map(|structured| structured.get().to_owned()));
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end_matches('\n'))).collect()
}

fn block(content: &Content) -> String {
    match content {
        Content::Text(text) => text.text.clone(),
        Content::Image(media) | Content::Audio(media) => {
            format!("[{}, {} bytes; --format json shows them]", media.mime_type, media.data.len())
        }
        Content::Link(resource) => resource.uri.to_string(),
        Content::Embedded(EmbeddedResource { contents, .. }) => match &contents.body {
            ResourceBody::Text(text) => text.clone(),
            ResourceBody::Blob(data) => format!("[{}, {} bytes]", contents.uri, data.len()),
        },
        Content::Other(_, json) => json.get().to_owned(),
    }
}

/// The result as a document.
pub(super) fn json(result: &ToolResult) -> Value {
    let content: Vec<Value> = result.content.iter().map(item).collect();
    let mut document = json!({ "isError": result.is_error, "content": content });
    if let Some(structured) = result.structured.as_ref().and_then(|structured| structured.to_value().ok()) {
        document["structured"] = structured;
    }
    document
}

fn item(content: &Content) -> Value {
    let media = |kind: &str, media: &MediaContent| json!({ "type": kind, "mimeType": media.mime_type, "data": STANDARD.encode(&media.data) });
    match content {
        Content::Text(text) => json!({ "type": "text", "text": text.text }),
        Content::Image(image) => media("image", image),
        Content::Audio(audio) => media("audio", audio),
        Content::Link(resource) => {
            json!({ "type": "link", "uri": resource.uri.as_str(), "name": resource.name })
        }
        Content::Embedded(EmbeddedResource { contents, .. }) => {
            let mut item = json!({ "type": "resource", "uri": contents.uri.as_str() });
            if let Some(mime_type) = &contents.mime_type {
                item["mimeType"] = json!(mime_type);
            }
            match &contents.body {
                ResourceBody::Text(text) => item["text"] = json!(text),
                ResourceBody::Blob(data) => item["data"] = json!(STANDARD.encode(data)),
            }
            item
        }
        Content::Other(_, json) => json.to_value().unwrap_or(Value::Null),
    }
}
