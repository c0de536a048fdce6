//! Describing a plugin: reads its information and its lists, when it is loaded and when it reports a change.

use std::sync::{Mutex, PoisonError};

use moongate_config::{LimitKey, Limits, PluginConfig};
use moongate_model::call::CallError;
use moongate_model::manifest::{Manifest, RejectedItem};
use wasmtime::Store;
use wasmtime::component::Instance;

use super::error::{LimitTooLow, LoadError, PathOrigin};
use super::exports::Exports;
use crate::bindings::{lifecycle, prompts, resources, tools, types};
use crate::convert::{self, ConvertError, InvalidItem};
use crate::diagnostics::failure_text::FailureText;
use crate::sandbox::call::{GuestCall, Sandbox, SandboxError};
use crate::sandbox::store::{StoreError, StoreState};

/// The description of a plugin in the contract's types.
struct Description {
    info: lifecycle::PluginInfo,
    tools: Vec<tools::Tool>,
    resources: Vec<types::ResourceInfo>,
    templates: Vec<resources::ResourceTemplate>,
    prompts: Vec<prompts::Prompt>,
    completes: bool,
}

/// Reads the whole description in one instance. Keeps the name of the running function, so that a trap's error can
/// contain it.
struct Describe<'a> {
    current_function: &'a Mutex<Option<&'static str>>,
}

impl Describe<'_> {
    fn enter(&self, function: &'static str) -> &'static str {
        *self.current_function.lock().unwrap_or_else(PoisonError::into_inner) = Some(function);
        function
    }
}

/// The result of a list function.
fn list_result<T>(
    function: &'static str,
    given: Result<Vec<T>, types::Failure>,
) -> Result<Vec<T>, LoadError> {
    given.map_err(|failure| LoadError::DescribeFailed {
        function: Some(function),
        error: CallError::Refused(convert::failure(failure)),
        low: None,
    })
}

impl FailureText for Result<Description, LoadError> {}

impl GuestCall for Describe<'_> {
    type Output = Result<Description, LoadError>;

    async fn invoke(
        self,
        exports: &Exports,
        store: &mut Store<StoreState>,
        instance: &Instance,
    ) -> wasmtime::Result<Result<Description, LoadError>> {
        if let Err(error) = exports.check(store, instance) {
            return Ok(Err(error));
        }
        self.enter("lifecycle.describe");
        let info = exports.lifecycle.load(&mut *store, instance)?.call_describe(&mut *store).await?;
        let mut description = Description {
            info,
            tools: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            prompts: Vec::new(),
            completes: exports.completions.is_some(),
        };
        macro_rules! list {
            ($interface:ident, $field:ident, $call:ident, $function:literal) => {
                if let Some(interface) = &exports.$interface {
                    let function = self.enter($function);
                    let given = interface.load(&mut *store, instance)?.$call(&mut *store).await?;
                    match list_result(function, given) {
                        Ok(list) => description.$field = list,
                        Err(error) => return Ok(Err(error)),
                    }
                }
            };
        }
        list!(tools, tools, call_list_tools, "tools.list-tools");
        list!(resources, resources, call_list_resources, "resources.list-resources");
        list!(resources, templates, call_list_templates, "resources.list-templates");
        list!(prompts, prompts, call_list_prompts, "prompts.list-prompts");
        Ok(Ok(description))
    }
}

/// Checks the types of the exports, and reads the description. Only a few plugins are asked at once.
pub(crate) async fn describe(sandbox: &Sandbox) -> Result<Manifest, LoadError> {
    let _permit = sandbox.shared.describing.acquire().await;
    describe_now(sandbox).await
}

/// The same before a call, which doesn't wait for plugins that nobody has called.
pub(crate) async fn describe_for_call(sandbox: &Sandbox) -> Result<Manifest, LoadError> {
    let _permit = sandbox.shared.describing_for_calls.acquire().await;
    describe_now(sandbox).await
}

async fn describe_now(sandbox: &Sandbox) -> Result<Manifest, LoadError> {
    let PluginConfig { id, limits, .. } = &*sandbox.config;
    let current_function = Mutex::new(None);
    let result = sandbox.call_for_gateway(Describe { current_function: &current_function }).await;
    let function = current_function.into_inner().unwrap_or_else(PoisonError::into_inner);
    let description = match result {
        Ok(description) => description?,
        Err(SandboxError::Load(error)) => return Err(error),
        Err(SandboxError::Store(StoreError::Grant(error))) => {
            let hint = sandbox.shared.openings.hint(&sandbox.config, &error).await;
            let guest = error.guest().map(str::to_owned);
            return Err(LoadError::GrantedDirectory { reason: error.to_string(), hint, guest });
        }
        Err(SandboxError::Store(StoreError::Engine(error))) => {
            return Err(LoadError::Internal(format!("{error:#}")));
        }
        Err(SandboxError::Store(error @ StoreError::Memory)) => {
            return Err(LoadError::Internal(error.to_string()));
        }
        Err(SandboxError::Call { error, wanted }) => {
            let low = too_low(&error, wanted, limits).map(Box::new);
            return Err(LoadError::DescribeFailed { function, error, low });
        }
    };
    let icons = std::iter::once(&description.info.icons)
        .chain(description.tools.iter().map(|tool| &tool.icons))
        .chain(description.resources.iter().map(|resource| &resource.icons))
        .chain(description.templates.iter().map(|template| &template.icons))
        .chain(description.prompts.iter().map(|prompt| &prompt.icons));
    convert::warn_of_dropped_icons(id, icons);
    manifest(description, &sandbox.config).map_err(|error| LoadError::InvalidDescription {
        reason: error.to_string(),
        low: error.limit().map(|(key, found)| Box::new(LimitTooLow::needing(key, found))),
    })
}

/// The limit that ended describing, if it was one. `wanted` is the amount of memory (bytes) or of table elements that
/// the plugin needed.
fn too_low(error: &CallError, wanted: Option<u64>, limits: &Limits) -> Option<LimitTooLow> {
    let key = match error {
        CallError::Timeout(_) => LimitKey::DescribeTimeout,
        CallError::CpuTime(_) => LimitKey::CpuTime,
        CallError::Memory(_) => LimitKey::Memory,
        CallError::TableElements(_) => LimitKey::TableElements,
        CallError::Handles(_) => LimitKey::Handles,
        CallError::TooLarge(_) => LimitKey::Transfer,
        CallError::Refused(_)
        | CallError::NotGranted(_)
        | CallError::Directory(_)
        | CallError::Trap(_)
        | CallError::InvalidOutput(_)
        | CallError::Busy(_)
        | CallError::RateLimited(_)
        | CallError::TimeoutBeforeStart(_)
        | CallError::Replaced
        | CallError::Cancelled
        | CallError::Internal(_) => return None,
    };
    Some(match wanted {
        Some(wanted) => LimitTooLow::needing(key, wanted),
        None => LimitTooLow::with_unknown_need(limits, key),
    })
}

fn manifest(description: Description, config: &PluginConfig) -> Result<Manifest, ConvertError> {
    let Description { info, tools, resources, templates, prompts, completes } = description;
    let limits = &config.limits;
    let mut invalid = Vec::new();
    Ok(Manifest {
        info: convert::info(info, limits)?,
        tools: convert::tools(tools, limits, &mut invalid)?,
        resources: convert::resources(resources, limits, &mut invalid)?,
        templates: convert::templates(templates, limits, &mut invalid)?,
        prompts: convert::prompts(prompts, limits, &mut invalid)?,
        rejected: invalid.into_iter().map(|item| rejected_item(item, config)).collect(),
        has_completions: completes,
    })
}

fn rejected_item(item: InvalidItem, config: &PluginConfig) -> RejectedItem {
    let low = item.error.limit().map(|(key, found)| LimitTooLow::needing(key, found));
    let fix = low.map(|low| PathOrigin::of(config).raise_limit_for_item(&low));
    item.into_rejected(fix)
}
