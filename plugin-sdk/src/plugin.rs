//! [`Plugin`]: what the gateway can ask of a plugin, as one trait.

use crate::expansion;
use crate::{
    CallOutcome, Completion, CompletionTarget, Context, Failure, PluginInfo, Prompt, PromptOutcome,
    ReadOutcome, ResourceInfo, ResourceTemplate, Tool,
};

/// A plugin. `#[plugin]` implements it; write it by hand where the lists aren't known when the plugin is built.
///
/// Each function is called on a value of its own, made by [`Default`]. Name the interfaces that the plugin has in
/// [`export!`](crate::export): functions of the others are never called.
///
/// The lists are asked for when the plugin is loaded, and again after [`changes`](crate::changes) says so. They must
/// come in the same order each time.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no plugin",
    label = "no `#[plugin]` stands above an `impl` block of `{Self}`",
    note = "put `#[plugin]` above the `impl` block, and `#[tool]` above its functions"
)]
pub trait Plugin: Default {
    /// Name, version and the like. Must not need any configuration.
    fn info() -> PluginInfo;

    /// All tools.
    ///
    /// # Errors
    /// The list can't be given; the plugin isn't loaded.
    fn tools(&self) -> Result<Vec<Tool>, Failure> {
        Ok(Vec::new())
    }

    /// Calls a tool. `args` is the text of a JSON object that fits the tool's input schema.
    ///
    /// # Errors
    /// The call ends in a JSON-RPC error. A tool that ran and didn't succeed returns
    /// [`ToolResult::error`](crate::ToolResult::error) instead.
    fn call_tool(&self, ctx: &Context, name: &str, args: &str) -> Result<CallOutcome, Failure> {
        let _ = (ctx, args);
        expansion::no_tool(name)
    }

    /// All resources that have a known URI.
    ///
    /// # Errors
    /// The list can't be given; the plugin isn't loaded.
    fn resources(&self) -> Result<Vec<ResourceInfo>, Failure> {
        Ok(Vec::new())
    }

    /// All resource templates.
    ///
    /// # Errors
    /// The list can't be given; the plugin isn't loaded.
    fn templates(&self) -> Result<Vec<ResourceTemplate>, Failure> {
        Ok(Vec::new())
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// It doesn't exist or can't be read.
    fn read_resource(&self, ctx: &Context, uri: &str) -> Result<ReadOutcome, Failure> {
        let _ = ctx;
        expansion::no_resource(uri)
    }

    /// All prompts.
    ///
    /// # Errors
    /// The list can't be given; the plugin isn't loaded.
    fn prompts(&self) -> Result<Vec<Prompt>, Failure> {
        Ok(Vec::new())
    }

    /// Gets a prompt. `args` are pairs of name and value; all required ones are there.
    ///
    /// # Errors
    /// There is no such prompt, or its arguments are wrong.
    fn get_prompt(
        &self,
        ctx: &Context,
        name: &str,
        args: &[(String, String)],
    ) -> Result<PromptOutcome, Failure> {
        let _ = (ctx, args);
        expansion::no_prompt(name)
    }

    /// Suggests values for an argument while a person types it: `typed` is there so far, `others` are the arguments
    /// that have values already.
    ///
    /// # Errors
    /// Something broke. An argument without suggestions is no error.
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
