//! Which interfaces a plugin exports, found once by name, and their functions in an instance.
//!
//! Each interface is optional but `lifecycle`. Types are checked when an interface is loaded into an instance; where
//! one doesn't fit, its functions are tried one by one to name the wrong one.

use wasmtime::component::{Instance, InstancePre};
use wasmtime::{AsContextMut, Store};

use super::error::LoadError;
use crate::host::bindings::{completions, lifecycle, prompts, resources, tools, types};
use crate::host::diagnostics::text;
use crate::host::sandbox::store::State;
use crate::host::wasi::linker::PACKAGE;

/// The version under which exports are looked up; it also finds other patches of it.
const VERSION: &str = "0.1.0";

/// Where each exported interface is.
pub(in crate::host) struct Exports {
    pub(in crate::host) lifecycle: lifecycle::GuestIndices,
    pub(in crate::host) tools: Option<tools::GuestIndices>,
    pub(in crate::host) resources: Option<resources::GuestIndices>,
    pub(in crate::host) prompts: Option<prompts::GuestIndices>,
    pub(in crate::host) completions: Option<completions::GuestIndices>,
}

/// The full name of an interface of the contract.
fn full(interface: &str) -> String {
    format!("{PACKAGE}/{interface}@{VERSION}")
}

/// The result of a function that may fail.
type Said<T> = Result<T, types::Failure>;

/// Tries each function of an interface and says of each that doesn't fit why not.
macro_rules! probe {
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
    /// Finds the interfaces by name.
    pub(in crate::host) fn find(pre: &InstancePre<State>) -> Result<Self, LoadError> {
        let has = |interface| pre.component().get_export_index(None, full(interface)).is_some();
        let wrong = |interface: &str| {
            let interface = interface.to_owned();
            move |error: wasmtime::Error| LoadError::Export {
                interface,
                found: text::line(&format!("{error:#}"), text::SENTENCE),
            }
        };
        let (tools, resources) = (has("tools"), has("resources"));
        let (prompts, completions) = (has("prompts"), has("completions"));
        if !has("lifecycle") {
            return Err(LoadError::NoExports { other: tools || resources || prompts || completions });
        }
        Ok(Self {
            lifecycle: lifecycle::GuestIndices::new(pre).map_err(wrong("lifecycle"))?,
            tools: tools.then(|| tools::GuestIndices::new(pre)).transpose().map_err(wrong("tools"))?,
            resources: resources
                .then(|| resources::GuestIndices::new(pre))
                .transpose()
                .map_err(wrong("resources"))?,
            prompts: prompts
                .then(|| prompts::GuestIndices::new(pre))
                .transpose()
                .map_err(wrong("prompts"))?,
            completions: completions
                .then(|| completions::GuestIndices::new(pre))
                .transpose()
                .map_err(wrong("completions"))?,
        })
    }

    /// Compares the types of every function with the contract's.
    pub(in crate::host) fn check(
        &self,
        store: &mut Store<State>,
        instance: &Instance,
    ) -> Result<(), LoadError> {
        if let Err(error) = self.lifecycle.load(&mut *store, instance) {
            let found = probe!(store, instance, "lifecycle", ["describe": () -> lifecycle::PluginInfo]);
            return Err(misfit("lifecycle", &found, &error));
        }
        if let Some(Err(error)) = self.tools.as_ref().map(|tools| tools.load(&mut *store, instance)) {
            let found = probe!(store, instance, "tools", [
                "list-tools": () -> Said<Vec<tools::Tool>>,
                "call-tool": (String, String) -> Said<tools::CallOutcome>,
            ]);
            return Err(misfit("tools", &found, &error));
        }
        if let Some(Err(error)) =
            self.resources.as_ref().map(|resources| resources.load(&mut *store, instance))
        {
            let found = probe!(store, instance, "resources", [
                "list-resources": () -> Said<Vec<types::ResourceInfo>>,
                "list-templates": () -> Said<Vec<resources::ResourceTemplate>>,
                "read-resource": (String) -> Said<resources::ReadOutcome>,
            ]);
            return Err(misfit("resources", &found, &error));
        }
        if let Some(Err(error)) = self.prompts.as_ref().map(|prompts| prompts.load(&mut *store, instance)) {
            let found = probe!(store, instance, "prompts", [
                "list-prompts": () -> Said<Vec<prompts::Prompt>>,
                "get-prompt": (String, Vec<(String, String)>) -> Said<prompts::PromptOutcome>,
            ]);
            return Err(misfit("prompts", &found, &error));
        }
        if let Some(Err(error)) = self.completions.as_ref().map(|its| its.load(&mut *store, instance)) {
            let found = probe!(store, instance, "completions", [
                "complete": (completions::CompletionTarget, String, String, Vec<(String, String)>)
                    -> Said<completions::Completion>,
            ]);
            return Err(misfit("completions", &found, &error));
        }
        Ok(())
    }
}

/// A function of an exported interface.
fn function(
    store: &mut Store<State>,
    instance: &Instance,
    interface: &str,
    name: &str,
) -> Option<wasmtime::component::Func> {
    let interface = instance.get_export_index(store.as_context_mut(), None, &full(interface))?;
    let function = instance.get_export_index(store.as_context_mut(), Some(&interface), name)?;
    instance.get_func(store.as_context_mut(), function)
}

/// The error for an interface that doesn't fit.
fn misfit(interface: &str, found: &[String], otherwise: &wasmtime::Error) -> LoadError {
    let found = if found.is_empty() { format!("{otherwise:#}") } else { found.join("; ") };
    LoadError::Export { interface: interface.to_owned(), found: text::line(&found, 4 * text::SENTENCE) }
}
