//! Text of questions as users and models see it (2026-07-28, client/elicitation, client/sampling: security).
//!
//! Users decide by this text, so it must not contain anything invisible, and it names the asking plugin in a form that
//! a plugin can't write itself.

use serde_json::{Map, Value};

use crate::manifest::is_reserved_key;
use crate::names::PluginId;
use crate::text::{remove_hidden, truncated};

/// The longest message of an elicitation, in bytes.
const MAX_MESSAGE_BYTES: usize = 4 << 10;

/// The longest title or description of a field, in bytes.
const MAX_LABEL_BYTES: usize = 1 << 10;

/// The first character of a label.
const OPENING_BRACKETS: &[char] = &['[', '［', '【', '〖', '〔', '〚', '⟦', '❲', '⁅', '⦋', '⦍', '⦏', '﹝'];

/// The character after the first word of a label.
const LABEL_SEPARATORS: &[char] = &[':', ';', '：', '∶', '꞉', 'ː', '﹕', '︓', '⁚', '։', '׃'];

/// The member of `_meta` that names the plugin, in every question.
const PLUGIN_KEY: &str = "moongate/plugin";

/// Text without invisible characters and without anything that looks like the label that names the asking plugin.
pub(super) fn without_labels(given: &str) -> String {
    let mut text = remove_hidden(given);
    let labels: Vec<_> =
        text.match_indices(OPENING_BRACKETS).filter(|(at, _)| is_label(&text[*at..])).collect();
    let labels: Vec<_> = labels.into_iter().map(|(at, bracket)| at..at + bracket.len()).collect();
    for bracket in labels.into_iter().rev() {
        text.replace_range(bracket, "(");
    }
    text
}

/// Reports whether the text contains something that looks like a label.
pub(super) fn is_labelled(text: &str) -> bool {
    text.match_indices(OPENING_BRACKETS).any(|(at, _)| is_label(&text[at..]))
}

/// Reports whether the text starts with something that looks like a label. Letters of other scripts can look like any
/// letter, and characters that are neither letters nor ASCII can be invisible.
fn is_label(text: &str) -> bool {
    let mut seen = text.chars().skip(1).filter(|c| {
        !c.is_whitespace() && (c.is_ascii() || c.is_alphanumeric() || LABEL_SEPARATORS.contains(c))
    });
    let looks_like = |letter: char, c: char| {
        !c.is_ascii() || c.eq_ignore_ascii_case(&letter) || matches!(letter, 'l' | 'i') && "lI1|!".contains(c)
    };
    "plugin".chars().all(|letter| seen.next().is_some_and(|c| looks_like(letter, c)))
        && seen.next().is_some_and(|c| LABEL_SEPARATORS.contains(&c))
}

/// The same, cut to the length of a message.
pub(super) fn sanitised_message(given: &str) -> String {
    truncated(without_labels(given), MAX_MESSAGE_BYTES)
}

/// The same, cut to the length of a label.
pub(super) fn sanitised_label(given: &str) -> String {
    truncated(without_labels(given), MAX_LABEL_BYTES)
}

/// A message to the user that starts with the id of the asking plugin.
pub(super) fn signed_message(plugin: &PluginId, message: &str) -> String {
    format!("[plugin: {plugin}] {message}")
}

/// The `_meta` of a question, if the revision has it: the plugin's members, except MCP's own, and the plugin's id.
/// Hosts show an elicitation's message, which also contains the id. Requests to a model, and `metadata` for its
/// provider, must not be changed, so the id is only here.
pub(super) fn signed_meta(plugin: &PluginId, given: Option<&Value>) -> Value {
    let mut meta = plugin_meta(given).unwrap_or_default();
    meta.insert(PLUGIN_KEY.to_owned(), Value::from(plugin.as_str()));
    Value::Object(meta)
}

/// The members of `_meta` that a plugin may set. `None` if there are none. A progress token would make the client
/// report progress that nothing reads.
pub(super) fn plugin_meta(given: Option<&Value>) -> Option<Map<String, Value>> {
    let mut meta = given?.as_object()?.clone();
    meta.retain(|key, _| !is_reserved_key(key) && key != "progressToken");
    (!meta.is_empty()).then_some(meta)
}
