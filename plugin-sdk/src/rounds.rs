//! The state that a call keeps between rounds.
//!
//! A call that asks the client something ends, and is made again from the start with the answer. It repeats
//! everything, except for two things that travel with the question through the client, sealed by the gateway: the
//! results of [`Context::once`](crate::Context::once), and the bytes that a plugin sets by hand in
//! [`NeedInput::state`](crate::NeedInput). Both share the contract's single state field:
//!
//! | bytes | content |
//! |---|---|
//! | 4 | the number of `once` results |
//! | per result | its key and its JSON, each preceded by its length in 4 bytes |
//! | the rest | the plugin's own state |
//!
//! Numbers are little endian. An empty own state is the same as none. The format as a whole isn't JSON, so that
//! plugins without state don't include a JSON parser for it.

use crate::{CallOutcome, Context, Failure, NeedInput, Plugin, PromptOutcome, ReadOutcome};

/// The state of the previous round.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RoundState {
    /// The results of `once`: pairs of key and JSON.
    pub(crate) once: Vec<(String, String)>,
    /// The plugin's own state.
    pub(crate) own: Option<Vec<u8>>,
}

impl RoundState {
    /// Serializes the state for the next round. `None` if it is empty.
    pub(crate) fn write(&self) -> Option<Vec<u8>> {
        if self.once.is_empty() && self.own.is_none() {
            return None;
        }
        let mut bytes = length(self.once.len()).to_vec();
        for text in self.once.iter().flat_map(|(key, json)| [key, json]) {
            bytes.extend_from_slice(&length(text.len()));
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes.extend_from_slice(self.own.as_deref().unwrap_or_default());
        Some(bytes)
    }

    /// Parses the state. The gateway returns only bytes that this plugin wrote, so other bytes are ignored.
    pub(crate) fn read(mut bytes: &[u8]) -> Option<Self> {
        let mut once = Vec::new();
        for _ in 0..take_length(&mut bytes)? {
            once.push((take_text(&mut bytes)?, take_text(&mut bytes)?));
        }
        Some(Self { once, own: (!bytes.is_empty()).then(|| bytes.to_vec()) })
    }
}

/// Serializes a length. Strings longer than 4 GiB don't fit into a component's memory.
fn length(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}

fn take_length(bytes: &mut &[u8]) -> Option<usize> {
    let (length, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    usize::try_from(u32::from_le_bytes(*length)).ok()
}

fn take_text(bytes: &mut &[u8]) -> Option<String> {
    let length = take_length(bytes)?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    String::from_utf8(text.to_vec()).ok()
}

/// Runs one round of a tool call.
pub(crate) fn call_tool<P: Plugin>(name: &str, args: &str) -> Result<CallOutcome, Failure> {
    let ctx = Context::new();
    Ok(match P::default().call_tool(&ctx, name, args)? {
        CallOutcome::NeedInput(input) => CallOutcome::NeedInput(with_round_state(&ctx, input)),
        done @ CallOutcome::Done(_) => done,
    })
}

/// Runs one round of reading a resource.
pub(crate) fn read_resource<P: Plugin>(uri: &str) -> Result<ReadOutcome, Failure> {
    let ctx = Context::new();
    Ok(match P::default().read_resource(&ctx, uri)? {
        ReadOutcome::NeedInput(input) => ReadOutcome::NeedInput(with_round_state(&ctx, input)),
        done @ ReadOutcome::Done(_) => done,
    })
}

/// Runs one round of getting a prompt.
pub(crate) fn get_prompt<P: Plugin>(name: &str, args: &[(String, String)]) -> Result<PromptOutcome, Failure> {
    let ctx = Context::new();
    Ok(match P::default().get_prompt(&ctx, name, args)? {
        PromptOutcome::NeedInput(input) => PromptOutcome::NeedInput(with_round_state(&ctx, input)),
        done @ PromptOutcome::Done(_) => done,
    })
}

/// Adds the state of `ctx` to the plugin's own state in `input`.
fn with_round_state(ctx: &Context, input: NeedInput) -> NeedInput {
    let own = input.state.filter(|own| !own.is_empty());
    NeedInput { state: RoundState { once: ctx.kept_once(), own }.write(), ..input }
}

#[cfg(test)]
mod tests;
