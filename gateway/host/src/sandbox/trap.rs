//! Conversion of the engine's errors to the reasons that calls failed.
//!
//! Some causes can be recognised only by their text, because their types are private to the engine. A test triggers
//! each of them, so that an engine update with different text is noticed.

use moongate_config::Limits;
use moongate_model::call::{BusyReason, CallError};
use wasmtime::{PoolConcurrencyLimitError, Trap};
use wasmtime_wasi::{I32Exit, ResourceTableError};

use super::store::{RefusedGrowth, StoreState};
use crate::diagnostics::crash_report::StderrTail;
use crate::diagnostics::text;
use crate::exported_functions::ValuesTooLarge;

/// The reason that a call failed. `stderr_tail` is read only if the guest aborted.
pub(crate) fn classify<'t>(
    error: &wasmtime::Error,
    state: &StoreState,
    limits: &Limits,
    stderr_tail: impl FnOnce() -> Option<&'t StderrTail>,
) -> CallError {
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return classify_trap(*trap, state, limits, stderr_tail);
    }
    if error.is::<ValuesTooLarge>() {
        return CallError::TooLarge(limits.transfer.as_u64());
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return CallError::Busy(BusyReason::Gateway);
    }
    // Without the exit code, because WASI has two `exit` functions, and one of them turns any code other than 0 into 1.
    if error.is::<I32Exit>() {
        return CallError::Trap("it exited instead of returning a result".to_owned());
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
    // An instance whose initial memory or table is already too large isn't created at all.
    if let Some(refused) = state.memory_limiter().refused() {
        return limit_error(refused, limits);
    }
    CallError::Trap(text::clean_line(&cause, text::MAX_SENTENCE_BYTES))
}

fn classify_trap<'t>(
    trap: Trap,
    state: &StoreState,
    limits: &Limits,
    stderr_tail: impl FnOnce() -> Option<&'t StderrTail>,
) -> CallError {
    if let Some(refused) = state.memory_limiter().refused() {
        // Allocators abort in these ways after they were denied memory.
        let is_failed_allocation = matches!(
            trap,
            Trap::UnreachableCodeReached
                | Trap::MemoryOutOfBounds
                | Trap::TableOutOfBounds
                | Trap::AllocationTooLarge
        );
        if is_failed_allocation {
            return limit_error(refused, limits);
        }
    }
    let reason = match trap {
        Trap::Interrupt => return CallError::CpuTime(limits.cpu_time),
        Trap::StackOverflow => "stack overflow (infinite recursion?)".to_owned(),
        // Compilers put a program's own stack at the start of its memory, so an overflow leaves the memory.
        Trap::MemoryOutOfBounds => "out-of-bounds memory access (infinite recursion?)".to_owned(),
        Trap::IntegerDivisionByZero => "division by zero".to_owned(),
        Trap::UnreachableCodeReached => match stderr_tail() {
            Some(tail) => {
                // Paths and values inside the plugin are for its author, who can read the log.
                let tail = tail.to_string();
                if state.log().admits(tail.len()) {
                    let trace_id = state.trace_id().map(tracing::field::display);
                    tracing::warn!(plugin = %state.config().id, trace_id, "the plugin crashed; last lines on stderr: {tail}");
                }
                "it aborted (`unreachable`); the log has the last lines of its stderr".to_owned()
            }
            None => "it aborted (`unreachable`) and printed nothing on stderr".to_owned(),
        },
        other => other.to_string().trim_start_matches("wasm trap: ").to_owned(),
    };
    CallError::Trap(text::clean_line(&reason, text::MAX_SENTENCE_BYTES))
}

fn limit_error(refused: RefusedGrowth, limits: &Limits) -> CallError {
    match refused {
        RefusedGrowth::Memory => CallError::Memory(limits.memory.as_u64()),
        RefusedGrowth::Tables => CallError::TableElements(limits.table_elements),
        RefusedGrowth::Gateway => CallError::Busy(BusyReason::Memory),
    }
}
