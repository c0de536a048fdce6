//! `/status.json`: the status of the gateway, for programs. Fields are only ever added.
//!
//! Every field is always present, `null` if it has no value. Times are RFC 3339 in UTC. The document contains no
//! secrets: of the configuration it names files, keys and grants, but no values.
//!
//! - `version`, `pid`, `started`, `uptime_seconds`: the process. `ready`: the result of `/readyz`.
//! - `generation`: the number of catalogs published before; `settled`: no plugin is being read, compiled or checked.
//! - `config`: its `file`; `digest` of its text without secrets, the same for gateways with the same file; `since` when it
//!   is in use; `rejected`: the reason that the file's current content isn't used;
//!   `needs_restart`: changed keys that wait for a restart; `waiting`: changed keys that wait for the operator.
//! - `watching`: `by` is `events`, `polling` (`reason` is the cause) or `off`.
//! - `store`: the shared store, `null` if there is none: its `address`; `server`, its name and version; `reachable`;
//!   `problem`: the reason that it can't be used, and a `hint`; `operations` and `errors` since the start.
//! - `gateways`: the gateways that share the store, `null` without one, empty while it isn't available: `id` of the run;
//!   `own`: this one; `host`, `pid`, `endpoint`, `version`; `config_digest` and `since` when it is in use; `code_digest` of
//!   all plugins; `started`; `differs`: the facts that differ from this gateway.
//! - `plugins`: in the order of `gateway.toml`.
//! - `reloads`: counts since the start: `replaced`, `unchanged`, `failed`, `configured`, `rejected`.
//! - `history`: the last reloads, newest first: `at`, `took_seconds`, `plugin` (`null` for the configuration), `ok`,
//!   `outcome`.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use moongate_store::{StoreStatus, UseCounts};
use serde_json::{Value, json};

use crate::replicas::{Replica, ReplicaReport};
use crate::supervisor::status::{
    ConfigStatus, OfferCounts, PendingChange, PluginAbout, PluginActivity, PluginIssue, PluginState,
    PluginStatus, ReloadCounts, ReloadRecord, SupervisorStatus, WatchMode,
};

/// The last second of RFC 3339, in the year 9999.
const MAX_RFC3339: Duration = Duration::from_secs(253_402_300_799);

/// A time in RFC 3339, in UTC, with milliseconds.
#[must_use]
pub fn format_time(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at.clamp(UNIX_EPOCH, UNIX_EPOCH + MAX_RFC3339)).to_string()
}

/// The process.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessInfo {
    pid: u32,
    started: SystemTime,
    /// Unlike the wall clock, it is never adjusted.
    started_at: Instant,
}

impl ProcessInfo {
    /// The current process, started now.
    pub(super) fn current() -> Self {
        Self { pid: std::process::id(), started: SystemTime::now(), started_at: Instant::now() }
    }

    /// The time when it started.
    pub(super) fn started(&self) -> SystemTime {
        self.started
    }

    /// The time since then.
    pub(super) fn uptime(&self) -> Duration {
        self.started_at.elapsed()
    }
}

/// The document.
pub(super) fn document(
    status: &SupervisorStatus,
    store: Option<&StoreStatus>,
    replicas: Option<&[Replica]>,
    process: &ProcessInfo,
    ready: bool,
) -> Value {
    let SupervisorStatus {
        generation,
        config,
        plugins: _,
        watch_mode: watching,
        is_settled: settled,
        reload_counts: reloads,
        history,
    } = status;
    let ConfigStatus { file, digest, since, rejected, needs_restart, pending_keys: waiting, stop_grace: _ } =
        config;
    let ReloadCounts { replaced, unchanged, failed, configured, rejected: refused } = reloads;
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "pid": process.pid,
        "started": format_time(process.started),
        "uptime_seconds": process.uptime().as_secs(),
        "ready": ready,
        "generation": generation,
        "settled": settled,
        "config": {
            "file": file.to_string_lossy(),
            "digest": digest.to_string(),
            "since": format_time(*since),
            "rejected": rejected,
            "needs_restart": needs_restart,
            "waiting": waiting,
        },
        "watching": match watching {
            WatchMode::Events => json!({ "by": "events", "reason": null }),
            WatchMode::Polling(reason) => json!({ "by": "polling", "reason": reason }),
            WatchMode::Off => json!({ "by": "off", "reason": null }),
        },
        "store": store.map(store_document),
        "gateways": replicas.map(|replicas| replicas.iter().map(replica_document).collect::<Vec<_>>()),
        "plugins": plugin_documents(status),
        "reloads": {
            "replaced": replaced,
            "unchanged": unchanged,
            "failed": failed,
            "configured": configured,
            "rejected": refused,
        },
        "history": history.iter().map(reload).collect::<Vec<_>>(),
    })
}

fn store_document(status: &StoreStatus) -> Value {
    let StoreStatus { address, server, problem, is_connected, counts } = status;
    let total = |of: fn(&UseCounts) -> u64| counts.iter().map(|(_, counts)| of(counts)).sum::<u64>();
    json!({
        "address": address,
        "server": server,
        "reachable": is_connected,
        "problem": problem.as_ref().map(|problem| json!({ "reason": problem.to_string(), "hint": problem.hint() })),
        "operations": total(|counts| counts.operations),
        "errors": total(|counts| counts.errors),
    })
}

fn replica_document(replica: &Replica) -> Value {
    let Replica { id, report, is_own, differences } = replica;
    let ReplicaReport { host, pid, endpoint, version, config, code, since, started } = report;
    let time = |seconds: u64| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).map(format_time);
    json!({
        "id": id,
        "own": is_own,
        "host": host,
        "pid": pid,
        "endpoint": endpoint,
        "version": version,
        "config_digest": config,
        "since": time(*since),
        "code_digest": code,
        "started": time(*started),
        "differs": differences,
    })
}

/// The plugins, in the order of `gateway.toml`.
///
/// - `id`: the key of its table; `source`: its file; `title`, `description`, `version`: from its manifest.
/// - `state`: `loading`, `serving`, `checking` (it serves, and a reload request or a changed table is being checked),
///   `compiling` (new code is being compiled, while an earlier version serves, if there is one), `degraded` (an earlier
///   version serves) or `failed`.
/// - `sha256` of the serving code, and `since` when it serves.
/// - `offers`: the number of `tools`, `resources`, `templates`, `prompts`.
/// - `trouble`: the problem with its current code or settings: `reason`, `hint`, `retry_at`.
/// - `waiting`: a change that waits for the operator's approval: the `sha256` of other code, or wider `grants`.
/// - `unavailable_directories`: the granted directories that couldn't be opened for the last call.
#[must_use]
pub fn plugin_documents(status: &SupervisorStatus) -> Vec<Value> {
    status.plugins.iter().map(plugin).collect()
}

/// A stable word for the state of a plugin.
pub(super) fn state_word(state: &PluginState, activity: PluginActivity) -> &'static str {
    match (state, activity) {
        (PluginState::Loading | PluginState::Serving, PluginActivity::Compiling) => "compiling",
        (PluginState::Loading, PluginActivity::Idle | PluginActivity::Checking) => "loading",
        (PluginState::Serving, PluginActivity::Checking) => "checking",
        (PluginState::Serving, PluginActivity::Idle) => "serving",
        (PluginState::Degraded(_), _) => "degraded",
        (PluginState::Failed(_), _) => "failed",
    }
}

fn plugin(plugin: &PluginStatus) -> Value {
    let PluginStatus {
        id,
        source,
        origin: _,
        state,
        activity,
        digest,
        since,
        about,
        offer_counts: offers,
        pending_change: waiting,
        unavailable_directories,
    } = plugin;
    let about =
        about.as_ref().map(|PluginAbout { title, description, version }| (title, description, version));
    let OfferCounts { tools, resources, templates, prompts } = offers;
    let word = state_word(state, *activity);
    let trouble = match state {
        PluginState::Loading | PluginState::Serving => None,
        PluginState::Degraded(trouble) | PluginState::Failed(trouble) => Some(trouble),
    };
    json!({
        "id": id.as_str(),
        "title": about.and_then(|(title, _, _)| title.as_ref()),
        "description": about.and_then(|(_, description, _)| description.as_ref()),
        "version": about.map(|(_, _, version)| version),
        "source": source.to_string_lossy(),
        "state": word,
        "sha256": digest.map(|digest| digest.to_string()),
        "since": since.map(format_time),
        "offers": { "tools": tools, "resources": resources, "templates": templates, "prompts": prompts },
        "trouble": trouble.map(|PluginIssue { reason, hint, ends_calls: _, retry_at }| {
            json!({ "reason": reason, "hint": hint, "retry_at": retry_at.map(format_time) })
        }),
        "waiting": waiting.as_ref().map(|waiting| match waiting {
            PendingChange::Code(digest) => json!({ "sha256": digest.to_string(), "grants": null }),
            PendingChange::Grants(grants) => json!({ "sha256": null, "grants": grants }),
        }),
        "unavailable_directories": unavailable_directories.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
    })
}

fn reload(reload: &ReloadRecord) -> Value {
    let ReloadRecord { at, took, plugin, outcome } = reload;
    let (ok, outcome) = match outcome {
        Ok(outcome) => (true, outcome),
        Err(outcome) => (false, outcome),
    };
    json!({
        "at": format_time(*at),
        "took_seconds": (took.as_secs_f64() * 1000.0).round() / 1000.0,
        "plugin": plugin.as_ref().map(|plugin| plugin.as_str()),
        "ok": ok,
        "outcome": outcome,
    })
}
