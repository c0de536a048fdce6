//! Permissions with their use, refused accesses with the change that would allow them, and limits that were reached.

use std::cmp::Reverse;

use maud::{Markup, html};
use moongate_model::access_history::{AccessHistory, GrantUse, LastUse, RefusedAccess};
use moongate_model::names::PluginId;

use super::PageContent;
use super::html::{count, nothing, number, shown, table, text, time, with_code};
use crate::call_history::DeniedCalls;

/// The maximum number of listed refusals.
const MAX_REFUSED: usize = 30;

/// Up to this number of plugins, their permissions are shown without a click.
const MAX_OPEN_SHEETS: usize = 8;

/// The refused accesses: those of plugins without a grant, and calls that no role allows.
pub(super) fn refused(page: &PageContent) -> Markup {
    let snapshot = &page.snapshot;
    let mut all = Vec::new();
    for (plugin, access) in &snapshot.access {
        all.extend(access.refused.iter().map(|RefusedAccess { wanted, fix, count, at }| {
            (*at, plugin, with_code(wanted), fix.as_deref().map(with_code), *count)
        }));
    }
    all.extend(snapshot.calls.denied.iter().map(|denied| {
        let DeniedCalls { called, caller: _, seen } = denied;
        let fix = with_code(&denied.fix());
        (seen.last, &called.plugin, with_code(&denied.access()), Some(fix), seen.count)
    }));
    all.sort_by_key(|(at, ..)| Reverse(*at));
    if all.is_empty() {
        return nothing("Nothing has been refused since the plugins were loaded.");
    }
    let rows: Vec<_> = all
        .into_iter()
        .take(MAX_REFUSED)
        .map(|(at, plugin, wanted, fix, times)| {
            [
                html! { span.name { (plugin) } },
                wanted,
                fix.unwrap_or_else(|| html! { span.more { "no suggestion" } }),
                html! { (count(times)) },
                time(at, page.now),
            ]
        })
        .collect();
    let columns = [text("Plugin"), text("Access"), text("To allow it"), number("Times"), text("Last")];
    table("refused", columns, &rows)
}

/// A sheet for each plugin.
pub(super) fn permissions(page: &PageContent) -> Markup {
    let access = &page.snapshot.access;
    let (granted, without): (Vec<_>, Vec<_>) =
        access.iter().partition(|(_, access)| !access.grants.is_empty());
    if access.is_empty() {
        return nothing("No plugin is serving.");
    }
    let is_open = granted.len() <= MAX_OPEN_SHEETS;
    html! {
        @for (plugin, access) in &granted { (sheet(page, plugin, access, is_open)) }
        @if !without.is_empty() {
            p.nothing {
                "Without permissions: "
                @for (at, (plugin, _)) in without.iter().enumerate() { @if at > 0 { ", " } (plugin) }
                "."
            }
        }
    }
}

fn sheet(page: &PageContent, plugin: &PluginId, access: &AccessHistory, is_open: bool) -> Markup {
    let unused = access.grants.iter().filter(|grant| grant.last_used == LastUse::Never).count();
    let rows: Vec<_> = access
        .grants
        .iter()
        .map(|GrantUse { kind, grant, last_used }| {
            [
                html! { (kind) },
                html! { span.path { (shown(grant)) } },
                match last_used {
                    LastUse::At(at) => time(*at, page.now),
                    LastUse::Never => html! { span.unused { "unused" } },
                    LastUse::Unknown => html! { span.more { "not observed" } },
                },
            ]
        })
        .collect();
    html! {
        details id={ "sheet-" (plugin) } open[is_open] {
            summary {
                span.name id={ "sheet-" (plugin) "-title" } { (plugin) } " "
                span.more {
                    (count(access.grants.len() as u64)) " granted"
                    @if unused > 0 { ", " (count(unused as u64)) " unused" }
                }
            }
            (table(&format!("sheet-{plugin}"), [text("Kind"), text("Permission"), text("Last used")], &rows))
        }
    }
}

/// The limits that calls reached, and refused requests.
pub(super) fn limits(page: &PageContent) -> Markup {
    let mut all = Vec::new();
    for (plugin, word, seen) in &page.snapshot.calls.limits {
        all.push((
            seen.last,
            html! { span.name { (plugin) } },
            html! { "ended or refused calls: " code { (word) } },
            seen.count,
        ));
    }
    for (plugin, access) in &page.snapshot.access {
        all.extend(access.limited.iter().map(|limit| {
            let what = html! { "calls continued: " code { (limit.name) } };
            (limit.at, html! { span.name { (plugin) } }, what, limit.count)
        }));
    }
    for (word, seen) in &page.snapshot.calls.refusals {
        all.push((seen.last, html! { "requests" }, html! { "refused: " code { (word) } }, seen.count));
    }
    if all.is_empty() {
        return nothing("No limit was reached, and no request was refused.");
    }
    all.sort_by_key(|(at, ..)| Reverse(*at));
    let rows: Vec<_> = all
        .into_iter()
        .map(|(at, whose, what, times)| [whose, what, html! { (count(times)) }, time(at, page.now)])
        .collect();
    table("limits", [text("Plugin"), text("Limit"), number("Times"), text("Last")], &rows)
}
