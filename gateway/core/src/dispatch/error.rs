//! Why a call came to no result: what the caller got wrong, or what happened to the plugin.

use std::any::Any;

use crate::call::CallError;
use crate::catalog::{Catalog, Member};
use crate::names::{PluginId, PublicName, shown};

/// How alike two names must be, from 0 to 1, for one to be suggested for the other.
const ALIKE: f64 = 0.7;

/// Why a call came to no result. The protocol maps each case to its answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DispatchError {
    /// No tool has that public name.
    #[error("unknown tool: `{}`{}", shown(.name), .nearest.as_ref().map(|it| format!("; did you mean `{it}`?")).unwrap_or_default())]
    UnknownTool {
        /// What the caller asked for.
        name: String,
        /// A name that is much like it.
        nearest: Option<PublicName>,
    },
    /// No prompt has that public name.
    #[error("unknown prompt: `{}`", shown(.0))]
    UnknownPrompt(String),
    /// No template is listed under that text, and no plugin has such URIs.
    #[error("unknown resource template: `{}`", shown(.0))]
    UnknownTemplate(String),
    /// No plugin has that URI.
    #[error("resource not found: `{}`", shown(.0))]
    ResourceNotFound(String),
    /// The arguments don't fit what the tool or prompt takes.
    #[error("invalid arguments: {message}")]
    InvalidArguments {
        /// One sentence for each of the first wrong members.
        message: String,
        /// Where the first of them stands, as a JSON pointer into the arguments.
        pointer: Option<String>,
    },
    /// A required argument of a prompt is missing.
    #[error("prompt `{}` needs the argument `{}`", shown(.prompt), shown(.argument))]
    MissingArgument {
        /// The prompt's public name.
        prompt: String,
        /// The argument.
        argument: String,
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
    /// Looks for the name that was probably meant.
    pub(super) fn unknown_tool(name: &str, catalog: &Catalog) -> Self {
        let likeness = |public: &PublicName| strsim::normalized_damerau_levenshtein(public.as_str(), name);
        let nearest = if name.len() > PublicName::MAX {
            None // comparing takes time that grows with the length
        } else {
            let all = catalog.tools().iter().map(|entry| (likeness(entry.public()), entry.public()));
            all.filter(|(likeness, _)| *likeness >= ALIKE).max_by(|(a, _), (b, _)| a.total_cmp(b))
        };
        Self::UnknownTool { name: name.to_owned(), nearest: nearest.map(|(_, public)| public.clone()) }
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
