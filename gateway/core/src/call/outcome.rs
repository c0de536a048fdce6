//! What calls come to: results, content blocks, and questions to the client.

use std::time::Duration;

use crate::json::Json;
use crate::manifest::{Annotations, Entries, Resource, Role};
use crate::names::{PromptName, ResourceUri};

/// How a call that came to an end ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<T> {
    /// With a result.
    Done(T),
    /// With questions to the client; the call is made again with the answers.
    NeedInput(NeedInput),
}

/// "Ask this, then call me again from the top."
#[derive(Debug, Clone, PartialEq)]
pub struct NeedInput {
    /// What to ask.
    pub requests: Vec<InputRequest>,
    /// The plugin's own state, to be given back.
    pub state: Option<Vec<u8>>,
    /// MCP's `_meta`.
    pub meta: Entries,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// One question to the client.
#[derive(Debug, Clone, PartialEq)]
pub struct InputRequest {
    /// The plugin's name for it; the answer comes under it.
    pub key: String,
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// The method's parameters, an object.
    pub params: Option<Json>,
}

/// What a tool answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    /// For the model to read.
    pub content: Vec<Content>,
    /// The result as data.
    pub structured: Option<Json>,
    /// The tool ran and failed; `content` says why.
    pub is_error: bool,
    /// MCP's `_meta`.
    pub meta: Entries,
    /// Members that have no field here yet.
    pub extra: Entries,
}

impl ToolResult {
    /// A result that tells the model what went wrong.
    #[must_use]
    pub fn error(message: impl Into<String>) -> Self {
        Self { content: vec![Content::text(message)], is_error: true, ..Self::default() }
    }
}

/// What a resource holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadResult {
    /// Usually one; several for a folder.
    pub contents: Vec<ResourceContents>,
    /// How long it may be kept. Absent: not at all.
    pub ttl: Option<Duration>,
    /// Whether others may be given the same copy.
    pub shareable: bool,
    /// MCP's `_meta`.
    pub meta: Entries,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// A filled-in prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptResult {
    /// What it is for.
    pub description: Option<String>,
    /// The messages.
    pub messages: Vec<PromptMessage>,
    /// MCP's `_meta`.
    pub meta: Entries,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptMessage {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// Suggested values, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Completion {
    /// The values.
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: Option<u32>,
    /// Whether there are more than `values`.
    pub has_more: Option<bool>,
    /// MCP's `_meta`.
    pub meta: Entries,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// Whose argument is being completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionTarget {
    /// A prompt, by the plugin's own name for it.
    Prompt(PromptName),
    /// A resource template, as it was listed, or an exact URI.
    Template(String),
}

/// One block of a result or a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(MediaContent),
    /// A sound.
    Audio(MediaContent),
    /// A pointer to a resource.
    Link(Box<Resource>),
    /// A resource with what it holds.
    Embedded(EmbeddedResource),
    /// A block of a later revision: an object whose `type` none of the above is. The `type`, then the object.
    Other(String, Json),
}

impl Content {
    /// A text block without decoration.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent { text: text.into(), annotations: None, meta: Vec::new(), extra: Vec::new() })
    }
}

/// Text.
#[derive(Debug, Clone, PartialEq)]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// Who should see it and how much it matters.
    pub annotations: Option<Annotations>,
    /// MCP's `_meta`.
    pub meta: Entries,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// A picture or a sound.
#[derive(Debug, Clone, PartialEq)]
pub struct MediaContent {
    /// The bytes, not encoded.
    pub data: Vec<u8>,
    /// The media type.
    pub mime_type: String,
    /// Who should see it and how much it matters.
    pub annotations: Option<Annotations>,
    /// MCP's `_meta`.
    pub meta: Entries,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// A resource sent along inside a message.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddedResource {
    /// The resource.
    pub contents: ResourceContents,
    /// Who should see it and how much it matters.
    pub annotations: Option<Annotations>,
    /// MCP's `_meta`.
    pub meta: Entries,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// A resource, or a part of one, with what it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceContents {
    /// Where it is.
    pub uri: ResourceUri,
    /// Its media type.
    pub mime_type: Option<String>,
    /// What it holds.
    pub body: ResourceBody,
    /// MCP's `_meta`.
    pub meta: Entries,
    /// Members that have no field here yet.
    pub extra: Entries,
}

/// The two ways to hold something.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceBody {
    /// As text.
    Text(String),
    /// As bytes, not encoded.
    Blob(Vec<u8>),
}
