//! The latest reloads.

use maud::{Markup, html};

use super::PageContent;
use super::html::{Tone, badge, nothing, number, table, text, time, with_code};
use crate::call_line::short_duration;
use crate::supervisor::status::ReloadRecord;

/// The separator of the changes in an outcome.
const SEPARATOR: &str = "; ";

pub(super) fn content(page: &PageContent) -> Markup {
    let history = &page.snapshot.status.history;
    if history.is_empty() {
        return nothing("Nothing has changed since the gateway started.");
    }
    let rows: Vec<_> = history
        .iter()
        .map(|ReloadRecord { at, took, plugin, outcome }| {
            let (tone, word, changes) = match outcome {
                Ok(changes) => (Tone::Good, "applied", changes.split(SEPARATOR).collect()),
                Err(reason) => (Tone::Bad, "failed", vec![reason.as_str()]),
            };
            [
                time(*at, page.now),
                html! {
                    span.name { @match plugin { Some(plugin) => (plugin), None => "configuration" } }
                },
                badge(tone, word),
                html! { ul.changes { @for change in &changes { li { (with_code(change)) } } } },
                html! { (short_duration(*took)) },
            ]
        })
        .collect();
    let columns = [text("Time"), text("Reloaded"), text("Result"), text("Changes"), number("Duration")];
    table("reloads", columns, &rows)
}
