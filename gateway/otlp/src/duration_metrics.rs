//! The durations of requests and sessions as metrics (`mcp.server.operation.duration`, `mcp.server.session.duration`),
//! and those of plugins' requests (`http.client.request.duration`). The SDK aggregates them, and a thread of its own exports them.

use std::time::Duration;

use moongate_model::trace_context::OutgoingRequestEnd;
use moongate_protocol::dispatch::{RequestEnd, SessionEnd};
use opentelemetry::metrics::{Histogram, MeterProvider as _};
use opentelemetry_otlp::MetricExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::span_data;

/// The upper bounds of the durations of requests and sessions, in seconds (conventions for MCP).
const MCP_BUCKETS: [f64; 14] =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// Those of plugins' requests (conventions for HTTP).
const HTTP_BUCKETS: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

/// Records durations, and exports them.
#[derive(Debug)]
pub(crate) struct DurationMetrics {
    requests: Histogram<f64>,
    sessions: Histogram<f64>,
    outgoing: Histogram<f64>,
    provider: SdkMeterProvider,
}

impl DurationMetrics {
    pub(crate) fn new(exporter: MetricExporter, resource: Resource) -> Self {
        let reader = PeriodicReader::builder(exporter).build();
        let provider = SdkMeterProvider::builder().with_resource(resource).with_reader(reader).build();
        let meter = provider.meter_with_scope(span_data::scope());
        Self {
            requests: meter
                .f64_histogram("mcp.server.operation.duration")
                .with_unit("s")
                .with_description("Duration of MCP requests")
                .with_boundaries(MCP_BUCKETS.to_vec())
                .build(),
            sessions: meter
                .f64_histogram("mcp.server.session.duration")
                .with_unit("s")
                .with_description("Duration of MCP sessions")
                .with_boundaries(MCP_BUCKETS.to_vec())
                .build(),
            outgoing: meter
                .f64_histogram("http.client.request.duration")
                .with_unit("s")
                .with_description("Duration of plugins' HTTP requests")
                .with_boundaries(HTTP_BUCKETS.to_vec())
                .build(),
            provider,
        }
    }

    pub(crate) fn record_request(&self, request: &RequestEnd<'_>) {
        self.requests.record(request.took.as_secs_f64(), &span_data::request_attributes(request));
    }

    pub(crate) fn record_session(&self, session: &SessionEnd) {
        self.sessions.record(session.took.as_secs_f64(), &span_data::session_attributes(session));
    }

    pub(crate) fn record_outgoing(&self, request: &OutgoingRequestEnd<'_>) {
        // A plugin can choose the hosts of requests that are denied.
        if request.error != Some("denied") {
            self.outgoing.record(request.took.as_secs_f64(), &span_data::outgoing_attributes(request));
        }
    }

    /// Exports the last values, but doesn't wait longer than `limit`. The SDK itself waits longer.
    pub(crate) async fn stop(&self, limit: Duration) {
        let _ = timeout(limit, shut_down(self.provider.clone())).await;
    }
}

impl Drop for DurationMetrics {
    /// Otherwise, the SDK would export the last values here.
    fn drop(&mut self) {
        drop(shut_down(self.provider.clone()));
    }
}

/// Shuts the provider down in a thread of its own.
fn shut_down(provider: SdkMeterProvider) -> oneshot::Receiver<()> {
    let (done, finished) = oneshot::channel();
    let shut_down = move || {
        let _ = provider.shutdown(); // the client has logged its errors
        let _ = done.send(());
    };
    if let Err(error) = std::thread::Builder::new().name("otlp-shutdown".to_owned()).spawn(shut_down) {
        tracing::warn!("can't export the last metrics: {error}");
    }
    finished
}
