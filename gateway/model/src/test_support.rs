//! A plugin without Wasm, for the tests of everything above the host.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::call::{
    CallContext, CallError, Completion, CompletionTarget, Outcome, PluginError, PluginErrorDetail,
    PromptResult, ReadResult, ToolResult,
};
use crate::json::Json;
use crate::manifest::{
    Manifest, Prompt, PromptArgument, Resource, ResourceTemplate, Tool, ToolHints, UriTemplate,
};
use crate::names::{Digest, PluginId, PromptName, ResourceUri, ToolName};
use crate::plugin::{PastChecks, Plugin, PluginFuture};

/// The answer to one kind of call.
pub type CallHandler<A, T> = Box<dyn Fn(Arc<CallContext>, A) -> PluginFuture<'static, T> + Send + Sync>;

/// The arguments of a prompt.
pub type PromptArguments = Vec<(String, String)>;

/// A plugin made of values. A call without a handler fails with "not found".
///
/// ```ignore
/// let mut plugin = FakePlugin::new("a").tool("run", &json!({ "type": "object" }), None);
/// plugin.on_tool = Some(Box::new(|_, (name, arguments)| ready(Ok(Outcome::Done(ToolResult::default())))));
/// ```
pub struct FakePlugin<T = ()> {
    /// The plugin's id.
    pub id: PluginId,
    /// The digest of its file. The default is the digest of the id.
    pub digest: Digest,
    /// Its manifest.
    pub manifest: Manifest,
    /// The results of earlier checks.
    pub past_checks: PastChecks,
    /// The peak memory that it reports.
    pub peak_memory: Option<u64>,
    /// Takes the tool's name and the text of the arguments.
    pub on_tool: Option<CallHandler<(String, String), Outcome<ToolResult>>>,
    /// Takes the URI.
    pub on_read: Option<CallHandler<String, Outcome<ReadResult>>>,
    /// Takes the prompt's name and the arguments.
    pub on_prompt: Option<CallHandler<(String, PromptArguments), Outcome<PromptResult>>>,
    /// Takes the target, the argument's name and its value so far.
    pub on_complete: Option<CallHandler<(CompletionTarget, String, String), Completion>>,
    /// Additional data of the test.
    pub data: T,
}

impl FakePlugin {
    /// A plugin that offers nothing.
    ///
    /// # Panics
    /// `id` isn't a valid plugin id.
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self {
            id: PluginId::new(id).expect("a valid plugin id"),
            digest: Digest::of(id.as_bytes()),
            manifest: Manifest::default(),
            past_checks: PastChecks::default(),
            peak_memory: None,
            on_tool: None,
            on_read: None,
            on_prompt: None,
            on_complete: None,
            data: (),
        }
    }
}

impl<T> FakePlugin<T> {
    /// The same plugin with other data.
    #[must_use]
    pub fn with_data<U>(self, data: U) -> FakePlugin<U> {
        let Self {
            id,
            digest,
            manifest,
            past_checks,
            peak_memory,
            on_tool,
            on_read,
            on_prompt,
            on_complete,
            data: _,
        } = self;
        FakePlugin {
            id,
            digest,
            manifest,
            past_checks,
            peak_memory,
            on_tool,
            on_read,
            on_prompt,
            on_complete,
            data,
        }
    }

    /// Adds a tool with these schemas.
    ///
    /// # Panics
    /// `name` isn't a valid tool name.
    #[must_use]
    pub fn tool(mut self, name: &str, input: &Value, output: Option<&Value>) -> Self {
        self.manifest.tools.push(Tool {
            name: ToolName::new(name).expect("a valid name"),
            title: None,
            description: format!("does {name}"),
            input_schema: Json::from_value(input),
            output_schema: output.map(Json::from_value),
            hints: ToolHints::default(),
            icons: Vec::new(),
            meta: Vec::new(),
            extra: Vec::new(),
        });
        self
    }

    /// Adds a resource.
    ///
    /// # Panics
    /// `uri` isn't a valid URI.
    #[must_use]
    pub fn resource(mut self, uri: &str) -> Self {
        self.manifest.resources.push(Resource {
            uri: ResourceUri::new(uri).expect("a valid name"),
            name: "a resource".to_owned(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            icons: Vec::new(),
            annotations: None,
            meta: Vec::new(),
            extra: Vec::new(),
        });
        self
    }

    /// Adds a resource template.
    ///
    /// # Panics
    /// `text` isn't a valid template.
    #[must_use]
    pub fn template(mut self, text: &str) -> Self {
        self.manifest.templates.push(ResourceTemplate {
            uri_template: UriTemplate::new(text).expect("a valid name"),
            name: "a template".to_owned(),
            title: None,
            description: None,
            mime_type: None,
            icons: Vec::new(),
            annotations: None,
            meta: Vec::new(),
            extra: Vec::new(),
        });
        self
    }

    /// Adds a prompt. The names of required arguments end with `!`.
    ///
    /// # Panics
    /// `name` isn't a valid prompt name.
    #[must_use]
    pub fn prompt(mut self, name: &str, arguments: &[&str]) -> Self {
        let argument = |name: &&str| PromptArgument {
            name: name.trim_end_matches('!').to_owned(),
            title: None,
            description: None,
            required: name.ends_with('!'),
            extra: Vec::new(),
        };
        self.manifest.prompts.push(Prompt {
            name: PromptName::new(name).expect("a valid name"),
            title: None,
            description: format!("asks {name}"),
            arguments: arguments.iter().map(argument).collect(),
            icons: Vec::new(),
            meta: Vec::new(),
            extra: Vec::new(),
        });
        self
    }
}

/// An answer that is ready at once.
#[must_use]
pub fn ready<T: Send + 'static>(result: Result<T, CallError>) -> PluginFuture<'static, T> {
    Box::pin(std::future::ready(result))
}

fn call<A, T: Send + 'static>(
    handler: Option<&CallHandler<A, T>>,
    context: Arc<CallContext>,
    arguments: A,
) -> PluginFuture<'static, T> {
    match handler {
        Some(handler) => handler(context, arguments),
        None => ready(Err(CallError::Refused(PluginError::NotFound(PluginErrorDetail::default())))),
    }
}

impl<T> fmt::Debug for FakePlugin<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FakePlugin({})", self.id)
    }
}

impl<T: Send + Sync> Plugin for FakePlugin<T> {
    fn id(&self) -> &PluginId {
        &self.id
    }

    fn digest(&self) -> &Digest {
        &self.digest
    }

    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn past_checks(&self) -> &PastChecks {
        &self.past_checks
    }

    fn peak_memory(&self) -> Option<u64> {
        self.peak_memory
    }

    fn call_tool<'a>(
        &'a self,
        context: Arc<CallContext>,
        name: &'a ToolName,
        args: &'a str,
    ) -> PluginFuture<'a, Outcome<ToolResult>> {
        call(self.on_tool.as_ref(), context, (name.to_string(), args.to_owned()))
    }

    fn read_resource<'a>(
        &'a self,
        context: Arc<CallContext>,
        uri: &'a ResourceUri,
    ) -> PluginFuture<'a, Outcome<ReadResult>> {
        call(self.on_read.as_ref(), context, uri.to_string())
    }

    fn get_prompt<'a>(
        &'a self,
        context: Arc<CallContext>,
        name: &'a PromptName,
        args: &'a [(String, String)],
    ) -> PluginFuture<'a, Outcome<PromptResult>> {
        call(self.on_prompt.as_ref(), context, (name.to_string(), args.to_vec()))
    }

    fn complete<'a>(
        &'a self,
        context: Arc<CallContext>,
        target: &'a CompletionTarget,
        name: &'a str,
        value: &'a str,
        _others: &'a [(String, String)],
    ) -> PluginFuture<'a, Completion> {
        call(self.on_complete.as_ref(), context, (target.clone(), name.to_owned(), value.to_owned()))
    }
}
