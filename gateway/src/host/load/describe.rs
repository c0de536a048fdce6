//! Asking a plugin what it offers: when it is loaded, and when it says that this has changed.

use moongate_core::call::CallError;
use moongate_core::config::{LimitKey, Limits, PluginConfig};
use moongate_core::manifest::Manifest;
use wasmtime::Store;
use wasmtime::component::Instance;

use super::error::{LoadError, TooLow};
use super::exports::Exports;
use crate::host::bindings::{lifecycle, prompts, resources, tools, types};
use crate::host::convert;
use crate::host::diagnostics::failure_text::FailureText;
use crate::host::sandbox::call::{Ask, Sandbox, Unanswered};
use crate::host::sandbox::store::{State, StoreError};

/// All that a plugin says of itself, in the contract's types.
struct Said {
    info: lifecycle::PluginInfo,
    tools: Vec<tools::Tool>,
    resources: Vec<types::ResourceInfo>,
    templates: Vec<resources::ResourceTemplate>,
    prompts: Vec<prompts::Prompt>,
    completes: bool,
}

/// Asks for everything in one instance. The function that was asked last is kept, so that a trap names it.
struct Describe<'a> {
    asked: &'a std::sync::Mutex<Option<&'static str>>,
}

impl Describe<'_> {
    fn now(&self, function: &'static str) -> &'static str {
        *self.asked.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(function);
        function
    }
}

/// What a list function answered.
fn listed<T>(function: &'static str, given: Result<Vec<T>, types::Failure>) -> Result<Vec<T>, LoadError> {
    given.map_err(|failure| LoadError::Describe {
        function: Some(function),
        error: CallError::Refused(convert::failure(failure)),
        low: None,
    })
}

impl FailureText for Result<Said, LoadError> {}

impl Ask for Describe<'_> {
    type Answer = Result<Said, LoadError>;

    async fn ask(
        self,
        exports: &Exports,
        store: &mut Store<State>,
        instance: &Instance,
    ) -> wasmtime::Result<Result<Said, LoadError>> {
        if let Err(error) = exports.check(store, instance) {
            return Ok(Err(error));
        }
        self.now("lifecycle.describe");
        let info = exports.lifecycle.load(&mut *store, instance)?.call_describe(&mut *store).await?;
        let mut said = Said {
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
                    let function = self.now($function);
                    let given = interface.load(&mut *store, instance)?.$call(&mut *store).await?;
                    match listed(function, given) {
                        Ok(list) => said.$field = list,
                        Err(error) => return Ok(Err(error)),
                    }
                }
            };
        }
        list!(tools, tools, call_list_tools, "tools.list-tools");
        list!(resources, resources, call_list_resources, "resources.list-resources");
        list!(resources, templates, call_list_templates, "resources.list-templates");
        list!(prompts, prompts, call_list_prompts, "prompts.list-prompts");
        Ok(Ok(said))
    }
}

/// Checks the exports' types, and asks for everything that the catalog needs.
pub(in crate::host) async fn describe(sandbox: &Sandbox) -> Result<Manifest, LoadError> {
    let PluginConfig { id, limits, .. } = &*sandbox.config;
    let asked = std::sync::Mutex::new(None);
    let said = sandbox.ask_itself(Describe { asked: &asked }).await;
    let function = asked.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let said = match said {
        Ok(said) => said?,
        Err(Unanswered::Store(StoreError::Grant(error))) => {
            let hint = sandbox.shared.openings.hint(&sandbox.config, &error).await;
            let guest = error.guest().map(str::to_owned);
            return Err(LoadError::Grant { reason: error.to_string(), hint, guest });
        }
        Err(Unanswered::Store(StoreError::Engine(error))) => {
            return Err(LoadError::Internal(format!("{error:#}")));
        }
        Err(Unanswered::Call { error, wanted }) => {
            let low = too_low(&error, wanted, limits).map(Box::new);
            return Err(LoadError::Describe { function, error, low });
        }
    };
    let pictures = std::iter::once(&said.info.icons)
        .chain(said.tools.iter().map(|tool| &tool.icons))
        .chain(said.resources.iter().map(|resource| &resource.icons))
        .chain(said.templates.iter().map(|template| &template.icons))
        .chain(said.prompts.iter().map(|prompt| &prompt.icons));
    convert::tell_of_icons(id, pictures);
    manifest(said, limits).map_err(|bad| LoadError::Manifest {
        reason: bad.to_string(),
        low: bad.limit().map(|(key, found)| Box::new(TooLow::wanting(key, found))),
    })
}

/// The limit that kept a plugin from describing itself. `wanted`: how much memory, or how many elements of tables, it
/// would have had.
fn too_low(error: &CallError, wanted: Option<u64>, limits: &Limits) -> Option<TooLow> {
    let key = match error {
        CallError::Timeout(_) => LimitKey::DescribeTimeout,
        CallError::CpuTime(_) => LimitKey::CpuTime,
        CallError::Memory(_) => LimitKey::Memory,
        CallError::Tables(_) => LimitKey::TableElements,
        CallError::Handles(_) => LimitKey::Handles,
        CallError::TooLarge(_) => LimitKey::Transfer,
        CallError::Refused(_)
        | CallError::NotGranted(_)
        | CallError::Directory(_)
        | CallError::Trap(_)
        | CallError::BadOutput(_)
        | CallError::Busy(_)
        | CallError::Replaced
        | CallError::Cancelled
        | CallError::Internal(_) => return None,
    };
    Some(match wanted {
        Some(wanted) => TooLow::wanting(key, wanted),
        None => TooLow::in_these(limits, key),
    })
}

fn manifest(said: Said, limits: &Limits) -> Result<Manifest, convert::Bad> {
    let Said { info, tools, resources, templates, prompts, completes } = said;
    Ok(Manifest {
        info: convert::info(info, limits)?,
        tools: convert::tools(tools, limits)?,
        resources: convert::resources(resources, limits)?,
        templates: convert::templates(templates, limits)?,
        prompts: convert::prompts(prompts, limits)?,
        completes,
    })
}
