//! Results of calls, content blocks, and questions to the client.

use std::time::Duration;

use crate::json::Json;
use crate::manifest::{Annotations, JsonMembers, Resource, Role};
use crate::names::{PromptName, ResourceUri};

/// The outcome of a call that didn't fail.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<T> {
    /// A result.
    Done(T),
    /// Questions to the client. The call is repeated with the answers.
    NeedInput(InputNeeded),
}

/// A request for input: ask the client, then call again from the top.
#[derive(Debug, Clone, PartialEq)]
pub struct InputNeeded {
    /// The questions.
    pub requests: Vec<InputRequest>,
    /// The plugin's own state, returned with the answers.
    pub state: Option<Vec<u8>>,
    /// MCP's `_meta`.
    pub meta: JsonMembers,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// One question to the client.
#[derive(Debug, Clone, PartialEq)]
pub struct InputRequest {
    /// The plugin's name for it. The answer uses the same key.
    pub key: String,
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// The method's parameters, an object.
    pub params: Option<Json>,
}

/// The result of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    /// The content for the model.
    pub content: Vec<Content>,
    /// The structured result.
    pub structured: Option<Json>,
    /// True if the tool failed. If so, `content` contains the reason.
    pub is_error: bool,
    /// MCP's `_meta`.
    pub meta: JsonMembers,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

impl ToolResult {
    /// A result that reports a failure to the model.
    #[must_use]
    pub fn error(message: impl Into<String>) -> Self {
        Self { content: vec![Content::text(message)], is_error: true, ..Self::default() }
    }
}

/// The content of a resource.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadResult {
    /// The items: usually one, several for a directory.
    pub contents: Vec<ResourceContents>,
    /// The time for which clients may cache it. `None` means that they may not.
    pub ttl: Option<Duration>,
    /// True if a cache may serve the copy to other callers.
    pub is_shareable: bool,
    /// MCP's `_meta`.
    pub meta: JsonMembers,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// A filled-in prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptResult {
    /// Its purpose.
    pub description: Option<String>,
    /// The messages.
    pub messages: Vec<PromptMessage>,
    /// MCP's `_meta`.
    pub meta: JsonMembers,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptMessage {
    /// The author.
    pub role: Role,
    /// The content.
    pub content: Content,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// Suggested values, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Completion {
    /// The values.
    pub values: Vec<String>,
    /// The number of all suggestions.
    pub total: Option<u32>,
    /// True if there are more suggestions than `values`.
    pub has_more: Option<bool>,
    /// MCP's `_meta`.
    pub meta: JsonMembers,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// The owner of the argument that is completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionTarget {
    /// A prompt, by the plugin's own name.
    Prompt(PromptName),
    /// A resource template, as listed, or an exact URI.
    Template(String),
}

/// One block of a result or a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text.
    Text(TextContent),
    /// An image.
    Image(MediaContent),
    /// Audio.
    Audio(MediaContent),
    /// A link to a resource.
    Link(Box<Resource>),
    /// A resource with its content.
    Embedded(EmbeddedResource),
    /// A block of a later revision, with a `type` that isn't listed above. Contains the `type` and the whole object.
    Other(String, Json),
}

impl Content {
    /// The size of its text or data, in bytes.
    #[must_use]
    pub fn content_bytes(&self) -> u64 {
        match self {
            Self::Text(text) => text.text.len() as u64,
            Self::Image(media) | Self::Audio(media) => media.data.len() as u64,
            Self::Link(resource) => resource.uri.as_str().len() as u64,
            Self::Embedded(embedded) => embedded.contents.body.content_bytes(),
            Self::Other(_, object) => object.get().len() as u64,
        }
    }

    /// A text block without annotations.
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
    /// Its audience and importance.
    pub annotations: Option<Annotations>,
    /// MCP's `_meta`.
    pub meta: JsonMembers,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// An image or audio.
#[derive(Debug, Clone, PartialEq)]
pub struct MediaContent {
    /// The bytes, not encoded.
    pub data: Vec<u8>,
    /// The media type.
    pub mime_type: String,
    /// Its audience and importance.
    pub annotations: Option<Annotations>,
    /// MCP's `_meta`.
    pub meta: JsonMembers,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// A resource embedded in a message.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddedResource {
    /// The resource.
    pub contents: ResourceContents,
    /// Its audience and importance.
    pub annotations: Option<Annotations>,
    /// MCP's `_meta`.
    pub meta: JsonMembers,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// A resource, or a part of one, with its content.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceContents {
    /// Its URI.
    pub uri: ResourceUri,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Its content.
    pub body: ResourceBody,
    /// MCP's `_meta`.
    pub meta: JsonMembers,
    /// Members that aren't modelled yet.
    pub extra: JsonMembers,
}

/// The content of a resource.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes, not encoded.
    Blob(Vec<u8>),
}

impl ResourceBody {
    /// Its size, in bytes.
    #[must_use]
    pub fn content_bytes(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Blob(bytes) => bytes.len() as u64,
        }
    }
}
