//! Requests to the model (2026-07-28, client/sampling).
//!
//! Before 2025-11-25 a message contains one block and there are no tools; 2024-11-05 has no audio.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::text::{quotable, remove_hidden};

use super::super::revision::{Feature, Revision};
use super::sanitise;

mod block;

use block::MessageBlocks;

/// The maximum number of messages in one request.
const MAX_MESSAGES: usize = 256;

/// The maximum number of tools offered to the model.
const MAX_TOOLS: usize = 64;

/// A request to the model.
#[derive(Debug)]
pub(super) struct SamplingRequest {
    messages: Vec<SamplingMessage>,
    tools: bool,
    /// True if it requests context from other servers.
    context: bool,
    /// The other members, validated.
    others: Map<String, Value>,
}

/// One message.
#[derive(Debug)]
struct SamplingMessage {
    role: String,
    blocks: MessageBlocks,
    meta: Option<Map<String, Value>>,
}

impl SamplingRequest {
    /// Reads the parameters of `sampling/createMessage`.
    pub(super) fn read(given: &Map<String, Value>) -> Result<Self, String> {
        let messages = given.get("messages").and_then(Value::as_array).ok_or("`messages` must be a list")?;
        if messages.is_empty() || messages.len() > MAX_MESSAGES {
            return Err(format!("`messages` must contain 1 to {MAX_MESSAGES} messages"));
        }
        let messages = messages.iter().enumerate().map(|(at, message)| {
            SamplingMessage::read(message).map_err(|why| format!("`messages[{at}]`: {why}"))
        });
        let messages = messages.collect::<Result<Vec<_>, _>>()?;
        check_tool_use(&messages)?;
        let mut others = Map::new();
        for (key, value) in given {
            if let Some(value) = member(key, value).map_err(|what| format!("`{key}` must be {what}"))? {
                others.insert(key.clone(), value);
            }
        }
        if !others.contains_key("maxTokens") {
            return Err("`maxTokens` is missing".to_owned());
        }
        let tools = others.contains_key("tools") || others.contains_key("toolChoice");
        let tools = tools || messages.iter().any(|turn| turn.blocks.uses_tools());
        let context = others.get("includeContext").is_some_and(|context| context != "none");
        Ok(Self { messages, tools, context, others })
    }

    /// Reports whether it offers tools to the model or contains uses of tools.
    pub(super) fn uses_tools(&self) -> bool {
        self.tools
    }

    /// Reports whether it requests context from other servers.
    pub(super) fn wants_context(&self) -> bool {
        self.context
    }

    /// The parameters in the form of `revision`. The error names the missing feature.
    pub(super) fn params(&self, revision: Revision) -> Result<Map<String, Value>, &'static str> {
        if self.tools && !revision.has(Feature::SamplingTools) {
            return Err("tools in sampling requests");
        }
        if !revision.has(Feature::Audio) && self.messages.iter().any(|turn| turn.blocks.has_audio()) {
            return Err("audio in sampling requests");
        }
        let messages: Vec<Value> = self.messages.iter().flat_map(|turn| turn.write(revision)).collect();
        let mut params = Map::new();
        params.insert("messages".to_owned(), Value::Array(messages));
        params.extend(self.others.clone());
        Ok(params)
    }
}

impl SamplingMessage {
    fn read(given: &Value) -> Result<Self, String> {
        let given = given.as_object().ok_or("it must be an object")?;
        let role = match given.get("role").and_then(Value::as_str) {
            Some(role @ ("user" | "assistant")) => role.to_owned(),
            Some(_) | None => return Err("`role` must be `user` or `assistant`".to_owned()),
        };
        let blocks = MessageBlocks::read(given.get("content"))?;
        Ok(Self { role, blocks, meta: sanitise::plugin_meta(given.get("_meta")) })
    }

    /// The message, split into several of the same role if a message contains only one block.
    fn write(&self, revision: Revision) -> Vec<Value> {
        let several = revision.has(Feature::SamplingTools);
        let contents = self.blocks.write(several, revision.has(Feature::ItemMeta));
        let message = |content| {
            let mut message = json!({ "role": self.role, "content": content });
            if let Some(meta) = self.meta.as_ref().filter(|_| several) {
                message["_meta"] = Value::Object(meta.clone());
            }
            message
        };
        contents.into_iter().map(message).collect()
    }
}

/// Checks the order of messages in which a model uses tools (2026-07-28, client/sampling, "Tool result messages"): each use
/// of tools is followed by one message with all of its results and nothing else, and there are no other results.
fn check_tool_use(messages: &[SamplingMessage]) -> Result<(), String> {
    let mut due: BTreeSet<&str> = BTreeSet::new();
    for (at, SamplingMessage { role, blocks, .. }) in messages.iter().enumerate() {
        let given: BTreeSet<&str> = blocks.values("tool_result", "toolUseId").collect();
        if given != due {
            return Err(format!(
                "`messages[{at}]` must contain the results of exactly the tools that the previous message uses"
            ));
        }
        if !given.is_empty() && (role != "user" || blocks.types().any(|kind| kind != "tool_result")) {
            return Err(format!("`messages[{at}]` must have the role `user` and contain only tool results"));
        }
        due = blocks.values("tool_use", "id").collect();
        if !due.is_empty() && role != "assistant" {
            return Err(format!("`messages[{at}]` uses tools, but its role isn't `assistant`"));
        }
    }
    if due.is_empty() {
        Ok(())
    } else {
        Err("the last message uses tools whose results are missing".to_owned())
    }
}

/// A parameter other than the messages, validated. `None` if it is unknown. The error completes "must be".
fn member(key: &str, value: &Value) -> Result<Option<Value>, &'static str> {
    let when = |fits: bool, what: &'static str| if fits { Ok(Some(value.clone())) } else { Err(what) };
    match key {
        "maxTokens" => when(value.as_u64().is_some_and(|most| most > 0), "a positive integer"),
        "temperature" => when(value.is_number(), "a number"),
        "systemPrompt" => match value {
            Value::String(text) => Ok(Some(remove_hidden(text).into())),
            _ => Err("a string"),
        },
        "includeContext" => {
            let known = matches!(value.as_str(), Some("none" | "thisServer" | "allServers"));
            when(known, "`none`, `thisServer` or `allServers`")
        }
        "stopSequences" => {
            let texts = value.as_array().is_some_and(|all| all.iter().all(Value::is_string));
            when(texts, "a list of strings")
        }
        "metadata" => when(value.is_object(), "an object"),
        "modelPreferences" => preferences(value).map(Some),
        "toolChoice" => {
            let mode = value.as_object().map(|choice| choice.get("mode"));
            match mode {
                Some(None) => Ok(Some(json!({}))),
                Some(Some(mode)) if matches!(mode.as_str(), Some("auto" | "required" | "none")) => {
                    Ok(Some(json!({ "mode": mode })))
                }
                Some(Some(_)) | None => Err("an object whose `mode` is `auto`, `required` or `none`"),
            }
        }
        "tools" => tools(value).map(Some),
        _ => Ok(None),
    }
}

fn preferences(given: &Value) -> Result<Value, &'static str> {
    const PREFERENCES_REQUIREMENT: &str = "an object with named `hints` and priorities from 0 to 1";
    let given = given.as_object().ok_or(PREFERENCES_REQUIREMENT)?;
    let mut kept = Map::new();
    for (key, value) in given {
        let fits = match key.as_str() {
            "costPriority" | "speedPriority" | "intelligencePriority" => {
                value.as_f64().is_some_and(|priority| (0.0..=1.0).contains(&priority))
            }
            "hints" => value.as_array().is_some_and(|hints| {
                hints.iter().all(|hint| hint.is_object() && hint.get("name").is_none_or(Value::is_string))
            }),
            _ => continue,
        };
        if !fits {
            return Err(PREFERENCES_REQUIREMENT);
        }
        kept.insert(key.clone(), value.clone());
    }
    Ok(Value::Object(kept))
}

fn tools(given: &Value) -> Result<Value, &'static str> {
    const TOOLS_REQUIREMENT: &str =
        "a list of at most 64 tools, each with a `name` and an `inputSchema` of type `object`";
    let given = given.as_array().filter(|tools| tools.len() <= MAX_TOOLS).ok_or(TOOLS_REQUIREMENT)?;
    let tool = |tool: &Value| {
        let known = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];
        let mut tool = tool.as_object()?.clone();
        tool.retain(|key, _| known.contains(&key.as_str()));
        let named = tool.get("name")?.as_str().is_some_and(|name| quotable(name) == name && !name.is_empty());
        let takes = tool.get("inputSchema")?.get("type")? == "object";
        for key in ["title", "description"] {
            if let Some(text) = tool.get_mut(key) {
                *text = sanitise::sanitised_message(text.as_str()?).into();
            }
        }
        (named && takes).then_some(Value::Object(tool))
    };
    given.iter().map(tool).collect::<Option<Vec<_>>>().map(Value::Array).ok_or(TOOLS_REQUIREMENT)
}

/// Validates a model's answer: role, content and model.
pub(super) fn check_answer(answer: &Map<String, Value>, tools: bool) -> Result<(), String> {
    let role = answer.get("role").and_then(Value::as_str);
    if !matches!(role, Some("user" | "assistant")) {
        return Err("`role` must be `user` or `assistant`".to_owned());
    }
    if !answer.get("model").is_some_and(Value::is_string) {
        return Err("`model` must be a string".to_owned());
    }
    if answer.get("stopReason").is_some_and(|reason| !reason.is_string()) {
        return Err("`stopReason` must be a string".to_owned());
    }
    let blocks = MessageBlocks::read(answer.get("content"))?;
    if blocks.uses_tools() && !tools {
        return Err("it uses a tool, but none was offered".to_owned());
    }
    Ok(())
}
