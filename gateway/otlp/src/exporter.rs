//! The exporter: it observes everything that becomes a span or a duration.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use moongate_config::TelemetryConfig;
use moongate_model::secret::Secret;
use moongate_model::trace_context::{OutgoingRequestEnd, OutgoingRequestObserver, Span, SpanContext, SpanId};
use moongate_protocol::dispatch::{CallEnd, Observer, RequestEnd, SessionEnd};
use moongate_system::https_client::https_client;
use opentelemetry::KeyValue;
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter as _;

use crate::collector_client::{CollectorClient, Signal, collector_name};
use crate::duration_metrics::DurationMetrics;
use crate::sampler::Sampler;
use crate::settings::ExportSettings;
use crate::span_data;
use crate::span_queue::SpanQueue;

/// The time that the gateway waits for the last exports when it stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Exports traces and metrics.
#[derive(Debug)]
pub struct OtlpExporter {
    /// The collector, for people.
    collector: String,
    sampler: Sampler,
    spans: Option<SpanQueue>,
    durations: Option<DurationMetrics>,
}

/// The spans since the start, by their fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportCounts {
    /// The collector accepted them.
    pub exported: u64,
    /// The queue was full.
    pub dropped: u64,
    /// The collector didn't accept them.
    pub failed: u64,
}

/// An error when starting the export.
#[derive(Debug, thiserror::Error)]
pub enum OtlpStartError {
    /// An address or another setting is invalid.
    #[error("can't export telemetry: {0}")]
    Exporter(#[from] ExporterBuildError),
}

impl OtlpExporter {
    /// Starts the export, if the configuration or the environment turns it on. Must be called within a runtime.
    ///
    /// # Errors
    /// An address or another setting is invalid.
    pub fn start(
        config: Option<&TelemetryConfig>,
        ca_file: Option<&Path>,
    ) -> Result<Option<Arc<Self>>, OtlpStartError> {
        let Some(settings) = ExportSettings::read(config, &|name| std::env::var(name).ok()) else {
            return Ok(None);
        };
        let ExportSettings { traces, metrics, sampling, queue, timeout, ca_file: own_ca_file } = settings;
        let client = https_client(own_ca_file.as_deref().or(ca_file));
        let headers = configured_headers(config);
        let resource = resource();
        let collector = traces.as_deref().or(metrics.as_deref()).unwrap_or_default();
        let collector = collector_name(collector);
        let spans = traces.map(|endpoint| {
            let client =
                CollectorClient::new(client.clone(), timeout, Signal::Traces, &endpoint, headers.clone());
            let rejected = client.rejected();
            let mut exporter = SpanExporter::builder()
                .with_http()
                .with_http_client(client)
                .with_protocol(Protocol::HttpBinary)
                .with_endpoint(endpoint)
                .build()?;
            exporter.set_resource(&resource);
            Ok::<_, ExporterBuildError>(SpanQueue::start(exporter, rejected, queue))
        });
        let durations = metrics.map(|endpoint| {
            let exporter = MetricExporter::builder()
                .with_http()
                .with_http_client(CollectorClient::new(
                    client.clone(),
                    timeout,
                    Signal::Metrics,
                    &endpoint,
                    headers.clone(),
                ))
                .with_protocol(Protocol::HttpBinary)
                .with_endpoint(endpoint)
                .build()?;
            Ok::<_, ExporterBuildError>(DurationMetrics::new(exporter, resource.clone()))
        });
        let spans = spans.transpose()?;
        let durations = durations.transpose()?;
        Ok(Some(Arc::new(Self { collector, sampler: Sampler::new(sampling), spans, durations })))
    }

    /// The collector's origin.
    #[must_use]
    pub fn collector(&self) -> &str {
        &self.collector
    }

    /// The spans since the start.
    #[must_use]
    pub fn counts(&self) -> ExportCounts {
        self.spans.as_ref().map(SpanQueue::counts).unwrap_or_default()
    }

    /// Exports the rest, but doesn't wait for long.
    pub async fn stop(&self) {
        let spans = async {
            if let Some(spans) = &self.spans {
                spans.stop(STOP_TIMEOUT).await;
            }
        };
        let durations = async {
            if let Some(durations) = &self.durations {
                durations.stop(STOP_TIMEOUT).await;
            }
        };
        tokio::join!(spans, durations);
    }
}

impl Observer for OtlpExporter {
    fn call_ended(&self, call: &CallEnd<'_>) {
        if let Some(spans) = &self.spans
            && let Some(span) =
                call.context.trace.and_then(|trace| trace.span).filter(|span| span.is_sampled())
            && let Some(took) = call.took
        {
            spans.push(span_data::of_run(call, span, took));
        }
    }

    fn request_begun(&self, parent: Option<SpanContext>) -> Option<Span> {
        self.spans.as_ref().map(|_| Span::below(parent, self.sampler.sample(parent)))
    }

    fn request_ended(&self, request: &RequestEnd<'_>) {
        if let Some(durations) = &self.durations {
            durations.record_request(request);
        }
        if let (Some(spans), Some(traced)) = (&self.spans, request.traced) {
            spans.push(span_data::of_request(request, traced));
        }
    }

    fn session_ended(&self, session: &SessionEnd) {
        if let Some(durations) = &self.durations {
            durations.record_session(session);
        }
    }
}

impl OutgoingRequestObserver for OtlpExporter {
    fn outgoing_request_ended(&self, request: &OutgoingRequestEnd<'_>) {
        if let Some(durations) = &self.durations {
            durations.record_outgoing(request);
        }
        if let Some(spans) = &self.spans
            && let Some(span) = request.span.filter(|span| span.is_sampled())
        {
            spans.push(span_data::of_outgoing_request(request, span));
        }
    }
}

/// The headers in the configuration. Empty if it has none, or none that can be sent.
fn configured_headers(config: Option<&TelemetryConfig>) -> HeaderMap {
    let headers = config.map(|config| config.headers.as_slice()).unwrap_or_default();
    let header = |(name, value): &(String, Secret)| {
        let mut value = HeaderValue::from_str(value.expose()).ok()?;
        value.set_sensitive(true);
        Some((HeaderName::try_from(name).ok()?, value))
    };
    headers.iter().filter_map(header).collect()
}

/// This gateway, for all its spans and metrics. Environment variables can rename it.
fn resource() -> Resource {
    let attributes = std::env::var("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let has_attribute = |key: &str| {
        attributes.split(',').any(|pair| pair.split_once('=').is_some_and(|(name, _)| name.trim() == key))
    };
    let has_name = std::env::var("OTEL_SERVICE_NAME").is_ok_and(|name| !name.is_empty());
    let mut builder = Resource::builder();
    if !has_name && !has_attribute("service.name") {
        builder = builder.with_service_name("moongate");
    }
    if !has_attribute("service.version") {
        builder = builder.with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    }
    if !has_attribute("service.instance.id") {
        builder = builder.with_attribute(KeyValue::new("service.instance.id", SpanId::random().to_string()));
    }
    builder.build()
}
