//! Conversion between the contract's types and the core's. No other module uses both.
//!
//! Descriptions are cleaned, truncated and checked; results are checked. Each record is destructured completely, so
//! that a new field breaks the build here. Errors contain the path: "tool `x`: `input-schema`: …".

use std::collections::HashSet;
use std::fmt;

use moongate_config::LimitKey;
use moongate_model::json::{Json, find_too_deep};
use moongate_model::manifest::{Annotations, Icon, IconTheme, JsonMembers, Role, is_reserved_key};
use moongate_model::names::PluginId;

use super::bindings::types;
use crate::diagnostics::text;

mod answer;
mod content;
mod manifest;
mod members;
mod json_content;
mod schema;

pub(crate) use answer::{completion, failure, prompt_outcome, read_outcome, target, tool_outcome};
pub(crate) use manifest::{InvalidItem, info, prompts, resources, templates, tools};

/// The error for an invalid value from a plugin, with the path to the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConvertError {
    reason: String,
    /// The exceeded limit, and the amount that the value needs.
    exceeded: Option<(LimitKey, u64)>,
}

impl ConvertError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), exceeded: None }
    }

    /// An error for a value above a limit. `found` describes the amount in the message.
    fn exceeded(key: LimitKey, amount: usize, found: &str, max: u64) -> Self {
        let name = key.as_str();
        let max = key.format_amount(max);
        let reason = format!("{found}, more than `limits.{name}` allows ({max})");
        Self { reason, exceeded: Some((key, amount as u64)) }
    }

    /// The exceeded limit, and the amount that the value needs. `None` means that the error isn't about a limit.
    pub(crate) fn limit(&self) -> Option<(LimitKey, u64)> {
        self.exceeded
    }

    /// Adds a step at the start of the path.
    fn at(self, place: impl fmt::Display) -> Self {
        Self { reason: format!("{place}: {}", self.reason), ..self }
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::clean_line(&self.reason, 2 * text::MAX_SENTENCE_BYTES))
    }
}

/// Adds a step at the start of an error's path.
trait ErrorPath<T> {
    fn at(self, place: impl fmt::Display) -> Result<T, ConvertError>;
}

impl<T> ErrorPath<T> for Result<T, ConvertError> {
    fn at(self, place: impl fmt::Display) -> Result<T, ConvertError> {
        self.map_err(|error| error.at(place))
    }
}

/// The maximum nesting of values. Many parsers, including this gateway's, stop at 128 levels, and the message around a
/// value adds some.
const MAX_DEPTH: usize = text::MAX_JSON_DEPTH;

/// One JSON value that every client can read: some clients refuse the whole message if a value in it nests deep or
/// contains a number out of range or a lone surrogate, and parsers disagree about the meaning of duplicate keys.
///
/// All JSON from plugins passes through here, except for schemas, which have their own limits.
pub(crate) fn strict(given: String) -> Result<Json, ConvertError> {
    if find_too_deep(&given, MAX_DEPTH).is_some() {
        return Err(ConvertError::new(format!("nested deeper than {MAX_DEPTH} levels")));
    }
    Json::parse_strict(given).map_err(|error| ConvertError::new(format!("invalid JSON: {error}")))
}

/// Members without a field of their own. A key that has a field would contradict it.
fn extra(given: Option<types::Entries>, covered: &[&str]) -> Result<JsonMembers, ConvertError> {
    let entries = entries(given).at("extra")?;
    if let Some((key, _)) = entries.iter().find(|(key, _)| covered.contains(&key.as_str()) || key == "_meta")
    {
        return Err(ConvertError::new(format!(
            "extra: `{key}` is reserved: it has a field of its own, or the gateway sets it"
        )));
    }
    Ok(entries)
}

/// MCP's `_meta`, without the keys that MCP reserves.
fn meta(given: Option<types::Entries>) -> Result<JsonMembers, ConvertError> {
    let mut entries = entries(given).at("meta")?;
    entries.retain(|(key, _)| !is_reserved_key(key));
    Ok(entries)
}

fn entries(given: Option<types::Entries>) -> Result<JsonMembers, ConvertError> {
    let given = given.unwrap_or_default();
    let mut entries = JsonMembers::with_capacity(given.len());
    // A result can contain hundreds of thousands of keys: comparing each with all others would take minutes.
    let mut seen = HashSet::with_capacity(given.len());
    for (key, json) in given {
        let key = text::clean_block(key, text::MAX_MESSAGE_BYTES);
        if !seen.insert(key.clone()) {
            return Err(ConvertError::new(format!("duplicate key `{key}`")));
        }
        let json = strict(text::clean_json(json)).at(format_args!("`{key}`"))?;
        entries.push((key, json));
    }
    Ok(entries)
}

fn role(role: types::Role) -> Role {
    match role {
        types::Role::User => Role::User,
        types::Role::Assistant => Role::Assistant,
    }
}

/// The icons that a client can fetch safely. Others are dropped, because a plugin works without them.
fn icons(icons: Option<Vec<types::Icon>>) -> Result<Vec<Icon>, ConvertError> {
    let safe = icons.unwrap_or_default().into_iter().filter(|icon| is_safe_icon(&icon.src));
    safe.map(icon).collect::<Result<_, _>>().at("icon")
}

/// Logs dropped icons in one line for a whole description, because it can contain a million.
pub(crate) fn warn_of_dropped_icons<'a>(
    plugin: &PluginId,
    icons: impl Iterator<Item = &'a Option<Vec<types::Icon>>>,
) {
    let mut dropped = icons.flatten().flatten().filter(|icon| !is_safe_icon(&icon.src));
    if let Some(first) = dropped.next() {
        let src = text::clean_line(&first.src, 80);
        let more = match dropped.count() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        tracing::warn!(
            %plugin,
            "icon `{src}` dropped{more}: not an `https:` or `data:` URL"
        );
    }
}

/// True for an `https:` or `data:` URL that consists of characters allowed in URIs.
fn is_safe_icon(src: &str) -> bool {
    let scheme = src.split(':').next().unwrap_or_default().to_ascii_lowercase();
    matches!(scheme.as_str(), "https" | "data")
        && src.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte))
}

fn icon(icon: types::Icon) -> Result<Icon, ConvertError> {
    let types::Icon { src, mime_type, sizes, theme, extra: more } = icon;
    Ok(Icon {
        src,
        mime_type: mime_type.map(|word| text::clean_line(&word, text::MAX_WORD_BYTES)),
        sizes: sizes
            .map(|sizes| sizes.iter().map(|size| text::clean_line(size, text::MAX_WORD_BYTES)).collect()),
        theme: theme.map(|theme| match theme {
            types::IconTheme::Light => IconTheme::Light,
            types::IconTheme::Dark => IconTheme::Dark,
        }),
        extra: extra(more, &["src", "mimeType", "sizes", "theme"])?,
    })
}

fn annotations(given: Option<types::Annotations>) -> Result<Option<Annotations>, ConvertError> {
    let Some(given) = given else { return Ok(None) };
    let types::Annotations { audience, priority, last_modified, extra: more } = given;
    if priority.is_some_and(|priority| !(0.0..=1.0).contains(&priority)) {
        return Err(ConvertError::new("annotations: `priority` must be between 0 and 1"));
    }
    Ok(Some(Annotations {
        audience: audience.map(|audience| audience.into_iter().map(role).collect()),
        priority,
        last_modified: last_modified.map(|date| text::clean_line(&date, text::MAX_WORD_BYTES)),
        extra: extra(more, &["audience", "priority", "lastModified"]).at("annotations")?,
    }))
}

/// A name or title.
fn name(given: &str) -> String {
    text::clean_line(given, text::MAX_NAME_BYTES)
}

/// An optional name or title. An empty one becomes `None`.
fn title(given: Option<String>) -> Option<String> {
    given.map(|title| name(&title)).filter(|title| !title.is_empty())
}

/// An optional description. A blank one becomes `None`.
fn description(given: Option<String>) -> Option<String> {
    given
        .map(|text| text::clean_block(text, text::MAX_DESCRIPTION_BYTES))
        .filter(|text| !text.trim().is_empty())
}

/// An optional media type. An empty one becomes `None`.
fn media_type(given: Option<String>) -> Option<String> {
    given.map(|word| text::clean_line(&word, text::MAX_WORD_BYTES)).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests;
