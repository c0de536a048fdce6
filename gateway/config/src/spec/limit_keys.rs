//! The keys of `[defaults.limits]` and `[plugins.NAME.limits]`.
//!
//! The maxima aren't recommendations: anything above them makes no sense. Arithmetic on them can't overflow.

use super::kind::{Key, NumberRange, ValueKind, key, optional};

/// The longest duration: a day, in seconds.
const DAY_SECONDS: u64 = 86_400;
/// The address space of a 32-bit component, in bytes.
const ADDRESSABLE_BYTES: u64 = 1 << 32;
/// The largest single object in memory, in bytes.
const IN_MEMORY_BYTES: u64 = 1 << 30;

/// The limits of a plugin.
pub static LIMITS: &[Key] = &[
    optional(
        "timeout",
        ValueKind::Duration(NumberRange {
            max: DAY_SECONDS,
            ..NumberRange::positive("every call would time out immediately")
        }),
        "\"30s\"",
        "Time from the start of a call to its result.",
    ),
    optional(
        "cpu_time",
        ValueKind::Duration(NumberRange {
            max: DAY_SECONDS,
            ..NumberRange::positive("no call could compute anything")
        }),
        "\"10s\"",
        "CPU time per call.",
    ),
    optional(
        "memory",
        ValueKind::Size(NumberRange {
            max: ADDRESSABLE_BYTES,
            ..NumberRange::positive("no component could start")
        }),
        "\"64MiB\"",
        "Linear memory per call, across all memories.",
    ),
    optional(
        "table_elements",
        ValueKind::Integer(NumberRange {
            max: 10_000_000,
            ..NumberRange::positive("no component could start")
        }),
        "100000",
        "Table elements per call, across all WebAssembly tables.",
    ),
    optional(
        "handles",
        ValueKind::Integer(NumberRange {
            max: 1_000_000,
            ..NumberRange::positive("no component could start")
        }),
        "1000",
        "Handles that a call holds at once: streams, files, stores.",
    ),
    optional(
        "transfer",
        ValueKind::Size(NumberRange { max: IN_MEMORY_BYTES, ..NumberRange::positive("no result would fit") }),
        "\"8MiB\"",
        "Largest single message between plugin and gateway: a result, a log line or a list.",
    ),
    optional(
        "log_lines",
        ValueKind::Integer(NumberRange { max: 1_000_000, ..NumberRange::any() }),
        "1000",
        "Log lines per call. The same limit applies to progress reports. The excess is dropped and counted.",
    ),
    optional(
        "output",
        ValueKind::Size(NumberRange { max: IN_MEMORY_BYTES, ..NumberRange::any() }),
        "\"64KiB\"",
        "Output per call to stdout and stderr. The excess is dropped and counted.",
    ),
    optional(
        "requests",
        ValueKind::Integer(NumberRange { max: 100_000, ..NumberRange::any() }),
        "64",
        "HTTP requests per call, if `allow.http` grants any.",
    ),
    optional(
        "requests_at_once",
        ValueKind::Integer(NumberRange { max: 1_000, ..NumberRange::positive("no request could be sent") }),
        "8",
        "Concurrent HTTP requests per call. Further requests are denied.",
    ),
    optional(
        "request_timeout",
        ValueKind::Duration(NumberRange {
            max: DAY_SECONDS,
            ..NumberRange::positive("every request would time out")
        }),
        "\"30s\"",
        "Time from sending a request to receiving the response head. A plugin can set a shorter timeout.",
    ),
    optional(
        "sent",
        ValueKind::Size(NumberRange { max: ADDRESSABLE_BYTES, ..NumberRange::any() }),
        "\"8MiB\"",
        "Request bodies per call, in total.",
    ),
    optional(
        "received",
        ValueKind::Size(NumberRange { max: ADDRESSABLE_BYTES, ..NumberRange::any() }),
        "\"32MiB\"",
        "Response bodies per call, in total.",
    ),
    optional(
        "read",
        ValueKind::Size(NumberRange { max: 1 << 40, ..NumberRange::any() }),
        "\"256MiB\"",
        "Bytes that a call reads from files and directory listings.",
    ),
    optional(
        "written",
        ValueKind::Size(NumberRange { max: 1 << 40, ..NumberRange::any() }),
        "\"64MiB\"",
        "Bytes that a call writes to files or extends them by, plus 4 KiB for each file, directory or link that it \
         creates.",
    ),
    optional(
        "concurrency",
        ValueKind::Integer(NumberRange { max: 10_000, ..NumberRange::positive("no call could run") }),
        "16",
        "Concurrent calls to the plugin.",
    ),
    optional(
        "queue",
        ValueKind::Integer(NumberRange { max: 1_000_000, ..NumberRange::any() }),
        "256",
        "Calls that can wait for a running one to finish. Further calls are refused as busy.",
    ),
    optional(
        "state",
        ValueKind::Size(NumberRange {
            max: IN_MEMORY_BYTES,
            ..NumberRange::positive("the plugin could keep no state")
        }),
        "\"1MiB\"",
        "Size of the plugin's state, if `allow.state` grants it a store: the bytes of all keys and values, plus 64 for \
         each key. If several plugins share a store, each can add to it until its own limit is reached.",
    ),
    optional(
        "cancel_grace",
        ValueKind::Duration(NumberRange { max: 60, ..NumberRange::any() }),
        "\"250ms\"",
        "Time for a cancelled call to clean up, if it checks for cancellation. Its result is discarded.",
    ),
    optional(
        "component",
        ValueKind::Size(NumberRange {
            max: IN_MEMORY_BYTES,
            ..NumberRange::positive("no component would fit")
        }),
        "\"64MiB\"",
        "Size of the component's file.",
    ),
    key(
        "compile_time",
        ValueKind::Duration(NumberRange {
            max: DAY_SECONDS,
            ..NumberRange::positive("no component could be compiled")
        }),
        "CPU time for compiling the component, in whole seconds. The default is 30 seconds plus 6 for each mebibyte of \
         its file.",
    ),
    key(
        "compile_memory",
        ValueKind::Size(NumberRange {
            max: 1 << 40,
            ..NumberRange::positive("no component could be compiled")
        }),
        "Address space of the process that compiles the component. The default is 1GiB plus 64 times the size of its \
         file.",
    ),
    optional(
        "describe_timeout",
        ValueKind::Duration(NumberRange {
            max: DAY_SECONDS,
            ..NumberRange::positive("no plugin could load")
        }),
        "\"10s\"",
        "Time for the plugin to describe itself when it is loaded.",
    ),
    optional(
        "items",
        ValueKind::Integer(NumberRange {
            max: 1_000_000,
            ..NumberRange::positive("the plugin could offer nothing")
        }),
        "1000",
        "Items of each kind that the plugin can offer: tools, resources, templates and prompts.",
    ),
    optional(
        "schema",
        ValueKind::Size(NumberRange {
            max: IN_MEMORY_BYTES,
            ..NumberRange::positive("no tool could be described")
        }),
        "\"256KiB\"",
        "Size of one JSON Schema.",
    ),
    optional(
        "schema_depth",
        ValueKind::Integer(NumberRange { max: 100, ..NumberRange::positive("no tool could be described") }),
        "64",
        "Nesting depth of one JSON Schema: objects and arrays. Many clients can't read more than 100 levels.",
    ),
    optional(
        "reuse_calls",
        ValueKind::Integer(NumberRange {
            max: 1_000_000,
            ..NumberRange::positive("no instance could serve a call")
        }),
        "100",
        "Calls that an instance serves, if the plugin has `instances = \"reused\"`.",
    ),
    optional(
        "reuse_idle",
        ValueKind::Duration(NumberRange {
            max: DAY_SECONDS,
            ..NumberRange::positive("no instance could wait for a call")
        }),
        "\"30s\"",
        "Time that an idle instance is kept for reuse.",
    ),
    key(
        "reuse_memory",
        ValueKind::Size(NumberRange { max: ADDRESSABLE_BYTES, ..NumberRange::any() }),
        "An instance with more memory isn't reused, because memory never shrinks. The default is half of `memory`.",
    ),
];
