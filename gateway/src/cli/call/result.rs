//! The result of a tool as text and as JSON. Used by `call`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use moongate_model::call::{Content, EmbeddedResource, MediaContent, ResourceBody, ToolResult};
use serde_json::{Value, json};

/// The content blocks of a document, one per line or paragraph. Binary content is shown as its size.
pub(super) fn text(document: &Value) -> String {
    let mut lines: Vec<String> = document["content"].as_array().into_iter().flatten().map(block).collect();
    if lines.is_empty() {
        lines.extend(document.get("structured").map(Value::to_string));
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end_matches('\n'))).collect()
}

fn block(item: &Value) -> String {
    let member = |key: &str| item[key].as_str().unwrap_or_default();
    match member("type") {
        "text" => member("text").to_owned(),
        "image" | "audio" => {
            format!(
                "[{}, {} bytes; use --format json to see them]",
                member("mimeType"),
                length(member("data"))
            )
        }
        "link" => member("uri").to_owned(),
        "resource" => match item["text"].as_str() {
            Some(text) => text.to_owned(),
            None => format!("[{}, {} bytes]", member("uri"), length(member("data"))),
        },
        _ => item.to_string(),
    }
}

/// The number of bytes that a Base64 string encodes.
fn length(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

/// The result of a local tool as JSON.
pub(super) fn document(result: &ToolResult) -> Value {
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

/// The result of a remote tool, from its protocol form.
pub(super) fn protocol_document(result: &Value) -> Value {
    let content = result["content"].as_array().into_iter().flatten().map(protocol_item).collect::<Vec<_>>();
    let mut document = json!({ "isError": result["isError"] == true, "content": content });
    if let Some(structured) = result.get("structuredContent") {
        document["structured"] = structured.clone();
    }
    document
}

fn protocol_item(block: &Value) -> Value {
    match block["type"].as_str() {
        Some("resource_link") => json!({ "type": "link", "uri": block["uri"], "name": block["name"] }),
        Some("resource") => {
            let mut item = block["resource"].clone();
            if let Some(members) = item.as_object_mut() {
                members.insert("type".to_owned(), json!("resource"));
                if let Some(data) = members.remove("blob") {
                    members.insert("data".to_owned(), data);
                }
            }
            item
        }
        _ => block.clone(),
    }
}

#[cfg(test)]
mod tests;
