//! Constructors for descriptions of plugins, tools and prompts, for manual implementations of
//! [`Plugin`](crate::Plugin).

use crate::{PluginInfo, Prompt, PromptArgument, ResourceTemplate, Tool, ToolAnnotations};

impl PluginInfo {
    /// A plugin with this name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            title: None,
            description: None,
            website_url: None,
            icons: None,
            instructions: None,
            config_schema: None,
            meta: None,
            extra: None,
        }
    }
}

impl Tool {
    /// A tool whose arguments match `input_schema`, a JSON Schema with `"type": "object"` at its root.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: Some(description.into()),
            input_schema: input_schema.into(),
            output_schema: None,
            annotations: None,
            icons: None,
            meta: None,
            extra: None,
        }
    }
}

impl ToolAnnotations {
    /// No hints.
    #[must_use]
    pub fn none() -> Self {
        Self {
            title: None,
            read_only: None,
            destructive: None,
            idempotent: None,
            open_world: None,
            extra: None,
        }
    }
}

impl ResourceTemplate {
    /// A resource template for the URIs that match `uri_template`.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            icons: None,
            annotations: None,
            meta: None,
            extra: None,
        }
    }
}

impl Prompt {
    /// A prompt with these arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>, args: Vec<PromptArgument>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: Some(description.into()),
            args: Some(args),
            icons: None,
            meta: None,
            extra: None,
        }
    }
}

impl PromptArgument {
    /// A required argument.
    pub fn required(name: impl Into<String>) -> Self {
        Self { name: name.into(), title: None, description: None, required: Some(true), extra: None }
    }

    /// An optional argument.
    pub fn optional(name: impl Into<String>) -> Self {
        Self { name: name.into(), title: None, description: None, required: None, extra: None }
    }
}
