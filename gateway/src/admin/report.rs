//! `/status.json`: what the gateway does, for programs. Fields are only ever added.
//!
//! Every field is always there, `null` where there is nothing to say. Times are RFC 3339 in UTC. Nothing of it is
//! secret: of the configuration it names files, keys and grants, and no value.
//!
//! - `version`, `pid`, `started`, `uptime_seconds`: the process. `ready`: what `/readyz` says.
//! - `generation`: how often what is served was replaced; `settled`: nothing is being read, compiled or asked.
//! - `config`: its `file`; `since` when it is in use; `rejected`: why what stands in the file now isn't;
//!   `needs_restart`: keys that changed and wait for a restart; `waiting`: keys that wait for the operator.
//! - `watching`: `by` is `events`, `polling` (then `reason` says why) or `off`.
//! - `plugins`: in the order of `gateway.toml`, see [`plugins`].
//! - `reloads`: counts since the start: `replaced`, `unchanged`, `failed`, `configured`, `rejected`.
//! - `history`: the last reloads, newest first: `at`, `took_seconds`, `plugin` (`null`: the configuration), `ok`,
//!   `outcome`.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::supervisor::status::{
    About, ConfigStatus, Offers, PluginState, PluginStatus, Reload, Reloads, Status, Trouble, Waiting,
    Watching,
};

/// The last second that RFC 3339 can write, in the year 9999.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// A moment in RFC 3339, in UTC, with milliseconds.
#[must_use]
pub fn time(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at.clamp(UNIX_EPOCH, UNIX_EPOCH + LAST)).to_string()
}

/// The process that tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Process {
    pid: u32,
    started: SystemTime,
    /// The wall clock may be set anew meanwhile.
    since: Instant,
}

impl Process {
    /// This one, from now on.
    pub(super) fn this() -> Self {
        Self { pid: std::process::id(), started: SystemTime::now(), since: Instant::now() }
    }
}

/// The whole document.
pub(super) fn document(status: &Status, process: &Process, ready: bool) -> Value {
    let Status { generation, config, plugins: _, watching, settled, reloads, history } = status;
    let ConfigStatus { file, since, rejected, needs_restart, waiting, stop_grace: _ } = config;
    let Reloads { replaced, unchanged, failed, configured, rejected: refused } = reloads;
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "pid": process.pid,
        "started": time(process.started),
        "uptime_seconds": process.since.elapsed().as_secs(),
        "ready": ready,
        "generation": generation,
        "settled": settled,
        "config": {
            "file": file.to_string_lossy(),
            "since": time(*since),
            "rejected": rejected,
            "needs_restart": needs_restart,
            "waiting": waiting,
        },
        "watching": match watching {
            Watching::Events => json!({ "by": "events", "reason": null }),
            Watching::Polling(reason) => json!({ "by": "polling", "reason": reason }),
            Watching::Off => json!({ "by": "off", "reason": null }),
        },
        "plugins": plugins(status),
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

/// The plugins, in the order of `gateway.toml`.
///
/// - `id`: the key of its table; `source`: its file; `title`, `description`, `version`: what it says of itself.
/// - `state`: `loading`, `serving`, `degraded` (an earlier version serves) or `failed`.
/// - `sha256` of the code that serves, and `since` when it does.
/// - `offers`: how many `tools`, `resources`, `templates`, `prompts`.
/// - `trouble`: why it isn't used as it is now: `reason`, `hint`, `retry_at`.
/// - `waiting`: what waits for the operator: `sha256` of other code, or `grants` that are wider.
#[must_use]
pub fn plugins(status: &Status) -> Vec<Value> {
    status.plugins.iter().map(plugin).collect()
}

fn plugin(plugin: &PluginStatus) -> Value {
    let PluginStatus { id, source, state, digest, since, about, offers, waiting } = plugin;
    let about = about.as_ref().map(|About { title, description, version }| (title, description, version));
    let Offers { tools, resources, templates, prompts } = offers;
    let (state, trouble) = match state {
        PluginState::Loading => ("loading", None),
        PluginState::Serving => ("serving", None),
        PluginState::Degraded(trouble) => ("degraded", Some(trouble)),
        PluginState::Failed(trouble) => ("failed", Some(trouble)),
    };
    json!({
        "id": id.as_str(),
        "title": about.and_then(|(title, _, _)| title.as_ref()),
        "description": about.and_then(|(_, description, _)| description.as_ref()),
        "version": about.map(|(_, _, version)| version),
        "source": source.to_string_lossy(),
        "state": state,
        "sha256": digest.map(|digest| digest.to_string()),
        "since": since.map(time),
        "offers": { "tools": tools, "resources": resources, "templates": templates, "prompts": prompts },
        "trouble": trouble.map(|Trouble { reason, hint, ends_calls: _, retry_at }| {
            json!({ "reason": reason, "hint": hint, "retry_at": retry_at.map(time) })
        }),
        "waiting": waiting.as_ref().map(|waiting| match waiting {
            Waiting::Code(digest) => json!({ "sha256": digest.to_string(), "grants": null }),
            Waiting::Grants(grants) => json!({ "sha256": null, "grants": grants }),
        }),
    })
}

fn reload(reload: &Reload) -> Value {
    let Reload { at, took, plugin, outcome } = reload;
    let (ok, outcome) = match outcome {
        Ok(outcome) => (true, outcome),
        Err(outcome) => (false, outcome),
    };
    json!({
        "at": time(*at),
        "took_seconds": (took.as_secs_f64() * 1000.0).round() / 1000.0,
        "plugin": plugin.as_ref().map(|plugin| plugin.as_str()),
        "ok": ok,
        "outcome": outcome,
    })
}
