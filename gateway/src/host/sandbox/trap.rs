//! From what the engine reports to what went wrong with a call.
//!
//! Some causes are only told in text, because their types are private to the engine; a test makes each of them
//! happen, so that an update which changes the words is noticed.

use moongate_core::call::{Busy, CallError};
use moongate_core::config::Limits;
use wasmtime::{PoolConcurrencyLimitError, Trap};
use wasmtime_wasi::{I32Exit, ResourceTableError};

use super::store::{Refused, State};
use crate::host::diagnostics::crash_report::{How, LastWords};
use crate::host::diagnostics::text;

/// Why the call failed. `last_words`: how the guest ended itself, asked for only where that is so.
pub(in crate::host) fn classify<'w>(
    error: &wasmtime::Error,
    state: &State,
    limits: &Limits,
    last_words: impl FnOnce() -> Option<&'w LastWords>,
) -> CallError {
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return trapped(*trap, state, limits, last_words);
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return CallError::Busy(Busy::Gateway);
    }
    // Its code isn't told: WASI's `exit` knows two, and whatever a plugin gives other than 0 is 1.
    if error.is::<I32Exit>() {
        return CallError::Trap("it ended itself instead of answering".to_owned());
    }
    if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) {
        return CallError::Handles(limits.handles);
    }
    let cause = error.root_cause().to_string();
    if cause.contains("fuel allocated for hostcalls has been exhausted") {
        return CallError::TooLarge(limits.transfer.as_u64());
    }
    if cause.contains("store handle limit exceeded") || cause.contains("too many active lends") {
        return CallError::Handles(limits.handles);
    }
    // An instance whose smallest memory or table is already too large isn't made at all.
    if let Some(refused) = state.memory_limiter().refused() {
        return too_much(refused, limits);
    }
    CallError::Trap(text::line(&cause, text::SENTENCE))
}

/// What a trap means.
fn trapped<'w>(
    trap: Trap,
    state: &State,
    limits: &Limits,
    last_words: impl FnOnce() -> Option<&'w LastWords>,
) -> CallError {
    if let Some(refused) = state.memory_limiter().refused() {
        // How allocators give up when they were refused memory.
        let gave_up = [
            Trap::UnreachableCodeReached,
            Trap::MemoryOutOfBounds,
            Trap::TableOutOfBounds,
            Trap::AllocationTooLarge,
        ];
        if gave_up.contains(&trap) {
            return too_much(refused, limits);
        }
    }
    let sentence = match trap {
        Trap::Interrupt => return CallError::CpuTime(limits.cpu_time),
        Trap::StackOverflow => "it used up its stack (endless recursion?)".to_owned(),
        // Compilers put a program's own stack at the start of its memory, where it runs out of it.
        Trap::MemoryOutOfBounds => {
            "it reached outside of its memory (endless recursion does that too)".to_owned()
        }
        Trap::IntegerDivisionByZero => "it divided by zero".to_owned(),
        Trap::UnreachableCodeReached => match last_words() {
            Some(words) => {
                // Paths and values of the plugin's inside are for its author, who reads the log.
                let line = text::line(&words.to_string(), text::SENTENCE);
                tracing::warn!(plugin = %state.config().id, "the plugin {line}");
                let did = match words.how {
                    How::Panicked => "it panicked",
                    How::Raised => "it raised an exception that it didn't catch",
                    How::Threw => "it threw an exception that it didn't catch",
                    How::Gave => "it gave back or threw something that the contract has no place for",
                };
                format!("{did}; a logged warning says where and why")
            }
            None => "it stopped itself (`unreachable`) and didn't say why".to_owned(),
        },
        other => other.to_string().trim_start_matches("wasm trap: ").to_owned(),
    };
    CallError::Trap(text::line(&sentence, text::SENTENCE))
}

fn too_much(refused: Refused, limits: &Limits) -> CallError {
    match refused {
        Refused::Memory => CallError::Memory(limits.memory.as_u64()),
        Refused::Tables => CallError::Tables(limits.table_elements),
    }
}
