//! The state of the gateway at a glance, and what needs the operator.

use maud::{Markup, html};

use super::html::{Tone, badge, count, digest, plot, reload_form, shown, time, with_code};
use super::{PageContent, REPLICAS, ServingState};
use crate::call_history::sum_of_hours;
use crate::supervisor::status::{
    ConfigStatus, PendingChange, PluginIssue, PluginState, PluginStatus, WatchMode,
};

/// The maximum number of listed matters.
const MAX_MATTERS: usize = 20;

/// Something that needs the operator.
struct Matter {
    tone: Tone,
    title: Markup,
    details: Vec<String>,
    /// True if a reload request ends it.
    needs_reload: bool,
}

pub(super) fn content(page: &PageContent) -> Markup {
    let status = &page.snapshot.status;
    let (tone, word) = match page.state {
        ServingState::Loading => (Tone::Warning, "Loading"),
        ServingState::Ready => (Tone::Good, "Ready"),
        ServingState::Stopping => (Tone::Bad, "Stopping"),
    };
    let matters = matters(page);
    html! {
        p.identity {
            (badge(tone, word)) " "
            code { (shown(&status.config.file.to_string_lossy())) }
            " (" (digest(&status.config.digest.to_string())) ") in use since " (time(status.config.since, page.now))
            @match &status.watch_mode {
                WatchMode::Events => {}
                WatchMode::Polling(reason) => { ", watched by polling (" (shown(reason)) ")" }
                WatchMode::Off => { ", not watched: changes need a reload" }
            }
        }
        (figures(page))
        @if !matters.is_empty() {
            div.attention {
                h3 { "Needs attention" }
                ul {
                    @for matter in matters.iter().take(MAX_MATTERS) {
                        li {
                            (badge(matter.tone, if matter.needs_reload { "waits" } else { "problem" })) " "
                            (matter.title)
                            @if !matter.details.is_empty() {
                                ul { @for detail in &matter.details { li { (with_code(detail)) } } }
                            }
                        }
                    }
                }
                @if matters.len() > MAX_MATTERS {
                    p { "And " (count((matters.len() - MAX_MATTERS) as u64)) " more; see the plugins below." }
                }
                @if matters.iter().any(|matter| matter.needs_reload) { (reload_form("Reload and apply")) }
            }
        }
    }
}

/// The numbers at the top.
fn figures(page: &PageContent) -> Markup {
    let snapshot = &page.snapshot;
    let plugins = &snapshot.status.plugins;
    let number =
        |is: fn(&PluginState) -> bool| plugins.iter().filter(|plugin| is(&plugin.state)).count() as u64;
    let serving = number(|state| matches!(state, PluginState::Serving));
    let others = [
        (number(|state| matches!(state, PluginState::Loading)), "loading"),
        (number(|state| matches!(state, PluginState::Degraded(_))), "degraded"),
        (number(|state| matches!(state, PluginState::Failed(_))), "failed"),
    ];
    let others: Vec<String> = others
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    let hour = sum_of_hours(snapshot.calls.items.iter().map(|(_, counts)| &counts.minutes));
    let total = |value: fn(&crate::call_history::MinuteCounts) -> u32| {
        hour.iter().map(|minute| u64::from(value(minute))).sum::<u64>()
    };
    let (calls, errors) = (total(|minute| minute.calls), total(|minute| minute.errors));
    let running: u64 = snapshot.loads.values().map(|load| u64::from(load.running)).sum();
    let waiting: u64 = snapshot.loads.values().map(|load| u64::from(load.waiting)).sum();
    let sessions = snapshot.clients.sessions + snapshot.clients.legacy_sse_clients;
    let streams = snapshot.clients.listen_streams;
    html! {
        dl.figures {
            div {
                dt { "Plugins serving" }
                dd { (count(serving)) }
                dd.more { @if others.is_empty() { "of " (count(plugins.len() as u64)) } @else { (others.join(", ")) } }
            }
            div.wide {
                dt { "Calls in the last hour" }
                dd { (count(calls)) }
                dd.more { @match plot(&hour) { Some(plot) => (plot), None => "none" } }
            }
            div {
                dt { "Errors" }
                dd class=[(errors > 0).then_some("bad")] { (count(errors)) }
                dd.more { @if calls > 0 { (format!("{:.1} %", errors as f64 * 100.0 / calls as f64)) } @else { "no calls" } }
            }
            div {
                dt { "Running now" }
                dd { (count(running)) }
                dd.more { (count(waiting)) " waiting" }
            }
            div {
                dt { "Sessions" }
                dd { (count(sessions as u64)) }
                dd.more { (count(streams as u64)) " notification streams" }
            }
            div {
                dt { "Uptime" }
                dd { (uptime(page.process.uptime().as_secs())) }
                dd.more { "since " (time(page.process.started(), page.now)) }
            }
        }
    }
}

fn uptime(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {} min", minutes % 60),
        (days, hours, _) => format!("{days} d {} h", hours % 24),
    }
}

fn matters(page: &PageContent) -> Vec<Matter> {
    let status = &page.snapshot.status;
    let ConfigStatus { file: _, digest: _, since: _, rejected, needs_restart, pending_keys, stop_grace: _ } =
        &status.config;
    let keys = |keys: &[String]| html! { @for key in keys { code { (shown(key)) } " " } };
    let rejected = rejected.iter().map(|reason| Matter {
        tone: Tone::Bad,
        title: html! { "The current content of the configuration file isn't used" },
        details: vec![shown(reason)],
        needs_reload: false,
    });
    let restart = (!needs_restart.is_empty()).then(|| Matter {
        tone: Tone::Warning,
        title: html! { "A restart applies " (keys(needs_restart)) },
        details: Vec::new(),
        needs_reload: false,
    });
    let pending = (!pending_keys.is_empty()).then(|| Matter {
        tone: Tone::Warning,
        title: html! { "A reload applies " (keys(pending_keys)) },
        details: Vec::new(),
        needs_reload: true,
    });
    let others: Vec<_> = page.snapshot.replicas.iter().flatten().collect();
    let others = others.iter().filter(|replica| !replica.differences.is_empty());
    let others: Vec<String> = others
        .map(|other| shown(&format!("{}: other {}", other.name(), other.differences.join(", "))))
        .collect();
    let others = (!others.is_empty()).then(|| Matter {
        tone: Tone::Warning,
        title: html! { a href={ "#" (REPLICAS) } { "Gateways" } " that share the store differ from this one" },
        details: others,
        needs_reload: false,
    });
    let plugins = status.plugins.iter().flat_map(of_plugin);
    rejected.chain(restart).chain(pending).chain(others).chain(plugins).collect()
}

/// What a plugin needs.
fn of_plugin(plugin: &PluginStatus) -> Vec<Matter> {
    let id = html! { a href={ "#plugin-" (plugin.id) } { (plugin.id) } };
    let mut matters = Vec::new();
    if let Some(pending) = &plugin.pending_change {
        let (title, details) = match pending {
            PendingChange::Code(pending) => (
                html! { (id) " has new code " (digest(&pending.to_string())) ", which is pinned" },
                Vec::new(),
            ),
            PendingChange::Grants(grants) => {
                (html! { (id) " gets wider permissions" }, grants.iter().map(|grant| shown(grant)).collect())
            }
        };
        matters.push(Matter { tone: Tone::Warning, title, details, needs_reload: true });
    }
    let issue = match &plugin.state {
        PluginState::Loading | PluginState::Serving => None,
        PluginState::Degraded(issue) => Some((Tone::Warning, issue)),
        PluginState::Failed(issue) => Some((Tone::Bad, issue)),
    };
    if let Some((tone, issue)) = issue {
        let PluginIssue { reason, hint, ends_calls: _, retry_at: _ } = issue;
        let details = hint.iter().map(|hint| format!("hint: {}", shown(hint))).collect();
        matters.push(Matter {
            tone,
            title: html! { (id) ": " (with_code(reason)) },
            details,
            needs_reload: false,
        });
    }
    if !plugin.unavailable_directories.is_empty() {
        let paths = plugin.unavailable_directories.iter();
        matters.push(Matter {
            tone: Tone::Warning,
            title: html! { (id) ": granted directories can't be opened" },
            details: paths.map(|path| shown(&path.to_string_lossy())).collect(),
            needs_reload: false,
        });
    }
    matters
}
