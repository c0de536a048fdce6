//! What is counted, and how it is told to whoever scrapes it.
//!
//! Calls and requests are counted as they end ([`Metrics`] observes the dispatcher and the server); everything else is
//! known elsewhere, and read when somebody asks ([`Snapshot`]). Names and labels are a promise to whoever made
//! dashboards and alarms of them: a test holds every one.
//!
//! What a client makes up never becomes a label. Series of plugins and tools that left the catalog go with them, so
//! that memory is bounded however many names come and go; those of a plugin that was replaced go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use moongate_model::names::{PluginId, PublicName};
use moongate_protocol::catalog::Catalog;
use moongate_protocol::dispatch::{self, CallKind, Called};
use moongate_protocol::mcp::{Method, Revision};
use moongate_protocol::server::{self, Answered, Carrier};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::watch;

mod process;
mod render;
mod series;

pub use render::Snapshot;

use series::Series;

/// The media type of what is rendered: OpenMetrics, which Prometheus takes since 2.5 and asks for by itself.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The upper bounds of the buckets for durations, in seconds. From ten milliseconds on they are those that
/// OpenTelemetry's conventions for MCP ask for; calls here mostly take less, so there are smaller ones.
const BUCKETS: [f64; 21] = [
    0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0,
    10.0, 30.0, 60.0, 120.0, 300.0,
];

/// Counts calls and requests.
#[derive(Debug)]
pub struct Metrics {
    catalog: watch::Receiver<Arc<Catalog>>,
    calls: Series<Call, Counter>,
    durations: Series<PluginId, Histogram>,
    operations: Series<Operation, Histogram>,
    /// The catalog that series were last compared with.
    compared: AtomicU64,
    started: SystemTime,
}

/// What calls are told apart by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Call {
    plugin: PluginId,
    kind: CallKind,
    tool: Option<PublicName>,
    outcome: &'static str,
}

/// What requests are told apart by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Operation {
    method: Option<Method>,
    tool: Option<PublicName>,
    error: Option<&'static str>,
    carrier: Carrier,
    revision: Option<Revision>,
}

fn histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

impl Metrics {
    /// Counts what happens to the plugins of `catalog`.
    #[must_use]
    pub fn new(catalog: watch::Receiver<Arc<Catalog>>) -> Arc<Self> {
        Arc::new(Self {
            catalog,
            calls: Series::new(Counter::default),
            durations: Series::new(histogram),
            operations: Series::new(histogram),
            compared: AtomicU64::new(u64::MAX),
            started: SystemTime::now(),
        })
    }

    /// A series was added. As long as the catalog stays the same there is an end to that by itself.
    fn grew(&self) {
        let catalog = Arc::clone(&self.catalog.borrow());
        if self.compared.load(Ordering::Relaxed) != catalog.generation() {
            self.forget(&catalog);
        }
    }

    /// Drops the series of whatever isn't there any more.
    fn forget(&self, catalog: &Catalog) {
        self.compared.store(catalog.generation(), Ordering::Relaxed);
        self.calls.retain(|call| match &call.tool {
            Some(tool) => {
                catalog.tool(tool.as_str()).is_some_and(|entry| *entry.member().id() == call.plugin)
            }
            None => catalog.member(&call.plugin).is_some(),
        });
        self.durations.retain(|plugin| catalog.member(plugin).is_some());
        self.operations.retain(|operation| {
            operation.tool.as_ref().is_none_or(|tool| catalog.tool(tool.as_str()).is_some())
        });
    }
}

impl dispatch::Observer for Metrics {
    fn called(&self, call: &Called<'_>) {
        let &Called { member, kind, name, ended, took } = call;
        let tool = match kind {
            CallKind::Tool => name.cloned(),
            CallKind::Resource | CallKind::Prompt | CallKind::Completion => None,
        };
        let plugin = member.id();
        let key = Call { plugin: plugin.clone(), kind, tool, outcome: ended.kind() };
        let mut grew = self.calls.with(&key, |counter| {
            counter.inc();
        });
        if let Some(took) = took {
            grew |= self.durations.with(plugin, |histogram| histogram.observe(took.as_secs_f64()));
        }
        if grew {
            self.grew();
        }
    }
}

impl server::Observer for Metrics {
    fn answered(&self, request: &Answered<'_>) {
        let &Answered { method, tool, revision, carrier, error, took } = request;
        let key = Operation { method, tool: tool.cloned(), error, carrier, revision };
        if self.operations.with(&key, |histogram| histogram.observe(took.as_secs_f64())) {
            self.grew();
        }
    }
}

#[cfg(test)]
mod tests;
