//! Entries of the catalog's lists: a plugin and the index of one of its items.

use std::sync::Arc;

use crate::json::Json;
use crate::manifest::{Prompt, Resource, ResourceTemplate, Tool};
use crate::names::{Digest, PublicName};

use super::{HeaderArgument, Member, Schema};

/// A tool that clients may call.
#[derive(Debug, Clone)]
pub struct ToolEntry {
    pub(super) member: Arc<Member>,
    /// The index in the member's offered tools.
    pub(super) at: usize,
}

/// A prompt that clients may get.
#[derive(Debug, Clone)]
pub struct PromptEntry {
    pub(super) member: Arc<Member>,
    /// The index in the member's offered prompts.
    pub(super) at: usize,
}

/// A listed resource.
#[derive(Debug, Clone)]
pub struct ResourceEntry {
    pub(super) member: Arc<Member>,
    /// The index in the manifest's resources.
    pub(super) at: usize,
}

/// A resource template.
#[derive(Debug, Clone)]
pub struct TemplateEntry {
    pub(super) member: Arc<Member>,
    /// The index in the manifest's templates.
    pub(super) at: usize,
}

impl ToolEntry {
    /// The plugin.
    #[must_use]
    pub fn member(&self) -> &Arc<Member> {
        &self.member
    }

    /// The public name.
    #[must_use]
    pub fn public(&self) -> &PublicName {
        &self.member.offer().tools[self.at].public
    }

    /// The plugin's description of the tool. Its `name` is the plugin's own.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        &self.member.plugin().manifest().tools[self.member.offer().tools[self.at].at]
    }

    /// The schema of its arguments, as clients see it.
    #[must_use]
    pub fn shown_input(&self) -> &Json {
        self.member.offer().tools[self.at].shown.input(self.tool())
    }

    /// The schema of its structured result, as clients see it.
    #[must_use]
    pub fn shown_output(&self) -> Option<&Json> {
        self.member.offer().tools[self.at].shown.output(self.tool())
    }

    /// The arguments that clients repeat in HTTP headers.
    #[must_use]
    pub fn headers(&self) -> &[HeaderArgument] {
        &self.member.offer().tools[self.at].shown.headers
    }

    /// The schema that arguments are checked against.
    #[must_use]
    pub fn input(&self) -> &Schema {
        &self.member.offer().tools[self.at].input
    }

    /// The schema that structured results are checked against.
    #[must_use]
    pub fn output(&self) -> Option<&Schema> {
        self.member.offer().tools[self.at].output.as_ref()
    }

    /// The digest of everything that clients see of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.member.offer().tools[self.at].digest
    }
}

impl PromptEntry {
    /// The plugin.
    #[must_use]
    pub fn member(&self) -> &Arc<Member> {
        &self.member
    }

    /// The public name.
    #[must_use]
    pub fn public(&self) -> &PublicName {
        &self.member.offer().prompts[self.at].public
    }

    /// The plugin's description of the prompt. Its `name` is the plugin's own.
    #[must_use]
    pub fn prompt(&self) -> &Prompt {
        &self.member.plugin().manifest().prompts[self.member.offer().prompts[self.at].at]
    }

    /// The digest of everything that clients see of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.member.offer().prompts[self.at].digest
    }
}

impl ResourceEntry {
    /// The plugin.
    #[must_use]
    pub fn member(&self) -> &Arc<Member> {
        &self.member
    }

    /// The plugin's description of the resource.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        &self.member.plugin().manifest().resources[self.at]
    }

    /// The digest of everything that clients see of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.member.offer().resources[self.at]
    }
}

impl TemplateEntry {
    /// The plugin.
    #[must_use]
    pub fn member(&self) -> &Arc<Member> {
        &self.member
    }

    /// The plugin's description of the template.
    #[must_use]
    pub fn template(&self) -> &ResourceTemplate {
        &self.member.plugin().manifest().templates[self.at]
    }

    /// The digest of everything that clients see of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.member.offer().templates[self.at]
    }
}
