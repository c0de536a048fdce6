//! The keys of `[defaults.limits]` and `[plugins.<id>.limits]`.
//!
//! Upper ends are where a number stops making sense, not advice: the arithmetic on them can't overflow.

use crate::config::spec::kind::{Key, Kind, Number, key, optional};

/// The longest a call may be allowed to take: a day, in seconds.
const DAY: u64 = 86_400;
/// More than a 32-bit component can address, in bytes.
const ADDRESSABLE: u64 = 1 << 32;
/// The largest single thing that is held in memory, in bytes.
const HELD: u64 = 1 << 30;

/// How much a plugin may use.
pub static LIMITS: &[Key] = &[
    optional(
        "timeout",
        Kind::Duration(Number { most: DAY, ..Number::positive("every call would be over before it began") }),
        "\"30s\"",
        "Time from the start of a call to its answer.",
    ),
    optional(
        "cpu_time",
        Kind::Duration(Number { most: DAY, ..Number::positive("no call could compute anything") }),
        "\"10s\"",
        "Processor time of a call.",
    ),
    optional(
        "memory",
        Kind::Size(Number { most: ADDRESSABLE, ..Number::positive("no component could start") }),
        "\"64MiB\"",
        "Linear memory of a call, all memories together.",
    ),
    optional(
        "table_elements",
        Kind::Integer(Number { most: 10_000_000, ..Number::positive("no component could start") }),
        "100000",
        "Elements of a call's tables, all together.",
    ),
    optional(
        "handles",
        Kind::Integer(Number { most: 1_000_000, ..Number::positive("no component could start") }),
        "1000",
        "Handles that a call holds at once: streams, files, stores.",
    ),
    optional(
        "transfer",
        Kind::Size(Number { most: HELD, ..Number::positive("no answer would fit") }),
        "\"8MiB\"",
        "What crosses between plugin and gateway at once: a result, a log line, a list.",
    ),
    optional(
        "log_lines",
        Kind::Integer(Number { most: 1_000_000, ..Number::any() }),
        "1000",
        "Log lines of a call, and as many progress reports; more are dropped and counted.",
    ),
    optional(
        "output",
        Kind::Size(Number { most: HELD, ..Number::any() }),
        "\"64KiB\"",
        "What a call prints to stdout and stderr; more is dropped and counted.",
    ),
    optional(
        "requests",
        Kind::Integer(Number { most: 100_000, ..Number::any() }),
        "64",
        "How many requests a call sends, where `allow.http` lets it.",
    ),
    optional(
        "requests_at_once",
        Kind::Integer(Number { most: 1_000, ..Number::positive("no request could ever run") }),
        "8",
        "How many requests of a call run at once; more are refused.",
    ),
    optional(
        "request_timeout",
        Kind::Duration(Number { most: DAY, ..Number::positive("no answer could come in time") }),
        "\"30s\"",
        "How long the head of an answer may take, from the request on. A plugin may ask for less, not for more.",
    ),
    optional(
        "sent",
        Kind::Size(Number { most: ADDRESSABLE, ..Number::any() }),
        "\"8MiB\"",
        "The bodies of a call's requests, all together.",
    ),
    optional(
        "received",
        Kind::Size(Number { most: ADDRESSABLE, ..Number::any() }),
        "\"32MiB\"",
        "The bodies of the answers to a call's requests, all together.",
    ),
    optional(
        "read",
        Kind::Size(Number { most: 1 << 40, ..Number::any() }),
        "\"256MiB\"",
        "What a call reads from files, and the names that it reads in directories.",
    ),
    optional(
        "written",
        Kind::Size(Number { most: 1 << 40, ..Number::any() }),
        "\"64MiB\"",
        "What a call writes to files: the bytes that it writes, those by which files grow, and 4 KiB for each file, \
         directory or link that it makes.",
    ),
    optional(
        "concurrency",
        Kind::Integer(Number { most: 10_000, ..Number::positive("the plugin could never run") }),
        "16",
        "How many of the plugin's calls run at once.",
    ),
    optional(
        "queue",
        Kind::Integer(Number { most: 1_000_000, ..Number::any() }),
        "256",
        "How many calls may wait for one that runs; more are refused as busy.",
    ),
    optional(
        "state",
        Kind::Size(Number { most: HELD, ..Number::positive("nothing could be kept") }),
        "\"1MiB\"",
        "What the plugin may keep from one call to the next, where `allow.state` grants it a store: the bytes of all \
         keys and values, and 64 more for each key. Where several plugins share a store, each stops at its own limit.",
    ),
    optional(
        "cancel_grace",
        Kind::Duration(Number { most: 60, ..Number::any() }),
        "\"250ms\"",
        "How long a call that asks whether its caller has lost interest may go on after that, to put things in order. \
         Nothing that it says then reaches the caller.",
    ),
    optional(
        "component",
        Kind::Size(Number { most: HELD, ..Number::positive("no component would fit") }),
        "\"64MiB\"",
        "The size of the component's file.",
    ),
    key(
        "compile_time",
        Kind::Duration(Number { most: DAY, ..Number::positive("nothing could be compiled") }),
        "Processor time for compiling the component, in whole seconds. Without it: 30 seconds, and 6 more for each \
         mebibyte of its file.",
    ),
    key(
        "compile_memory",
        Kind::Size(Number { most: 1 << 40, ..Number::positive("nothing could be compiled") }),
        "Addresses of the process that compiles the component. Without it: 1GiB, and 64 times the size of its file.",
    ),
    optional(
        "describe_timeout",
        Kind::Duration(Number { most: DAY, ..Number::positive("no plugin could ever load") }),
        "\"10s\"",
        "How long the plugin may take to describe itself when it is loaded.",
    ),
    optional(
        "items",
        Kind::Integer(Number { most: 1_000_000, ..Number::positive("the plugin could offer nothing") }),
        "1000",
        "How many tools the plugin may have; as many resources, templates and prompts.",
    ),
    optional(
        "schema",
        Kind::Size(Number { most: HELD, ..Number::positive("no tool could be described") }),
        "\"256KiB\"",
        "The text of one JSON Schema.",
    ),
    optional(
        "schema_depth",
        Kind::Integer(Number { most: 100, ..Number::positive("no tool could be described") }),
        "64",
        "How deep the text of one JSON Schema nests: objects and lists. Many clients can't read more than 100 levels.",
    ),
    optional(
        "reuse_calls",
        Kind::Integer(Number { most: 1_000_000, ..Number::positive("no instance could serve a call") }),
        "100",
        "How many calls an instance serves, where the plugin has `instances = \"reused\"`.",
    ),
    optional(
        "reuse_idle",
        Kind::Duration(Number { most: DAY, ..Number::positive("no instance could wait for a call") }),
        "\"30s\"",
        "How long such an instance waits for its next call.",
    ),
    key(
        "reuse_memory",
        Kind::Size(Number { most: ADDRESSABLE, ..Number::any() }),
        "Such an instance isn't used again once it has more memory than this: memory never shrinks. Without it: half of \
         `memory`.",
    ),
];
