//! The interface between the protocol and the plugins' host.
//!
//! The trait is defined here, apart from the Wasm host, so that everything from names to errors can be tested with
//! `test_support::FakePlugin`.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::access_history::AccessHistory;
use crate::call::{
    CallContext, CallError, Completion, CompletionTarget, GrantEvent, Outcome, PromptResult, ReadResult,
    ToolResult,
};
use crate::manifest::{Interfaces, Manifest};
use crate::names::{Digest, PluginId, PromptName, ResourceUri, ToolName};

/// The results of checks that were made before a manifest was cached, so that a start needn't compile its schemas. They
/// belong to the plugin's configuration at that time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastChecks {
    /// The tools whose schemas compile, by their indices in the manifest.
    pub valid_tools: BTreeSet<usize>,
    /// True if the plugin has a schema for its settings, and there are no problems with them.
    pub has_valid_settings: bool,
}

/// Nothing was checked.
static NO_CHECKS: PastChecks = PastChecks { valid_tools: BTreeSet::new(), has_valid_settings: false };

/// The future of a plugin's answer.
pub type PluginFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, CallError>> + Send + 'a>>;

/// A plugin.
///
/// An implementation answers within the plugin's limits, never panics because of a guest, and releases everything the
/// guest held when the future is dropped. It doesn't limit the number of concurrent calls; that is the task of the
/// concurrency limiter.
pub trait Plugin: fmt::Debug + Send + Sync {
    /// The plugin's key in `gateway.toml`.
    fn id(&self) -> &PluginId;

    /// The digest of its file.
    fn digest(&self) -> &Digest;

    /// Its manifest.
    fn manifest(&self) -> &Manifest;

    /// True if the manifest is known to be that of the code. One from a cache isn't, until [`Self::confirm`] has compared
    /// them.
    fn is_confirmed(&self) -> bool {
        true
    }

    /// Compares the manifest with that of the code. False if they differ; another version of the plugin then follows, and
    /// this one can't be called.
    fn confirm(&self) -> PluginFuture<'_, bool> {
        Box::pin(async { Ok(true) })
    }

    /// The results of checks that were made before the manifest was cached.
    fn past_checks(&self) -> &PastChecks {
        &NO_CHECKS
    }

    /// The imports and exports of its component. `None` if they aren't known.
    fn interfaces(&self) -> Option<&Interfaces> {
        None
    }

    /// The peak memory of its calls so far, in bytes. `None` if it isn't known.
    fn peak_memory(&self) -> Option<u64> {
        None
    }

    /// The granted directories that couldn't be opened for the last call.
    fn unavailable_directories(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// How calls used its grants, under all its configurations since the gateway started.
    fn access_history(&self) -> AccessHistory {
        AccessHistory::default()
    }

    /// Adds a used or missing grant to the access history. The plugin itself records the grants that it checks; this is
    /// for questions, which are checked after the call has returned them.
    fn note_access(&self, _event: &GrantEvent) {}

    /// Calls a tool. `args` is the caller's JSON object exactly as written; it has been validated.
    fn call_tool<'a>(
        &'a self,
        context: Arc<CallContext>,
        name: &'a ToolName,
        args: &'a str,
    ) -> PluginFuture<'a, Outcome<ToolResult>>;

    /// Reads one of the plugin's own resources.
    fn read_resource<'a>(
        &'a self,
        context: Arc<CallContext>,
        uri: &'a ResourceUri,
    ) -> PluginFuture<'a, Outcome<ReadResult>>;

    /// Fills in a prompt. Required arguments are present, and there are no duplicates.
    fn get_prompt<'a>(
        &'a self,
        context: Arc<CallContext>,
        name: &'a PromptName,
        args: &'a [(String, String)],
    ) -> PluginFuture<'a, Outcome<PromptResult>>;

    /// Suggests values for an argument whose text so far is `value`.
    fn complete<'a>(
        &'a self,
        context: Arc<CallContext>,
        target: &'a CompletionTarget,
        name: &'a str,
        value: &'a str,
        others: &'a [(String, String)],
    ) -> PluginFuture<'a, Completion>;
}
