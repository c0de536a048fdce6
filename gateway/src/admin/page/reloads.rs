//! The latest reloads.

use maud::{Markup, html};

use super::PageContent;
use super::html::{Tone, badge, duration, nothing, number, shown, table, text, time};
use crate::supervisor::status::ReloadRecord;

/// The separator of the changes in an outcome.
const SEPARATOR: &str = "; ";

pub(super) fn content(page: &PageContent) -> Markup {
    let history = &page.snapshot.status.history;
    if history.is_empty() {
        return nothing("Nothing changed since the gateway started.");
    }
    let rows: Vec<_> = history
        .iter()
        .map(|ReloadRecord { at, took, plugin, outcome }| {
            let (tone, word, changes) = match outcome {
                Ok(changes) => (Tone::Good, "applied", changes),
                Err(reason) => (Tone::Bad, "failed", reason),
            };
            [
                time(*at, page.now),
                html! {
                    @match plugin { Some(plugin) => span.name { (plugin) }, None => "configuration" }
                },
                badge(tone, word),
                html! { ul.changes { @for change in changes.split(SEPARATOR) { li { (shown(change)) } } } },
                html! { (duration(*took)) },
            ]
        })
        .collect();
    let columns = [text("Time"), text("Of"), text("Result"), text("Changes"), number("Took")];
    table("reloads", columns, &rows)
}
