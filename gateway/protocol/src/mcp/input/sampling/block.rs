//! Content of messages to and from a model: text, images, audio, and the use of tools (2026-07-28, client/sampling).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::text::remove_hidden;

use super::super::sanitise;

/// The blocks of one message.
#[derive(Debug)]
pub(super) struct MessageBlocks {
    /// True if `content` was a list.
    list: bool,
    blocks: Vec<Map<String, Value>>,
}

impl MessageBlocks {
    /// Reads `content`: one block, or a list of them.
    pub(super) fn read(content: Option<&Value>) -> Result<Self, String> {
        match content {
            Some(Value::Array(blocks)) => {
                let blocks = blocks
                    .iter()
                    .enumerate()
                    .map(|(at, it)| read_block(it).map_err(|why| format!("`content[{at}]`: {why}")));
                Ok(Self { list: true, blocks: blocks.collect::<Result<_, _>>()? })
            }
            Some(one) => {
                let one = read_block(one).map_err(|why| format!("`content`: {why}"))?;
                Ok(Self { list: false, blocks: vec![one] })
            }
            None => Err("`content` is missing".to_owned()),
        }
    }

    /// The values of `content`: one with all blocks if `several` are allowed in a message, otherwise one for each
    /// block.
    pub(super) fn write(&self, several: bool, with_meta: bool) -> Vec<Value> {
        let written = self.blocks.iter().map(|block| {
            let mut block = block.clone();
            if !with_meta {
                block.shift_remove("_meta");
            }
            Value::Object(block)
        });
        if self.list && several { vec![written.collect()] } else { written.collect() }
    }

    /// The types of the blocks.
    pub(super) fn types(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter_map(|block| block.get("type")?.as_str())
    }

    /// The values of one member in all blocks of one type.
    pub(super) fn values<'a>(&'a self, kind: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
        let these = self.blocks.iter().filter(move |block| block.get("type").is_some_and(|it| it == kind));
        these.filter_map(move |block| block.get(key)?.as_str())
    }

    pub(super) fn uses_tools(&self) -> bool {
        self.types().any(|kind| matches!(kind, "tool_use" | "tool_result"))
    }

    pub(super) fn has_audio(&self) -> bool {
        self.types().any(|kind| kind == "audio")
    }
}

/// Reads one block: its known members, with sanitised text.
fn read_block(given: &Value) -> Result<Map<String, Value>, String> {
    let given = given.as_object().ok_or("it must be an object")?;
    let kind = given.get("type").and_then(Value::as_str).unwrap_or_default();
    let known: &[&str] = match kind {
        "text" => &["text"],
        "image" | "audio" => &["data", "mimeType"],
        "tool_use" => &["id", "name", "input"],
        "tool_result" => &["toolUseId", "content", "isError", "structuredContent"],
        _ => {
            return Err("its `type` must be `text`, `image`, `audio`, `tool_use` or `tool_result`".to_owned());
        }
    };
    let mut kept = Map::new();
    kept.insert("type".to_owned(), Value::from(kind));
    for key in known {
        let value = given.get(*key);
        if let Some(value) = member(key, value).map_err(|what| format!("`{key}` must be {what}"))? {
            kept.insert((*key).to_owned(), value);
        }
    }
    if let Some(annotations) = given.get("annotations").filter(|it| it.is_object()) {
        kept.insert("annotations".to_owned(), annotations.clone());
    }
    if let Some(meta) = sanitise::plugin_meta(given.get("_meta")) {
        kept.insert("_meta".to_owned(), Value::Object(meta));
    }
    Ok(kept)
}

/// A member of a block. The error completes "must be".
fn member(key: &str, value: Option<&Value>) -> Result<Option<Value>, &'static str> {
    let when = |fits: bool, what: &'static str| if fits { Ok(value.cloned()) } else { Err(what) };
    let text = value.and_then(Value::as_str);
    match key {
        "text" => text.map(|text| Some(remove_hidden(text).into())).ok_or("a string"),
        "data" => when(text.is_some_and(|data| STANDARD.decode(data).is_ok()), "Base64"),
        "mimeType" | "id" | "name" | "toolUseId" => {
            when(text.is_some_and(|text| !text.is_empty()), "a non-empty string")
        }
        "input" => when(value.is_some_and(Value::is_object), "an object"),
        "content" => {
            let blocks = value.and_then(Value::as_array);
            when(blocks.is_some_and(|all| all.iter().all(|it| it["type"].is_string())), "a list of blocks")
        }
        "isError" => when(value.is_none_or(Value::is_boolean), "true or false"),
        _ => Ok(value.cloned()),
    }
}
