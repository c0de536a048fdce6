//! Texts of questions as people and models see them (2026-07-28, client/elicitation, client/sampling: security).
//!
//! A person decides by what stands there, so nothing may stand there that a person doesn't see, and the plugin that
//! asks is named where no plugin can write.

use serde_json::{Map, Value};

use crate::manifest::is_reserved_key;
use crate::names::{PluginId, is_hidden};

/// The longest message of an elicitation, in bytes.
const MAX_MESSAGE: usize = 4 << 10;

/// The longest title or description of a field, in bytes.
const MAX_LABEL: usize = 1 << 10;

/// The member of `_meta` that names the plugin, on every question.
const PLUGIN_KEY: &str = "moongate/plugin";

/// `text` without what misleads a reader.
pub(super) fn text(text: &str) -> String {
    text.replace(|c: char| is_hidden(c) && c != '\n' && c != '\t', "")
}

/// The same, no longer than a message.
pub(super) fn message(given: &str) -> String {
    cut(text(given), MAX_MESSAGE)
}

/// The same, no longer than a label.
pub(super) fn label(given: &str) -> String {
    cut(text(given), MAX_LABEL)
}

fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most - '…'.len_utf8()));
        text.push('…');
    }
    text
}

/// A message to a person, with the name of the plugin that asks before everything that the plugin says.
pub(super) fn signed(plugin: &PluginId, message: &str) -> String {
    format!("[plugin: {plugin}] {message}")
}

/// The `_meta` of a question, where the revision has one: what the plugin gave but for MCP's own, and who asks. Hosts
/// show an elicitation's message, which says it too. What a model is asked must not be changed, nor what is passed on
/// to its provider (`metadata`), so there the name stands only here.
pub(super) fn signed_meta(plugin: &PluginId, given: Option<&Value>) -> Value {
    let mut meta = meta(given).unwrap_or_default();
    meta.insert(PLUGIN_KEY.to_owned(), Value::from(plugin.as_str()));
    Value::Object(meta)
}

/// What of an object's `_meta` a plugin may give; none where nothing is left. A progress token would make the client
/// report progress of a request that nobody follows.
pub(super) fn meta(given: Option<&Value>) -> Option<Map<String, Value>> {
    let mut meta = given?.as_object()?.clone();
    meta.retain(|key, _| !is_reserved_key(key) && key != "progressToken");
    (!meta.is_empty()).then_some(meta)
}
