//! The keys of `[callers]`, `[roles.NAME.limits]` and `[plugins.NAME.rates]`.

use super::kind::{Key, NumberRange, ValueKind, key, required};

/// The limits of a caller.
pub(super) static CALLER_LIMITS: &[Key] = &[
    key(
        "calls",
        RATE_KIND,
        "The rate of tool calls, resource reads and prompt requests. By default, there is no limit.",
    ),
    key("completions", RATE_KIND, "The rate of argument completions. By default, there is no limit."),
    key(
        "concurrency",
        ValueKind::Integer(NumberRange { max: 10_000, ..NumberRange::positive("no call could run") }),
        "Concurrent calls, including those that wait for their plugin. Further calls wait. By default, callers share \
         what the gateway and the plugins allow.",
    ),
];

/// A rate, as a string or a table.
const RATE_KIND: ValueKind = ValueKind::StringOrTable("a rate such as \"60/min\"", RATE);

/// A rate as a table.
pub(crate) static RATE: &[Key] = &[
    required(
        "rate",
        ValueKind::String("a rate such as \"60/min\""),
        "The number of calls in a second (`s`), minute (`min`), hour (`h`) or day (`d`).",
    ),
    key(
        "burst",
        ValueKind::Integer(NumberRange { max: 1_000_000, ..NumberRange::positive("no call could run") }),
        "The most calls that can be made in quick succession after a pause. By default, the number of calls in `rate`.",
    ),
];

/// The name that stands for each tool in the rates of a plugin.
pub(crate) const EVERY_TOOL: &str = "*";

/// The rates of a tool.
pub(crate) static TOOL_RATE: &[Key] = &[
    key("calls", RATE_KIND, "The rate of calls of all callers together. By default, there is no limit."),
    key("per_caller", RATE_KIND, "The rate of calls of each caller. By default, there is no limit."),
];

/// Reports whether these are the keys of a rate.
pub(crate) fn is_rate(keys: &[Key]) -> bool {
    have_same_names(keys, RATE)
}

/// Reports whether these are the keys of a tool's rates.
pub(crate) fn is_tool_rate(keys: &[Key]) -> bool {
    have_same_names(keys, TOOL_RATE)
}

/// Tables in constants are copies, so their addresses can't be compared.
fn have_same_names(a: &[Key], b: &[Key]) -> bool {
    a.iter().map(|key| key.name).eq(b.iter().map(|key| key.name))
}
