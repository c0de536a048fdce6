//! The settings: those of `[telemetry]` and, if it doesn't have them, those of OpenTelemetry's environment variables.
//!
//! The exporters themselves read the variables for headers, compression and retries, and the SDK reads those for the
//! resource and the interval of metrics.

use std::path::PathBuf;
use std::time::Duration;

use moongate_config::{TelemetryConfig, TelemetrySignal};

/// The address of a collector on this machine.
const DEFAULT_ENDPOINT: &str = "http://localhost:4318";

/// The default limits of batches (OpenTelemetry, batch span processor).
const DEFAULT_QUEUED_SPANS: usize = 2048;
const DEFAULT_BATCH_SPANS: usize = 512;
const DEFAULT_BATCH_DELAY: Duration = Duration::from_secs(5);

/// The default time limit of an export.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Looks up environment variables.
pub(crate) type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The settings of an export.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExportSettings {
    /// The address for traces. `None` means that they aren't exported.
    pub(crate) traces: Option<String>,
    /// The address for metrics. `None` means that they aren't exported.
    pub(crate) metrics: Option<String>,
    pub(crate) sampling: SamplingSettings,
    pub(crate) queue: QueueSettings,
    /// The time limit of one export.
    pub(crate) timeout: Duration,
    /// A CA bundle to trust in addition to the system's.
    pub(crate) ca_file: Option<PathBuf>,
}

/// The settings of the sampler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SamplingSettings {
    /// The part of requests to trace, from 0 to 1.
    pub(crate) ratio: f64,
    /// The highest number of traces in a second.
    pub(crate) traces_per_second: u32,
    pub(crate) parents: ParentPolicy,
}

/// The effect of a client's decision to trace a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParentPolicy {
    /// None: a request is traced or not whatever its client decided.
    Ignored,
    /// The gateway decides likewise.
    Followed,
}

/// The settings of the queue of spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueSettings {
    pub(crate) max_queued: usize,
    pub(crate) max_batch: usize,
    /// The longest time that a span waits for others.
    pub(crate) delay: Duration,
}

impl ExportSettings {
    /// The settings. `None` means that nothing is exported.
    pub(crate) fn read(config: Option<&TelemetryConfig>, variables: Variables<'_>) -> Option<Self> {
        let variable = |name: &str| variables(name).filter(|value| !value.trim().is_empty());
        if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.trim().eq_ignore_ascii_case("true")) {
            return None;
        }
        let default = TelemetryConfig::default();
        let values = config.unwrap_or(&default);
        let endpoint = |signal, own: &str, exporter: &str, path: &str| {
            let is_off = variable(exporter).is_some_and(|value| value.trim().eq_ignore_ascii_case("none"));
            if is_off || !values.signals.contains(&signal) {
                return None;
            }
            let below = |base: &str| format!("{}{path}", base.trim_end_matches('/'));
            let configured = values.otlp.as_deref().map(below);
            let configured = configured.or_else(|| variable(own));
            let configured =
                configured.or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT").map(|base| below(&base)));
            configured.or_else(|| config.map(|_| below(DEFAULT_ENDPOINT)))
        };
        let traces = endpoint(
            TelemetrySignal::Traces,
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "OTEL_TRACES_EXPORTER",
            "/v1/traces",
        );
        let metrics = endpoint(
            TelemetrySignal::Metrics,
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
            "OTEL_METRICS_EXPORTER",
            "/v1/metrics",
        );
        if traces.is_none() && metrics.is_none() {
            return None;
        }
        warn_about_protocol(&variable);
        let milliseconds = |name: &str| number(&variable, name).map(Duration::from_millis);
        let size = |name: &str, default| {
            number(&variable, name)
                .and_then(|size| usize::try_from(size).ok())
                .filter(|size| *size > 0)
                .unwrap_or(default)
        };
        let max_queued = size("OTEL_BSP_MAX_QUEUE_SIZE", DEFAULT_QUEUED_SPANS);
        Some(Self {
            traces,
            metrics,
            sampling: sampling(values, &variable),
            queue: QueueSettings {
                max_queued,
                max_batch: size("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", DEFAULT_BATCH_SPANS).min(max_queued),
                delay: milliseconds("OTEL_BSP_SCHEDULE_DELAY").unwrap_or(DEFAULT_BATCH_DELAY),
            },
            timeout: milliseconds("OTEL_EXPORTER_OTLP_TIMEOUT").unwrap_or(DEFAULT_TIMEOUT),
            ca_file: variable("OTEL_EXPORTER_OTLP_CERTIFICATE").map(PathBuf::from),
        })
    }
}

/// The sampler of the configuration or, if it names none, that of `OTEL_TRACES_SAMPLER`.
fn sampling(config: &TelemetryConfig, variable: &dyn Fn(&str) -> Option<String>) -> SamplingSettings {
    let name = variable("OTEL_TRACES_SAMPLER").unwrap_or_default();
    let name = name.trim();
    let (kind, follows) = match name.strip_prefix("parentbased_") {
        Some(kind) => (kind, true),
        None => (name, false),
    };
    let argument = || match variable("OTEL_TRACES_SAMPLER_ARG")?.trim().parse::<f64>() {
        Ok(ratio) if (0.0..=1.0).contains(&ratio) => Some(ratio),
        Ok(_) | Err(_) => {
            tracing::warn!("ignoring OTEL_TRACES_SAMPLER_ARG: it must be a number from 0 to 1");
            None
        }
    };
    let ratio = match kind {
        "" | "always_on" => 1.0,
        "always_off" => 0.0,
        "traceidratio" => argument().unwrap_or(1.0),
        _ => {
            tracing::warn!(
                "ignoring the unknown sampler in OTEL_TRACES_SAMPLER; use `always_on`, `always_off` or `traceidratio`, or \
                 one of these after `parentbased_`"
            );
            1.0
        }
    };
    let follows = config.follow_callers.unwrap_or(follows);
    SamplingSettings {
        ratio: config.sample_percent.map_or(ratio, |percent| f64::from(percent) / 100.0),
        traces_per_second: config.traces_per_second,
        parents: if follows { ParentPolicy::Followed } else { ParentPolicy::Ignored },
    }
}

fn number(variable: &dyn Fn(&str) -> Option<String>, name: &str) -> Option<u64> {
    let number = variable(name)?.trim().parse().ok();
    if number.is_none() {
        tracing::warn!("ignoring {name}: it must be a whole number");
    }
    number
}

fn warn_about_protocol(variable: &dyn Fn(&str) -> Option<String>) {
    if let Some(protocol) = variable("OTEL_EXPORTER_OTLP_PROTOCOL").filter(|it| it.trim() != "http/protobuf")
    {
        tracing::warn!(
            %protocol,
            "OTEL_EXPORTER_OTLP_PROTOCOL isn't supported; exporting with `http/protobuf`, for which collectors usually have \
             port 4318"
        );
    }
}

#[cfg(test)]
mod tests;
