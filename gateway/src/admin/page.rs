//! The status page: what the gateway serves, refuses and waits for, as HTML.
//!
//! Everything is rendered here. The script only replaces sections by newer ones, so the page works without it. Text from
//! plugins, callers and files is hostile: `maud` escapes it, [`html::shown`] makes hidden characters visible, and the
//! content security policy lets nothing run that isn't a file of this listener.

use std::collections::BTreeMap;
use std::time::SystemTime;

use maud::{DOCTYPE, Markup, html};
use moongate_model::access_history::AccessHistory;
use moongate_model::names::PluginId;
use moongate_protocol::limiter::CallLoad;
use moongate_protocol::server::ServerGauges;

use crate::admin::report::ProcessInfo;
use crate::admin::tool_trial::TrialAccess;
use crate::call_history::RememberedCalls;
use crate::replicas::Replica;
use crate::supervisor::status::SupervisorStatus;

mod access;
mod calls;
mod html;
mod plugins;
mod reloads;
mod replicas;
mod summary;
pub(super) mod trial;

/// The policy of the page: nothing but files of this listener, no inline script or style, and no frame around it.
pub(super) const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The style sheet, the script and the icon.
pub(super) const STYLE: &str = include_str!("page/status.css");
pub(super) const SCRIPT: &str = include_str!("page/status.js");
pub(super) const ICON: &str = include_str!("page/icon.svg");

/// The interval at which browsers without scripts load the page again, in seconds.
const REFRESH_SECONDS: &str = "10";

/// The state of the gateway at one moment, as the page shows it.
#[derive(Debug)]
pub struct GatewaySnapshot {
    /// The configuration and the plugins.
    pub status: SupervisorStatus,
    /// The running and waiting calls of each plugin.
    pub loads: BTreeMap<PluginId, CallLoad>,
    /// The clients.
    pub clients: ServerGauges,
    /// The calls of the last hour.
    pub calls: RememberedCalls,
    /// How the serving plugins used their grants.
    pub access: BTreeMap<PluginId, AccessHistory>,
    /// The gateways that share the store. `None` without a shared store.
    pub replicas: Option<Vec<Replica>>,
}

/// The progress of the gateway between its start and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServingState {
    /// Plugins are being loaded for the first time.
    Loading,
    /// It accepts requests.
    Ready,
    /// It is stopping.
    Stopping,
}

/// A snapshot, and facts about the process.
#[derive(Debug)]
pub(super) struct PageContent {
    pub(super) snapshot: GatewaySnapshot,
    pub(super) process: ProcessInfo,
    pub(super) state: ServingState,
    pub(super) now: SystemTime,
}

/// A part of the page that changes by itself.
#[derive(Debug, Clone, Copy)]
struct Section {
    /// Its HTML id, and the name of its events.
    id: &'static str,
    /// Its heading.
    title: &'static str,
    /// A sentence below the heading.
    note: &'static str,
    content: fn(&PageContent) -> Markup,
}

const SECTIONS: [Section; 10] = [
    Section { id: "summary", title: "Summary", note: "", content: summary::content },
    Section {
        id: "plugins",
        title: "Plugins",
        note: "Counts are of the last hour.",
        content: plugins::content,
    },
    Section {
        id: "tools",
        title: "Tools",
        note: "The tools, prompts and resources that were called in the last hour, most calls first.",
        content: calls::items,
    },
    Section {
        id: "refused",
        title: "Refused",
        note: "Accesses without a grant, and calls that no role allows, newest first.",
        content: access::refused,
    },
    Section {
        id: "permissions",
        title: "Permissions",
        note: "The permissions of each plugin, with their last use. Remove those that no call needs.",
        content: access::permissions,
    },
    Section {
        id: "limits",
        title: "Limits",
        note: "Limits that calls reached, and requests that were refused before they reached a plugin.",
        content: access::limits,
    },
    Section {
        id: "callers",
        title: "Callers",
        note: "Since the gateway started, latest call first.",
        content: calls::callers,
    },
    Section { id: "calls", title: "Latest calls", note: "", content: calls::recent },
    Section {
        id: "reloads",
        title: "Reloads",
        note: "Changes to plugins, tools and permissions, newest first.",
        content: reloads::content,
    },
    Section {
        id: REPLICAS,
        title: "Gateways",
        note: "The gateways that share the store. They need the same version, configuration and code.",
        content: replicas::content,
    },
];

/// The section that only gateways with a shared store have.
const REPLICAS: &str = "gateways";

/// The sections of this page. They stay the same while the gateway runs.
fn shown_sections(content: &PageContent) -> impl Iterator<Item = &'static Section> {
    let has_replicas = content.snapshot.replicas.is_some();
    SECTIONS.iter().filter(move |section| section.id != REPLICAS || has_replicas)
}

/// The page.
pub(super) fn document(content: &PageContent, access: TrialAccess) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Moongate" }
                link rel="icon" href="icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="status.css";
                script src="status.js" defer {}
                noscript { meta http-equiv="refresh" content=(REFRESH_SECONDS); }
            }
            body {
                a.skip href="#main" { "Skip to content" }
                header {
                    div.brand {
                        img src="icon.svg" alt="" width="28" height="28";
                        h1 { "Moongate" }
                        span.version { (env!("CARGO_PKG_VERSION")) }
                    }
                    nav aria-label="Sections" {
                        @for section in shown_sections(content).skip(1) { a href={ "#" (section.id) } { (section.title) } }
                        @if access == TrialAccess::Allowed { a href="try" { "Try a tool" } }
                    }
                    (html::reload_form("Reload"))
                }
                div #notice role="status" {}
                main #main {
                    @for section in shown_sections(content) {
                        section #(section.id) data-live aria-labelledby={ (section.id) "-title" } {
                            (section.render(content))
                        }
                    }
                }
                footer {
                    "Times are in UTC. For programs: "
                    a href="status.json" { "status.json" } ", " a href="metrics" { "metrics" } "."
                }
            }
        }
    };
    document.into_string()
}

/// The content of each section, by its id.
pub(super) fn sections(content: &PageContent) -> Vec<(&'static str, String)> {
    shown_sections(content).map(|section| (section.id, section.render(content).into_string())).collect()
}

impl Section {
    fn render(&self, content: &PageContent) -> Markup {
        html! {
            h2 id={ (self.id) "-title" } { (self.title) }
            @if !self.note.is_empty() { p.note { (self.note) } }
            ((self.content)(content))
        }
    }
}

#[cfg(test)]
mod tests;
