//! Constructors and accessors for content blocks and resource contents.

use serde::Serialize;
use serde_json::Value;

use crate::{
    Annotations, Content, EmbeddedResource, MediaContent, ResourceBody, ResourceContents, ResourceInfo, Role,
    TextContent, ToolError,
};

// === impl Content ===

impl Content {
    /// A block of text.
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

    /// A link to a resource, which the host reads on demand. Use it for large data.
    #[must_use]
    pub fn link(resource: ResourceInfo) -> Self {
        Self::Link(resource)
    }

    /// A resource with its data.
    #[must_use]
    pub fn embedded(contents: ResourceContents) -> Self {
        Self::Embedded(EmbeddedResource { contents, annotations: None, meta: None, extra: None })
    }

    /// A block of a kind that this SDK doesn't know: the whole JSON object as in MCP, with its member `type`. The
    /// gateway rejects kinds that its MCP revision doesn't know.
    ///
    /// # Errors
    /// The value can't be written as JSON.
    pub fn other(block: &impl Serialize) -> Result<Self, ToolError> {
        let json = serde_json::to_string(block).map_err(|error| {
            ToolError::internal(format_args!("cannot serialize the content block as JSON: {error}"))
        })?;
        Ok(Self::Other(json))
    }

    /// Returns the text of a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            Self::Image(_) | Self::Audio(_) | Self::Link(_) | Self::Embedded(_) | Self::Other(_) => None,
        }
    }

    /// Adds annotations, such as the audience. A block of the kind `other` is unchanged, because its annotations are
    /// part of its JSON.
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
    /// Adds a member to `_meta`. The gateway drops keys that MCP reserves. A block of the kind `other` is unchanged.
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

/// Adds a member to a `_meta`, replacing one with the same key.
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
    /// A resource with text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(uri.into(), ResourceBody::Text(text.into()))
    }

    /// A resource with binary data.
    pub fn blob(uri: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(uri.into(), ResourceBody::Blob(bytes.into()))
    }

    /// Sets the media type, such as `text/markdown`.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Returns the text of a text resource.
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

    /// Sets the name shown to people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the media type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets the size in bytes.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }
}

// === impl Annotations ===

impl Annotations {
    /// Annotations with this audience.
    #[must_use]
    pub fn audience(audience: impl Into<Vec<Role>>) -> Self {
        Self { audience: Some(audience.into()), priority: None, last_modified: None, extra: None }
    }

    /// Annotations with this priority, from 0 (optional) to 1 (required).
    #[must_use]
    pub fn priority(mut self, priority: f64) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Annotations with this time of the last change, in ISO 8601, such as `2026-01-12T15:00:58Z`.
    #[must_use]
    pub fn last_modified(mut self, time: impl Into<String>) -> Self {
        self.last_modified = Some(time.into());
        self
    }
}
