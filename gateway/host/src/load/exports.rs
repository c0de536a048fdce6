//! The component's exports, looked up once by name: the contract's interfaces, or other functions.
//!
//! All interfaces of the contract except `lifecycle` are optional. Types are checked when an interface is loaded into an
//! instance. If an interface doesn't match, its functions are checked one by one to find the wrong one.

use wasmtime::component::{ComponentExportIndex, Instance, InstancePre};
use wasmtime::{AsContextMut, Store};

use super::error::{LoadError, UncallableComponent};
use crate::bindings::{completions, lifecycle, prompts, resources, tools, types};
use crate::diagnostics::text;
use crate::exported_functions::ExportedFunctions;
use crate::sandbox::store::StoreState;
use crate::wasi::linker::CONTRACT_PACKAGE;

/// The version for looking up exports. It also finds other patch versions.
const CONTRACT_VERSION: &str = "0.1.0";

/// The exports of a component that can be a plugin.
pub(crate) enum Exports {
    /// The component implements the contract.
    Contract(ContractExports),
    /// The component doesn't implement the contract, and exports functions.
    Functions(ExportedFunctions),
}

/// The index of each exported interface of the contract.
pub(crate) struct ContractExports {
    pub(crate) lifecycle: lifecycle::GuestIndices,
    pub(crate) tools: Option<tools::GuestIndices>,
    /// `call-tool` of `tools`: loading the whole interface would check the types of `list-tools` in every call.
    pub(crate) call_tool: Option<ComponentExportIndex>,
    pub(crate) resources: Option<resources::GuestIndices>,
    pub(crate) prompts: Option<prompts::GuestIndices>,
    pub(crate) completions: Option<completions::GuestIndices>,
}

/// The full name of an interface of the contract.
fn full_name(interface: &str) -> String {
    format!("{CONTRACT_PACKAGE}/{interface}@{CONTRACT_VERSION}")
}

/// The result of a function that can fail.
type GuestResult<T> = Result<T, types::Failure>;

/// Checks the type of each function of an interface, and describes those that don't match.
macro_rules! mismatches {
    ($store:expr, $instance:expr, $interface:literal, [$($name:literal: ($($param:ty),*) -> $result:ty),* $(,)?]) => {{
        let mut found = Vec::new();
        $(
            if let Some(function) = function($store, $instance, $interface, $name)
                && let Err(error) = function.typed::<($($param,)*), ($result,)>(&*$store)
            {
                found.push(format!("`{}`: {error:#}", $name));
            }
        )*
        found
    }};
}

impl Exports {
    /// Looks up the exports.
    ///
    /// # Errors
    /// There is nothing that the gateway can call, or an interface of the contract has another type.
    pub(crate) fn find(pre: &InstancePre<StoreState>) -> Result<Self, LoadError> {
        let exports = pre.component().component_type();
        if exports.exports(pre.engine()).any(|(name, _)| is_of_contract(name)) {
            return ContractExports::find(pre).map(Self::Contract);
        }
        let functions = ExportedFunctions::find(pre)?;
        if functions.is_empty() {
            let has =
                |interface| exports.exports(pre.engine()).any(|(name, _)| is_version_of(interface, name));
            let found = if has("wasi:cli/run") {
                UncallableComponent::Command
            } else if has("wasi:http/incoming-handler") {
                UncallableComponent::HttpServer
            } else {
                UncallableComponent::NoFunctions
            };
            return Err(LoadError::NotAPlugin { found });
        }
        Ok(Self::Functions(functions))
    }

    /// The interfaces of the contract. The catalog only asks for them if the component exports them.
    pub(crate) fn contract(&self) -> wasmtime::Result<&ContractExports> {
        match self {
            Self::Contract(exports) => Ok(exports),
            Self::Functions(_) => Err(wasmtime::format_err!("the component doesn't implement the contract")),
        }
    }
}

/// True if the export is an interface of the contract.
fn is_of_contract(name: &str) -> bool {
    name.strip_prefix(CONTRACT_PACKAGE).is_some_and(|rest| rest.starts_with('/'))
}

/// True if `name` is this interface in any version.
fn is_version_of(interface: &str, name: &str) -> bool {
    name.strip_prefix(interface).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
}

impl ContractExports {
    /// Looks up the interfaces by name.
    fn find(pre: &InstancePre<StoreState>) -> Result<Self, LoadError> {
        let index = |interface| pre.component().get_export_index(None, full_name(interface));
        let has = |interface| index(interface).is_some();
        let type_error = |interface: &str| {
            let interface = interface.to_owned();
            move |error: wasmtime::Error| LoadError::ExportMismatch {
                interface,
                found: text::clean_line(&format!("{error:#}"), text::MAX_SENTENCE_BYTES),
            }
        };
        let tools = has("tools");
        let resources = has("resources");
        let prompts = has("prompts");
        let completions = has("completions");
        if !has("lifecycle") {
            return Err(LoadError::NotAPlugin { found: UncallableComponent::PartOfContract });
        }
        Ok(Self {
            lifecycle: lifecycle::GuestIndices::new(pre).map_err(type_error("lifecycle"))?,
            tools: tools.then(|| tools::GuestIndices::new(pre)).transpose().map_err(type_error("tools"))?,
            call_tool: index("tools")
                .and_then(|tools| pre.component().get_export_index(Some(&tools), "call-tool")),
            resources: resources
                .then(|| resources::GuestIndices::new(pre))
                .transpose()
                .map_err(type_error("resources"))?,
            prompts: prompts
                .then(|| prompts::GuestIndices::new(pre))
                .transpose()
                .map_err(type_error("prompts"))?,
            completions: completions
                .then(|| completions::GuestIndices::new(pre))
                .transpose()
                .map_err(type_error("completions"))?,
        })
    }

    /// Compares the types of all functions with the contract's.
    pub(crate) fn check(&self, store: &mut Store<StoreState>, instance: &Instance) -> Result<(), LoadError> {
        if let Err(error) = self.lifecycle.load(&mut *store, instance) {
            let found = mismatches!(store, instance, "lifecycle", ["describe": () -> lifecycle::PluginInfo]);
            return Err(mismatch("lifecycle", &found, &error));
        }
        if let Some(Err(error)) = self.tools.as_ref().map(|tools| tools.load(&mut *store, instance)) {
            let found = mismatches!(store, instance, "tools", [
                "list-tools": () -> GuestResult<Vec<tools::Tool>>,
                "call-tool": (String, String) -> GuestResult<tools::CallOutcome>,
            ]);
            return Err(mismatch("tools", &found, &error));
        }
        if let Some(Err(error)) =
            self.resources.as_ref().map(|resources| resources.load(&mut *store, instance))
        {
            let found = mismatches!(store, instance, "resources", [
                "list-resources": () -> GuestResult<Vec<types::ResourceInfo>>,
                "list-templates": () -> GuestResult<Vec<resources::ResourceTemplate>>,
                "read-resource": (String) -> GuestResult<resources::ReadOutcome>,
            ]);
            return Err(mismatch("resources", &found, &error));
        }
        if let Some(Err(error)) = self.prompts.as_ref().map(|prompts| prompts.load(&mut *store, instance)) {
            let found = mismatches!(store, instance, "prompts", [
                "list-prompts": () -> GuestResult<Vec<prompts::Prompt>>,
                "get-prompt": (String, Vec<(String, String)>) -> GuestResult<prompts::PromptOutcome>,
            ]);
            return Err(mismatch("prompts", &found, &error));
        }
        if let Some(Err(error)) = self.completions.as_ref().map(|its| its.load(&mut *store, instance)) {
            let found = mismatches!(store, instance, "completions", [
                "complete": (completions::CompletionTarget, String, String, Vec<(String, String)>)
                    -> GuestResult<completions::Completion>,
            ]);
            return Err(mismatch("completions", &found, &error));
        }
        Ok(())
    }
}

/// A function of an exported interface.
fn function(
    store: &mut Store<StoreState>,
    instance: &Instance,
    interface: &str,
    name: &str,
) -> Option<wasmtime::component::Func> {
    let interface = instance.get_export_index(store.as_context_mut(), None, &full_name(interface))?;
    let function = instance.get_export_index(store.as_context_mut(), Some(&interface), name)?;
    instance.get_func(store.as_context_mut(), function)
}

/// The error for an interface that doesn't match the contract.
fn mismatch(interface: &str, found: &[String], otherwise: &wasmtime::Error) -> LoadError {
    let found = if found.is_empty() { format!("{otherwise:#}") } else { found.join("; ") };
    LoadError::ExportMismatch {
        interface: interface.to_owned(),
        found: text::clean_line(&found, 4 * text::MAX_SENTENCE_BYTES),
    }
}
