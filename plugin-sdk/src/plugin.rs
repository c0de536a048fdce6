//! [`Plugin`]: the interface between the gateway and a plugin, as one trait.

use crate::expansion;
use crate::{
    CallOutcome, Completion, CompletionTarget, Context, Failure, PluginInfo, Prompt, PromptOutcome,
    ReadOutcome, ResourceInfo, ResourceTemplate, Tool,
};

/// A plugin. `#[plugin]` implements it. Implement it by hand if the lists are only known at run time.
///
/// Each function is called on a new value, made by [`Default`]. Name the interfaces of the plugin in
/// [`export!`](crate::export); functions of other interfaces are never called.
///
/// The gateway requests the lists when it loads the plugin, and again after a report with
/// [`changes`](crate::changes). Their order must not change.
#[diagnostic::on_unimplemented(
    message = "`{Self}` isn't a plugin",
    label = "`{Self}` has no `impl` block with `#[plugin]`",
    note = "put `#[plugin]` above the `impl` block, and `#[tool]` above its functions"
)]
pub trait Plugin: Default {
    /// Returns name, version and other metadata. Must work without settings.
    fn info() -> PluginInfo;

    /// Lists the tools.
    ///
    /// # Errors
    /// The list isn't available. The plugin isn't loaded.
    fn tools(&self) -> Result<Vec<Tool>, Failure> {
        Ok(Vec::new())
    }

    /// Calls a tool. `args` is a JSON object that matches the tool's input schema.
    ///
    /// # Errors
    /// The call ends in a JSON-RPC error. A tool that fails returns [`ToolResult::error`](crate::ToolResult::error)
    /// instead.
    fn call_tool(&self, ctx: &Context, name: &str, args: &str) -> Result<CallOutcome, Failure> {
        let _ = (ctx, args);
        expansion::no_tool(name)
    }

    /// Lists the resources with a fixed URI.
    ///
    /// # Errors
    /// The list isn't available. The plugin isn't loaded.
    fn resources(&self) -> Result<Vec<ResourceInfo>, Failure> {
        Ok(Vec::new())
    }

    /// Lists the resource templates.
    ///
    /// # Errors
    /// The list isn't available. The plugin isn't loaded.
    fn templates(&self) -> Result<Vec<ResourceTemplate>, Failure> {
        Ok(Vec::new())
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// The resource doesn't exist or can't be read.
    fn read_resource(&self, ctx: &Context, uri: &str) -> Result<ReadOutcome, Failure> {
        let _ = ctx;
        expansion::no_resource(uri)
    }

    /// Lists the prompts.
    ///
    /// # Errors
    /// The list isn't available. The plugin isn't loaded.
    fn prompts(&self) -> Result<Vec<Prompt>, Failure> {
        Ok(Vec::new())
    }

    /// Gets a prompt. `args` are pairs of name and value, and include all required arguments.
    ///
    /// # Errors
    /// The prompt doesn't exist, or its arguments are invalid.
    fn get_prompt(
        &self,
        ctx: &Context,
        name: &str,
        args: &[(String, String)],
    ) -> Result<PromptOutcome, Failure> {
        let _ = (ctx, args);
        expansion::no_prompt(name)
    }

    /// Suggests values for an argument while the user types it. `typed` is the current input, `others` are the
    /// arguments that are already filled in.
    ///
    /// # Errors
    /// The completion failed. An argument without suggestions isn't an error.
    fn complete(
        &self,
        target: &CompletionTarget,
        argument: &str,
        typed: &str,
        others: &[(String, String)],
    ) -> Result<Completion, Failure> {
        let _ = (target, argument, typed, others);
        Ok(Completion::from(Vec::<String>::new()))
    }
}
