//! The permissions of a plugin on one page: what it reads, writes, sends, asks and keeps.

use std::fmt::Write as _;
use std::path::Path;

use moongate_config::{
    ClientFeature, Credential, DirMode, HttpGrant, NeedMatch, PluginConfig, Requested, StateGrant, StateScope,
};
use moongate_model::manifest::{GuestCapability, Manifest};

use super::preview::PluginPreview;
use crate::cli::print::{count, inline, name_and_version, summary};

/// The word for a permission that isn't granted.
const NOTHING: &str = "nothing";

/// The maximum number of tools that are named.
const MAX_NAMED_TOOLS: usize = 8;

/// The page for a plugin with this configuration. `source` is the origin of its component, for people, and `state` is the directory of plugins' state.
pub(super) fn page(
    preview: &PluginPreview,
    config: &PluginConfig,
    source: &str,
    state: Option<&Path>,
) -> String {
    let PluginPreview { digest, interfaces, manifest } = preview;
    let matches = config.compare_with_imports(interfaces);
    let (mut page, tools) = match manifest {
        Ok(manifest) => (format!("{}\n", heading(manifest)), named_tools(manifest)),
        Err(reason) => (
            format!("{}\n", config.id),
            format!("unknown, because it can't describe itself without grants: {}", inline(reason)),
        ),
    };
    let mut rows = vec![("source", inline(source)), ("digest", digest.to_string()), ("tools", tools)];
    write_rows(&mut page, "", &rows);
    rows = permissions(config, &matches, state);
    let instructions = manifest.as_ref().ok().and_then(|manifest| manifest.info.instructions.as_deref());
    if instructions.is_some_and(|text| !text.trim().is_empty()) || config.allow.instructions {
        let granted = if config.allow.instructions { "the model, on how to use its tools" } else { NOTHING };
        rows.push(("advises", granted.to_owned()));
    }
    write_rows(&mut page, "permissions\n", &rows);
    page
}

/// Name and version, and the first sentence of the description.
fn heading(Manifest { info, .. }: &Manifest) -> String {
    let name = inline(&name_and_version(info));
    match info.description.as_deref().map(summary).unwrap_or_default() {
        about if about.is_empty() => name,
        about => format!("{name}: {about}"),
    }
}

fn named_tools(Manifest { tools, .. }: &Manifest) -> String {
    let named: Vec<String> =
        tools.iter().take(MAX_NAMED_TOOLS).map(|tool| inline(tool.name.as_str())).collect();
    let more = if tools.len() > MAX_NAMED_TOOLS { ", …" } else { "" };
    format!("{}: {}{more}", count(tools.len(), "tool"), named.join(", "))
}

fn write_rows(page: &mut String, title: &str, rows: &[(&str, String)]) {
    page.push_str(title);
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    for (name, value) in rows {
        let _ = writeln!(page, "  {name:width$}  {value}");
    }
}

/// One row for each kind of permission.
fn permissions(
    config: &PluginConfig,
    matches: &[NeedMatch],
    state: Option<&Path>,
) -> Vec<(&'static str, String)> {
    let allow = &config.allow;
    let directories = |is_listed: &dyn Fn(DirMode) -> bool| -> Vec<String> {
        let listed = allow.dirs.iter().filter(|dir| is_listed(dir.mode));
        listed
            .map(|dir| {
                let host = dir.host_path.to_string_lossy();
                if host == dir.guest_path {
                    host.into_owned()
                } else {
                    format!("{host} as {}", dir.guest_path)
                }
            })
            .collect()
    };
    let sent = allow.http.iter().map(|grant| format!("requests to {}", HttpGrant::describe(grant)));
    let sent: Vec<String> = sent.chain(allow.credentials.iter().map(Credential::describe)).collect();
    let asked: Vec<String> = allow.client.iter().map(|feature| asked_word(*feature).to_owned()).collect();
    let mut rows = vec![
        ("reads", listed(&directories(&|_| true), matches, GuestCapability::Files)),
        ("writes", listed(&directories(&|mode| mode == DirMode::ReadWrite), &[], GuestCapability::Files)),
        ("sends", listed(&sent, matches, GuestCapability::Http)),
        ("asks", listed(&asked, matches, GuestCapability::Client)),
        ("keeps", listed(&kept(config, state), matches, GuestCapability::State)),
    ];
    let variables = allow.env.iter().map(|(name, _)| format!("the variable {name}"));
    let seen: Vec<String> =
        variables.chain(config.settings.keys().map(|key| format!("the setting {key}"))).collect();
    if !seen.is_empty() {
        rows.push(("sees", listed(&seen, matches, GuestCapability::Variables)));
    }
    rows
}

fn asked_word(feature: ClientFeature) -> &'static str {
    match feature {
        ClientFeature::Elicitation => "you, with forms",
        ClientFeature::Sampling => "the model",
        ClientFeature::Roots => "the host for its directories",
    }
}

/// The store for its state.
fn kept(config: &PluginConfig, state: Option<&Path>) -> Vec<String> {
    let store = match &config.allow.state {
        StateGrant::NotGranted => return Vec::new(),
        StateGrant::Own => "its own state".to_owned(),
        StateGrant::Shared(name) => format!("the state `{name}`"),
    };
    let scope = match config.allow.state_scope {
        StateScope::Plugin => "",
        StateScope::Caller => ", for each caller",
    };
    let place = match state {
        Some(directory) => format!(", in {}", directory.display()),
        None => ", until the gateway stops".to_owned(),
    };
    vec![format!("{store}{scope}{place}")]
}

/// The granted items, or what the plugin asks for without having it.
fn listed(granted: &[String], matches: &[NeedMatch], need: GuestCapability) -> String {
    if !granted.is_empty() {
        return inline(&granted.join(", "));
    }
    let is_requested = matches.iter().any(|found| found.need == need && found.requested == Requested::Yes);
    if is_requested {
        format!("{NOTHING}; it requests this: to grant it, pass `--grant '{}'`", need.example_line())
    } else {
        NOTHING.to_owned()
    }
}
