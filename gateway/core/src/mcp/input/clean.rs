//! Texts of questions as people and models see them (2026-07-28, client/elicitation, client/sampling: security).
//!
//! A person decides by what stands there, so nothing may stand there that a person doesn't see, and the plugin that
//! asks is named where no plugin can write.

use serde_json::{Map, Value};

use crate::manifest::is_reserved_key;
use crate::names::PluginId;
use crate::text::{remove_hidden, truncated};

/// The longest message of an elicitation, in bytes.
const MAX_MESSAGE: usize = 4 << 10;

/// The longest title or description of a field, in bytes.
const MAX_LABEL: usize = 1 << 10;

/// What a label begins with.
const BRACKETS: &[char] = &['[', '［', '【', '〖', '〔', '〚', '⟦', '❲', '⁅', '⦋', '⦍', '⦏', '﹝'];

/// What stands in a label after its first word.
const COLONS: &[char] = &[':', ';', '：', '∶', '꞉', 'ː', '﹕', '︓', '⁚', '։', '׃'];

/// The member of `_meta` that names the plugin, on every question.
const PLUGIN_KEY: &str = "moongate/plugin";

/// The same for a person, who tells by the label which plugin asks: with nothing that looks like another one.
pub(super) fn unlabelled(given: &str) -> String {
    let mut text = remove_hidden(given);
    let labels: Vec<_> = text.match_indices(BRACKETS).filter(|(at, _)| is_label(&text[*at..])).collect();
    let labels: Vec<_> = labels.into_iter().map(|(at, bracket)| at..at + bracket.len()).collect();
    for bracket in labels.into_iter().rev() {
        text.replace_range(bracket, "(");
    }
    text
}

/// Does something in it look like a label?
pub(super) fn is_labelled(text: &str) -> bool {
    text.match_indices(BRACKETS).any(|(at, _)| is_label(&text[at..]))
}

/// Does it begin as a label does, to the eye? Letters of other scripts may look like any, and what is neither a letter
/// nor of ASCII may not be seen at all.
fn is_label(text: &str) -> bool {
    let mut seen = text
        .chars()
        .skip(1)
        .filter(|c| !c.is_whitespace() && (c.is_ascii() || c.is_alphanumeric() || COLONS.contains(c)));
    let looks_like = |letter: char, c: char| {
        !c.is_ascii() || c.eq_ignore_ascii_case(&letter) || matches!(letter, 'l' | 'i') && "lI1|!".contains(c)
    };
    "plugin".chars().all(|letter| seen.next().is_some_and(|c| looks_like(letter, c)))
        && seen.next().is_some_and(|c| COLONS.contains(&c))
}

/// The same, no longer than a message.
pub(super) fn message(given: &str) -> String {
    truncated(unlabelled(given), MAX_MESSAGE)
}

/// The same, no longer than a label.
pub(super) fn label(given: &str) -> String {
    truncated(unlabelled(given), MAX_LABEL)
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
