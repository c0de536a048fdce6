//! Renders metrics as text: the counted ones, and those of a [`MetricsSnapshot`].

use std::collections::BTreeMap;
use std::fs;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{SystemTime, UNIX_EPOCH};

use moongate_audit::AuditStatus;
use moongate_model::names::PluginId;
use moongate_otlp::ExportCounts;
use moongate_protocol::limiter::CallLoad;
use moongate_protocol::mcp::Revision;
use moongate_protocol::server::ServerGauges;
use moongate_store::{StoreStatus, UseCounts};
use prometheus_client::encoding::{EncodeLabelSet, prometheus_text, text};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::supervisor::status::{PluginState, ReloadCounts, SupervisorStatus};
use moongate_host::{HostGauges, RequestCounts, WASMTIME_VERSION};

use super::{Metrics, MetricsFormat, NameLabel, PluginLabels};

/// Values that are read at the time of a scrape.
#[derive(Debug)]
pub struct MetricsSnapshot<'a> {
    /// The plugins.
    pub status: &'a SupervisorStatus,
    /// The resources in use by the Wasm host.
    pub gauges: HostGauges,
    /// The number of versions of each plugin's code in memory.
    pub generations: BTreeMap<PluginId, u32>,
    /// The number of idle instances of each plugin.
    pub idle: BTreeMap<PluginId, u32>,
    /// The outgoing requests of each plugin that is granted any.
    pub requests: BTreeMap<PluginId, RequestCounts>,
    /// The running and waiting calls.
    pub loads: Vec<(PluginId, CallLoad)>,
    /// The clients.
    pub clients: ServerGauges,
    /// The audit log, if there is one.
    pub audit: Option<AuditStatus>,
    /// The spans since the start, if they are exported.
    pub exports: Option<ExportCounts>,
    /// The shared store, if there is one.
    pub store: Option<StoreStatus>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TransportLabels {
    transport: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutgoingRequestLabels {
    plugin: NameLabel<PluginId>,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct UseLabels {
    purpose: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DigestLabels {
    sha256: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HashLabels {
    hash: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: &'static str,
    wasmtime: &'static str,
    mcp: &'static str,
}

impl Metrics {
    /// All metrics in this format.
    #[must_use]
    pub fn render(&self, snapshot: &MetricsSnapshot<'_>, format: MetricsFormat) -> String {
        let catalog = Arc::clone(&self.catalog.borrow());
        self.remove_stale(&catalog);
        self.remove_stale_callers();
        let mut registry = Registry::default();
        self.register_counted(&mut registry);
        register_plugins(&mut registry, snapshot);
        register_outgoing_requests(&mut registry, snapshot);
        let peaks = catalog.plugins().iter();
        let peaks = peaks.filter_map(|catalog_plugin| {
            Some((plugin(catalog_plugin.id()), catalog_plugin.plugin().peak_memory()? as f64))
        });
        register_gauges(
            &mut registry,
            "moongate_plugin_memory_peak_bytes",
            "Peak linear memory of a single call to the plugin's current code",
            peaks,
        );
        let items = [
            ("tools", catalog.tools().len()),
            ("resources", catalog.resources().len()),
            ("resource_templates", catalog.templates().len()),
            ("prompts", catalog.prompts().len()),
        ];
        let items = items.map(|(kind, count)| (KindLabels { kind }, count as f64));
        register_gauges(&mut registry, "moongate_catalog_items", "Items offered to clients", items);
        registry.register(
            "moongate_catalog_generation",
            "Number of catalogs published before the current one",
            ConstGauge::new(catalog.generation() as f64),
        );
        register_reloads(&mut registry, snapshot.status);
        register_usage(&mut registry, snapshot);
        if let Some(audit) = &snapshot.audit {
            register_audit(&mut registry, audit);
        }
        if let Some(exports) = snapshot.exports {
            register_exports(&mut registry, exports);
        }
        if let Some(store) = &snapshot.store {
            register_store(&mut registry, store);
        }
        register_process(&mut registry, self.started);
        let mut out = String::new();
        let encoded = match format {
            MetricsFormat::OpenMetrics => text::encode(&mut out, &registry),
            MetricsFormat::PrometheusText => prometheus_text::encode(&mut out, &registry),
        };
        encoded.expect("writing to a string can't fail");
        out
    }

    /// Registers the metrics that are counted as calls and requests end.
    fn register_counted(&self, registry: &mut Registry) {
        let Self {
            calls,
            call_durations,
            request_durations,
            refused_requests,
            refused_calls,
            caller_calls,
            ..
        } = self;
        registry.register(
            "moongate_plugin_calls",
            "Plugin calls that ended, by outcome",
            calls.family.clone(),
        );
        registry.register(
            "moongate_plugin_call_duration_seconds",
            "Duration of plugin calls, measured from admission",
            call_durations.family.clone(),
        );
        registry.register(
            "mcp_server_operation_duration_seconds",
            "Duration of MCP requests, including all waits",
            request_durations.family.clone(),
        );
        registry.register(
            "moongate_refused_requests",
            "HTTP requests that were refused before their message was read, by reason",
            refused_requests.clone(),
        );
        registry.register(
            "moongate_refused_calls",
            "Calls that a limit refused before they ran, by reason",
            refused_calls.clone(),
        );
        registry.register(
            "moongate_caller_calls",
            "Plugin calls that ended, by the name of the caller's static token and by outcome",
            caller_calls.family.clone(),
        );
    }
}

fn register_store(registry: &mut Registry, store: &StoreStatus) {
    registry.register(
        "moongate_store_reachable",
        "1 while the shared store can be used",
        ConstGauge::new(f64::from(u8::from(store.is_connected))),
    );
    let counts = |of: fn(&UseCounts) -> u64| {
        store
            .counts
            .iter()
            .map(move |(purpose, counts)| (UseLabels { purpose: purpose.as_str() }, of(counts)))
    };
    register_counters(
        registry,
        "moongate_store_operations",
        "Operations on the shared store, by purpose",
        counts(|counts| counts.operations),
    );
    register_counters(
        registry,
        "moongate_store_errors",
        "Operations on the shared store that failed, by purpose",
        counts(|counts| counts.errors),
    );
}

fn register_audit(registry: &mut Registry, audit: &AuditStatus) {
    registry.register(
        "moongate_audit_sequence",
        "Number of the last record in the audit log",
        ConstGauge::new(audit.head.sequence as f64),
    );
    // The label changes at most once a minute.
    let head = audit.logged_head.iter();
    let head = head.map(|head| (HashLabels { hash: head.hash.to_string() }, head.sequence as f64));
    register_gauges(
        registry,
        "moongate_audit_head",
        "Number and hash of the record that was logged last as the head of the audit log",
        head,
    );
    registry.register(
        "moongate_audit_queued_records",
        "Records that wait to be written to the audit log",
        ConstGauge::new(audit.queued as f64),
    );
    registry.register(
        "moongate_audit_dropped_records",
        "Records that weren't written to the audit log",
        ConstCounter::new(audit.dropped),
    );
    registry.register(
        "moongate_audit_failing",
        "1 while the audit log can't be written",
        ConstGauge::new(f64::from(u8::from(audit.failure.is_some()))),
    );
}

fn register_exports(registry: &mut Registry, exports: ExportCounts) {
    let ExportCounts { exported, dropped, failed } = exports;
    let counts = [("exported", exported), ("dropped", dropped), ("failed", failed)];
    register_counters(
        registry,
        "moongate_otlp_spans",
        "Spans of sampled requests: accepted by the collector, dropped because the queue was full, or not accepted",
        counts.map(|(outcome, count)| (OutcomeLabels { outcome }, count)),
    );
}

fn plugin(id: &PluginId) -> PluginLabels {
    PluginLabels { plugin: NameLabel(id.clone()) }
}

/// Registers a gauge for each label set.
fn register_gauges<L>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    samples: impl IntoIterator<Item = (L, f64)>,
) where
    L: EncodeLabelSet + std::fmt::Debug + Clone + Eq + Hash + Send + Sync + 'static,
{
    let family = Family::<L, Gauge<f64, AtomicU64>>::default();
    for (labels, value) in samples {
        family.get_or_create(&labels).set(value);
    }
    registry.register(name, help, family);
}

/// Registers a counter for each label set.
fn register_counters<L>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    samples: impl IntoIterator<Item = (L, u64)>,
) where
    L: EncodeLabelSet + std::fmt::Debug + Clone + Eq + Hash + Send + Sync + 'static,
{
    let family = Family::<L, Counter>::default();
    for (labels, count) in samples {
        family.get_or_create(&labels).inc_by(count);
    }
    registry.register(name, help, family);
}

/// Registers the plugins: their states, their running calls and their code in memory.
fn register_plugins(registry: &mut Registry, snapshot: &MetricsSnapshot<'_>) {
    let known = snapshot.status.plugins.iter().map(|plugin| (plugin.id.clone(), CallLoad::default()));
    let mut loads: BTreeMap<PluginId, CallLoad> = known.collect();
    // A plugin that was removed from the configuration stays until its last call has ended.
    let busy =
        snapshot.loads.iter().filter(|(id, load)| loads.contains_key(id) || *load != CallLoad::default());
    loads.extend(busy.cloned().collect::<Vec<_>>());
    register_gauges(
        registry,
        "moongate_plugin_instances",
        "Running calls, each in its own instance",
        loads.iter().map(|(id, load)| (plugin(id), f64::from(load.running))),
    );
    register_gauges(
        registry,
        "moongate_plugin_calls_waiting",
        "Calls waiting for a permit",
        loads.iter().map(|(id, load)| (plugin(id), f64::from(load.waiting))),
    );
    register_gauges(
        registry,
        "moongate_plugin_idle_instances",
        "Idle instances of plugins whose instances are reused",
        loads.keys().map(|id| (plugin(id), f64::from(snapshot.idle.get(id).copied().unwrap_or_default()))),
    );
    register_gauges(
        registry,
        "moongate_plugin_generations",
        "Versions of a plugin's code in memory; more than one while calls finish on an earlier version",
        snapshot.generations.iter().map(|(id, count)| (plugin(id), f64::from(*count))),
    );
    let mut states = [("loading", 0_u32), ("serving", 0), ("degraded", 0), ("failed", 0)];
    for plugin in &snapshot.status.plugins {
        let index = match plugin.state {
            PluginState::Loading => 0,
            PluginState::Serving => 1,
            PluginState::Degraded(_) => 2,
            PluginState::Failed(_) => 3,
        };
        states[index].1 += 1;
    }
    let states = states.map(|(state, count)| (StateLabels { state }, f64::from(count)));
    register_gauges(registry, "moongate_plugins", "Configured plugins, by state", states);
}

/// Registers plugins' requests to other servers.
fn register_outgoing_requests(registry: &mut Registry, snapshot: &MetricsSnapshot<'_>) {
    let counts = snapshot.requests.iter().flat_map(|(plugin, counts)| {
        let &RequestCounts { sent, refused, failed } = counts;
        [("sent", sent), ("refused", refused), ("failed", failed)].map(|(outcome, count)| {
            (OutgoingRequestLabels { plugin: NameLabel(plugin.clone()), outcome }, count)
        })
    });
    register_counters(
        registry,
        "moongate_outgoing_requests",
        "Plugins' requests to other servers: answered, denied by the gateway, or failed",
        counts,
    );
}

/// Registers the changes to plugins and to the configuration.
fn register_reloads(registry: &mut Registry, status: &SupervisorStatus) {
    let ReloadCounts { replaced, unchanged, failed, configured, rejected } = status.reload_counts;
    let outcomes = [
        ("replaced", replaced),
        ("unchanged", unchanged),
        ("failed", failed),
        ("configured", configured),
        ("rejected", rejected),
    ];
    register_counters(
        registry,
        "moongate_reloads",
        "Changes to plugins and to the configuration, by outcome",
        outcomes.map(|(outcome, count)| (OutcomeLabels { outcome }, count)),
    );
    registry.register(
        "moongate_config_last_reload_successful",
        "Whether the current content of the configuration file is in use",
        ConstGauge::new(if status.config.rejected.is_none() { 1.0 } else { 0.0 }),
    );
    registry.register(
        "moongate_config_digest",
        "Digest of the configuration in use, without its secrets",
        Info::new(DigestLabels { sha256: status.config.digest.to_string() }),
    );
    registry.register(
        "moongate_config_last_reload_success_timestamp_seconds",
        "Time of the last successful reload of the configuration",
        ConstGauge::new(seconds(status.config.since)),
    );
}

/// Registers the instance pool and the clients.
fn register_usage(registry: &mut Registry, snapshot: &MetricsSnapshot<'_>) {
    let HostGauges { instances, memories, tables, stacks, .. } = snapshot.gauges;
    let slots = [("instances", instances), ("memories", memories), ("tables", tables), ("stacks", stacks)];
    register_gauges(
        registry,
        "moongate_pool_slots_in_use",
        "Instance pool slots in use; zero without a pool",
        slots.map(|(kind, count)| (KindLabels { kind }, count as f64)),
    );
    let ServerGauges { sessions, legacy_sse_clients, listen_streams, unread_bytes } = snapshot.clients;
    let sessions = [("http", sessions), ("http_sse", legacy_sse_clients)];
    register_gauges(
        registry,
        "moongate_sessions",
        "Open client sessions over HTTP",
        sessions.map(|(transport, count)| (TransportLabels { transport }, count as f64)),
    );
    registry.register(
        "moongate_listen_streams",
        "Open notification streams",
        ConstGauge::new(listen_streams as f64),
    );
    registry.register(
        "moongate_unread_response_bytes",
        "Bytes of responses that clients haven't read yet, except small ones",
        ConstGauge::new(unread_bytes as f64),
    );
}

/// Registers the process, under the names that Prometheus's own client libraries use.
fn register_process(registry: &mut Registry, started: SystemTime) {
    let build = BuildLabels {
        version: env!("CARGO_PKG_VERSION"),
        wasmtime: WASMTIME_VERSION,
        mcp: Revision::ALL.last().map_or("", |revision| revision.as_str()),
    };
    registry.register("moongate_build", "Version of the gateway", Info::new(build));
    let ProcessUsage { resident_bytes, open_fds, threads, cpu_seconds } = ProcessUsage::now();
    registry.register("process_cpu_seconds", "CPU time used by the process", ConstCounter::new(cpu_seconds));
    let gauges = [
        ("process_resident_memory_bytes", "Resident memory of the process", resident_bytes),
        ("process_open_fds", "Open file descriptors", open_fds),
        ("process_threads", "Threads of the process", threads),
    ];
    for (name, help, value) in gauges {
        if let Some(value) = value {
            registry.register(name, help, ConstGauge::new(value as f64));
        }
    }
    registry.register(
        "process_start_time_seconds",
        "Start time of the process",
        ConstGauge::new(seconds(started)),
    );
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// The resource usage of the process. `None` means that the system doesn't report it.
struct ProcessUsage {
    resident_bytes: Option<u64>,
    open_fds: Option<u64>,
    threads: Option<u64>,
    cpu_seconds: f64,
}

impl ProcessUsage {
    fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        // Reading the directory uses a descriptor itself.
        let open_fds = fs::read_dir("/proc/self/fd").ok().map(|all| (all.count() as u64).saturating_sub(1));
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Self {
            resident_bytes: number("VmRSS:").map(|kib| kib * 1024),
            open_fds,
            threads: number("Threads:"),
            cpu_seconds: time.tv_sec as f64 + time.tv_nsec as f64 / 1e9,
        }
    }
}
