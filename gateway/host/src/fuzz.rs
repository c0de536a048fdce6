//! Plugins with descriptions and results chosen by bytes, for fuzzing. Release builds don't contain this module.
//!
//! The bytes choose values of the contract's types. These are converted like those of a real plugin.

use std::sync::Arc;

use moongate_config::Limits;
use moongate_model::call::CallError;
use moongate_model::manifest::Manifest;
use moongate_model::names::{Digest, PluginId};
use moongate_model::plugin::PluginFuture;
use moongate_model::test_support::{FakePlugin, ready};

use super::bindings::types;
use super::convert::{self, ConvertError};

mod arbitrary;

use arbitrary::Arbitrary;

/// A plugin whose description and results are chosen by `bytes`. `None` if the description is invalid.
#[must_use]
pub fn described_by(id: &PluginId, bytes: &[u8]) -> Option<FakePlugin> {
    Some(plugin(id, manifest(&mut Arbitrary::new(bytes)).ok()?, bytes))
}

/// A plugin with a plain description and results chosen by `bytes`.
///
/// # Panics
/// The plain description is invalid.
#[must_use]
pub fn answering(id: &PluginId, bytes: &[u8]) -> FakePlugin {
    let manifest = manifest(&mut Arbitrary::new(&[])).expect("the plain description is valid");
    plugin(id, manifest, bytes)
}

fn plugin(id: &PluginId, manifest: Manifest, bytes: &[u8]) -> FakePlugin {
    let bytes: Arc<[u8]> = Arc::from(bytes);
    let mut plugin = FakePlugin::new(id.as_str());
    plugin.digest = Digest::of(&bytes);
    plugin.manifest = manifest;
    let chosen = Arc::clone(&bytes);
    plugin.on_tool = Some(Box::new(move |_, _| {
        answer(&chosen, |arbitrary| arbitrary.tool_outcome(), convert::tool_outcome)
    }));
    let chosen = Arc::clone(&bytes);
    plugin.on_read = Some(Box::new(move |_, _| {
        answer(&chosen, |arbitrary| arbitrary.read_outcome(), convert::read_outcome)
    }));
    let chosen = Arc::clone(&bytes);
    plugin.on_prompt = Some(Box::new(move |_, _| {
        answer(&chosen, |arbitrary| arbitrary.prompt_outcome(), convert::prompt_outcome)
    }));
    plugin.on_complete =
        Some(Box::new(move |_, _| answer(&bytes, |arbitrary| arbitrary.completion(), convert::completion)));
    plugin
}

fn answer<G, T: Send + 'static>(
    bytes: &[u8],
    choose: impl FnOnce(&mut Arbitrary<'_>) -> Result<G, types::Failure>,
    convert: impl FnOnce(G) -> Result<T, ConvertError>,
) -> PluginFuture<'static, T> {
    ready(match choose(&mut Arbitrary::new(bytes)) {
        Ok(given) => convert(given).map_err(|error| CallError::InvalidOutput(error.to_string())),
        Err(failure) => Err(CallError::Refused(convert::failure(failure))),
    })
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
