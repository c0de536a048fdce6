//! The interface between the protocol and the plugins' host.
//!
//! The trait is defined here, apart from the Wasm host, so that everything from names to errors can be tested with
//! `test_support::FakePlugin`.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use crate::call::{
    CallContext, CallError, Completion, CompletionTarget, Outcome, PromptResult, ReadResult, ToolResult,
};
use crate::manifest::{Interfaces, Manifest};
use crate::names::{Digest, PluginId, PromptName, ResourceUri, ToolName};

/// A future that a plugin's answer comes from.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, CallError>> + Send + 'a>>;

/// What may be asked of any plugin.
///
/// An implementation answers within the plugin's limits, never panics on what the guest does, and drops all that the
/// guest held when the future is dropped. It doesn't limit how many calls run at once: that is the gate's part.
pub trait Plugin: fmt::Debug + Send + Sync {
    /// The key of its table in `gateway.toml`.
    fn id(&self) -> &PluginId;

    /// The digest of its file.
    fn digest(&self) -> &Digest;

    /// What it offers.
    fn manifest(&self) -> &Manifest;

    /// What its component imports and exports; none: that isn't known.
    fn interfaces(&self) -> Option<&Interfaces> {
        None
    }

    /// The most memory that one of its calls has had so far, in bytes; none: that isn't known.
    fn peak_memory(&self) -> Option<u64> {
        None
    }

    /// Calls a tool. `args` is the caller's JSON object exactly as it was written, already checked.
    fn call_tool<'a>(
        &'a self,
        context: Arc<CallContext>,
        name: &'a ToolName,
        args: &'a str,
    ) -> Answer<'a, Outcome<ToolResult>>;

    /// Reads a resource of its own space.
    fn read_resource<'a>(
        &'a self,
        context: Arc<CallContext>,
        uri: &'a ResourceUri,
    ) -> Answer<'a, Outcome<ReadResult>>;

    /// Fills in a prompt. Required arguments are there, and each name comes once.
    fn get_prompt<'a>(
        &'a self,
        context: Arc<CallContext>,
        name: &'a PromptName,
        args: &'a [(String, String)],
    ) -> Answer<'a, Outcome<PromptResult>>;

    /// Suggests values for an argument of which `value` stands there so far.
    fn complete<'a>(
        &'a self,
        context: Arc<CallContext>,
        target: &'a CompletionTarget,
        name: &'a str,
        value: &'a str,
        others: &'a [(String, String)],
    ) -> Answer<'a, Completion>;
}
