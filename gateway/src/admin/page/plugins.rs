//! The plugins: state, version, code, source and use.

use std::collections::BTreeMap;

use maud::{Markup, html};
use moongate_model::names::PluginId;

use super::PageContent;
use super::html::{Tone, badge, count, digest, errors, nothing, number, plot, shown, table, text, time};
use crate::call_history::{CallFailure, ItemCounts, sum_of_hours};
use crate::supervisor::status::{
    CodeOrigin, OfferCounts, PluginAbout, PluginActivity, PluginState, PluginStatus,
};

pub(super) fn content(page: &PageContent) -> Markup {
    let plugins = &page.snapshot.status.plugins;
    if plugins.is_empty() {
        return nothing(
            "No plugins are configured. Run `moongate add NAME`, or add a table to `gateway.toml`.",
        );
    }
    let mut counts = BTreeMap::<&PluginId, Vec<&ItemCounts>>::new();
    for (called, item) in &page.snapshot.calls.items {
        counts.entry(&called.plugin).or_default().push(item);
    }
    let columns = [
        text("Plugin"),
        text("State"),
        text("Code"),
        number("Offers"),
        number("Calls"),
        number("Errors"),
        number("Running"),
        text("Last hour"),
    ];
    let rows: Vec<_> = plugins
        .iter()
        .map(|plugin| {
            let items = counts.get(&plugin.id).map(Vec::as_slice).unwrap_or_default();
            let load = page.snapshot.loads.get(&plugin.id).copied().unwrap_or_default();
            [
                name(plugin),
                state(page, plugin),
                code(plugin),
                offers(plugin.offer_counts),
                html! { (count(items.iter().map(|item| item.calls()).sum())) },
                errors(items.iter().map(|item| item.errors()).sum()),
                html! {
                    (load.running)
                    @if load.waiting > 0 { span.more { (load.waiting) " waiting" } }
                },
                html! { @if let Some(plot) = plot(&sum_of_hours(items.iter().map(|item| &item.minutes))) { (plot) } },
            ]
        })
        .collect();
    table("plugins", columns, &rows)
}

fn name(plugin: &PluginStatus) -> Markup {
    let about = plugin.about.as_ref();
    html! {
        span.name id={ "plugin-" (plugin.id) } { (plugin.id) }
        @if let Some(PluginAbout { title, version, description }) = about {
            " " span.version { (shown(version)) }
            @if let Some(text) = title.as_ref().or(description.as_ref()) { span.more { (shown(text)) } }
        }
    }
}

fn state(page: &PageContent, plugin: &PluginStatus) -> Markup {
    let (tone, word) = match (&plugin.state, plugin.activity) {
        (PluginState::Loading, PluginActivity::Compiling) => (Tone::Neutral, "compiling"),
        (PluginState::Loading, PluginActivity::Idle | PluginActivity::Checking) => (Tone::Neutral, "loading"),
        (PluginState::Serving, PluginActivity::Idle | PluginActivity::Checking) => (Tone::Good, "serving"),
        (PluginState::Serving, PluginActivity::Compiling) => (Tone::Good, "serving, compiling"),
        (PluginState::Degraded(_), _) => (Tone::Warning, "degraded"),
        (PluginState::Failed(_), _) => (Tone::Bad, "failed"),
    };
    let retry = match &plugin.state {
        PluginState::Degraded(issue) | PluginState::Failed(issue) => issue.retry_at,
        PluginState::Loading | PluginState::Serving => None,
    };
    html! {
        (badge(tone, word))
        @if let Some(since) = plugin.since { span.more { "since " (time(since, page.now)) } }
        @if let Some(at) = retry { span.more { "next retry " (time(at, page.now)) } }
        @if let Some(CallFailure { at, called, message }) = page.snapshot.calls.failures.get(&plugin.id) {
            span.more {
                "last error " (time(*at, page.now)) ", "
                @match &called.name { Some(name) => (name), None => (called.kind.as_str()) }
                ": " (shown(message))
            }
        }
    }
}

fn code(plugin: &PluginStatus) -> Markup {
    let source = shown(&plugin.source.to_string_lossy());
    html! {
        @match plugin.digest {
            Some(code) => (digest(&code.to_string())),
            None => span.more { "not loaded" },
        }
        @match &plugin.origin {
            CodeOrigin::Builtin => span.more { "built in" },
            CodeOrigin::File => span.more.path { (source) },
            CodeOrigin::PinnedFile => {
                span.more.path { (source) }
                span.more { "pinned by sha256" }
            }
            CodeOrigin::Locked { address } => {
                span.more.path { (shown(address)) }
                span.more { "locked" }
            }
            CodeOrigin::Unlocked { address } => {
                span.more.path { (shown(address)) }
                span.more.bad { "not locked" }
            }
        }
    }
}

fn offers(offers: OfferCounts) -> Markup {
    let OfferCounts { tools, resources, templates, prompts } = offers;
    let others = [(resources, "resources"), (templates, "templates"), (prompts, "prompts")];
    html! {
        (count(tools as u64)) " " @if tools == 1 { "tool" } @else { "tools" }
        @for (number, word) in others {
            @if number > 0 { span.more { (count(number as u64)) " " (if number == 1 { &word[..word.len() - 1] } else { word }) } }
        }
    }
}
