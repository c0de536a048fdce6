//! From counts to text.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use moongate_model::names::{PluginId, PublicName};
use moongate_protocol::gate::Load;
use moongate_protocol::mcp::{Method, Revision};
use moongate_protocol::server;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::host::{Gauges, Requests, WASMTIME_VERSION};
use crate::supervisor::status::{PluginState, Reloads, Status};

use super::process::Usage;
use super::{Call, Metrics, Operation};

/// What isn't counted but known, at the moment of the question.
#[derive(Debug)]
pub struct Snapshot<'a> {
    /// The plugins.
    pub status: &'a Status,
    /// What the Wasm host has in use.
    pub gauges: Gauges,
    /// How many generations of each plugin's code are held.
    pub generations: BTreeMap<PluginId, u32>,
    /// How many instances of each plugin wait for their next call.
    pub idle: BTreeMap<PluginId, u32>,
    /// What became of the requests of each plugin that can send some.
    pub requests: BTreeMap<PluginId, Requests>,
    /// How many calls run and wait.
    pub loads: Vec<(PluginId, Load)>,
    /// Who is there.
    pub clients: server::Gauges,
}

/// What a sample is told apart by.
type Labels = Vec<(&'static str, String)>;

/// All samples of one name.
#[derive(Debug)]
struct Family {
    name: &'static str,
    help: &'static str,
    samples: Samples,
}

#[derive(Debug)]
enum Samples {
    Counts(Vec<(Labels, u64)>),
    Seconds(Vec<(Labels, f64)>),
    Gauges(Vec<(Labels, f64)>),
    Histograms(Vec<(Labels, Histogram)>),
    Info(Labels),
}

/// Everything, as it is at one moment.
#[derive(Debug, Default)]
struct Scrape(Vec<Family>);

impl Metrics {
    /// All metrics as OpenMetrics text ([`super::CONTENT_TYPE`]).
    #[must_use]
    pub fn render(&self, snapshot: &Snapshot<'_>) -> String {
        let catalog = Arc::clone(&self.catalog.borrow());
        self.forget(&catalog);
        let mut scrape = Scrape::default();
        self.counted(&mut scrape);
        plugins(&mut scrape, snapshot);
        requests(&mut scrape, snapshot);
        let peaks = catalog.members().iter();
        let peaks = peaks.filter_map(|member| Some((member.id().as_str(), member.plugin().peak_memory()?)));
        scrape.gauges(
            "moongate_plugin_memory_peak_bytes",
            "The most linear memory that one call of the plugin's present code has had.",
            by("plugin", peaks),
        );
        let items = [
            ("tools", catalog.tools().len()),
            ("resources", catalog.resources().len()),
            ("resource_templates", catalog.templates().len()),
            ("prompts", catalog.prompts().len()),
        ];
        scrape.gauges("moongate_catalog_items", "Items that clients are offered.", by("kind", items));
        scrape.gauge(
            "moongate_catalog_generation",
            "Catalogs that were published before the one that serves.",
            catalog.generation() as f64,
        );
        settings(&mut scrape, snapshot.status);
        in_use(&mut scrape, snapshot);
        process(&mut scrape, self.started);
        let mut registry = Registry::default();
        registry.register_collector(Box::new(scrape));
        let mut out = String::new();
        text::encode(&mut out, &registry).expect("writing to a string can't fail");
        out
    }

    /// What was counted as it happened.
    fn counted(&self, scrape: &mut Scrape) {
        let calls = self.calls.all().into_iter().map(|(call, count)| (call.labels(), count.get()));
        scrape.add(
            "moongate_plugin_calls",
            "Calls of plugins that ended, by what came of them.",
            Samples::Counts(calls.collect()),
        );
        let durations = self.durations.all().into_iter();
        let durations = durations.map(|(plugin, histogram)| (one("plugin", plugin.as_str()), histogram));
        scrape.add(
            "moongate_plugin_call_duration_seconds",
            "How long calls took from when they had their permit.",
            Samples::Histograms(durations.collect()),
        );
        let operations = self.operations.all().into_iter();
        let operations = operations.map(|(operation, histogram)| (operation.labels(), histogram));
        scrape.add(
            "mcp_server_operation_duration_seconds",
            "How long MCP requests took, with all that they waited for.",
            Samples::Histograms(operations.collect()),
        );
    }
}

impl Call {
    fn labels(&self) -> Labels {
        let Self { plugin, kind, tool, outcome } = self;
        vec![
            ("plugin", plugin.to_string()),
            ("kind", kind.as_str().to_owned()),
            ("tool", text_of(tool.as_ref())),
            ("outcome", (*outcome).to_owned()),
        ]
    }
}

impl Operation {
    fn labels(&self) -> Labels {
        let Self { method, tool, error, carrier, revision } = self;
        vec![
            ("mcp_method_name", method.map_or("_OTHER", Method::as_str).to_owned()),
            ("gen_ai_tool_name", text_of(tool.as_ref())),
            ("error_type", error.unwrap_or_default().to_owned()),
            ("network_transport", carrier.as_str().to_owned()),
            ("mcp_protocol_version", revision.map_or("", Revision::as_str).to_owned()),
        ]
    }
}

fn text_of(name: Option<&PublicName>) -> String {
    name.map(ToString::to_string).unwrap_or_default()
}

/// One label.
fn one(label: &'static str, value: &str) -> Labels {
    vec![(label, value.to_owned())]
}

/// A sample for each value of a label.
fn by<T: Into<Number>>(
    label: &'static str,
    all: impl IntoIterator<Item = (impl AsRef<str>, T)>,
) -> Vec<(Labels, f64)> {
    all.into_iter().map(|(value, number)| (one(label, value.as_ref()), number.into().0)).collect()
}

/// A number as samples have it: exact up to 2^53, which nothing here reaches.
struct Number(f64);

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Self(number as f64)
    }
}

impl From<u32> for Number {
    fn from(number: u32) -> Self {
        Self(f64::from(number))
    }
}

impl From<usize> for Number {
    fn from(number: usize) -> Self {
        Self(number as f64)
    }
}

/// The plugins: their states, their calls now, the code that is held for them.
fn plugins(scrape: &mut Scrape, snapshot: &Snapshot<'_>) {
    let known = snapshot.status.plugins.iter().map(|plugin| (plugin.id.clone(), Load::default()));
    let mut loads: BTreeMap<PluginId, Load> = known.collect();
    // One that has left the configuration stays here as long as its last calls.
    let busy = snapshot.loads.iter().filter(|(id, load)| loads.contains_key(id) || *load != Load::default());
    loads.extend(busy.cloned().collect::<Vec<_>>());
    scrape.gauges(
        "moongate_plugin_instances",
        "Calls that run, each alone in an instance.",
        by("plugin", loads.iter().map(|(id, load)| (id.as_str(), load.running))),
    );
    scrape.gauges(
        "moongate_plugin_calls_waiting",
        "Calls that wait for a permit.",
        by("plugin", loads.iter().map(|(id, load)| (id.as_str(), load.waiting))),
    );
    scrape.gauges(
        "moongate_plugin_idle_instances",
        "Instances that wait for their next call, where the plugin's instances are reused.",
        by(
            "plugin",
            loads.keys().map(|id| (id.as_str(), snapshot.idle.get(id).copied().unwrap_or_default())),
        ),
    );
    scrape.gauges(
        "moongate_plugin_generations",
        "Versions of a plugin's code that are held: more than one while calls end on an earlier one.",
        by("plugin", snapshot.generations.iter().map(|(id, count)| (id.as_str(), *count))),
    );
    let mut states = [("loading", 0_usize), ("serving", 0), ("degraded", 0), ("failed", 0)];
    for plugin in &snapshot.status.plugins {
        let at = match plugin.state {
            PluginState::Loading => 0,
            PluginState::Serving => 1,
            PluginState::Degraded(_) => 2,
            PluginState::Failed(_) => 3,
        };
        states[at].1 += 1;
    }
    scrape.gauges("moongate_plugins", "Plugins of the configuration, by state.", by("state", states));
}

/// What plugins asked of other servers.
fn requests(scrape: &mut Scrape, snapshot: &Snapshot<'_>) {
    let counts = snapshot.requests.iter().flat_map(|(plugin, counts)| {
        let &Requests { sent, refused, failed } = counts;
        [("sent", sent), ("refused", refused), ("failed", failed)].map(|(outcome, count)| {
            (vec![("plugin", plugin.to_string()), ("outcome", outcome.to_owned())], count)
        })
    });
    scrape.add(
        "moongate_outgoing_requests",
        "Requests of plugins to other servers: answered, refused by the gateway, or without an answer.",
        Samples::Counts(counts.collect()),
    );
}

/// Changes of plugins and of the configuration.
fn settings(scrape: &mut Scrape, status: &Status) {
    let Reloads { replaced, unchanged, failed, configured, rejected } = status.reloads;
    let outcomes = [
        ("replaced", replaced),
        ("unchanged", unchanged),
        ("failed", failed),
        ("configured", configured),
        ("rejected", rejected),
    ];
    scrape.add(
        "moongate_reloads",
        "What came of changes to plugins and to the configuration.",
        Samples::Counts(outcomes.map(|(outcome, count)| (one("outcome", outcome), count)).to_vec()),
    );
    scrape.gauge(
        "moongate_config_last_reload_successful",
        "Whether the configuration file is in use as it stands now.",
        if status.config.rejected.is_none() { 1.0 } else { 0.0 },
    );
    scrape.gauge(
        "moongate_config_last_reload_success_timestamp_seconds",
        "When the configuration was taken into use.",
        seconds(status.config.since),
    );
}

/// What is in use, and by whom.
fn in_use(scrape: &mut Scrape, snapshot: &Snapshot<'_>) {
    let Gauges { instances, memories, tables, stacks, .. } = snapshot.gauges;
    let slots = [("instances", instances), ("memories", memories), ("tables", tables), ("stacks", stacks)];
    scrape.gauges(
        "moongate_pool_slots_in_use",
        "Slots of the pool of instances that are taken; zero where there is no pool.",
        by("kind", slots),
    );
    let server::Gauges { sessions, visitors, listening } = snapshot.clients;
    let sessions = [("http", sessions), ("http_sse", visitors)];
    scrape.gauges("moongate_sessions", "Open sessions of clients over HTTP.", by("transport", sessions));
    scrape.gauge("moongate_listen_streams", "Open streams of changes.", listening as f64);
}

/// The process itself.
fn process(scrape: &mut Scrape, started: SystemTime) {
    let newest = Revision::ALL.last().map_or("", |revision| revision.as_str());
    let build = [("version", env!("CARGO_PKG_VERSION")), ("wasmtime", WASMTIME_VERSION), ("mcp", newest)];
    let build = build.map(|(label, value)| (label, value.to_owned())).to_vec();
    scrape.add("moongate_build", "Which gateway this is.", Samples::Info(build));
    let Usage { resident, descriptors, threads, processor } = Usage::now();
    scrape.add(
        "process_cpu_seconds",
        "Processor time that the process has used.",
        Samples::Seconds(vec![(Labels::new(), processor)]),
    );
    let known = [
        ("process_resident_memory_bytes", "Memory of the process that is in RAM.", resident),
        ("process_open_fds", "Open file descriptors.", descriptors),
        ("process_threads", "Threads of the process.", threads),
    ];
    for (name, help, value) in known {
        if let Some(value) = value {
            scrape.gauge(name, help, value as f64);
        }
    }
    scrape.gauge("process_start_time_seconds", "When the process started.", seconds(started));
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

impl Scrape {
    fn add(&mut self, name: &'static str, help: &'static str, samples: Samples) {
        self.0.push(Family { name, help, samples });
    }

    fn gauges(&mut self, name: &'static str, help: &'static str, samples: Vec<(Labels, f64)>) {
        self.add(name, help, Samples::Gauges(samples));
    }

    fn gauge(&mut self, name: &'static str, help: &'static str, value: f64) {
        self.gauges(name, help, vec![(Labels::new(), value)]);
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|family| family.encode(&mut encoder))
    }
}

impl Family {
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Self { name, help, samples } = self;
        let kind = match samples {
            Samples::Counts(_) | Samples::Seconds(_) => MetricType::Counter,
            Samples::Gauges(_) => MetricType::Gauge,
            Samples::Histograms(_) => MetricType::Histogram,
            Samples::Info(_) => MetricType::Info,
        };
        let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
        match samples {
            Samples::Counts(all) => sorted(all).try_for_each(|(labels, count)| {
                ConstCounter::new(*count).encode(metric.encode_family(labels)?)
            }),
            Samples::Seconds(all) => sorted(all).try_for_each(|(labels, value)| {
                ConstCounter::new(*value).encode(metric.encode_family(labels)?)
            }),
            Samples::Gauges(all) => sorted(all).try_for_each(|(labels, value)| {
                ConstGauge::new(*value).encode(metric.encode_family(labels)?)
            }),
            Samples::Histograms(all) => sorted(all)
                .try_for_each(|(labels, histogram)| histogram.encode(metric.encode_family(labels)?)),
            Samples::Info(labels) => metric.encode_info(labels),
        }
    }
}

/// In an order that stays, so that two scrapes can be compared.
fn sorted<T>(all: &[(Labels, T)]) -> impl Iterator<Item = (&Labels, &T)> {
    let mut sorted: Vec<_> = all.iter().map(|(labels, value)| (labels, value)).collect();
    sorted.sort_by_key(|(labels, _)| *labels);
    sorted.into_iter()
}
