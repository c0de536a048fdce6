//! Between the contract's types and the core's: the only place where both are known.
//!
//! What a plugin says of itself is cleaned, capped and checked; what it answers is checked. Each record is taken
//! apart completely, so that a new field breaks the build here. Errors name the place: "tool `x`: `inputSchema`: …".

use std::collections::HashSet;
use std::fmt;

use moongate_core::config::LimitKey;
use moongate_core::json::{Json, parse_strict};
use moongate_core::manifest::{Annotations, Entries, Icon, IconTheme, Role, is_reserved_key};
use moongate_core::names::PluginId;

use super::bindings::types;
use crate::host::diagnostics::text;

mod answer;
mod content;
mod manifest;
mod members;
mod other;
mod schema;

pub(in crate::host) use answer::{completion, failure, prompt_outcome, read_outcome, target, tool_outcome};
pub(in crate::host) use manifest::{info, prompts, resources, templates, tools};

/// What a plugin said that can't be used, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::host) struct Bad {
    reason: String,
    /// The limit that it is more than, and how much it is.
    over: Option<(LimitKey, u64)>,
}

impl Bad {
    pub(in crate::host) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), over: None }
    }

    /// There is more than a limit allows. `found` is how much, as it stands in the sentence.
    fn over(key: LimitKey, amount: usize, found: &str, most: u64) -> Self {
        let (name, most) = (key.as_str(), key.shown(most));
        let reason = format!("{found}, more than `limits.{name}` allows ({most})");
        Self { reason, over: Some((key, amount as u64)) }
    }

    /// The limit that it is more than, and how much it is.
    pub(in crate::host) fn limit(&self) -> Option<(LimitKey, u64)> {
        self.over
    }

    /// Puts a place before the reason.
    fn at(self, place: impl fmt::Display) -> Self {
        Self { reason: format!("{place}: {}", self.reason), ..self }
    }
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::line(&self.reason, 2 * text::SENTENCE))
    }
}

/// Adds the place to an error.
trait At<T> {
    fn at(self, place: impl fmt::Display) -> Result<T, Bad>;
}

impl<T> At<T> for Result<T, Bad> {
    fn at(self, place: impl fmt::Display) -> Result<T, Bad> {
        self.map_err(|bad| bad.at(place))
    }
}

/// How deep values may nest: many readers, ours among them, go no further than 128 levels, and the message around a
/// value has some of its own.
const DEPTH: usize = text::DEPTH;

/// One JSON value, not nested too deep for its readers.
fn value(given: String) -> Result<Json, Bad> {
    if text::depth(&given) > DEPTH {
        return Err(Bad::new(format!("it nests deeper than {DEPTH} levels")));
    }
    let no_json = |error: serde_json::Error| Bad::new(format!("it is no JSON: {error}"));
    // Half of a pair of escapes is no character: some readers refuse the whole message for it.
    if given.contains("\\ud") || given.contains("\\uD") {
        serde_json::from_str::<serde_json::Value>(&given).map_err(no_json)?;
    }
    Json::parse(given).map_err(no_json)
}

/// The same, where no object in it may name a key twice: what readers take for its value isn't up to them.
fn strict(given: String) -> Result<Json, Bad> {
    let json = value(given)?;
    parse_strict(json.get()).map_err(|error| Bad::new(format!("it is no JSON: {error}")))?;
    Ok(json)
}

/// Members that have no field: a key that a field covers would contradict it.
fn extra(given: Option<types::Entries>, covered: &[&str]) -> Result<Entries, Bad> {
    let entries = entries(given).at("extra")?;
    if let Some((key, _)) = entries.iter().find(|(key, _)| covered.contains(&key.as_str()) || key == "_meta")
    {
        return Err(Bad::new(format!("extra: `{key}` has a field of its own, or is the gateway's to say")));
    }
    Ok(entries)
}

/// MCP's `_meta`, without what MCP keeps for itself.
fn meta(given: Option<types::Entries>) -> Result<Entries, Bad> {
    let mut entries = entries(given).at("meta")?;
    entries.retain(|(key, _)| !is_reserved_key(key));
    Ok(entries)
}

fn entries(given: Option<types::Entries>) -> Result<Entries, Bad> {
    let given = given.unwrap_or_default();
    let mut entries = Entries::with_capacity(given.len());
    // Hundreds of thousands fit into one answer: comparing each with all others would take minutes.
    let mut seen = HashSet::with_capacity(given.len());
    for (key, its) in given {
        let key = text::block(key, text::MESSAGE);
        if !seen.insert(key.clone()) {
            return Err(Bad::new(format!("`{key}` stands there twice")));
        }
        let its = strict(text::json(its)).at(format_args!("`{key}`"))?;
        entries.push((key, its));
    }
    Ok(entries)
}

fn role(role: types::Role) -> Role {
    match role {
        types::Role::User => Role::User,
        types::Role::Assistant => Role::Assistant,
    }
}

/// Icons that a host may fetch without harm. The others are left out: a plugin is no worse for its picture.
fn icons(icons: Option<Vec<types::Icon>>) -> Result<Vec<Icon>, Bad> {
    let safe = icons.unwrap_or_default().into_iter().filter(|icon| is_picture(&icon.src));
    safe.map(icon).collect::<Result<_, _>>().at("icon")
}

/// Tells the operator of icons that are left out: once for all that a plugin offers, because it may name a million.
pub(in crate::host) fn tell_of_icons<'a>(
    plugin: &PluginId,
    icons: impl Iterator<Item = &'a Option<Vec<types::Icon>>>,
) {
    let mut left_out = icons.flatten().flatten().filter(|icon| !is_picture(&icon.src));
    if let Some(first) = left_out.next() {
        let (src, more) = (text::line(&first.src, 80), left_out.count());
        let more = if more == 0 { String::new() } else { format!(", and so are {more} more") };
        tracing::warn!(
            %plugin,
            "an icon is left out: `{src}` is neither an `https:` nor a `data:` address{more}"
        );
    }
}

/// Is it an `https:` or `data:` address of characters that URIs are made of?
fn is_picture(src: &str) -> bool {
    let scheme = src.split(':').next().unwrap_or_default().to_ascii_lowercase();
    matches!(scheme.as_str(), "https" | "data")
        && src.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte))
}

fn icon(icon: types::Icon) -> Result<Icon, Bad> {
    let types::Icon { src, mime_type, sizes, theme, extra: more } = icon;
    Ok(Icon {
        src,
        mime_type: mime_type.map(|word| text::line(&word, text::WORD)),
        sizes: sizes.map(|sizes| sizes.iter().map(|size| text::line(size, text::WORD)).collect()),
        theme: theme.map(|theme| match theme {
            types::IconTheme::Light => IconTheme::Light,
            types::IconTheme::Dark => IconTheme::Dark,
        }),
        extra: extra(more, &["src", "mimeType", "sizes", "theme"])?,
    })
}

fn annotations(given: Option<types::Annotations>) -> Result<Option<Annotations>, Bad> {
    let Some(given) = given else { return Ok(None) };
    let types::Annotations { audience, priority, last_modified, extra: more } = given;
    if priority.is_some_and(|priority| !(0.0..=1.0).contains(&priority)) {
        return Err(Bad::new("annotations: `priority` must lie between 0 and 1".to_owned()));
    }
    Ok(Some(Annotations {
        audience: audience.map(|audience| audience.into_iter().map(role).collect()),
        priority,
        last_modified: last_modified.map(|date| text::line(&date, text::WORD)),
        extra: extra(more, &["audience", "priority", "lastModified"]).at("annotations")?,
    }))
}

/// A name or title.
fn name(given: &str) -> String {
    text::line(given, text::NAME)
}

/// A name or title that may be left out; an empty one is left out.
fn title(given: Option<String>) -> Option<String> {
    given.map(|title| name(&title)).filter(|title| !title.is_empty())
}

/// A description that may be left out; an empty one is left out.
fn description(given: Option<String>) -> Option<String> {
    given.map(|text| text::block(text, text::DESCRIPTION)).filter(|text| !text.trim().is_empty())
}

/// A media type.
fn media_type(given: Option<String>) -> Option<String> {
    given.map(|word| text::line(&word, text::WORD)).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests;
