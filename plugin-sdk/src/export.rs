//! Connects the contract's functions to [`Plugin`], and [`export!`](crate::export), which exports them.

use std::marker::PhantomData;

use crate::bindings::{completions, lifecycle, prompts, resources, tools};
use crate::{
    CallOutcome, Completion, CompletionTarget, Failure, Plugin, PluginInfo, Prompt, PromptOutcome,
    ReadOutcome, ResourceInfo, ResourceTemplate, Tool, rounds,
};

/// A plugin type for the generated bindings, whose functions take no `self`.
#[derive(Debug)]
pub struct Exported<P>(PhantomData<P>);

impl<P: Plugin> lifecycle::Guest for Exported<P> {
    fn describe() -> PluginInfo {
        P::info()
    }
}

impl<P: Plugin> tools::Guest for Exported<P> {
    fn list_tools() -> Result<Vec<Tool>, Failure> {
        P::default().tools()
    }

    fn call_tool(name: String, args: String) -> Result<CallOutcome, Failure> {
        rounds::call_tool::<P>(&name, &args)
    }
}

impl<P: Plugin> resources::Guest for Exported<P> {
    fn list_resources() -> Result<Vec<ResourceInfo>, Failure> {
        P::default().resources()
    }

    fn list_templates() -> Result<Vec<ResourceTemplate>, Failure> {
        P::default().templates()
    }

    fn read_resource(uri: String) -> Result<ReadOutcome, Failure> {
        rounds::read_resource::<P>(&uri)
    }
}

impl<P: Plugin> prompts::Guest for Exported<P> {
    fn list_prompts() -> Result<Vec<Prompt>, Failure> {
        P::default().prompts()
    }

    fn get_prompt(name: String, args: Vec<(String, String)>) -> Result<PromptOutcome, Failure> {
        rounds::get_prompt::<P>(&name, &args)
    }
}

impl<P: Plugin> completions::Guest for Exported<P> {
    fn complete(
        target: CompletionTarget,
        name: String,
        value: String,
        others: Vec<(String, String)>,
    ) -> Result<Completion, Failure> {
        P::default().complete(&target, &name, &value, &others)
    }
}

/// Exports a [`Plugin`] as this component's plugin, with its interfaces: any of `tools`, `resources`, `prompts` and
/// `completions`. `#[plugin]` writes this line itself.
///
/// ```
/// # #[derive(Default)]
/// # struct MyPlugin;
/// # impl moongate_sdk::Plugin for MyPlugin {
/// #     fn info() -> moongate_sdk::PluginInfo { moongate_sdk::PluginInfo::new("mine", "1") }
/// # }
/// moongate_sdk::export!(MyPlugin: tools, prompts);
/// ```
///
/// In a native build it exports nothing.
#[macro_export]
macro_rules! export {
    ($Plugin:ty: $($interface:ident),* $(,)?) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            type Exported = $crate::export::Exported<$Plugin>;
            $crate::bindings::lifecycle::export_lifecycle!(Exported with_types_in $crate::bindings::lifecycle);
            $($crate::export_interface!($interface Exported);)*
        };

        // Nothing calls the plugin in a native build, so rustc would report it as dead code.
        #[cfg(not(target_family = "wasm"))]
        const _: fn() -> $Plugin = <$Plugin as ::core::default::Default>::default;
    };
}

/// Exports one interface for [`export!`].
#[doc(hidden)]
#[macro_export]
macro_rules! export_interface {
    (tools $Exported:ident) => {
        $crate::bindings::tools::export_tools!($Exported with_types_in $crate::bindings::tools);
    };
    (resources $Exported:ident) => {
        $crate::bindings::resources::export_resources!($Exported with_types_in $crate::bindings::resources);
    };
    (prompts $Exported:ident) => {
        $crate::bindings::prompts::export_prompts!($Exported with_types_in $crate::bindings::prompts);
    };
    (completions $Exported:ident) => {
        $crate::bindings::completions::export_completions!($Exported with_types_in $crate::bindings::completions);
    };
    ($other:ident $Exported:ident) => {
        compile_error!(concat!(
            "there is no interface `", stringify!($other), "`; a plugin can have `tools`, `resources`, `prompts` and `completions`"
        ));
    };
}
