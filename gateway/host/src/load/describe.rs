//! Describing a plugin: reads its information and its lists, when it is loaded and when it reports a change.

use std::sync::{Mutex, PoisonError};

use moongate_config::{LimitKey, Limits, PluginConfig};
use moongate_model::call::CallError;
use moongate_model::manifest::{Interfaces, Manifest, RejectedItem};
use wasmtime::Store;
use wasmtime::component::Instance;

use super::error::{LimitTooLow, LoadError, PathOrigin};
use super::exports::Exports;
use crate::bindings::{lifecycle, prompts, resources, tools, types};
use crate::convert::{self, ConvertError, InvalidItem};
use crate::diagnostics::failure_text::FailureText;
use crate::exported_functions::{self, ExportedFunctions};
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
    /// Functions that can't be tools.
    refused: Vec<InvalidItem>,
}

/// Reads the whole description in one instance. Keeps the name of the running function, so that a trap's error can
/// contain it.
struct Describe<'a> {
    interfaces: &'a Interfaces,
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
        let exports = match exports {
            Exports::Contract(exports) => exports,
            Exports::Functions(functions) => {
                return Ok(functions_description(functions, self.interfaces, store.data().config()));
            }
        };
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
            refused: Vec::new(),
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

/// The description of a component without the contract. Its functions are its tools.
fn functions_description(
    functions: &ExportedFunctions,
    interfaces: &Interfaces,
    config: &PluginConfig,
) -> Result<Description, LoadError> {
    let limits = &config.limits;
    // A little more than the limit, so that the error names a sufficient one.
    let max_schema = usize::try_from(limits.schema.as_u64().saturating_mul(2)).unwrap_or(usize::MAX);
    let mut left = usize::try_from(limits.transfer.as_u64()).unwrap_or(usize::MAX);
    let mut tools = Vec::new();
    for function in &functions.functions {
        let (input_schema, output_schema) = exported_functions::tool_schemas(function, max_schema);
        let length = input_schema.len() + output_schema.as_ref().map_or(0, String::len);
        left = left.checked_sub(length).ok_or_else(|| LoadError::InvalidDescription {
            reason: "the schemas of all functions are larger than `limits.transfer` allows".to_owned(),
            low: Some(Box::new(LimitTooLow::with_unknown_need(limits, LimitKey::Transfer))),
        })?;
        tools.push(tools::Tool {
            name: function.name.clone(),
            title: None,
            description: Some(function.description(&interfaces.documentation)),
            input_schema,
            output_schema,
            annotations: None,
            icons: None,
            meta: None,
            extra: None,
        });
    }
    let refused = functions.refused.iter();
    Ok(Description {
        info: lifecycle::PluginInfo {
            name: config.id.as_str().to_owned(),
            version: String::new(),
            title: None,
            description: None,
            website_url: None,
            icons: None,
            instructions: None,
            config_schema: None,
            meta: None,
            extra: None,
        },
        tools,
        resources: Vec::new(),
        templates: Vec::new(),
        prompts: Vec::new(),
        completes: false,
        refused: refused.map(|refused| InvalidItem::tool(refused.name.clone(), &*refused.reason)).collect(),
    })
}

/// Checks the types of the exports, and reads the description. Only a few plugins are asked at once.
pub(crate) async fn describe(sandbox: &Sandbox, interfaces: &Interfaces) -> Result<Manifest, LoadError> {
    let _permit = sandbox.shared.describing.acquire().await;
    describe_now(sandbox, interfaces).await
}

/// The same before a call, which doesn't wait for plugins that nobody has called.
pub(crate) async fn describe_for_call(
    sandbox: &Sandbox,
    interfaces: &Interfaces,
) -> Result<Manifest, LoadError> {
    let _permit = sandbox.shared.describing_for_calls.acquire().await;
    describe_now(sandbox, interfaces).await
}

async fn describe_now(sandbox: &Sandbox, interfaces: &Interfaces) -> Result<Manifest, LoadError> {
    let PluginConfig { id, limits, .. } = &*sandbox.config;
    let current_function = Mutex::new(None);
    let result = sandbox.call_for_gateway(Describe { interfaces, current_function: &current_function }).await;
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
    let Description { info, tools, resources, templates, prompts, completes, refused: mut invalid } =
        description;
    let limits = &config.limits;
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
