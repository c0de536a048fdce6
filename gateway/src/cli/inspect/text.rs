//! The text output of `inspect`: a plugin on one page.

use std::fmt::Write as _;

use bytesize::ByteSize;
use moongate_config::{Credential, NeedMatch, Requested};
use moongate_model::manifest::{
    GuestCapability, ItemKind, Manifest, Prompt, PromptArgument, RejectedItem, Resource, ResourceTemplate,
    Tool,
};
use moongate_model::text::quotable;
use moongate_sources::{AuditedPackage, Provenance};
use serde_json::Value;

use super::{PluginEntry, PluginReport};
use crate::cli::print::{self, inline, summary};
use crate::cli::schema_fields::{self, field_lines, fields};

/// The whole page.
pub(super) fn page(shown: &PluginReport<'_>) -> String {
    let config = shown.config;
    let Manifest { info, tools, resources, templates, prompts, rejected: _, has_completions: _ } =
        shown.manifest;
    let from = match &config.remote {
        Some(remote) => remote.reference.shown(),
        None => config.source.display().to_string(),
    };
    let mut page = format!("{}\n", inline(&from));
    let about = info.description.as_deref().map(summary).unwrap_or_default();
    let name = print::name_and_version(info);
    let contract = match shown.contract() {
        Some(version) => format!("moongate:plugin@{version}"),
        None => "none; its exported functions are tools".to_owned(),
    };
    rows(
        &mut page,
        &[
            ("name", if about.is_empty() { name } else { format!("{name}: {about}") }),
            ("digest", shown.catalog_plugin.plugin().digest().to_string()),
            ("size", ByteSize::b(shown.interfaces.file_size).display().iec().to_string()),
            ("contract", contract),
        ],
    );
    let title = if shown.entry == PluginEntry::Absent { "needs" } else { "needs and grants" };
    let _ = write!(page, "\n{title}\n{}", grants(shown));
    section(&mut page, "settings, set by `config` in the configuration", settings(shown).into_iter());
    section(&mut page, "limits that aren't the defaults", config.limits.non_default().iter().map(limit));
    section(&mut page, "tools", tools.iter().map(|it| tool(it, shown)));
    let about = |kind: ItemKind, uri: &str, name: &str, description: Option<&str>| {
        let description = description.map(|text| format!(": {}", summary(text))).unwrap_or_default();
        item_line(kind, uri, &format!("{}{description}", summary(name)), shown)
    };
    let resource =
        |it: &Resource| about(ItemKind::Resource, it.uri.as_str(), &it.name, it.description.as_deref());
    let template = |it: &ResourceTemplate| {
        about(ItemKind::Template, it.uri_template.as_str(), &it.name, it.description.as_deref())
    };
    section(&mut page, "resources", resources.iter().map(resource));
    section(&mut page, "templates", templates.iter().map(template));
    section(&mut page, "prompts", prompts.iter().map(|it| prompt(it, shown)));
    section(&mut page, "left out", shown.catalog_plugin.left_out().iter().map(left_out));
    section(&mut page, "exports", shown.interfaces.exports.iter().map(|name| line(name, "")));
    section(&mut page, "imports", shown.interfaces.imports.iter().map(|name| import(name, shown)));
    section(&mut page, "origin (unverified)", origin(&shown.provenance).into_iter());
    let packages = shown.provenance.packages.iter().flatten();
    section(&mut page, "packages (unverified)", packages.map(package));
    page
}

/// The origin that a component claims.
fn origin(provenance: &Provenance) -> Vec<String> {
    let fields = provenance.fields.iter().map(|(name, value)| line(name, &inline(value)));
    let producers = provenance
        .producers
        .iter()
        .map(|(field, name, version)| line(field, &inline(format!("{name} {version}").trim_end())));
    fields.chain(producers).collect()
}

/// A package in the component's bill of materials.
fn package(package: &AuditedPackage) -> String {
    let AuditedPackage { name, version, source, kind } = package;
    let build = if kind == "build" { ", for building" } else { "" };
    line(&format!("{name} {version}"), &format!("{}{build}", inline(source)))
}

/// An import. File access gets a remark here but no warning elsewhere, because the standard libraries of some languages
/// always import it.
fn import(name: &str, shown: &PluginReport<'_>) -> String {
    let is_wanted =
        |found: &NeedMatch| found.need == GuestCapability::Files && found.requested != Requested::No;
    let files = shown.matches.iter().find(|found| is_wanted(found));
    match (files, &shown.entry) {
        (Some(found), PluginEntry::Present { .. })
            if name.starts_with("wasi:filesystem/types@") && found.granted.is_empty() =>
        {
            line(name, "can access files; no directory is granted")
        }
        (Some(_), PluginEntry::Absent) if name.starts_with("wasi:filesystem/types@") => {
            line(name, "can access files")
        }
        // Standard libraries import them if any of their code could use them.
        (_, _) if name.starts_with("wasi:sockets/") => line(name, "sockets: never granted"),
        (Some(_) | None, _) => line(name, ""),
    }
}

/// The settings in the plugin's schema, one per line.
fn settings(shown: &PluginReport<'_>) -> Vec<String> {
    let schema = shown.manifest.info.settings_schema.as_ref();
    schema.and_then(|schema| schema.to_value().ok()).map(|schema| members(&schema, 2)).unwrap_or_default()
}

fn limit((key, value): &(&'static str, String)) -> String {
    format!("  {key} = {value}\n")
}

fn grants(shown: &PluginReport<'_>) -> String {
    let mut all: Vec<(&str, String)> = match shown.entry {
        PluginEntry::Absent => shown.matches.iter().map(asked).collect(),
        PluginEntry::Present { .. } => shown.matches.iter().map(|found| granted(found, shown)).collect(),
    };
    let allow = &shown.config.allow;
    all.extend(allow.credentials.iter().map(|credential| ("send credentials", credential_text(credential))));
    all.extend(instructions(shown).map(|text| ("instruct the model", text)));
    if all.is_empty() {
        return "  nothing\n".to_owned();
    }
    let mut text = String::new();
    rows(&mut text, &all);
    text
}

/// The credentials that are added to requests, and the sources of their values.
fn credential_text(credential: &Credential) -> String {
    let text = credential.describe();
    text.strip_prefix("credentials for ").map(str::to_owned).unwrap_or(text)
}

/// The grant of the plugin's instructions for the model.
fn instructions(shown: &PluginReport<'_>) -> Option<String> {
    let is_granted = shown.config.allow.instructions;
    let would = "to allow it, add `instructions = true`";
    let text = match (&shown.entry, shown.has_instructions(), is_granted) {
        (_, false, false) => return None,
        (PluginEntry::Absent, true, _) => would.to_owned(),
        (PluginEntry::Present { .. }, true, false) => format!("nothing; {would}"),
        (_, true, true) => "yes".to_owned(),
        (_, false, true) => "yes; the plugin has no instructions".to_owned(),
    };
    Some(text)
}

/// A need of a plugin without a configuration, and the line that would grant it.
fn asked(found: &NeedMatch) -> (&'static str, String) {
    let text = match (found.requested, found.need) {
        (Requested::Yes, GuestCapability::Settings) => "its `config` table".to_owned(),
        (Requested::Yes, need) => format!("to allow it, add `{}`", need.example_line()),
        (Requested::Maybe, need) => format!(
            "possibly unused, because standard libraries import this too; to allow it, add `{}`",
            need.example_line()
        ),
        (Requested::No, _) => "not needed: the component doesn't import this".to_owned(),
    };
    (found.need.verb_phrase(), text)
}

/// A need, its grant, and a remark if they don't match.
fn granted(found: &NeedMatch, shown: &PluginReport<'_>) -> (&'static str, String) {
    let mut granted = if found.granted.is_empty() { "nothing".to_owned() } else { found.granted.join(", ") };
    if found.need == GuestCapability::State
        && let Some(place) = shown.state_location()
    {
        let _ = write!(granted, ", in {place}");
    }
    let remark = match (found.requested, found.granted.is_empty()) {
        (Requested::Yes, true) if found.need == GuestCapability::Settings => {
            ": no settings are set".to_owned()
        }
        (Requested::Yes, true) => {
            format!(": denied; to allow it, add `{}`", found.need.example_line())
        }
        (Requested::Maybe, true) => {
            "; possibly unused, because standard libraries import this too".to_owned()
        }
        (Requested::No, _) => "; not needed: the component doesn't import this".to_owned(),
        (Requested::Yes | Requested::Maybe, false) => String::new(),
    };
    (found.need.verb_phrase(), format!("{granted}{remark}"))
}

/// Rows of a name and a value.
fn rows(page: &mut String, rows: &[(&str, String)]) {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    for (name, value) in rows {
        let _ = writeln!(page, "  {name:width$}  {}", inline(value));
    }
}

fn section(page: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: String = lines.collect();
    if !lines.is_empty() {
        let _ = write!(page, "\n{title}\n{lines}");
    }
}

/// A line with an external name and its description, which is already escaped.
fn line(name: &str, about: &str) -> String {
    format!("  {}\n", format!("{}  {about}", inline(name)).trim_end())
}

/// The line of an item, with a mark if the configuration hides it.
fn item_line(kind: ItemKind, name: &str, about: &str, shown: &PluginReport<'_>) -> String {
    let mark = if shown.is_hidden(kind, name) { "(hidden) " } else { "" };
    line(name, &format!("{mark}{about}"))
}

/// A tool with its arguments.
fn tool(tool: &Tool, shown: &PluginReport<'_>) -> String {
    let schema = tool.input_schema.to_value().unwrap_or_default();
    item_line(ItemKind::Tool, tool.name.as_str(), &summary(shown.description(tool)), shown)
        + &members(&schema, 4).concat()
}

/// An item that can't be offered, with the reason and the fix.
fn left_out(item: &RejectedItem) -> String {
    let RejectedItem { kind, name, reason, fix } = item;
    let name = format!("{} `{}`", kind.as_str(), quotable(name));
    let fix = fix.as_ref().map(|fix| format!("    {}\n", inline(fix))).unwrap_or_default();
    line(&name, &inline(reason)) + &fix
}

/// A prompt with its arguments, which are strings.
fn prompt(prompt: &Prompt, shown: &PluginReport<'_>) -> String {
    let argument = |argument: &PromptArgument| {
        let PromptArgument { name, title, description, required, .. } = argument;
        let about = description.as_deref().or(title.as_deref());
        format!("    {}\n", schema_fields::line(name, "text", None, *required, about))
    };
    item_line(ItemKind::Prompt, prompt.name.as_str(), &summary(&prompt.description), shown)
        + &prompt.arguments.iter().map(argument).collect::<String>()
}

/// The members of an object, one per line.
fn members(schema: &Value, indent: usize) -> Vec<String> {
    field_lines(&fields(schema)).iter().map(|line| format!("{:indent$}{line}\n", "")).collect()
}
