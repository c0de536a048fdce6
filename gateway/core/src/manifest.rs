//! What a plugin says of itself, as plain values.
//!
//! The host fills these in from the contract's types and the catalog serves them; neither Wasm nor MCP's JSON is
//! known here. Every text was cleaned and capped, and every JSON text checked, before it came here.

use crate::json::Json;
use crate::names::{PromptName, ResourceUri, ToolName};
use crate::text::is_hidden_in_uri;

mod interfaces;

pub use interfaces::{Interfaces, Need};

/// Members of a JSON object, each key once.
pub type Entries = Vec<(String, Json)>;

/// Is it a key of `_meta` that a plugin can't use? Those are the ones with a prefix whose second label is MCP's, and
/// W3C's names for traces (MCP 2026-07-28, "General fields: `_meta`"); also MCP's own domain written forwards, which
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

/// All that one loaded plugin offers.
#[derive(Debug, Clone, Default, PartialEq)]
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
    /// Whether it suggests values while a person types.
    pub completes: bool,
}

/// How a plugin introduces itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PluginInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its home page.
    pub website_url: Option<String>,
    /// Pictures of it.
    pub icons: Vec<Icon>,
    /// Advice to the model, shown only if the operator allows it.
    pub instructions: Option<String>,
    /// JSON Schema of its table in `gateway.toml`.
    pub config_schema: Option<Json>,
    /// MCP's `_meta`, without the prefixes that MCP keeps for itself.
    pub meta: Entries,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// A picture that a host may show beside a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Icon {
    /// An `https:` or `data:` address.
    pub src: String,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Sizes it fits, such as `48x48`, or `any`.
    pub sizes: Option<Vec<String>>,
    /// The background it was drawn for.
    pub theme: Option<IconTheme>,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// A background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IconTheme {
    /// Drawn for a light background.
    Light,
    /// Drawn for a dark background.
    Dark,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// Hints on who should see something and how much it matters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Annotations {
    /// Whom it is for.
    pub audience: Option<Vec<Role>>,
    /// From 0 (can be left out) to 1 (can't do without).
    pub priority: Option<f64>,
    /// When it last changed, as ISO 8601 text.
    pub last_modified: Option<String>,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// Something a model may do.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The plugin's own name for it.
    pub name: ToolName,
    /// Its name for people.
    pub title: Option<String>,
    /// What it does; clients show and send it to the model.
    pub description: String,
    /// JSON Schema of its arguments; the root says `"type": "object"`.
    pub input_schema: Json,
    /// JSON Schema of its structured result.
    pub output_schema: Option<Json>,
    /// What calling it may do to the world.
    pub hints: ToolHints,
    /// Pictures of it.
    pub icons: Vec<Icon>,
    /// MCP's `_meta`.
    pub meta: Entries,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// What calling a tool may do to the world. Absent: MCP's default holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolHints {
    /// An older place for a tool's title.
    pub title: Option<String>,
    /// It changes nothing (default: no).
    pub read_only: Option<bool>,
    /// It may destroy something (default: yes).
    pub destructive: Option<bool>,
    /// A second call with the same arguments changes nothing more (default: no).
    pub idempotent: Option<bool>,
    /// It reaches beyond a closed set of things (default: yes).
    pub open_world: Option<bool>,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// A resource that can be read: an entry of the list, or a link to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// Where it is.
    pub uri: ResourceUri,
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it holds.
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Its length in bytes, before any encoding.
    pub size: Option<u64>,
    /// Pictures of it.
    pub icons: Vec<Icon>,
    /// Who should see it and how much it matters.
    pub annotations: Option<Annotations>,
    /// MCP's `_meta`.
    pub meta: Entries,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// A family of resources, named by an RFC 6570 template.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceTemplate {
    /// The template.
    pub uri_template: UriTemplate,
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What its resources hold.
    pub description: Option<String>,
    /// Their media type, where all have the same.
    pub mime_type: Option<String>,
    /// Pictures of it.
    pub icons: Vec<Icon>,
    /// Who should see them and how much they matter.
    pub annotations: Option<Annotations>,
    /// MCP's `_meta`.
    pub meta: Entries,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// An RFC 6570 template whose literal beginning says which URIs belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UriTemplate {
    text: String,
    prefix: usize,
}

/// Why a text is no template that the gateway can route by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// There is no `{…}` in it.
    #[error("it has no `{{…}}`: list it as a resource")]
    NoVariable,
    /// A `{` is never closed, or a `}` never opened.
    #[error("its braces don't match")]
    Braces,
    /// It isn't what people can read on one line.
    #[error("it holds white space, or a character that nobody sees")]
    Hidden,
    /// It holds what URIs don't.
    #[error("it holds characters that no URI has; write them as `%` escapes (RFC 3986)")]
    NoUri,
    /// What stands before the first `{` says too little.
    #[error(
        "what stands before its first `{{` must name at least a scheme and an authority, or a scheme and one character of the path"
    )]
    ShortPrefix,
}

impl UriTemplate {
    /// Checks `text` and finds its literal beginning.
    ///
    /// # Errors
    /// It holds white space, hidden characters or such as no URI has, its braces don't match, it has no variable, or
    /// its literal beginning is shorter than scheme and authority (`test://host`), or scheme and one path character
    /// (`urn:a`).
    pub fn new(text: &str) -> Result<Self, TemplateError> {
        if text.chars().any(|c| c.is_whitespace() || is_hidden_in_uri(c)) {
            return Err(TemplateError::Hidden);
        }
        let mut open = false;
        for c in text.chars() {
            match (c, open) {
                ('{', false) => open = true,
                ('}', true) => open = false,
                ('{', true) | ('}', false) => return Err(TemplateError::Braces),
                _ => {}
            }
        }
        if open {
            return Err(TemplateError::Braces);
        }
        let Some(prefix) = text.find('{') else { return Err(TemplateError::NoVariable) };
        let literal = &text[..prefix];
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`".contains(&byte)) {
            return Err(TemplateError::NoUri);
        }
        let says_enough = ResourceUri::new(literal).is_ok()
            && match literal.split_once("://") {
                Some((_, rest)) => !rest.is_empty(),
                None => true,
            };
        if !says_enough {
            return Err(TemplateError::ShortPrefix);
        }
        Ok(Self { text: text.to_owned(), prefix })
    }

    /// The template as the plugin gave it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What stands before the first `{`: every URI that starts with it belongs to the template's plugin.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.text[..self.prefix]
    }
}

/// Messages that a person picks from a menu.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The plugin's own name for it.
    pub name: PromptName,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// What to fill in, in the order to ask for it.
    pub arguments: Vec<PromptArgument>,
    /// Pictures of it.
    pub icons: Vec<Icon>,
    /// MCP's `_meta`.
    pub meta: Entries,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// One blank of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What to fill in.
    pub description: Option<String>,
    /// Whether the prompt can't do without it.
    pub required: bool,
    /// Members that have no field here yet.
    pub extra: Entries,
}

#[cfg(test)]
mod tests;
