//! Exports traces and metrics to an OpenTelemetry collector, over OTLP with HTTP and protobuf.
//!
//! [`OtlpExporter`] observes requests, plugin runs and plugins' own requests, and turns those that are sampled into
//! spans. Exporting delays nothing: spans wait in a bounded queue, and are dropped and counted if it is full.
//!
//! Of the OpenTelemetry SDK, only the data types, the encoder and the metrics are used. Its batch processor has a thread
//! of its own that can't run this gateway's HTTP client, it doesn't report what it drops, and its sampler follows the
//! flags of strangers.

// The settings: those of the configuration, and the standard environment variables.
mod settings;
// The decision which requests are traced.
mod sampler;
// The HTTP client of the exporters.
mod collector_client;
// Spans by the semantic conventions.
mod span_data;
// Spans that wait for their export.
mod span_queue;
// Durations of requests, as metrics.
mod duration_metrics;
// The observer that all of this belongs to.
mod exporter;

pub use exporter::{ExportCounts, OtlpExporter, OtlpStartError};
