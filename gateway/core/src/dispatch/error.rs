//! Why a call came to no result: what the caller got wrong, or what happened to the plugin.

use std::any::Any;

use crate::call::CallError;
use crate::catalog::{Catalog, Member};
use crate::names::PluginId;

use super::nearest::Unknown;

/// Why a call came to no result. The protocol maps each case to its answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DispatchError {
    /// No tool has that public name.
    #[error("unknown tool: {0}")]
    UnknownTool(Unknown),
    /// No prompt has that public name.
    #[error("unknown prompt: {0}")]
    UnknownPrompt(Unknown),
    /// No template is listed under that text, and no plugin has such URIs.
    #[error("unknown resource template: {0}")]
    UnknownTemplate(Unknown),
    /// No plugin has that URI.
    #[error("resource not found: {0}")]
    ResourceNotFound(Unknown),
    /// The arguments don't fit what the tool or prompt takes.
    #[error("invalid arguments: {message}")]
    InvalidArguments {
        /// One sentence for each of the first wrong members.
        message: String,
        /// Where the first of them stands, as a JSON pointer into the arguments.
        pointer: Option<String>,
    },
    /// The call came to no result.
    #[error("plugin `{plugin}`: {error}")]
    Call {
        /// The plugin that was called, or would have been.
        plugin: PluginId,
        /// What happened.
        #[source]
        error: CallError,
    },
}

impl DispatchError {
    pub(super) fn unknown_tool(name: &str, catalog: &Catalog) -> Self {
        let tools = catalog.tools().iter();
        Self::UnknownTool(Unknown::name(
            name,
            tools.map(|entry| (entry.public().as_str(), entry.tool().name.as_str())),
        ))
    }

    pub(super) fn unknown_prompt(name: &str, catalog: &Catalog) -> Self {
        let prompts = catalog.prompts().iter();
        Self::UnknownPrompt(Unknown::name(
            name,
            prompts.map(|entry| (entry.public().as_str(), entry.prompt().name.as_str())),
        ))
    }

    pub(super) fn unknown_template(text: &str, catalog: &Catalog) -> Self {
        let templates = catalog.templates().iter();
        Self::UnknownTemplate(Unknown::uri(
            text,
            templates.map(|entry| entry.template().uri_template.as_str()),
        ))
    }

    /// Nothing in what the caller may see has that URI, or the plugin that should have it hasn't.
    pub(crate) fn resource_not_found(uri: &str, catalog: &Catalog) -> Self {
        let resources = catalog.resources().iter().map(|entry| entry.resource().uri.as_str());
        // A plugin may say of one that it lists itself that it isn't there.
        Self::ResourceNotFound(Unknown::uri(uri, resources.filter(|its| *its != uri)))
    }

    pub(super) fn call(member: &Member, error: CallError) -> Self {
        Self::Call { plugin: member.id().clone(), error }
    }
}

/// What a panic said.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
