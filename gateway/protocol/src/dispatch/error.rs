//! Errors of dispatch: wrong requests and failed calls.

use std::any::Any;

use crate::call::CallError;
use crate::catalog::{Catalog, CatalogPlugin};
use crate::names::PluginId;

use super::suggestions::UnknownName;

/// A failed dispatch. The protocol maps each case to its answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DispatchError {
    /// No tool has that public name.
    #[error("unknown tool: {0}")]
    UnknownTool(UnknownName),
    /// No prompt has that public name.
    #[error("unknown prompt: {0}")]
    UnknownPrompt(UnknownName),
    /// No template with that text is listed, and no plugin has such URIs.
    #[error("unknown resource template: {0}")]
    UnknownTemplate(UnknownName),
    /// No plugin has that URI.
    #[error("resource not found: {0}")]
    ResourceNotFound(UnknownName),
    /// The arguments are invalid for the tool or prompt.
    #[error("invalid arguments: {message}")]
    InvalidArguments {
        /// One sentence for each of the first invalid members.
        message: String,
        /// The location of the first of them, as a JSON pointer into the arguments.
        pointer: Option<String>,
    },
    /// The call failed.
    #[error("plugin `{plugin}`: {error}")]
    Call {
        /// The plugin that was called, or should have been.
        plugin: PluginId,
        /// The reason.
        #[source]
        error: CallError,
    },
}

impl DispatchError {
    pub(super) fn unknown_tool(name: &str, catalog: &Catalog) -> Self {
        let tools = catalog.tools().iter();
        Self::UnknownTool(UnknownName::with_name_suggestions(
            name,
            tools.map(|entry| (entry.public_name().as_str(), entry.tool().name.as_str())),
        ))
    }

    pub(super) fn unknown_prompt(name: &str, catalog: &Catalog) -> Self {
        let prompts = catalog.prompts().iter();
        Self::UnknownPrompt(UnknownName::with_name_suggestions(
            name,
            prompts.map(|entry| (entry.public_name().as_str(), entry.prompt().name.as_str())),
        ))
    }

    pub(super) fn unknown_template(text: &str, catalog: &Catalog) -> Self {
        let templates = catalog.templates().iter();
        Self::UnknownTemplate(UnknownName::with_uri_suggestion(
            text,
            templates.map(|entry| entry.template().uri_template.as_str()),
        ))
    }

    /// The caller can't see a resource with that URI, or its plugin doesn't find it.
    pub(crate) fn resource_not_found(uri: &str, catalog: &Catalog) -> Self {
        let resources = catalog.resources().iter().map(|entry| entry.resource().uri.as_str());
        // A plugin can fail to find a resource that it lists itself.
        Self::ResourceNotFound(UnknownName::with_uri_suggestion(uri, resources.filter(|its| *its != uri)))
    }

    pub(super) fn call(catalog_plugin: &CatalogPlugin, error: CallError) -> Self {
        Self::Call { plugin: catalog_plugin.id().clone(), error }
    }
}

/// The message of a panic.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
