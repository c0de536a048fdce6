//! The gateways that share the store, and their differences.

use std::time::{Duration, UNIX_EPOCH};

use maud::{Markup, html};

use super::PageContent;
use super::html::{Tone, badge, digest, nothing, shown, table, text, time};
use crate::replicas::{Replica, ReplicaReport};

pub(super) fn content(page: &PageContent) -> Markup {
    let replicas = page.snapshot.replicas.as_deref().unwrap_or_default();
    if replicas.is_empty() {
        return nothing("No reports: the store isn't available.");
    }
    let at = |seconds: u64| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).unwrap_or(UNIX_EPOCH);
    let rows: Vec<_> = replicas
        .iter()
        .map(|replica| {
            let Replica { id: _, report, is_own, differences } = replica;
            let ReplicaReport { host: _, pid: _, endpoint: _, version, config, code, since, started } =
                report;
            [
                html! { span.name { (shown(&replica.name())) } },
                match (differences.as_slice(), is_own) {
                    (_, true) => badge(Tone::Neutral, "this gateway"),
                    ([], false) => badge(Tone::Good, "same"),
                    (differences, false) => {
                        badge(Tone::Warning, &format!("other {}", differences.join(", ")))
                    }
                },
                html! { (shown(version)) },
                html! { (digest(config)) span.more { "since " (time(at(*since), page.now)) } },
                digest(code),
                time(at(*started), page.now),
            ]
        })
        .collect();
    let columns = [
        text("Gateway"),
        text("Compared"),
        text("Version"),
        text("Configuration"),
        text("Code"),
        text("Started"),
    ];
    table("gateways", columns, &rows)
}
