//! A plugin without Wasm, for the tests of whatever stands above the host.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::call::{
    CallContext, CallError, Completion, CompletionTarget, Failure, Fault, Outcome, PromptResult, ReadResult,
    ToolResult,
};
use crate::config::PluginConfig;
use crate::json::Json;
use crate::manifest::{
    Manifest, Prompt, PromptArgument, Resource, ResourceTemplate, Tool, ToolHints, UriTemplate,
};
use crate::names::{Digest, PluginId, PromptName, ResourceUri, ToolName};

use super::{Answer, Build, Catalog, Member, Plugin};

/// What the fake does when it is called.
type Behave<A, T> = Box<dyn Fn(Arc<CallContext>, A) -> Answer<'static, T> + Send + Sync>;

/// Arguments of a prompt.
type Pairs = Vec<(String, String)>;

/// A plugin whose parts are set by the test; what isn't set answers that it was not found.
pub(crate) struct Fake {
    pub(crate) id: PluginId,
    pub(crate) digest: Digest,
    pub(crate) manifest: Manifest,
    /// Takes the tool's name and the arguments' text.
    pub(crate) on_tool: Option<Behave<(String, String), Outcome<ToolResult>>>,
    pub(crate) on_read: Option<Behave<String, Outcome<ReadResult>>>,
    pub(crate) on_prompt: Option<Behave<(String, Pairs), Outcome<PromptResult>>>,
    pub(crate) on_complete: Option<Behave<(CompletionTarget, String, String), Completion>>,
}

impl Fake {
    /// A plugin that offers nothing.
    pub(crate) fn new(id: &str) -> Self {
        Self {
            id: PluginId::new(id).unwrap(),
            digest: Digest::of(id.as_bytes()),
            manifest: Manifest::default(),
            on_tool: None,
            on_read: None,
            on_prompt: None,
            on_complete: None,
        }
    }

    pub(crate) fn tool(mut self, name: &str, input: &Value, output: Option<&Value>) -> Self {
        self.manifest.tools.push(Tool {
            name: ToolName::new(name).unwrap(),
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

    pub(crate) fn resource(mut self, uri: &str) -> Self {
        self.manifest.resources.push(Resource {
            uri: ResourceUri::new(uri).unwrap(),
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

    pub(crate) fn template(mut self, text: &str) -> Self {
        self.manifest.templates.push(ResourceTemplate {
            uri_template: UriTemplate::new(text).unwrap(),
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

    /// A prompt; the names of required arguments end with `!`.
    pub(crate) fn prompt(mut self, name: &str, arguments: &[&str]) -> Self {
        let argument = |name: &&str| PromptArgument {
            name: name.trim_end_matches('!').to_owned(),
            title: None,
            description: None,
            required: name.ends_with('!'),
            extra: Vec::new(),
        };
        self.manifest.prompts.push(Prompt {
            name: PromptName::new(name).unwrap(),
            title: None,
            description: format!("asks {name}"),
            arguments: arguments.iter().map(argument).collect(),
            icons: Vec::new(),
            meta: Vec::new(),
            extra: Vec::new(),
        });
        self
    }

    /// With a configuration that says nothing, changed by `set`.
    pub(crate) fn member(self, set: impl FnOnce(&mut PluginConfig)) -> Member {
        let mut config = PluginConfig::bare(self.id.clone(), PathBuf::from("fake.wasm"));
        set(&mut config);
        Member::new(Arc::new(self), Arc::new(config)).unwrap()
    }
}

/// A catalog of plugins that don't conflict.
pub(crate) fn catalog(members: Vec<Member>) -> Arc<Catalog> {
    let Build { catalog, refused, .. } = Catalog::build(1, members, None);
    assert_eq!(refused, []);
    Arc::new(catalog)
}

/// An answer that is there at once.
pub(crate) fn ready<T: Send + 'static>(result: Result<T, CallError>) -> Answer<'static, T> {
    Box::pin(std::future::ready(result))
}

fn call<A, T: Send + 'static>(
    behave: Option<&Behave<A, T>>,
    context: Arc<CallContext>,
    with: A,
) -> Answer<'static, T> {
    match behave {
        Some(behave) => behave(context, with),
        None => ready(Err(CallError::Refused(Failure::NotFound(Fault::default())))),
    }
}

impl std::fmt::Debug for Fake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fake({})", self.id)
    }
}

impl Plugin for Fake {
    fn id(&self) -> &PluginId {
        &self.id
    }

    fn digest(&self) -> &Digest {
        &self.digest
    }

    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn call_tool<'a>(
        &'a self,
        context: Arc<CallContext>,
        name: &'a ToolName,
        args: &'a str,
    ) -> Answer<'a, Outcome<ToolResult>> {
        call(self.on_tool.as_ref(), context, (name.to_string(), args.to_owned()))
    }

    fn read_resource<'a>(
        &'a self,
        context: Arc<CallContext>,
        uri: &'a ResourceUri,
    ) -> Answer<'a, Outcome<ReadResult>> {
        call(self.on_read.as_ref(), context, uri.to_string())
    }

    fn get_prompt<'a>(
        &'a self,
        context: Arc<CallContext>,
        name: &'a PromptName,
        args: &'a [(String, String)],
    ) -> Answer<'a, Outcome<PromptResult>> {
        call(self.on_prompt.as_ref(), context, (name.to_string(), args.to_vec()))
    }

    fn complete<'a>(
        &'a self,
        context: Arc<CallContext>,
        target: &'a CompletionTarget,
        name: &'a str,
        value: &'a str,
        _others: &'a [(String, String)],
    ) -> Answer<'a, Completion> {
        call(self.on_complete.as_ref(), context, (target.clone(), name.to_owned(), value.to_owned()))
    }
}
