//! Metrics: counts calls and requests, and renders everything for a scrape.
//!
//! Calls and requests are counted as they end ([`Metrics`] observes them). Everything else is read from its owner at
//! the time of a scrape ([`MetricsSnapshot`]). Names and labels are stable, because dashboards and alerts depend on
//! them; a test lists every one.
//!
//! Text from a client never becomes a label. When plugins and tools leave the catalog, their series are removed, so
//! memory stays bounded. The series of a replaced plugin continue.

use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use moongate_config::BearerToken;
use moongate_model::caller::Caller;
use moongate_model::names::{PluginId, PublicName};
use moongate_protocol::catalog::Catalog;
use moongate_protocol::dispatch::{CallEnd, CallKind, CallOutcome, Observer, RequestEnd};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder, prometheus_text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::watch;

mod render;

pub use render::MetricsSnapshot;

/// The upper bounds of the duration buckets, in seconds. From ten milliseconds up, they are those of OpenTelemetry's
/// conventions for MCP; the smaller ones exist because most calls take less.
const DURATION_BUCKETS: [f64; 21] = [
    0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0,
    10.0, 30.0, 60.0, 120.0, 300.0,
];

/// A format of the rendered text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsFormat {
    /// OpenMetrics 1.0, which Prometheus requests by default.
    OpenMetrics,
    /// Prometheus' text format 0.0.4, which every scraper supports.
    PrometheusText,
}

impl MetricsFormat {
    /// The media type.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::PrometheusText => prometheus_text::CONTENT_TYPE,
        }
    }
}

/// Counts calls and requests.
#[derive(Debug)]
pub struct Metrics {
    catalog: watch::Receiver<Arc<Catalog>>,
    calls: TrackedFamily<CallLabels, Counter>,
    call_durations: TrackedFamily<PluginLabels, Histogram>,
    request_durations: TrackedFamily<RequestLabels, Histogram>,
    refused_requests: Family<RefusedRequestLabels, Counter>,
    refused_calls: Family<ReasonLabels, Counter>,
    /// The calls of callers with a static token. The number of other callers is unbounded.
    caller_calls: TrackedFamily<CallerLabels, Counter>,
    /// The static tokens in use.
    tokens: watch::Receiver<Vec<BearerToken>>,
    /// The generation of the catalog that the series were last compared with.
    compared_generation: AtomicU64,
    started: SystemTime,
}

/// A metric family that tracks its label sets, so that some of them can be removed.
#[derive(Debug)]
struct TrackedFamily<L, M> {
    family: Family<L, M, fn() -> M>,
    known: Mutex<HashSet<L>>,
}

/// A label value: the text of a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct NameLabel<T>(T);

/// The labels of a plugin's metrics.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PluginLabels {
    plugin: NameLabel<PluginId>,
}

/// The labels of calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    plugin: NameLabel<PluginId>,
    kind: &'static str,
    tool: Option<NameLabel<PublicName>>,
    outcome: &'static str,
}

/// The labels of requests, as in OpenTelemetry's conventions for MCP.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    mcp_method_name: &'static str,
    gen_ai_tool_name: Option<NameLabel<PublicName>>,
    error_type: Option<&'static str>,
    network_transport: &'static str,
    mcp_protocol_version: Option<&'static str>,
}

/// The labels of a caller's calls. Its name is that of a static token.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallerLabels {
    caller: NameLabel<Arc<str>>,
    outcome: &'static str,
}

/// The labels of refused requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusedRequestLabels {
    listener: &'static str,
    reason: &'static str,
}

/// The labels of refused calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

impl<T: fmt::Debug + fmt::Display> EncodeLabelValue for NameLabel<T> {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        fmt::Write::write_fmt(encoder, format_args!("{}", self.0))
    }
}

impl<L: Clone + Eq + Hash, M: Clone> TrackedFamily<L, M> {
    fn new(constructor: fn() -> M) -> Self {
        Self { family: Family::new_with_constructor(constructor), known: Mutex::default() }
    }

    /// Updates the metric with these labels. Returns true if it is new.
    fn update(&self, labels: &L, update: impl Fn(&M)) -> bool {
        if let Some(metric) = self.family.get(labels) {
            update(&metric);
            return false;
        }
        let mut known = self.known(); // until the metric exists, so that `retain` can't miss it
        let is_new = known.insert(labels.clone());
        update(&self.family.get_or_create(labels));
        is_new
    }

    /// Removes the metrics that don't satisfy `keep`.
    fn retain(&self, keep: impl Fn(&L) -> bool) {
        self.known().retain(|labels| {
            let is_kept = keep(labels);
            if !is_kept {
                self.family.remove(labels);
            }
            is_kept
        });
    }

    fn known(&self) -> MutexGuard<'_, HashSet<L>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn duration_histogram() -> Histogram {
    Histogram::new(DURATION_BUCKETS)
}

impl Metrics {
    /// Counts calls and requests to the plugins of `catalog`, and the calls of callers with one of `tokens`.
    #[must_use]
    pub fn new(
        catalog: watch::Receiver<Arc<Catalog>>,
        tokens: watch::Receiver<Vec<BearerToken>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            catalog,
            tokens,
            calls: TrackedFamily::new(Counter::default),
            call_durations: TrackedFamily::new(duration_histogram),
            request_durations: TrackedFamily::new(duration_histogram),
            refused_requests: Family::default(),
            refused_calls: Family::default(),
            caller_calls: TrackedFamily::new(Counter::default),
            compared_generation: AtomicU64::new(u64::MAX),
            started: SystemTime::now(),
        })
    }

    /// Counts a request over HTTP that was refused before its message was read. The listener and the reason are stable
    /// words.
    pub fn request_refused(&self, listener: &'static str, reason: &'static str) {
        self.refused_requests.get_or_create(&RefusedRequestLabels { listener, reason }).inc();
    }

    /// Compares the series with a new catalog. While the catalog stays the same, the number of series is bounded
    /// anyway.
    fn series_added(&self) {
        let catalog = Arc::clone(&self.catalog.borrow());
        if self.compared_generation.load(Ordering::Relaxed) != catalog.generation() {
            self.remove_stale(&catalog);
        }
    }

    /// Removes the series of callers whose token was removed.
    fn remove_stale_callers(&self) {
        let tokens = self.tokens.borrow();
        self.caller_calls.retain(|labels| tokens.iter().any(|token| token.principal == labels.caller.0));
    }

    /// Removes the series of plugins and tools that aren't in the catalog.
    fn remove_stale(&self, catalog: &Catalog) {
        self.compared_generation.store(catalog.generation(), Ordering::Relaxed);
        self.calls.retain(|CallLabels { plugin: NameLabel(plugin), tool, .. }| match tool {
            Some(NameLabel(tool)) => {
                catalog.tool(tool.as_str()).is_some_and(|entry| entry.plugin().id() == plugin)
            }
            None => catalog.plugin(plugin).is_some(),
        });
        self.call_durations.retain(|labels| catalog.plugin(&labels.plugin.0).is_some());
        self.request_durations.retain(|RequestLabels { gen_ai_tool_name: tool, .. }| {
            tool.as_ref().is_none_or(|NameLabel(tool)| catalog.tool(tool.as_str()).is_some())
        });
    }
}

impl Observer for Metrics {
    fn call_ended(&self, call: &CallEnd<'_>) {
        let &CallEnd { context, catalog_plugin, kind, name, outcome, took, .. } = call;
        let tool = match kind {
            CallKind::Tool => name.cloned(),
            CallKind::Resource | CallKind::Prompt | CallKind::Completion => None,
        };
        let plugin = NameLabel(catalog_plugin.id().clone());
        let labels = CallLabels {
            plugin: plugin.clone(),
            kind: kind.as_str(),
            tool: tool.map(NameLabel),
            outcome: outcome.kind(),
        };
        let mut is_new = self.calls.update(&labels, |counter| {
            counter.inc();
        });
        if let Caller::Named(caller) = &context.caller {
            let labels = CallerLabels { caller: NameLabel(Arc::clone(caller)), outcome: outcome.kind() };
            let is_new = self.caller_calls.update(&labels, |counter| {
                counter.inc();
            });
            if is_new {
                self.remove_stale_callers(); // the token can have been removed during the call
            }
        }
        if let CallOutcome::Failed(error) = outcome
            && let Some(reason) = error.refusal_reason()
        {
            self.refused_calls.get_or_create(&ReasonLabels { reason }).inc();
        }
        if let Some(took) = took {
            is_new |= self
                .call_durations
                .update(&PluginLabels { plugin }, |histogram| histogram.observe(took.as_secs_f64()));
        }
        if is_new {
            self.series_added();
        }
    }

    fn request_ended(&self, request: &RequestEnd<'_>) {
        let &RequestEnd { method, tool, revision, transport, error, took, traced: _ } = request;
        let labels = RequestLabels {
            mcp_method_name: method.unwrap_or("_OTHER"),
            gen_ai_tool_name: tool.cloned().map(NameLabel),
            error_type: error,
            network_transport: transport.as_str(),
            mcp_protocol_version: revision,
        };
        if self.request_durations.update(&labels, |histogram| histogram.observe(took.as_secs_f64())) {
            self.series_added();
        }
    }
}

#[cfg(test)]
mod tests;
