//! Blocks of content and resource contents, made and read without naming every optional member.

use serde::Serialize;
use serde_json::Value;

use crate::{
    Annotations, Content, EmbeddedResource, MediaContent, ResourceBody, ResourceContents, ResourceInfo, Role,
    TextContent, ToolError,
};

// === impl Content ===

impl Content {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent { text: text.into(), annotations: None, meta: None, extra: None })
    }

    /// An image: its bytes and their media type, such as `image/png`.
    pub fn image(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self::Image(media(data.into(), mime_type.into()))
    }

    /// A sound: its bytes and their media type, such as `audio/wav`.
    pub fn audio(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self::Audio(media(data.into(), mime_type.into()))
    }

    /// A link to a resource, which the host reads if and when it wants to: the right choice for what is large.
    #[must_use]
    pub fn link(resource: ResourceInfo) -> Self {
        Self::Link(resource)
    }

    /// A resource together with its data.
    #[must_use]
    pub fn embedded(contents: ResourceContents) -> Self {
        Self::Embedded(EmbeddedResource { contents, annotations: None, meta: None, extra: None })
    }

    /// A block of a kind that this SDK doesn't know: the whole JSON object as MCP has it, with its member `type`. The
    /// gateway refuses what its revision of MCP doesn't know.
    ///
    /// # Errors
    /// The value can't be written as JSON.
    pub fn other(block: &impl Serialize) -> Result<Self, ToolError> {
        let json = serde_json::to_string(block).map_err(|error| {
            ToolError::internal(format_args!("the block of content can't be written as JSON: {error}"))
        })?;
        Ok(Self::Other(json))
    }

    /// The text, if it is a block of text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            Self::Image(_) | Self::Audio(_) | Self::Link(_) | Self::Embedded(_) | Self::Other(_) => None,
        }
    }

    /// The same block with hints on whom it is for. A block of the kind `other` stays as it is: its hints are part of
    /// its text.
    #[must_use]
    pub fn annotated(mut self, annotations: Annotations) -> Self {
        match &mut self {
            Self::Text(block) => block.annotations = Some(annotations),
            Self::Image(block) | Self::Audio(block) => block.annotations = Some(annotations),
            Self::Link(block) => block.annotations = Some(annotations),
            Self::Embedded(block) => block.annotations = Some(annotations),
            Self::Other(_) => {}
        }
        self
    }
}

impl Content {
    /// The same block with one more member of `_meta`, of which the gateway drops those that MCP keeps for itself. A
    /// block of the kind `other` stays as it is.
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let meta = match &mut self {
            Self::Text(block) => &mut block.meta,
            Self::Image(block) | Self::Audio(block) => &mut block.meta,
            Self::Link(block) => &mut block.meta,
            Self::Embedded(block) => &mut block.meta,
            Self::Other(_) => return self,
        };
        add_meta(meta, key.into(), &value.into());
        self
    }
}

/// Adds a member to a `_meta`, in the place of one of the same key.
pub(crate) fn add_meta(meta: &mut Option<Vec<(String, String)>>, key: String, value: &Value) {
    let meta = meta.get_or_insert_default();
    meta.retain(|(old, _)| *old != key);
    meta.push((key, value.to_string()));
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<ResourceContents> for Content {
    fn from(contents: ResourceContents) -> Self {
        Self::embedded(contents)
    }
}

fn media(data: Vec<u8>, mime_type: String) -> MediaContent {
    MediaContent { data, mime_type, annotations: None, meta: None, extra: None }
}

// === impl ResourceContents ===

impl ResourceContents {
    /// A resource that holds text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(uri.into(), ResourceBody::Text(text.into()))
    }

    /// A resource that holds bytes.
    pub fn blob(uri: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(uri.into(), ResourceBody::Blob(bytes.into()))
    }

    /// The same contents with a media type, such as `text/markdown`.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// The text, if it holds text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.body {
            ResourceBody::Text(text) => Some(text),
            ResourceBody::Blob(_) => None,
        }
    }

    fn new(uri: String, body: ResourceBody) -> Self {
        Self { uri, mime_type: None, body, meta: None, extra: None }
    }
}

// === impl ResourceInfo ===

impl ResourceInfo {
    /// A resource that can be read at `uri`.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            icons: None,
            annotations: None,
            meta: None,
            extra: None,
        }
    }

    /// The same resource with a name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The same resource with a description.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// The same resource with a media type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// The same resource with its size in bytes.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }
}

// === impl Annotations ===

impl Annotations {
    /// For these readers.
    #[must_use]
    pub fn audience(audience: impl Into<Vec<Role>>) -> Self {
        Self { audience: Some(audience.into()), priority: None, last_modified: None, extra: None }
    }

    /// Of this importance, from 0 (optional) to 1 (required).
    #[must_use]
    pub fn priority(mut self, priority: f64) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Last changed at this time, in the form of ISO 8601, such as `2026-01-12T15:00:58Z`.
    #[must_use]
    pub fn last_modified(mut self, time: impl Into<String>) -> Self {
        self.last_modified = Some(time.into());
        self
    }
}
