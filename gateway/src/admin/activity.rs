//! `/activity.json`: what the gateway does, for `moongate logs`, `moongate top` and other programs. Fields are only ever
//! added.
//!
//! It has the tables of the status page. With `?after=N`, it has only what is new: the calls with higher numbers than
//! `N`, the latest reloads, and what was refused. Times are RFC 3339 in UTC.

use std::collections::HashMap;

use moongate_model::access_history::RefusedAccess;
use moongate_model::log_field::milliseconds;
use moongate_protocol::dispatch::CallKind;
use serde::{Deserialize, Serialize};

use crate::admin::page::{PageContent, ServingState};
use crate::admin::report::{format_time, state_word};
use crate::call_history::{CalledName, CallerUse, ItemCounts, MinuteCounts, RecentCall, sum_of_hours};
use crate::replicas::{Replica, ReplicaReport};
use crate::supervisor::status::{PluginStatus, ReloadRecord};

/// The document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Activity {
    /// The version of the gateway.
    pub version: String,
    /// The time of the document.
    pub time: String,
    /// The time when the process started. Call numbers start again with it.
    pub started: String,
    /// The time since then, in seconds.
    pub uptime_seconds: u64,
    /// `loading`, `ready` or `stopping`.
    pub state: String,
    /// The calls, oldest first: with `?after`, those with higher numbers, as far as the gateway remembers them.
    pub calls: Vec<CallRecord>,
    /// The latest reloads, newest first.
    pub reloads: Vec<ReloadRow>,
    /// Calls that were refused before they ran, and accesses that were refused for lack of a grant or role.
    pub refused: Vec<RefusalRow>,
    /// The tables. `None` with `?after`.
    pub tables: Option<ActivityTables>,
}

/// The tables of the status page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ActivityTables {
    /// The plugins, in the order of `gateway.toml`.
    pub plugins: Vec<PluginRow>,
    /// The tools, prompts and resources that were called in the last hour, most calls first.
    pub items: Vec<ItemRow>,
    /// The callers, by their last call, newest first.
    pub callers: Vec<CallerRow>,
    /// The limits that ended or refused calls.
    pub limits: Vec<LimitRow>,
    /// The calls of each minute of the last hour, oldest first.
    pub minutes: Vec<u64>,
    /// Sessions over HTTP.
    pub sessions: u64,
    /// Open notification streams.
    pub streams: u64,
    /// The gateways that share the store.
    pub gateways: Vec<ReplicaRow>,
}

/// A call that ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallRecord {
    /// The number of calls that ended until then, with this one.
    pub number: u64,
    /// The time when it ended.
    pub at: String,
    /// The plugin.
    pub plugin: String,
    /// `tool`, `resource`, `prompt` or `completion`.
    pub kind: String,
    /// The public name of the tool or prompt.
    pub name: Option<String>,
    /// The caller.
    pub caller: String,
    /// A stable word for the outcome, as in the access log.
    pub outcome: String,
    /// True if it has a result, or asked the client.
    pub ok: bool,
    /// The error, without text that the plugin returned.
    pub error: Option<String>,
    /// The time since it arrived, in milliseconds.
    pub duration_ms: f64,
    /// The time from its arrival until it ran. `None` if it didn't run.
    pub waited_ms: Option<f64>,
    /// The CPU time that it used, in milliseconds.
    pub cpu_ms: f64,
}

/// A reload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReloadRow {
    /// The time when it completed.
    pub at: String,
    /// The plugin. `None` for the configuration.
    pub plugin: Option<String>,
    /// False if it failed.
    pub ok: bool,
    /// The change or the failure.
    pub outcome: String,
}

/// Something that was refused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RefusalRow {
    /// The plugin that tried it. `None` for a request to the gateway.
    pub plugin: Option<String>,
    /// The access, or the reason to refuse a request.
    pub access: String,
    /// The change of `gateway.toml` that would allow it.
    pub fix: Option<String>,
    /// The number of times.
    pub count: u64,
    /// The last time.
    pub last: String,
}

/// A plugin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PluginRow {
    /// The key of its table.
    pub id: String,
    /// The state, as in `/status.json`.
    pub state: String,
    /// The version in its manifest.
    pub version: Option<String>,
    /// Calls in the last hour.
    pub calls: u64,
    /// Those without a result.
    pub errors: u64,
    /// Running calls.
    pub running: u64,
    /// Calls that wait for a permit.
    pub waiting: u64,
}

/// A tool or a prompt, or any resource or completion of a plugin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ItemRow {
    /// The plugin.
    pub plugin: String,
    /// The kind of call.
    pub kind: String,
    /// The public name of the tool or prompt.
    pub name: Option<String>,
    /// Calls in the last hour.
    pub calls: u64,
    /// Those without a result.
    pub errors: u64,
    /// The median of the durations, in milliseconds.
    pub p50_ms: Option<f64>,
    /// The 95th percentile, in milliseconds.
    pub p95_ms: Option<f64>,
    /// Running calls.
    pub in_flight: u64,
}

/// A caller.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallerRow {
    /// The name or address.
    pub caller: String,
    /// Calls since the gateway started.
    pub calls: u64,
    /// Those without a result.
    pub errors: u64,
    /// The time of the last one.
    pub last: String,
}

/// A limit that calls reached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitRow {
    /// The plugin.
    pub plugin: String,
    /// The limit, as a stable word.
    pub limit: String,
    /// The number of times.
    pub count: u64,
    /// The last time.
    pub last: String,
}

/// A gateway that shares the store.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplicaRow {
    /// Its machine and address.
    pub name: String,
    /// True for the gateway that reports it.
    pub own: bool,
    /// Its version.
    pub version: String,
    /// The digest of its configuration.
    pub config: String,
    /// The digest of the code of its plugins.
    pub code: String,
    /// The facts in which it differs from the gateway that reports it.
    pub differs: Vec<String>,
}

impl CallRecord {
    fn new(call: RecentCall) -> Self {
        let RecentCall { number, at, called, caller, outcome, is_success, took, waited, cpu_time, error } =
            call;
        let CalledName { plugin, kind, name } = called;
        Self {
            number,
            at: format_time(at),
            plugin: plugin.to_string(),
            kind: kind.as_str().to_owned(),
            name: name.map(|name| name.as_str().to_owned()),
            caller: caller.to_string(),
            outcome: outcome.to_owned(),
            ok: is_success,
            error,
            duration_ms: milliseconds(took),
            waited_ms: waited.map(milliseconds),
            cpu_ms: milliseconds(cpu_time),
        }
    }
}

impl ReloadRow {
    fn new(reload: &ReloadRecord) -> Self {
        let ReloadRecord { at, took: _, plugin, outcome } = reload;
        let (ok, outcome) = match outcome {
            Ok(outcome) => (true, outcome),
            Err(outcome) => (false, outcome),
        };
        let plugin = plugin.as_ref().map(ToString::to_string);
        Self { at: format_time(*at), plugin, ok, outcome: outcome.clone() }
    }
}

impl ReplicaRow {
    fn new(replica: &Replica) -> Self {
        let ReplicaReport { version, config, code, .. } = &replica.report;
        Self {
            name: replica.name(),
            own: replica.is_own,
            version: version.clone(),
            config: config.clone(),
            code: code.clone(),
            differs: replica.differences.iter().map(|fact| (*fact).to_owned()).collect(),
        }
    }
}

impl ItemRow {
    fn new(called: &CalledName, counts: &ItemCounts) -> Self {
        let CalledName { plugin, kind, name } = called;
        Self {
            plugin: plugin.to_string(),
            kind: kind.as_str().to_owned(),
            name: name.as_ref().map(|name| name.as_str().to_owned()),
            calls: counts.calls(),
            errors: counts.errors(),
            p50_ms: counts.p50.map(milliseconds),
            p95_ms: counts.p95.map(milliseconds),
            in_flight: u64::from(counts.in_flight),
        }
    }

    /// The name to show: that of the plugin for its resources and completions.
    #[must_use]
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) if self.kind == CallKind::Tool.as_str() => name.clone(),
            Some(name) => format!("{name} {}", self.kind),
            None => format!("{} {}s", self.plugin, self.kind),
        }
    }
}

/// The document, with these calls. Without `is_complete`, it has no tables.
pub(super) fn activity(page: &PageContent, calls: Vec<RecentCall>, is_complete: bool) -> Activity {
    let state = match page.state {
        ServingState::Loading => "loading",
        ServingState::Ready => "ready",
        ServingState::Stopping => "stopping",
    };
    Activity {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        time: format_time(page.now),
        started: format_time(page.process.started()),
        uptime_seconds: page.process.uptime().as_secs(),
        state: state.to_owned(),
        calls: calls.into_iter().map(CallRecord::new).collect(),
        reloads: page.snapshot.status.history.iter().map(ReloadRow::new).collect(),
        refused: refused(page),
        tables: is_complete.then(|| tables(page)),
    }
}

/// Refused accesses and requests, newest first.
fn refused(page: &PageContent) -> Vec<RefusalRow> {
    let accesses = page.snapshot.access.iter().flat_map(|(plugin, access)| {
        access.refused.iter().map(|RefusedAccess { wanted, fix, count, at }| RefusalRow {
            plugin: Some(plugin.to_string()),
            access: wanted.clone(),
            fix: fix.clone(),
            count: *count,
            last: format_time(*at),
        })
    });
    let denied = page.snapshot.calls.denied.iter().map(|denied| RefusalRow {
        plugin: Some(denied.called.plugin.to_string()),
        access: denied.access(),
        fix: Some(denied.fix()),
        count: denied.seen.count,
        last: format_time(denied.seen.last),
    });
    let requests = page.snapshot.calls.refusals.iter().map(|(word, seen)| RefusalRow {
        plugin: None,
        access: (*word).to_owned(),
        fix: None,
        count: seen.count,
        last: format_time(seen.last),
    });
    let mut all: Vec<_> = accesses.chain(denied).chain(requests).collect();
    all.sort_by(|first, second| second.last.cmp(&first.last));
    all
}

fn tables(page: &PageContent) -> ActivityTables {
    let snapshot = &page.snapshot;
    let mut items: Vec<_> =
        snapshot.calls.items.iter().map(|(called, counts)| ItemRow::new(called, counts)).collect();
    items.retain(|item| item.calls > 0 || item.in_flight > 0);
    items.sort_by_key(|item| std::cmp::Reverse(item.calls));
    let hour = sum_of_hours(snapshot.calls.items.iter().map(|(_, counts)| &counts.minutes));
    let callers = snapshot.calls.callers.iter().map(|(caller, used)| {
        let CallerUse { calls, errors, last } = *used;
        CallerRow { caller: caller.to_string(), calls, errors, last: format_time(last) }
    });
    let limits = snapshot.calls.limits.iter().map(|(plugin, limit, seen)| LimitRow {
        plugin: plugin.to_string(),
        limit: (*limit).to_owned(),
        count: seen.count,
        last: format_time(seen.last),
    });
    let mut counts = HashMap::<&str, (u64, u64)>::new();
    for item in &items {
        let (calls, errors) = counts.entry(&item.plugin).or_default();
        *calls += item.calls;
        *errors += item.errors;
    }
    let plugins =
        snapshot.status.plugins.iter().map(|plugin| {
            plugin_row(page, plugin, counts.get(plugin.id.as_str()).copied().unwrap_or_default())
        });
    ActivityTables {
        plugins: plugins.collect(),
        callers: callers.collect(),
        limits: limits.collect(),
        minutes: hour.iter().map(|MinuteCounts { calls, errors: _ }| u64::from(*calls)).collect(),
        sessions: (snapshot.clients.sessions + snapshot.clients.legacy_sse_clients) as u64,
        streams: snapshot.clients.listen_streams as u64,
        gateways: snapshot.replicas.iter().flatten().map(ReplicaRow::new).collect(),
        items,
    }
}

fn plugin_row(page: &PageContent, plugin: &PluginStatus, (calls, errors): (u64, u64)) -> PluginRow {
    let load = page.snapshot.loads.get(&plugin.id).copied().unwrap_or_default();
    PluginRow {
        id: plugin.id.to_string(),
        state: state_word(&plugin.state, plugin.activity).to_owned(),
        version: plugin.about.as_ref().map(|about| about.version.clone()),
        calls,
        errors,
        running: u64::from(load.running),
        waiting: u64::from(load.waiting),
    }
}
