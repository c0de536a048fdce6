//! A loaded plugin, as the catalog knows it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use moongate_core::call::{
    CallContext, CallError, Completion, CompletionTarget, Outcome, PromptResult, ReadResult, ToolResult,
};
use moongate_core::catalog::{Answer, Plugin};
use moongate_core::config::{Limits, PluginConfig};
use moongate_core::manifest::{Interfaces, Manifest};
use moongate_core::names::{Digest, PluginId, PromptName, ResourceUri, ToolName};
use wasmtime::Store;
use wasmtime::component::Instance;

use super::bindings::{completions, prompts, resources, tools, types};
use crate::host::convert::{self, Bad};
use crate::host::load::describe;
use crate::host::load::error::LoadError;
use crate::host::load::exports::Exports;
use crate::host::sandbox::call::{Ask, Sandbox};
use crate::host::sandbox::store::State;

/// A component that was loaded and has described itself, under one table of `gateway.toml`.
///
/// Others can be made of it that share its code: [`Self::reconfigured`], [`Self::described_anew`]. The code is freed
/// with the last of them and with the last call that runs in it.
pub struct WasmPlugin {
    pub(super) sandbox: Sandbox,
    pub(super) digest: Digest,
    pub(super) interfaces: Arc<Interfaces>,
    pub(super) manifest: Manifest,
}

impl fmt::Debug for WasmPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sandbox, digest, interfaces: _, manifest: _ } = self;
        f.debug_struct("WasmPlugin")
            .field("id", &sandbox.config.id)
            .field("digest", &digest.short())
            .finish_non_exhaustive()
    }
}

impl WasmPlugin {
    /// The table that it was loaded with.
    #[must_use]
    pub fn table(&self) -> &Arc<PluginConfig> {
        &self.sandbox.config
    }

    /// The same component, asked anew what it offers.
    ///
    /// # Errors
    /// It failed to describe itself, or what it says can't be used.
    pub async fn described_anew(&self) -> Result<Self, LoadError> {
        let sandbox = self.sandbox.under(Arc::clone(&self.sandbox.config));
        let manifest = describe::describe(&sandbox).await?;
        Ok(Self { sandbox, digest: self.digest, interfaces: Arc::clone(&self.interfaces), manifest })
    }

    /// The same component under another table of the same plugin: with its grants, limits and settings. What it keeps
    /// stays. Whether the table pins this code was checked when the file was read.
    ///
    /// The lists are the old ones. They may depend on what the table grants and sets, so ask it anew.
    #[must_use]
    pub fn reconfigured(&self, config: Arc<PluginConfig>) -> Self {
        let sandbox = self.sandbox.under(config);
        let interfaces = Arc::clone(&self.interfaces);
        Self { sandbox, digest: self.digest, interfaces, manifest: self.manifest.clone() }
    }

    /// Ends instances that wait for their next call, and lets go of the code when `after` has passed, even where somebody still has this plugin: a conversation that
    /// waits for a person's answer. Later calls fail with [`CallError::Replaced`]. A call that began before ends by its
    /// own limit on time; should it not, it is ended then. What shares the code isn't touched.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn retire(&self, after: Duration) {
        let Limits { timeout, describe_timeout, cancel_grace, .. } = self.sandbox.config.limits;
        self.sandbox.own.end();
        self.sandbox.code.end(after, timeout.max(describe_timeout) + cancel_grace);
    }

    async fn call<A, G, T>(
        &self,
        context: Arc<CallContext>,
        question: A,
        convert: impl FnOnce(G) -> Result<T, Bad>,
    ) -> Result<T, CallError>
    where
        A: Ask<Answer = Result<G, types::Failure>>,
    {
        let answer = self.sandbox.ask(context, question).await?;
        let given = answer.map_err(|failure| CallError::Refused(convert::failure(failure)))?;
        convert(given).map_err(|bad| CallError::BadOutput(bad.to_string()))
    }
}

impl Plugin for WasmPlugin {
    fn id(&self) -> &PluginId {
        &self.sandbox.config.id
    }

    fn digest(&self) -> &Digest {
        &self.digest
    }

    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn interfaces(&self) -> Option<&Interfaces> {
        Some(&self.interfaces)
    }

    fn peak_memory(&self) -> Option<u64> {
        Some(self.sandbox.code.code()?.peak.load(Ordering::Relaxed))
    }

    fn call_tool<'a>(
        &'a self,
        context: Arc<CallContext>,
        name: &'a ToolName,
        args: &'a str,
    ) -> Answer<'a, Outcome<ToolResult>> {
        let question = CallTool { name: name.as_str(), args };
        Box::pin(self.call(context, question, convert::tool_outcome))
    }

    fn read_resource<'a>(
        &'a self,
        context: Arc<CallContext>,
        uri: &'a ResourceUri,
    ) -> Answer<'a, Outcome<ReadResult>> {
        let question = ReadResource { uri: uri.as_str() };
        Box::pin(self.call(context, question, convert::read_outcome))
    }

    fn get_prompt<'a>(
        &'a self,
        context: Arc<CallContext>,
        name: &'a PromptName,
        args: &'a [(String, String)],
    ) -> Answer<'a, Outcome<PromptResult>> {
        let question = GetPrompt { name: name.as_str(), args };
        Box::pin(self.call(context, question, convert::prompt_outcome))
    }

    fn complete<'a>(
        &'a self,
        context: Arc<CallContext>,
        target: &'a CompletionTarget,
        name: &'a str,
        value: &'a str,
        others: &'a [(String, String)],
    ) -> Answer<'a, Completion> {
        let question = Complete { target: convert::target(target), name, value, others };
        Box::pin(self.call(context, question, convert::completion))
    }
}

/// The answer of a function that may fail.
type Said<T> = wasmtime::Result<Result<T, types::Failure>>;

/// The interface is asked for only if the plugin's lists named something of it.
fn missing(interface: &str) -> wasmtime::Error {
    wasmtime::format_err!("the plugin doesn't export `{interface}`")
}

struct CallTool<'a> {
    name: &'a str,
    args: &'a str,
}

impl Ask for CallTool<'_> {
    type Answer = Result<tools::CallOutcome, types::Failure>;

    async fn ask(
        self,
        exports: &Exports,
        store: &mut Store<State>,
        instance: &Instance,
    ) -> Said<tools::CallOutcome> {
        let interface = exports.tools.as_ref().ok_or_else(|| missing("tools"))?;
        interface.load(&mut *store, instance)?.call_call_tool(store, self.name, self.args).await
    }
}

struct ReadResource<'a> {
    uri: &'a str,
}

impl Ask for ReadResource<'_> {
    type Answer = Result<resources::ReadOutcome, types::Failure>;

    async fn ask(
        self,
        exports: &Exports,
        store: &mut Store<State>,
        instance: &Instance,
    ) -> Said<resources::ReadOutcome> {
        let interface = exports.resources.as_ref().ok_or_else(|| missing("resources"))?;
        interface.load(&mut *store, instance)?.call_read_resource(store, self.uri).await
    }
}

struct GetPrompt<'a> {
    name: &'a str,
    args: &'a [(String, String)],
}

impl Ask for GetPrompt<'_> {
    type Answer = Result<prompts::PromptOutcome, types::Failure>;

    async fn ask(
        self,
        exports: &Exports,
        store: &mut Store<State>,
        instance: &Instance,
    ) -> Said<prompts::PromptOutcome> {
        let interface = exports.prompts.as_ref().ok_or_else(|| missing("prompts"))?;
        interface.load(&mut *store, instance)?.call_get_prompt(store, self.name, self.args).await
    }
}

struct Complete<'a> {
    target: completions::CompletionTarget,
    name: &'a str,
    value: &'a str,
    others: &'a [(String, String)],
}

impl Ask for Complete<'_> {
    type Answer = Result<completions::Completion, types::Failure>;

    async fn ask(
        self,
        exports: &Exports,
        store: &mut Store<State>,
        instance: &Instance,
    ) -> Said<completions::Completion> {
        let interface = exports.completions.as_ref().ok_or_else(|| missing("completions"))?;
        let guest = interface.load(&mut *store, instance)?;
        guest.call_complete(store, &self.target, self.name, self.value, self.others).await
    }
}
