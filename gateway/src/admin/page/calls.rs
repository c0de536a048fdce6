//! The calls: by tool, by caller, and the latest ones.

use std::time::Duration;

use maud::{Markup, html};
use moongate_protocol::dispatch::CallKind;

use super::PageContent;
use super::html::{Tone, badge, count, errors, nothing, number, plot, shown, table, text, time, with_code};
use crate::call_history::{CalledName, CallerUse, RecentCall};
use crate::call_line::short_duration;

/// For calls that took at least this long, the page shows the wait and the CPU time.
const MIN_EXPLAINED_DURATION: Duration = Duration::from_millis(100);

/// The shortest wait that is shown.
const MIN_SHOWN_WAIT: Duration = Duration::from_millis(1);

/// The maximum number of listed tools.
const MAX_ITEMS: usize = 200;

fn called_name(called: &CalledName) -> Markup {
    html! {
        @match (&called.name, called.kind) {
            (Some(name), CallKind::Tool) => span.name { (name) },
            (Some(name), kind) => { span.name { (name) } " " span.more { (kind.as_str()) } }
            (None, CallKind::Resource) => { span.name { (called.plugin) } " " span.more { "resources" } }
            (None, kind) => { span.name { (called.plugin) } " " span.more { (kind.as_str()) "s" } }
        }
    }
}

/// What was called in the last hour.
pub(super) fn items(page: &PageContent) -> Markup {
    let mut items: Vec<_> = page.snapshot.calls.items.iter().collect();
    items.retain(|(_, counts)| counts.calls() > 0 || counts.in_flight > 0);
    items.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.calls()));
    if items.is_empty() {
        return nothing("No calls in the last hour.");
    }
    let took =
        |took: Option<Duration>| html! { @match took { Some(took) => (short_duration(took)), None => "–" } };
    let rows: Vec<_> = items
        .iter()
        .take(MAX_ITEMS)
        .map(|(called, counts)| {
            [
                called_name(called),
                html! { (called.plugin) },
                html! { (count(counts.calls())) },
                errors(counts.errors()),
                took(counts.p50),
                took(counts.p95),
                html! { (counts.in_flight) },
                html! { @if let Some(plot) = plot(&counts.minutes) { (plot) } },
            ]
        })
        .collect();
    let columns = [
        text("Tool"),
        text("Plugin"),
        number("Calls"),
        number("Errors"),
        number("p50"),
        number("p95"),
        number("Running"),
        text("Last hour"),
    ];
    html! {
        (table("tools", columns, &rows))
        @if items.len() > MAX_ITEMS { p.note { "And " (count((items.len() - MAX_ITEMS) as u64)) " more." } }
    }
}

/// The callers.
pub(super) fn callers(page: &PageContent) -> Markup {
    let callers = &page.snapshot.calls.callers;
    if callers.is_empty() {
        return nothing("No callers yet.");
    }
    let rows: Vec<_> = callers
        .iter()
        .map(|(caller, used)| {
            let CallerUse { calls, errors: failed, last } = *used;
            [
                html! { span.name { (shown(&caller.to_string())) } },
                html! { (count(calls)) },
                errors(failed),
                time(last, page.now),
            ]
        })
        .collect();
    table("callers", [text("Caller"), number("Calls"), number("Errors"), text("Last call")], &rows)
}

/// The duration of a call. For a slow one, also its wait in the queue and its CPU time: the rest of the time, it waited
/// for files, other servers or a processor.
fn duration(call: &RecentCall) -> Markup {
    let RecentCall { took, waited, cpu_time, .. } = call;
    let waited = waited.filter(|waited| *waited >= MIN_SHOWN_WAIT);
    html! {
        (short_duration(*took))
        @if *took >= MIN_EXPLAINED_DURATION {
            span.more {
                @if let Some(waited) = waited { (short_duration(waited)) " queued, " }
                (short_duration(*cpu_time)) " CPU"
            }
        }
    }
}

/// The latest calls.
pub(super) fn recent(page: &PageContent) -> Markup {
    let recent = &page.snapshot.calls.recent;
    if recent.is_empty() {
        return nothing("No calls yet.");
    }
    let rows: Vec<_> = recent
        .iter()
        .map(|call| {
            let RecentCall { number: _, at, called, caller, outcome, is_success, error, .. } = call;
            [
                time(*at, page.now),
                called_name(called),
                html! { (shown(&caller.to_string())) },
                html! {
                    (badge(if *is_success { Tone::Good } else { Tone::Bad }, outcome))
                    @if let Some(error) = error { span.more { (with_code(error)) } }
                },
                duration(call),
            ]
        })
        .collect();
    let columns = [text("Time"), text("Called"), text("Caller"), text("Outcome"), number("Duration")];
    table("calls", columns, &rows)
}
