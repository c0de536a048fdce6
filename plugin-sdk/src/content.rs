//! Blocks of content and resource contents, made and read without naming every optional member.

use crate::{
    Annotations, Content, EmbeddedResource, MediaContent, ResourceBody, ResourceContents, ResourceInfo, Role,
    TextContent,
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
}
