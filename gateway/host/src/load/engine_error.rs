//! The engine's errors about sound components that need more than it offers, recognised by their text.
//!
//! The compiler runs in another process, so only the text of its errors arrives. Tests compare it with that of the
//! current engine.

use super::error::LoadError;
use crate::diagnostics::text;

/// Features that the engine doesn't support: a part of the engine's message, the name, and the fix.
const FEATURES: [(&str, &str, &str); 16] = [
    (
        "component model async",
        "the component model's async functions",
        "build it without async (componentize-qjs: `--sync`)",
    ),
    ("component model more async", "the component model's async functions", "build it without async"),
    ("component model threading", "the component model's threads", "build it without threads"),
    ("component model", "a draft feature of the component model", "build it without draft features"),
    ("shared-everything-threads", "threads", "build it without threads, such as for wasm32-wasip2"),
    ("threads", "threads", "build it without threads, such as for wasm32-wasip2"),
    ("memory is shared", "threads", "build it without threads, such as for wasm32-wasip2"),
    ("exception", "WebAssembly exceptions", "build it without exceptions (C++: `-fno-exceptions`)"),
    ("memory64", "64-bit memory", "build it for a 32-bit target, such as wasm32-wasip2"),
    ("cm64", "64-bit memory", "build it for a 32-bit target, such as wasm32-wasip2"),
    (
        "function references",
        "typed function references",
        "build it for a target with linear memory, such as wasm32-wasip2",
    ),
    (
        "function-references",
        "typed function references",
        "build it for a target with linear memory, such as wasm32-wasip2",
    ),
    (
        "gc",
        "garbage-collected types (WasmGC)",
        "build it with tools that use linear memory instead of WasmGC",
    ),
    (
        "GC proposal",
        "garbage-collected types (WasmGC)",
        "build it with tools that use linear memory instead of WasmGC",
    ),
    ("custom page sizes", "custom page sizes", "build it with the default page size"),
    ("stack switching", "stack switching", "build it without stack switching"),
];

/// Words in every message about a feature.
const FEATURE_MARKERS: [&str; 9] = [
    "is not enabled",
    "must be enabled",
    "proposal",
    "feature",
    "requires gc",
    "reference types",
    "function references required",
    "threads",
    "memory is shared",
];

/// The error for a component that the engine refuses.
pub(super) fn load_error(message: &str) -> LoadError {
    let message = text::clean_line(message, text::MAX_SENTENCE_BYTES);
    if let Some(error) = instance_limit(&message) {
        return error;
    }
    if FEATURE_MARKERS.iter().any(|marker| message.contains(marker)) {
        let known = FEATURES.iter().find(|(part, ..)| message.contains(part));
        return match known {
            Some((_, feature, fix)) => LoadError::UnsupportedFeature { feature: (*feature).to_owned(), fix },
            None => LoadError::UnsupportedFeature {
                feature: format!("an unsupported WebAssembly feature ({message})"),
                fix: "build it without this feature",
            },
        };
    }
    if message.contains("component version") {
        return LoadError::UnsupportedFeature {
            feature: format!("another version of the component format ({message})"),
            fix: "build it with current tools, such as `cargo build --target wasm32-wasip2`",
        };
    }
    let is_limit = ["exceeds limit of", "exceeds the limit of", "exceed maximum", "exceeds maximum"];
    if is_limit.iter().any(|part| message.contains(part)) {
        return LoadError::TooManyParts { what: message };
    }
    LoadError::InvalidComponent { reason: message }
}

/// The error for a component whose instances don't fit into the pool.
fn instance_limit(message: &str) -> Option<LoadError> {
    let too_large = |what: String, fix| Some(LoadError::InstanceTooLarge { what, fix });
    for (part, what, fix) in [
        (
            "core module instances",
            "core instances",
            "link its libraries into fewer modules, or build several plugins",
        ),
        ("Wasm linear memories", "linear memories", "build it with fewer memories"),
        ("tables", "tables", "build it with fewer tables, or as several plugins"),
    ] {
        if let Some((count, max)) =
            amounts(message, "transitively contains ", &format!(" {part}, which"), "maximum of ")
        {
            return too_large(format!("{count} {what}; at most {max} are allowed"), fix);
        }
    }
    if let Some((size, max)) = amounts(message, "has a minimum byte size of ", " which", "limit of ") {
        return too_large(
            format!("a linear memory of {size} bytes; at most {max} bytes are allowed"),
            "build it with a smaller initial memory",
        );
    }
    if let Some((size, max)) = amounts(message, "has a minimum element size of ", " which", "limit of ") {
        return too_large(
            format!("a table of {size} elements; at most {max} are allowed"),
            "build it with smaller tables: fewer functions whose address is taken",
        );
    }
    for (part, what, fix) in [
        ("defined memories count of ", "linear memories in one module", "build it with fewer memories"),
        ("defined tables count of ", "tables in one module", "build it with fewer tables"),
    ] {
        if let Some((count, max)) = amounts(message, part, " exceeds", "limit of ") {
            return too_large(format!("{count} {what}; at most {max} are allowed"), fix);
        }
    }
    if let Some((size, max)) = amounts(message, "requires ", " bytes", "maximum of ") {
        return too_large(
            format!("{size} bytes of runtime data, such as globals; at most {max} are allowed"),
            "reduce its size, or split it into several plugins",
        );
    }
    None
}

/// The amount between two parts of a message, and the number after a third part.
fn amounts<'m>(message: &'m str, before: &str, after: &str, before_max: &str) -> Option<(&'m str, &'m str)> {
    let (_, rest) = message.split_once(before)?;
    let (amount, rest) = rest.split_once(after)?;
    let (_, max) = rest.split_once(before_max)?;
    let is_digit = |c: char| c.is_ascii_digit() || c == 'x' || c.is_ascii_hexdigit();
    let max = &max[..max.find(|c| !is_digit(c)).unwrap_or(max.len())];
    let is_number = |text: &str| !text.is_empty() && text.chars().all(is_digit);
    (is_number(amount) && is_number(max)).then_some((amount, max))
}

#[cfg(test)]
mod tests;
