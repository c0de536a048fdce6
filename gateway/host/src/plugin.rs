//! A loaded plugin: the `Plugin` that the catalog calls.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use moongate_config::{Limits, PluginConfig};
use moongate_model::access_history::AccessHistory;
use moongate_model::call::{
    CallContext, CallError, Completion, CompletionTarget, GrantEvent, Outcome, PromptResult, ReadResult,
    ToolResult,
};
use moongate_model::manifest::{Interfaces, Manifest};
use moongate_model::names::{Digest, PluginId, PromptName, ResourceUri, ToolName};
use moongate_model::plugin::{PastChecks, Plugin, PluginFuture};
use moongate_system::background::{WorkOwner, move_to_background};
use wasmtime::Store;
use wasmtime::component::Instance;

use super::bindings::{completions, prompts, resources, tools, types};
use crate::convert::{self, ConvertError};
use crate::load::error::LoadError;
use crate::load::exports::Exports;
use crate::load::{ComponentLoader, blocking, describe};
use crate::sandbox::call::{GuestCall, Sandbox};
use crate::sandbox::store::StoreState;

/// A loaded component with its description and its configuration in `gateway.toml`.
///
/// [`Self::with_config`] and [`Self::describe_again`] return plugins that share its code. The code is freed with the
/// last of them and the last call that runs in it.
pub struct WasmPlugin {
    pub(super) sandbox: Sandbox,
    pub(super) digest: Digest,
    pub(super) interfaces: Arc<Interfaces>,
    pub(super) manifest: Manifest,
    /// The results of checks that were made before the manifest was cached.
    pub(super) past_checks: PastChecks,
    pub(super) confirmation: Confirmation,
    pub(super) loader: Arc<ComponentLoader>,
}

/// The time for which a plugin that couldn't describe itself isn't asked again before a call.
const FAILURE_LIFETIME: Duration = Duration::from_secs(1);

/// Records that the manifest is known to be that of the code.
#[derive(Debug, Default)]
pub(super) struct Confirmation {
    is_confirmed: AtomicBool,
    /// The last time that the plugin couldn't describe itself. Locked while the plugin is asked, so that concurrent calls
    /// ask once.
    failed: tokio::sync::Mutex<Option<(Instant, CallError)>>,
}

impl Confirmation {
    /// The manifest comes from the code itself.
    pub(super) fn confirmed() -> Self {
        Self { is_confirmed: AtomicBool::new(true), failed: tokio::sync::Mutex::default() }
    }

    fn get(&self) -> bool {
        self.is_confirmed.load(Ordering::Acquire)
    }

    fn set(&self) {
        self.is_confirmed.store(true, Ordering::Release);
    }
}

impl fmt::Debug for WasmPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sandbox, digest, .. } = self;
        f.debug_struct("WasmPlugin")
            .field("id", &sandbox.config.id)
            .field("digest", &digest.short())
            .finish_non_exhaustive()
    }
}

impl WasmPlugin {
    /// The configuration that it was loaded with.
    #[must_use]
    pub fn config(&self) -> &Arc<PluginConfig> {
        &self.sandbox.config
    }

    /// The same component with a new description. If it is the same one, it is confirmed.
    ///
    /// # Errors
    /// Describing failed, or the description is invalid.
    pub async fn describe_again(&self) -> Result<Self, LoadError> {
        let sandbox = self.sandbox.with_config(Arc::clone(&self.sandbox.config));
        if !self.confirmation.get() {
            // Nobody waits for it: calls ask for themselves.
            move_to_background(WorkOwner { plugin: Some(&sandbox.config.id), caller: None }).await;
        }
        let manifest = describe::describe(&sandbox, &self.interfaces).await?;
        if manifest == self.manifest {
            self.confirmation.set();
        }
        Ok(Self {
            sandbox,
            digest: self.digest,
            interfaces: Arc::clone(&self.interfaces),
            manifest,
            past_checks: PastChecks::default(),
            confirmation: Confirmation::confirmed(),
            loader: Arc::clone(&self.loader),
        })
    }

    /// Caches the description for the next start, unless it comes from the cache.
    pub async fn cache_description(self: Arc<Self>, checks: PastChecks) {
        if !self.confirmation.get() || self.loader.descriptions.is_none() {
            return;
        }
        let written = blocking(move || {
            let Self { sandbox, digest, interfaces, manifest, loader, .. } = &*self;
            if let Some(descriptions) = &loader.descriptions {
                let description = (&**interfaces, manifest, checks);
                descriptions.put(loader.linker.engine(), digest, &sandbox.config, description);
            }
            Ok(())
        });
        if let Err(error) = written.await {
            tracing::debug!(%error, "can't cache a description");
        }
    }

    /// The same component with another configuration of the same plugin: its grants, limits and settings. Its state is
    /// kept. A pinned digest isn't checked here, because reading the file checked it.
    ///
    /// The description is the old one. It can depend on grants and settings, so call [`Self::describe_again`] next.
    #[must_use]
    pub fn with_config(&self, config: Arc<PluginConfig>) -> Self {
        let sandbox = self.sandbox.with_config(config);
        let is_confirmed = AtomicBool::new(self.confirmation.get());
        Self {
            sandbox,
            digest: self.digest,
            interfaces: Arc::clone(&self.interfaces),
            manifest: self.manifest.clone(),
            past_checks: PastChecks::default(), // they were made with the old configuration
            confirmation: Confirmation { is_confirmed, failed: tokio::sync::Mutex::default() },
            loader: Arc::clone(&self.loader),
        }
    }

    /// Drops idle instances, and releases the code after `after`, even if the plugin is still referenced (by a
    /// multi-round call that waits for a user's answer). Later calls fail with [`CallError::Replaced`]. Earlier calls
    /// end by their own timeout, or are aborted after it. Plugins that share the code aren't affected.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn retire(&self, after: Duration) {
        let Limits { timeout, describe_timeout, cancel_grace, .. } = self.sandbox.config.limits;
        self.sandbox.pool.close();
        self.sandbox.code.release_after(after, timeout.max(describe_timeout) + cancel_grace);
    }

    async fn call<C, G, T>(
        &self,
        context: Arc<CallContext>,
        call: C,
        convert: impl FnOnce(G) -> Result<T, ConvertError>,
    ) -> Result<T, CallError>
    where
        C: GuestCall<Output = Result<G, types::Failure>>,
    {
        let recorded = self.sandbox.recent_calls.record(Arc::clone(&context.cpu_time));
        if !self.confirmation.get() && !Box::pin(self.ask()).await? {
            return Err(CallError::Replaced); // by a version with the current description
        }
        let output = self.sandbox.call(context, call).await?;
        let given = output.map_err(|failure| CallError::Refused(convert::failure(failure)))?;
        recorded.meter_rest(|| convert(given)).map_err(|error| CallError::InvalidOutput(error.to_string()))
    }
}

impl WasmPlugin {
    /// Asks the plugin for its description, and reports whether it is the manifest. If it isn't, the supervisor is asked
    /// to replace the plugin.
    async fn ask(&self) -> Result<bool, CallError> {
        if self.confirmation.get() {
            return Ok(true);
        }
        let mut failed = self.confirmation.failed.lock().await;
        if self.confirmation.get() {
            return Ok(true);
        }
        // Calls that waited meanwhile needn't ask again.
        if let Some((_, error)) = failed.as_ref().filter(|(at, _)| at.elapsed() < FAILURE_LIFETIME) {
            return Err(error.clone());
        }
        let manifest = match describe::describe_for_call(&self.sandbox, &self.interfaces).await {
            Ok(manifest) => manifest,
            Err(error) => {
                let error = self.describe_error(error);
                *failed = Some((Instant::now(), error.clone()));
                return Err(error);
            }
        };
        let is_same = manifest == self.manifest;
        if is_same {
            self.confirmation.set();
        } else if let Some(inbox) = &self.sandbox.shared.inbox {
            inbox.put(self.id(), true, BTreeSet::new());
        }
        Ok(is_same)
    }

    /// The error of a call before which the plugin couldn't describe itself. The caller's error contains no paths of
    /// this machine.
    fn describe_error(&self, error: LoadError) -> CallError {
        match error {
            LoadError::DescribeFailed { error, .. } => error,
            LoadError::GrantedDirectory { guest: Some(guest), .. } => {
                CallError::Directory(format!("the granted directory `{guest}` can't be opened"))
            }
            error => {
                tracing::error!(plugin = %self.id(), "the plugin can't describe itself: {error}");
                CallError::Internal("the plugin can't describe itself; see the gateway's log".to_owned())
            }
        }
    }
}

impl Plugin for WasmPlugin {
    fn past_checks(&self) -> &PastChecks {
        &self.past_checks
    }

    fn is_confirmed(&self) -> bool {
        self.confirmation.get()
    }

    fn confirm(&self) -> PluginFuture<'_, bool> {
        Box::pin(self.ask())
    }

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

    fn unavailable_directories(&self) -> Vec<PathBuf> {
        self.sandbox.logged_warnings.unavailable_directories()
    }

    fn access_history(&self) -> AccessHistory {
        self.sandbox.logged_warnings.access().history(&self.sandbox.config)
    }

    fn note_access(&self, event: &GrantEvent) {
        self.sandbox.logged_warnings.note_access(&self.sandbox.config, event);
    }

    fn call_tool<'a>(
        &'a self,
        context: Arc<CallContext>,
        name: &'a ToolName,
        args: &'a str,
    ) -> PluginFuture<'a, Outcome<ToolResult>> {
        let call = CallTool { name: name.as_str(), args };
        Box::pin(self.call(context, call, convert::tool_outcome))
    }

    fn read_resource<'a>(
        &'a self,
        context: Arc<CallContext>,
        uri: &'a ResourceUri,
    ) -> PluginFuture<'a, Outcome<ReadResult>> {
        let call = ReadResource { uri: uri.as_str() };
        Box::pin(self.call(context, call, convert::read_outcome))
    }

    fn get_prompt<'a>(
        &'a self,
        context: Arc<CallContext>,
        name: &'a PromptName,
        args: &'a [(String, String)],
    ) -> PluginFuture<'a, Outcome<PromptResult>> {
        let call = GetPrompt { name: name.as_str(), args };
        Box::pin(self.call(context, call, convert::prompt_outcome))
    }

    fn complete<'a>(
        &'a self,
        context: Arc<CallContext>,
        target: &'a CompletionTarget,
        name: &'a str,
        value: &'a str,
        others: &'a [(String, String)],
    ) -> PluginFuture<'a, Completion> {
        let call = Complete { target: convert::target(target), name, value, others };
        Box::pin(self.call(context, call, convert::completion))
    }
}

/// The output of a guest function that can fail.
type GuestCallResult<T> = wasmtime::Result<Result<T, types::Failure>>;

/// The error for an interface that isn't exported. The catalog only calls interfaces that are.
fn not_exported(interface: &str) -> wasmtime::Error {
    wasmtime::format_err!("the plugin doesn't export `{interface}`")
}

struct CallTool<'a> {
    name: &'a str,
    args: &'a str,
}

impl GuestCall for CallTool<'_> {
    type Output = Result<tools::CallOutcome, types::Failure>;

    async fn invoke(
        self,
        exports: &Exports,
        store: &mut Store<StoreState>,
        instance: &Instance,
    ) -> GuestCallResult<tools::CallOutcome> {
        let exports = match exports {
            Exports::Contract(exports) => exports,
            Exports::Functions(functions) => {
                return functions.call(store, instance, self.name, self.args).await;
            }
        };
        let index = exports.call_tool.ok_or_else(|| not_exported("tools"))?;
        let function = instance
            .get_typed_func::<(&str, &str), (Result<tools::CallOutcome, types::Failure>,)>(
                &mut *store,
                index,
            )?;
        let (outcome,) = function.call_async(store, (self.name, self.args)).await?;
        Ok(outcome)
    }
}

struct ReadResource<'a> {
    uri: &'a str,
}

impl GuestCall for ReadResource<'_> {
    type Output = Result<resources::ReadOutcome, types::Failure>;

    async fn invoke(
        self,
        exports: &Exports,
        store: &mut Store<StoreState>,
        instance: &Instance,
    ) -> GuestCallResult<resources::ReadOutcome> {
        let interface = exports.contract()?.resources.as_ref().ok_or_else(|| not_exported("resources"))?;
        interface.load(&mut *store, instance)?.call_read_resource(store, self.uri).await
    }
}

struct GetPrompt<'a> {
    name: &'a str,
    args: &'a [(String, String)],
}

impl GuestCall for GetPrompt<'_> {
    type Output = Result<prompts::PromptOutcome, types::Failure>;

    async fn invoke(
        self,
        exports: &Exports,
        store: &mut Store<StoreState>,
        instance: &Instance,
    ) -> GuestCallResult<prompts::PromptOutcome> {
        let interface = exports.contract()?.prompts.as_ref().ok_or_else(|| not_exported("prompts"))?;
        interface.load(&mut *store, instance)?.call_get_prompt(store, self.name, self.args).await
    }
}

struct Complete<'a> {
    target: completions::CompletionTarget,
    name: &'a str,
    value: &'a str,
    others: &'a [(String, String)],
}

impl GuestCall for Complete<'_> {
    type Output = Result<completions::Completion, types::Failure>;

    async fn invoke(
        self,
        exports: &Exports,
        store: &mut Store<StoreState>,
        instance: &Instance,
    ) -> GuestCallResult<completions::Completion> {
        let interface =
            exports.contract()?.completions.as_ref().ok_or_else(|| not_exported("completions"))?;
        let guest = interface.load(&mut *store, instance)?;
        guest.call_complete(store, &self.target, self.name, self.value, self.others).await
    }
}
