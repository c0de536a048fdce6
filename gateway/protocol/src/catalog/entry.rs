//! Entries of the catalog's lists: a plugin and the index of one of its items.

use std::sync::Arc;

use crate::json::Json;
use crate::manifest::{Prompt, Resource, ResourceTemplate, Tool};
use crate::names::{Digest, PublicName};

use super::{CatalogPlugin, HeaderArgument, Schema};

/// A tool that clients may call.
#[derive(Debug, Clone)]
pub struct ToolEntry {
    pub(super) catalog_plugin: Arc<CatalogPlugin>,
    /// The index in the plugin's offered tools.
    pub(super) index: usize,
}

/// A prompt that clients may get.
#[derive(Debug, Clone)]
pub struct PromptEntry {
    pub(super) catalog_plugin: Arc<CatalogPlugin>,
    /// The index in the plugin's offered prompts.
    pub(super) index: usize,
}

/// A listed resource.
#[derive(Debug, Clone)]
pub struct ResourceEntry {
    pub(super) catalog_plugin: Arc<CatalogPlugin>,
    /// The index in the catalog_plugin's offered resources.
    pub(super) index: usize,
}

/// A resource template.
#[derive(Debug, Clone)]
pub struct TemplateEntry {
    pub(super) catalog_plugin: Arc<CatalogPlugin>,
    /// The index in the catalog_plugin's offered templates.
    pub(super) index: usize,
}

impl ToolEntry {
    /// The plugin.
    #[must_use]
    pub fn plugin(&self) -> &Arc<CatalogPlugin> {
        &self.catalog_plugin
    }

    /// The public name.
    #[must_use]
    pub fn public_name(&self) -> &PublicName {
        &self.catalog_plugin.offer().tools[self.index].public
    }

    /// The plugin's description of the tool. Its `name` is the plugin's own.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        &self.catalog_plugin.plugin().manifest().tools[self.catalog_plugin.offer().tools[self.index].index]
    }

    /// The description that clients see: that of the configuration, or else the plugin's own.
    #[must_use]
    pub fn description(&self) -> &str {
        let described = self.catalog_plugin.offer().tools[self.index].description.as_deref();
        described.unwrap_or(&self.tool().description)
    }

    /// The schema of its arguments, as clients see it.
    #[must_use]
    pub fn shown_input(&self) -> &Json {
        self.catalog_plugin.offer().tools[self.index].shown.input(self.tool())
    }

    /// The schema of its structured result, as clients see it.
    #[must_use]
    pub fn shown_output(&self) -> Option<&Json> {
        self.catalog_plugin.offer().tools[self.index].shown.output(self.tool())
    }

    /// The arguments that clients repeat in HTTP headers.
    #[must_use]
    pub fn header_arguments(&self) -> &[HeaderArgument] {
        &self.catalog_plugin.offer().tools[self.index].shown.headers
    }

    /// The schema that arguments are checked against.
    #[must_use]
    pub fn input_schema(&self) -> &Schema {
        &self.catalog_plugin.offer().tools[self.index].input
    }

    /// The schema that structured results are checked against.
    #[must_use]
    pub fn output_schema(&self) -> Option<&Schema> {
        self.catalog_plugin.offer().tools[self.index].output.as_ref()
    }

    /// The digest of everything that clients see of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.catalog_plugin.offer().tools[self.index].digest
    }
}

impl PromptEntry {
    /// The plugin.
    #[must_use]
    pub fn plugin(&self) -> &Arc<CatalogPlugin> {
        &self.catalog_plugin
    }

    /// The public name.
    #[must_use]
    pub fn public_name(&self) -> &PublicName {
        &self.catalog_plugin.offer().prompts[self.index].public
    }

    /// The plugin's description of the prompt. Its `name` is the plugin's own.
    #[must_use]
    pub fn prompt(&self) -> &Prompt {
        &self.catalog_plugin.plugin().manifest().prompts
            [self.catalog_plugin.offer().prompts[self.index].index]
    }

    /// The digest of everything that clients see of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.catalog_plugin.offer().prompts[self.index].digest
    }
}

impl ResourceEntry {
    /// The plugin.
    #[must_use]
    pub fn plugin(&self) -> &Arc<CatalogPlugin> {
        &self.catalog_plugin
    }

    /// The plugin's description of the resource.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        &self.catalog_plugin.plugin().manifest().resources
            [self.catalog_plugin.offer().resources[self.index].index]
    }

    /// The digest of everything that clients see of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.catalog_plugin.offer().resources[self.index].digest
    }
}

impl TemplateEntry {
    /// The plugin.
    #[must_use]
    pub fn plugin(&self) -> &Arc<CatalogPlugin> {
        &self.catalog_plugin
    }

    /// The plugin's description of the template.
    #[must_use]
    pub fn template(&self) -> &ResourceTemplate {
        &self.catalog_plugin.plugin().manifest().templates
            [self.catalog_plugin.offer().templates[self.index].index]
    }

    /// The digest of everything that clients see of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.catalog_plugin.offer().templates[self.index].digest
    }
}
