//! The keys of `[defaults.limits]` and `[plugins.NAME.limits]`.
//!
//! The maxima aren't recommendations: anything above them makes no sense. Arithmetic on them can't overflow.

use super::kind::{Key, Kind, Number, key, optional};

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
        Kind::Duration(Number {
            most: DAY_SECONDS,
            ..Number::positive("every call would time out immediately")
        }),
        "\"30s\"",
        "Time from the start of a call to its result.",
    ),
    optional(
        "cpu_time",
        Kind::Duration(Number { most: DAY_SECONDS, ..Number::positive("no call could compute anything") }),
        "\"10s\"",
        "CPU time of a call.",
    ),
    optional(
        "memory",
        Kind::Size(Number { most: ADDRESSABLE_BYTES, ..Number::positive("no component could start") }),
        "\"64MiB\"",
        "Linear memory of a call, in all memories together.",
    ),
    optional(
        "table_elements",
        Kind::Integer(Number { most: 10_000_000, ..Number::positive("no component could start") }),
        "100000",
        "Elements of all WebAssembly tables of a call together.",
    ),
    optional(
        "handles",
        Kind::Integer(Number { most: 1_000_000, ..Number::positive("no component could start") }),
        "1000",
        "Handles that a call holds at once: streams, files, stores.",
    ),
    optional(
        "transfer",
        Kind::Size(Number { most: IN_MEMORY_BYTES, ..Number::positive("no result would fit") }),
        "\"8MiB\"",
        "Largest single message between plugin and gateway: a result, a log line or a list.",
    ),
    optional(
        "log_lines",
        Kind::Integer(Number { most: 1_000_000, ..Number::any() }),
        "1000",
        "Log lines of a call. The same limit applies to its progress reports. Any more are dropped and counted.",
    ),
    optional(
        "output",
        Kind::Size(Number { most: IN_MEMORY_BYTES, ..Number::any() }),
        "\"64KiB\"",
        "Output of a call to stdout and stderr. Any more is dropped and counted.",
    ),
    optional(
        "requests",
        Kind::Integer(Number { most: 100_000, ..Number::any() }),
        "64",
        "HTTP requests of a call, if `allow.http` grants any.",
    ),
    optional(
        "requests_at_once",
        Kind::Integer(Number { most: 1_000, ..Number::positive("no request could be sent") }),
        "8",
        "Concurrent HTTP requests of a call. Any more are denied.",
    ),
    optional(
        "request_timeout",
        Kind::Duration(Number { most: DAY_SECONDS, ..Number::positive("every request would time out") }),
        "\"30s\"",
        "Time from a request to the head of its response. A plugin can set a shorter timeout.",
    ),
    optional(
        "sent",
        Kind::Size(Number { most: ADDRESSABLE_BYTES, ..Number::any() }),
        "\"8MiB\"",
        "Request bodies of a call, in total.",
    ),
    optional(
        "received",
        Kind::Size(Number { most: ADDRESSABLE_BYTES, ..Number::any() }),
        "\"32MiB\"",
        "Response bodies of a call, in total.",
    ),
    optional(
        "read",
        Kind::Size(Number { most: 1 << 40, ..Number::any() }),
        "\"256MiB\"",
        "Bytes that a call reads from files and directory listings.",
    ),
    optional(
        "written",
        Kind::Size(Number { most: 1 << 40, ..Number::any() }),
        "\"64MiB\"",
        "Bytes that a call writes to files or extends them by, plus 4 KiB for each file, directory or link that it \
         creates.",
    ),
    optional(
        "concurrency",
        Kind::Integer(Number { most: 10_000, ..Number::positive("no call could run") }),
        "16",
        "Concurrent calls of the plugin.",
    ),
    optional(
        "queue",
        Kind::Integer(Number { most: 1_000_000, ..Number::any() }),
        "256",
        "Calls that wait for a running one to finish. Any more are rejected as busy.",
    ),
    optional(
        "state",
        Kind::Size(Number { most: IN_MEMORY_BYTES, ..Number::positive("the plugin could keep no state") }),
        "\"1MiB\"",
        "State that the plugin keeps between calls, if `allow.state` grants it a store: the bytes of all keys and \
         values, plus 64 for each key. If several plugins share a store, each stops at its own limit.",
    ),
    optional(
        "cancel_grace",
        Kind::Duration(Number { most: 60, ..Number::any() }),
        "\"250ms\"",
        "Time for a cancelled call to clean up, if it checks for cancellation. Its answer is discarded.",
    ),
    optional(
        "component",
        Kind::Size(Number { most: IN_MEMORY_BYTES, ..Number::positive("no component would fit") }),
        "\"64MiB\"",
        "Size of the component's file.",
    ),
    key(
        "compile_time",
        Kind::Duration(Number { most: DAY_SECONDS, ..Number::positive("no component could be compiled") }),
        "CPU time for compiling the component, in whole seconds. The default is 30 seconds plus 6 for each mebibyte of \
         its file.",
    ),
    key(
        "compile_memory",
        Kind::Size(Number { most: 1 << 40, ..Number::positive("no component could be compiled") }),
        "Address space of the process that compiles the component. The default is 1GiB plus 64 times the size of its \
         file.",
    ),
    optional(
        "describe_timeout",
        Kind::Duration(Number { most: DAY_SECONDS, ..Number::positive("no plugin could load") }),
        "\"10s\"",
        "Time for the plugin to describe itself when it is loaded.",
    ),
    optional(
        "items",
        Kind::Integer(Number { most: 1_000_000, ..Number::positive("the plugin could offer nothing") }),
        "1000",
        "Items of each kind that the plugin can offer: tools, resources, templates and prompts.",
    ),
    optional(
        "schema",
        Kind::Size(Number { most: IN_MEMORY_BYTES, ..Number::positive("no tool could be described") }),
        "\"256KiB\"",
        "Size of one JSON Schema.",
    ),
    optional(
        "schema_depth",
        Kind::Integer(Number { most: 100, ..Number::positive("no tool could be described") }),
        "64",
        "Nesting depth of one JSON Schema: objects and arrays. Many clients can't read more than 100 levels.",
    ),
    optional(
        "reuse_calls",
        Kind::Integer(Number { most: 1_000_000, ..Number::positive("no instance could serve a call") }),
        "100",
        "Calls that an instance serves, if the plugin has `instances = \"reused\"`.",
    ),
    optional(
        "reuse_idle",
        Kind::Duration(Number { most: DAY_SECONDS, ..Number::positive("no instance could wait for a call") }),
        "\"30s\"",
        "Time that a reused instance stays idle.",
    ),
    key(
        "reuse_memory",
        Kind::Size(Number { most: ADDRESSABLE_BYTES, ..Number::any() }),
        "An instance with more memory isn't reused, because memory never shrinks. The default is half of `memory`.",
    ),
];
