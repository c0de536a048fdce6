//! Plugins with descriptions and results chosen by bytes, for fuzzing. Release builds don't contain this module.
//!
//! The bytes choose values of the contract's types. These are converted like those of a real plugin.

use std::fmt;
use std::sync::Arc;

use moongate_config::Limits;
use moongate_model::call::{
    CallContext, CallError, Completion, CompletionTarget, Outcome, PromptResult, ReadResult, ToolResult,
};
use moongate_model::manifest::Manifest;
use moongate_model::names::{Digest, PluginId, PromptName, ResourceUri, ToolName};
use moongate_model::plugin::{Plugin, PluginFuture};

use super::bindings::types;
use super::convert::{self, ConvertError};

mod arbitrary;

use arbitrary::Arbitrary;

/// A plugin whose results, and optionally its description, are chosen by bytes.
pub struct ArbitraryPlugin {
    id: PluginId,
    digest: Digest,
    manifest: Manifest,
    bytes: Vec<u8>,
}

impl fmt::Debug for ArbitraryPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArbitraryPlugin").field("id", &self.id).finish_non_exhaustive()
    }
}

impl ArbitraryPlugin {
    /// A plugin with a description chosen by `bytes`. `None` if the description is invalid.
    #[must_use]
    pub fn described_by(id: PluginId, bytes: &[u8]) -> Option<Self> {
        let manifest = manifest(&mut Arbitrary::new(bytes)).ok()?;
        Some(Self { id, digest: Digest::of(bytes), manifest, bytes: bytes.to_vec() })
    }

    /// A plugin with a plain description and results chosen by `bytes`.
    ///
    /// # Panics
    /// The plain description is invalid.
    #[must_use]
    pub fn answering(id: PluginId, bytes: &[u8]) -> Self {
        let manifest = manifest(&mut Arbitrary::new(&[])).expect("the plain description is valid");
        Self { id, digest: Digest::of(bytes), manifest, bytes: bytes.to_vec() }
    }

    fn answer<'a, G, T: Send + 'a>(
        &self,
        choose: impl FnOnce(&mut Arbitrary<'_>) -> Result<G, types::Failure>,
        convert: impl FnOnce(G) -> Result<T, ConvertError>,
    ) -> PluginFuture<'a, T> {
        let answer = match choose(&mut Arbitrary::new(&self.bytes)) {
            Ok(given) => convert(given).map_err(|error| CallError::InvalidOutput(error.to_string())),
            Err(failure) => Err(CallError::Refused(convert::failure(failure))),
        };
        Box::pin(std::future::ready(answer))
    }
}

fn manifest(arbitrary: &mut Arbitrary<'_>) -> Result<Manifest, ConvertError> {
    let limits = Limits::default();
    let mut invalid = Vec::new();
    Ok(Manifest {
        info: convert::info(arbitrary.info(), &limits)?,
        tools: convert::tools(arbitrary.list(Arbitrary::tool), &limits, &mut invalid)?,
        resources: convert::resources(arbitrary.list(Arbitrary::resource), &limits, &mut invalid)?,
        templates: convert::templates(arbitrary.list(Arbitrary::template), &limits, &mut invalid)?,
        prompts: convert::prompts(arbitrary.list(Arbitrary::prompt), &limits, &mut invalid)?,
        rejected: invalid.into_iter().map(|item| item.into_rejected(None)).collect(),
        has_completions: true,
    })
}

impl Plugin for ArbitraryPlugin {
    fn id(&self) -> &PluginId {
        &self.id
    }

    fn digest(&self) -> &Digest {
        &self.digest
    }

    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn call_tool<'a>(
        &'a self,
        _: Arc<CallContext>,
        _: &'a ToolName,
        _: &'a str,
    ) -> PluginFuture<'a, Outcome<ToolResult>> {
        self.answer(|arbitrary| arbitrary.tool_outcome(), convert::tool_outcome)
    }

    fn read_resource<'a>(
        &'a self,
        _: Arc<CallContext>,
        _: &'a ResourceUri,
    ) -> PluginFuture<'a, Outcome<ReadResult>> {
        self.answer(|arbitrary| arbitrary.read_outcome(), convert::read_outcome)
    }

    fn get_prompt<'a>(
        &'a self,
        _: Arc<CallContext>,
        _: &'a PromptName,
        _: &'a [(String, String)],
    ) -> PluginFuture<'a, Outcome<PromptResult>> {
        self.answer(|arbitrary| arbitrary.prompt_outcome(), convert::prompt_outcome)
    }

    fn complete<'a>(
        &'a self,
        _: Arc<CallContext>,
        _: &'a CompletionTarget,
        _: &'a str,
        _: &'a str,
        _: &'a [(String, String)],
    ) -> PluginFuture<'a, Completion> {
        self.answer(|arbitrary| arbitrary.completion(), convert::completion)
    }
}
