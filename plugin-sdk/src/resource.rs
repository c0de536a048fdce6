//! Return types of resources: [`IntoResource`].

use std::time::Duration;

use serde::Serialize;

use crate::{IntoToolError, Json, Pretty, ReadResult, ResourceContents, ToolError};

/// A value that a resource can return. `uri` is the requested URI and `mime_type` the declared media type.
#[diagnostic::on_unimplemented(
    message = "a resource can't return `{Self}`",
    label = "not the data of a resource",
    note = "return a `String`, `Vec<u8>`, `Json<T>`, `ResourceContents`, `Vec<ResourceContents>`, `ReadResult`, or a `Result` of one of them"
)]
pub trait IntoResource: Sized {
    /// Converts the value to the resource's contents.
    ///
    /// # Errors
    /// The resource failed.
    fn into_resource(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResult, ToolError>;
}

// === impl ReadResult ===

impl ReadResult {
    /// A result with these contents, which must not be cached.
    #[must_use]
    pub fn new(contents: Vec<ResourceContents>) -> Self {
        Self { contents, ttl_ms: None, shareable: None, meta: None, extra: None }
    }

    /// Lets the caller cache the result for this long.
    #[must_use]
    pub fn keep_for(mut self, time: Duration) -> Self {
        self.ttl_ms = Some(u32::try_from(time.as_millis()).unwrap_or(u32::MAX));
        self
    }

    /// Lets caches share the result between callers.
    #[must_use]
    pub fn shareable(mut self) -> Self {
        self.shareable = Some(true);
        self
    }
}

// === impl IntoResource ===

impl IntoResource for ReadResult {
    fn into_resource(self, _uri: &str, _mime_type: Option<&str>) -> Result<ReadResult, ToolError> {
        Ok(self)
    }
}

impl IntoResource for Vec<ResourceContents> {
    fn into_resource(self, _uri: &str, _mime_type: Option<&str>) -> Result<ReadResult, ToolError> {
        Ok(ReadResult::new(self))
    }
}

impl IntoResource for ResourceContents {
    fn into_resource(mut self, _uri: &str, mime_type: Option<&str>) -> Result<ReadResult, ToolError> {
        self.mime_type = self.mime_type.or_else(|| mime_type.map(str::to_owned));
        Ok(ReadResult::new(vec![self]))
    }
}

impl IntoResource for String {
    fn into_resource(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResult, ToolError> {
        ResourceContents::text(uri, self).into_resource(uri, mime_type)
    }
}

impl IntoResource for &str {
    fn into_resource(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResult, ToolError> {
        self.to_owned().into_resource(uri, mime_type)
    }
}

impl IntoResource for Vec<u8> {
    fn into_resource(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResult, ToolError> {
        ResourceContents::blob(uri, self).into_resource(uri, mime_type)
    }
}

impl IntoResource for &[u8] {
    fn into_resource(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResult, ToolError> {
        self.to_vec().into_resource(uri, mime_type)
    }
}

impl<T: Serialize> IntoResource for Json<T> {
    fn into_resource(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResult, ToolError> {
        serde_json::to_string(&self.0)?.into_resource(uri, mime_type.or(Some("application/json")))
    }
}

impl<T: Serialize> IntoResource for Pretty<T> {
    fn into_resource(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResult, ToolError> {
        serde_json::to_string_pretty(&self.0)?.into_resource(uri, mime_type.or(Some("application/json")))
    }
}

impl<T: IntoResource, E: IntoToolError> IntoResource for Result<T, E> {
    fn into_resource(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResult, ToolError> {
        self.map_err(Into::into)?.into_resource(uri, mime_type)
    }
}
