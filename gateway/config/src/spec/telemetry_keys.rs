//! The keys of `[telemetry]`.

use super::keys::HEADER;
use super::kind::{Key, NumberRange, ValueKind, key, optional};

/// OpenTelemetry.
pub(super) static TELEMETRY: &[Key] = &[
    key(
        "otlp",
        ValueKind::String("an address such as \"http://127.0.0.1:4318\""),
        "The address of an OpenTelemetry collector that accepts OTLP over HTTP. Traces are sent to `/v1/traces` below it, \
         metrics to `/v1/metrics`. The default is that of the `OTEL_EXPORTER_OTLP_…` variables, or \
         `http://localhost:4318`.",
    ),
    key(
        "headers",
        ValueKind::Named(&ValueKind::Table(HEADER)),
        "Headers for the collector, such as `{ authorization = { file = \"secrets/otlp\", prefix = \"Bearer \" } }`. They replace \
         those in `OTEL_EXPORTER_OTLP_HEADERS`.",
    ),
    optional(
        "signals",
        ValueKind::Array(&ValueKind::OneOf(&["traces", "metrics"])),
        "[\"traces\", \"metrics\"]",
        "The signals to export.",
    ),
    key(
        "sample_percent",
        ValueKind::Integer(NumberRange { max: 100, ..NumberRange::any() }),
        "The percentage of requests to trace. The default is that of the variable `OTEL_TRACES_SAMPLER`, or 100.",
    ),
    optional(
        "traces_per_second",
        ValueKind::Integer(NumberRange {
            max: 1_000_000,
            ..NumberRange::positive("nothing would be traced; write `signals = [\"metrics\"]`")
        }),
        "100",
        "The maximum number of requests to trace per second. Others are only counted in metrics.",
    ),
    key(
        "follow_callers",
        ValueKind::Boolean,
        "If a request has a `traceparent`, follow its sampled flag. Callers then decide what is traced, up to \
         `traces_per_second`. The default is that of the variable `OTEL_TRACES_SAMPLER`, or `false`.",
    ),
];
