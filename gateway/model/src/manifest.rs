//! A plugin's description of itself, as plain values.
//!
//! The host fills these in from the contract's types and the catalog serves them; this module depends neither on Wasm
//! nor on MCP's JSON. Strings are sanitised and cut, and JSON texts checked, before they get here.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::Json;
use crate::names::{PromptName, ResourceUri, ToolName, is_uri_scheme};
use crate::text::is_hidden_in_uri;

mod interfaces;

pub use interfaces::{GuestCapability, Interfaces};

/// Members of a JSON object, each key once.
pub type JsonMembers = Vec<(String, Json)>;

/// Reports whether `key` is a key of `_meta` that plugins can't use: one with a prefix whose second label is MCP's, one
/// of W3C's trace keys (MCP 2026-07-28, "General fields: `_meta`"), or one with MCP's own domain in normal order, which
/// 2025-06-18 reserves.
#[must_use]
pub fn is_reserved_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, _)) => {
            let mut labels = prefix.split('.');
            labels.next() == Some("modelcontextprotocol")
                || matches!(labels.next(), Some("modelcontextprotocol" | "mcp"))
        }
        None => matches!(key, "traceparent" | "tracestate" | "baggage"),
    }
}

/// Everything that one loaded plugin offers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Name, version and the like.
    pub info: PluginInfo,
    /// Its tools, in the plugin's own order.
    pub tools: Vec<Tool>,
    /// Its resources, in the plugin's own order.
    pub resources: Vec<Resource>,
    /// Its resource templates, in the plugin's own order.
    pub templates: Vec<ResourceTemplate>,
    /// Its prompts, in the plugin's own order.
    pub prompts: Vec<Prompt>,
    /// Items that the gateway can't offer.
    pub rejected: Vec<RejectedItem>,
    /// True if it suggests values for arguments.
    pub has_completions: bool,
}

/// The kinds of items that a plugin offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ItemKind {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource.
    Resource,
    /// A resource template.
    Template,
}

impl ItemKind {
    /// The kind in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Template => "resource template",
        }
    }

    /// The table of a plugin's configuration that selects items of this kind.
    #[must_use]
    pub fn config_table(self) -> &'static str {
        match self {
            Self::Tool => "tools",
            Self::Prompt => "prompts",
            Self::Resource | Self::Template => "resources",
        }
    }
}

/// An item that the gateway can't offer. The plugin's other items aren't affected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedItem {
    /// Its kind.
    pub kind: ItemKind,
    /// The plugin's own name for it: a name, a URI or a template. It can contain anything.
    pub name: String,
    /// The reason.
    pub reason: String,
    /// How to fix it. `None` means that only the plugin can.
    pub fix: Option<String>,
}

/// A plugin's name, version and presentation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PluginInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its display name.
    pub title: Option<String>,
    /// Its purpose.
    pub description: Option<String>,
    /// Its home page.
    pub website_url: Option<String>,
    /// Its icons.
    pub icons: Vec<Icon>,
    /// Instructions for the model, passed on only if the operator allows it.
    pub instructions: Option<String>,
    /// The JSON Schema of its settings in `gateway.toml`.
    pub settings_schema: Option<Json>,
    /// MCP's `_meta`, without the prefixes that MCP reserves.
    pub meta: JsonMembers,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// An icon that a host may show next to a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Icon {
    /// An `https:` or `data:` address.
    pub src: String,
    /// Its media type.
    pub mime_type: Option<String>,
    /// The sizes it fits, such as `48x48`, or `any`.
    pub sizes: Option<Vec<String>>,
    /// The background it was drawn for.
    pub theme: Option<IconTheme>,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// A background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IconTheme {
    /// Drawn for a light background.
    Light,
    /// Drawn for a dark background.
    Dark,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// Hints on the audience and importance of an item.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Annotations {
    /// The intended audience.
    pub audience: Option<Vec<Role>>,
    /// From 0 (optional) to 1 (required).
    pub priority: Option<f64>,
    /// The time of the last change, as ISO 8601.
    pub last_modified: Option<String>,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// An action that a model may take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// The tool's name as the plugin defines it, without a prefix.
    pub name: ToolName,
    /// Its display name.
    pub title: Option<String>,
    /// Its purpose. Clients show it and send it to the model.
    pub description: String,
    /// The JSON Schema of its arguments; the root has `"type": "object"`.
    pub input_schema: Json,
    /// The JSON Schema of its structured result.
    pub output_schema: Option<Json>,
    /// The possible effects of a call.
    pub hints: ToolHints,
    /// Its icons.
    pub icons: Vec<Icon>,
    /// MCP's `_meta`.
    pub meta: JsonMembers,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// The possible effects of a call. `None` means MCP's default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolHints {
    /// The former place of a tool's title.
    pub title: Option<String>,
    /// A call changes nothing (default: no).
    pub read_only: Option<bool>,
    /// A call may destroy something (default: yes).
    pub destructive: Option<bool>,
    /// A second call with the same arguments has no further effect (default: no).
    pub idempotent: Option<bool>,
    /// A call reaches an open set of entities, such as the web (default: yes).
    pub open_world: Option<bool>,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// A readable resource: an entry of the list, or a link to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// Its URI.
    pub uri: ResourceUri,
    /// Its name.
    pub name: String,
    /// Its display name.
    pub title: Option<String>,
    /// Its content.
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Its length in bytes, before any encoding.
    pub size: Option<u64>,
    /// Its icons.
    pub icons: Vec<Icon>,
    /// Its audience and importance.
    pub annotations: Option<Annotations>,
    /// MCP's `_meta`.
    pub meta: JsonMembers,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// A family of resources, named by an RFC 6570 template.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceTemplate {
    /// The template.
    pub uri_template: UriTemplate,
    /// Its name.
    pub name: String,
    /// Its display name.
    pub title: Option<String>,
    /// The content of its resources.
    pub description: Option<String>,
    /// Their media type, if all have the same.
    pub mime_type: Option<String>,
    /// Its icons.
    pub icons: Vec<Icon>,
    /// Their audience and importance.
    pub annotations: Option<Annotations>,
    /// MCP's `_meta`.
    pub meta: JsonMembers,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// An RFC 6570 template. Its literal prefix determines the URIs that belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UriTemplate {
    text: String,
    prefix: usize,
}

/// An invalid template, or one that the gateway can't route by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UriTemplateError {
    /// The template has no `{…}`.
    #[error("it has no `{{…}}`: list it as a resource")]
    NoVariable,
    /// A `{` isn't closed, or a `}` wasn't opened.
    #[error("its braces don't match")]
    Braces,
    /// The template contains white space or invisible characters.
    #[error("it contains white space or an invisible character")]
    Hidden,
    /// The template contains characters that URIs can't contain.
    #[error("it contains characters that URIs can't contain; write them as `%` escapes (RFC 3986)")]
    NoUri,
    /// The template has no literal scheme.
    #[error("the part before its first `{{` must contain a scheme, such as `notes:`")]
    NoScheme,
}

impl Serialize for UriTemplate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for UriTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl UriTemplate {
    /// Validates `text` and finds its literal prefix.
    ///
    /// # Errors
    /// The text contains white space, invisible characters or characters that URIs can't contain. Or its braces don't
    /// match, it has no variable, or a variable comes before the end of the scheme.
    pub fn new(text: &str) -> Result<Self, UriTemplateError> {
        if text.chars().any(|c| c.is_whitespace() || is_hidden_in_uri(c)) {
            return Err(UriTemplateError::Hidden);
        }
        let mut open = false;
        for c in text.chars() {
            match (c, open) {
                ('{', false) => open = true,
                ('}', true) => open = false,
                ('{', true) | ('}', false) => return Err(UriTemplateError::Braces),
                _ => {}
            }
        }
        if open {
            return Err(UriTemplateError::Braces);
        }
        let Some(prefix) = text.find('{') else { return Err(UriTemplateError::NoVariable) };
        let literal = &text[..prefix];
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`".contains(&byte)) {
            return Err(UriTemplateError::NoUri);
        }
        if !literal.split_once(':').is_some_and(|(scheme, _)| is_uri_scheme(scheme)) {
            return Err(UriTemplateError::NoScheme);
        }
        // Any variable can begin with a letter.
        if ResourceUri::new(&format!("{literal}x")).is_err() {
            return Err(UriTemplateError::NoUri);
        }
        Ok(Self { text: text.to_owned(), prefix })
    }

    /// The template as the plugin gave it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text before the first `{`. Every URI that starts with it belongs to the template's plugin.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.text[..self.prefix]
    }
}

/// Messages that a user picks from a menu.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// The plugin's own name for it.
    pub name: PromptName,
    /// Its display name.
    pub title: Option<String>,
    /// Its purpose.
    pub description: String,
    /// Its arguments, in the order in which to ask for them.
    pub arguments: Vec<PromptArgument>,
    /// Its icons.
    pub icons: Vec<Icon>,
    /// MCP's `_meta`.
    pub meta: JsonMembers,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// One argument of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// Its display name.
    pub title: Option<String>,
    /// Its meaning.
    pub description: Option<String>,
    /// True if the prompt requires it.
    pub required: bool,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

#[cfg(test)]
mod tests;
