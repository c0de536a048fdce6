//! Metric names, labels and values, and the removal of stale series.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use moongate_config::Secret;
use moongate_model::call::{BusyReason, CallContext, CallError};
use moongate_model::names::Digest;
use moongate_otlp::ExportCounts;
use moongate_protocol::catalog::fake::{FakePlugin, IntoCatalogPlugin as _};
use moongate_protocol::catalog::{CatalogBuild, CatalogPlugin};
use moongate_protocol::dispatch::{CallInput, CallOutcome, NetworkTransport, Observer as _};
use moongate_protocol::limiter::CallLoad;
use moongate_protocol::mcp::{Method, Revision};
use moongate_protocol::server::ServerGauges;
use moongate_store::{StoreStatus, StoreUse, UseCounts};
use serde_json::json;

use crate::supervisor::status::{
    CodeOrigin, ConfigStatus, OfferCounts, PluginActivity, PluginIssue, PluginState, PluginStatus,
    ReloadCounts, SupervisorStatus, WatchMode,
};
use moongate_host::{HostGauges, RequestCounts};

use super::*;

mod text;

use text::{Sample, read};

fn name(text: &str) -> PublicName {
    PublicName::new(text).unwrap()
}

fn id(text: &str) -> PluginId {
    PluginId::new(text).unwrap()
}

/// A plugin with these tools.
fn catalog_plugin(id: &str, tools: &[&str]) -> CatalogPlugin {
    let schema = json!({ "type": "object" });
    let mut plugin = tools.iter().fold(FakePlugin::new(id), |plugin, name| plugin.tool(name, &schema, None));
    plugin.peak_memory = Some(64 << 10);
    plugin.into_catalog_plugin(|_| {})
}

/// A catalog of these plugins.
fn catalog(generation: u64, plugins: Vec<CatalogPlugin>) -> Arc<Catalog> {
    let CatalogBuild { catalog, refused, .. } = Catalog::build(generation, plugins, None);
    assert_eq!(refused, []);
    Arc::new(catalog)
}

fn plugin(id: &str, state: PluginState) -> PluginStatus {
    PluginStatus {
        id: PluginId::new(id).unwrap(),
        source: PathBuf::from("a.wasm"),
        origin: CodeOrigin::File,
        state,
        activity: PluginActivity::Idle,
        digest: None,
        since: None,
        about: None,
        offer_counts: OfferCounts::default(),
        pending_change: None,
        unavailable_directories: Vec::new(),
    }
}

fn status() -> SupervisorStatus {
    let trouble = PluginIssue { reason: "no".to_owned(), hint: None, ends_calls: false, retry_at: None };
    SupervisorStatus {
        generation: 1,
        config: ConfigStatus {
            file: PathBuf::from("gateway.toml"),
            digest: Digest::of(b"a"),
            since: UNIX_EPOCH + Duration::from_millis(1_500),
            rejected: None,
            needs_restart: Vec::new(),
            pending_keys: Vec::new(),
            stop_grace: std::time::Duration::from_secs(30),
        },
        plugins: vec![plugin("a", PluginState::Serving), plugin("b", PluginState::Degraded(trouble))],
        watch_mode: WatchMode::Events,
        is_settled: true,
        reload_counts: ReloadCounts { replaced: 1, unchanged: 2, failed: 3, configured: 4, rejected: 5 },
        history: VecDeque::new(),
    }
}

fn render(metrics: &Metrics, status: &SupervisorStatus) -> String {
    render_as(metrics, status, MetricsFormat::OpenMetrics)
}

fn render_as(metrics: &Metrics, status: &SupervisorStatus, format: MetricsFormat) -> String {
    let snapshot = MetricsSnapshot {
        status,
        gauges: HostGauges {
            running_calls: 1,
            generations: 1,
            idle_instances: 3,
            instances: 2,
            memories: 3,
            tables: 4,
            stacks: 5,
        },
        generations: BTreeMap::from([(id("a"), 2)]),
        idle: BTreeMap::from([(id("a"), 3)]),
        requests: BTreeMap::from([(id("a"), RequestCounts { sent: 9, refused: 8, failed: 7 })]),
        loads: vec![
            (id("a"), CallLoad { running: 3, waiting: 4 }),
            (id("left"), CallLoad { running: 1, waiting: 0 }),
            (id("gone"), CallLoad::default()),
        ],
        clients: ServerGauges { sessions: 6, legacy_sse_clients: 7, listen_streams: 8, unread_bytes: 9 },
        audit: None,
        exports: Some(ExportCounts { exported: 9, dropped: 2, failed: 1 }),
        store: Some(StoreStatus {
            address: "redis://127.0.0.1:6379".to_owned(),
            server: None,
            problem: None,
            is_connected: true,
            counts: StoreUse::ALL.map(|purpose| (purpose, UseCounts { operations: 9, errors: 2 })),
        }),
    };
    metrics.render(&snapshot, format)
}

fn call(metrics: &Metrics, catalog_plugin: &CatalogPlugin, tool: &str, outcome: CallOutcome<'_>) {
    let took = Some(Duration::from_micros(70));
    metrics.call_ended(&CallEnd {
        context: &CallContext::internal(Caller::Named("ci".into())),
        input: CallInput::Arguments("{}"),
        input_hash: None,
        result_bytes: None,
        catalog_plugin,
        kind: CallKind::Tool,
        name: Some(&name(tool)),
        outcome,
        was_admitted: true,
        took,
    });
}

fn request(metrics: &Metrics, method: Option<Method>, tool: Option<&str>, error: Option<&'static str>) {
    let tool = tool.map(name);
    metrics.request_ended(&RequestEnd {
        method: method.map(Method::as_str),
        tool: tool.as_ref(),
        revision: Some(Revision::LATEST_HANDSHAKE.as_str()),
        transport: NetworkTransport::Http,
        traced: None,
        error,
        took: Duration::from_millis(3),
    });
}

/// Metrics of a catalog that can be replaced.
fn metrics_of(plugins: Vec<CatalogPlugin>) -> (watch::Sender<Arc<Catalog>>, Arc<Metrics>) {
    let (publish, seen) = watch::channel(catalog(1, plugins));
    (publish, Metrics::new(seen, tokens(&["ci"]).1))
}

/// Static tokens with these names, which can be replaced.
fn tokens(names: &[&str]) -> (watch::Sender<Vec<BearerToken>>, watch::Receiver<Vec<BearerToken>>) {
    let token = |name: &&str| BearerToken {
        principal: (*name).into(),
        token: Secret::new("a long secret of its own"),
        variable: None,
    };
    watch::channel(names.iter().map(token).collect())
}

/// The value of the only sample with this name and these labels.
fn value(samples: &[Sample], name: &str, labels: &[(&str, &str)]) -> f64 {
    let is =
        |sample: &&Sample| sample.name == name && labels.iter().all(|(key, value)| sample.has(key, value));
    let found: Vec<_> = samples.iter().filter(is).collect();
    let [one] = &found[..] else { panic!("{name} {labels:?}: {found:?}") };
    one.value
}

const NAMES: &str = "\
mcp_server_operation_duration_seconds histogram error_type gen_ai_tool_name le mcp_method_name mcp_protocol_version network_transport
moongate_build info mcp version wasmtime
moongate_caller_calls counter caller outcome
moongate_catalog_generation gauge
moongate_catalog_items gauge kind
moongate_config_digest info sha256
moongate_config_last_reload_success_timestamp_seconds gauge
moongate_config_last_reload_successful gauge
moongate_listen_streams gauge
moongate_otlp_spans counter outcome
moongate_outgoing_requests counter outcome plugin
moongate_plugin_call_duration_seconds histogram le plugin
moongate_plugin_calls counter kind outcome plugin tool
moongate_plugin_calls_waiting gauge plugin
moongate_plugin_generations gauge plugin
moongate_plugin_idle_instances gauge plugin
moongate_plugin_instances gauge plugin
moongate_plugin_memory_peak_bytes gauge plugin
moongate_plugins gauge state
moongate_pool_slots_in_use gauge kind
moongate_refused_calls counter reason
moongate_refused_requests counter listener reason
moongate_reloads counter outcome
moongate_sessions gauge transport
moongate_store_errors counter purpose
moongate_store_operations counter purpose
moongate_store_reachable gauge
moongate_unread_response_bytes gauge
process_cpu_seconds counter
process_open_fds gauge
process_resident_memory_bytes gauge
process_start_time_seconds gauge
process_threads gauge
";

#[test]
fn names_types_and_labels_are_stable() {
    let (_publish, metrics) = metrics_of(vec![catalog_plugin("a", &["run"])]);
    call(&metrics, &catalog_plugin("a", &["run"]), "a_run", CallOutcome::Done);
    let busy = CallError::Busy(BusyReason::Gateway);
    call(&metrics, &catalog_plugin("a", &["run"]), "a_run", CallOutcome::Failed(&busy));
    request(&metrics, Some(Method::CallTool), Some("a_run"), None);
    metrics.request_refused("mcp", "unknown_token");
    let families = read(&render(&metrics, &status())).unwrap();
    let mut rendered: Vec<String> = families
        .iter()
        .map(|family| {
            let mut labels: Vec<_> =
                family.samples.iter().flat_map(|sample| sample.labels.keys().map(String::as_str)).collect();
            labels.sort_unstable();
            labels.dedup();
            let words = [&[family.name.as_str(), &family.kind], &labels[..]].concat();
            assert!(family.help.ends_with('.'), "{}", family.help);
            words.join(" ") + "\n"
        })
        .collect();
    rendered.sort_unstable();
    assert_eq!(rendered.concat(), NAMES);
}

#[test]
fn renders_all_values() {
    let (_publish, metrics) = metrics_of(vec![catalog_plugin("a", &["run", "walk"])]);
    call(&metrics, &catalog_plugin("a", &["run"]), "a_run", CallOutcome::Done);
    call(&metrics, &catalog_plugin("a", &["run"]), "a_run", CallOutcome::Done);
    call(
        &metrics,
        &catalog_plugin("a", &["run"]),
        "a_run",
        CallOutcome::Failed(&CallError::Trap(String::new())),
    );
    request(&metrics, None, None, Some("-32601"));
    metrics.request_refused("mcp", "unknown_token");
    let samples: Vec<Sample> =
        read(&render(&metrics, &status())).unwrap().into_iter().flat_map(|family| family.samples).collect();
    for (name, labels, expected) in [
        ("moongate_plugin_calls_total", &[("tool", "a_run"), ("outcome", "ok")][..], 2.0),
        ("moongate_plugin_calls_total", &[("plugin", "a"), ("kind", "tool"), ("outcome", "trap")], 1.0),
        ("moongate_plugin_call_duration_seconds_bucket", &[("plugin", "a"), ("le", "0.00005")], 0.0),
        ("moongate_plugin_call_duration_seconds_bucket", &[("plugin", "a"), ("le", "0.0001")], 3.0),
        ("moongate_plugin_call_duration_seconds_count", &[("plugin", "a")], 3.0),
        (
            "mcp_server_operation_duration_seconds_count",
            &[
                ("mcp_method_name", "_OTHER"),
                ("gen_ai_tool_name", ""),
                ("error_type", "-32601"),
                ("network_transport", "tcp"),
                ("mcp_protocol_version", "2025-11-25"),
            ],
            1.0,
        ),
        ("moongate_otlp_spans_total", &[("outcome", "exported")], 9.0),
        ("moongate_otlp_spans_total", &[("outcome", "dropped")], 2.0),
        ("moongate_outgoing_requests_total", &[("plugin", "a"), ("outcome", "sent")], 9.0),
        ("moongate_outgoing_requests_total", &[("plugin", "a"), ("outcome", "refused")], 8.0),
        ("moongate_outgoing_requests_total", &[("plugin", "a"), ("outcome", "failed")], 7.0),
        ("moongate_plugin_instances", &[("plugin", "a")], 3.0),
        ("moongate_plugin_instances", &[("plugin", "b")], 0.0),
        ("moongate_plugin_instances", &[("plugin", "left")], 1.0),
        ("moongate_plugin_calls_waiting", &[("plugin", "a")], 4.0),
        ("moongate_plugin_generations", &[("plugin", "a")], 2.0),
        ("moongate_plugin_idle_instances", &[("plugin", "a")], 3.0),
        ("moongate_plugin_idle_instances", &[("plugin", "b")], 0.0),
        ("moongate_plugin_memory_peak_bytes", &[("plugin", "a")], 65_536.0),
        ("moongate_plugins", &[("state", "serving")], 1.0),
        ("moongate_plugins", &[("state", "degraded")], 1.0),
        ("moongate_plugins", &[("state", "failed")], 0.0),
        ("moongate_reloads_total", &[("outcome", "replaced")], 1.0),
        ("moongate_reloads_total", &[("outcome", "rejected")], 5.0),
        ("moongate_catalog_generation", &[], 1.0),
        ("moongate_catalog_items", &[("kind", "tools")], 2.0),
        ("moongate_pool_slots_in_use", &[("kind", "tables")], 4.0),
        ("moongate_sessions", &[("transport", "http_sse")], 7.0),
        ("moongate_listen_streams", &[], 8.0),
        ("moongate_unread_response_bytes", &[], 9.0),
        ("moongate_refused_requests_total", &[("listener", "mcp"), ("reason", "unknown_token")], 1.0),
        ("moongate_config_last_reload_successful", &[], 1.0),
        ("moongate_config_digest_info", &[], 1.0),
        ("moongate_store_reachable", &[], 1.0),
        ("moongate_store_operations_total", &[("purpose", "rates")], 9.0),
        ("moongate_store_errors_total", &[("purpose", "used_once")], 2.0),
        ("moongate_config_last_reload_success_timestamp_seconds", &[], 1.5),
        ("moongate_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0),
    ] {
        assert_eq!(value(&samples, name, labels), expected, "{name} {labels:?}");
    }
    assert!(!samples.iter().any(|sample| sample.has("plugin", "gone")));
}

#[test]
fn renders_a_rejected_configuration() {
    let (_publish, metrics) = metrics_of(Vec::new());
    let mut status = status();
    status.config.rejected = Some("it doesn't parse".to_owned());
    let text = render(&metrics, &status);
    assert!(text.contains("\nmoongate_config_last_reload_successful 0"), "{text}");
}

#[test]
fn removes_series_of_removed_tools_and_plugins() {
    let (publish, metrics) =
        metrics_of(vec![catalog_plugin("a", &["run", "walk"]), catalog_plugin("b", &["run"])]);
    for (plugin, tool) in [("a", "run"), ("a", "walk"), ("b", "run")] {
        let public = format!("{plugin}_{tool}");
        call(&metrics, &catalog_plugin(plugin, &[tool]), &public, CallOutcome::Done);
        request(&metrics, Some(Method::CallTool), Some(&public), None);
    }
    let rendered = |metrics: &Metrics, of: &str| render(metrics, &status()).matches(of).count() > 0;
    for public in ["a_run", "a_walk", "b_run"] {
        assert!(rendered(&metrics, public), "{public}");
    }
    publish.send(catalog(2, vec![catalog_plugin("a", &["run"])])).unwrap();
    call(&metrics, &catalog_plugin("a", &["run"]), "a_run", CallOutcome::Done);
    let text = render(&metrics, &status());
    assert!(text.contains("tool=\"a_run\",outcome=\"ok\"} 2\n"), "{text}");
    assert!(!text.contains("a_walk") && !text.contains("b_run"), "{text}");
    assert!(!text.contains("duration_seconds_count{plugin=\"b\"}"), "{text}");
}

#[test]
fn stale_series_are_removed_without_scrapes() {
    let (publish, metrics) = metrics_of(Vec::new());
    for generation in 0..200 {
        let plugin = format!("p{generation}");
        let catalog_plugin = catalog_plugin(&plugin, &["run"]);
        publish.send_replace(catalog(generation, vec![catalog_plugin.clone()]));
        call(&metrics, &catalog_plugin, &format!("{plugin}_run"), CallOutcome::Done);
        request(&metrics, Some(Method::CallTool), Some(&format!("{plugin}_run")), None);
    }
    let kept = [
        metrics.calls.known().len(),
        metrics.call_durations.known().len(),
        metrics.request_durations.known().len(),
    ];
    assert!(kept.iter().all(|count| *count <= 2), "{kept:?}");
}

#[test]
fn removes_series_of_removed_tokens() {
    let (_publish, seen) = watch::channel(catalog(1, vec![catalog_plugin("a", &["run"])]));
    let (replace, current) = tokens(&["ci"]);
    let metrics = Metrics::new(seen, current);
    let call = || call(&metrics, &catalog_plugin("a", &["run"]), "a_run", CallOutcome::Done);
    let rendered = || render(&metrics, &status()).contains("caller=\"ci\"");
    call();
    assert!(rendered());
    replace.send_replace(Vec::new());
    assert!(!rendered());
    call();
    assert!(!rendered(), "a call that ends later brings nothing back");
    replace.send_replace(tokens(&["ci", "other"]).1.borrow().clone());
    call();
    assert!(rendered());
}

#[test]
fn counts_calls_of_many_threads() {
    let (_publish, metrics) = metrics_of(vec![catalog_plugin("a", &["run"])]);
    let catalog_plugin = catalog_plugin("a", &["run"]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                (0..1_000).for_each(|_| call(&metrics, &catalog_plugin, "a_run", CallOutcome::Done))
            });
        }
    });
    let text = render(&metrics, &status());
    assert!(text.contains("tool=\"a_run\",outcome=\"ok\"} 4000\n"), "{text}");
}
