//! A plugin on one page, for people.

use std::fmt::Write as _;

use bytesize::ByteSize;
use moongate_core::config::{Asked, Credential, Match};
use moongate_model::manifest::{Manifest, Need, Prompt, PromptArgument, Resource, ResourceTemplate, Tool};
use serde_json::Value;

use super::{Shown, Table};
use crate::cli::fields::{self, fields, lines};
use crate::cli::print::{first_line, said};

/// The whole page.
pub(super) fn page(shown: &Shown<'_>) -> String {
    let config = shown.config;
    let Manifest { info, tools, resources, templates, prompts, completes: _ } = shown.manifest;
    let mut page = format!("{}\n", said(&config.source.display().to_string()));
    let about = info.description.as_deref().map(first_line).unwrap_or_default();
    let name = format!("{} {}", info.name, info.version);
    rows(
        &mut page,
        &[
            ("name", if about.is_empty() { name } else { format!("{name}: {about}") }),
            ("digest", shown.member.plugin().digest().to_string()),
            ("size", ByteSize::b(shown.interfaces.size).display().iec().to_string()),
            ("contract", format!("moongate:plugin@{}", shown.contract())),
        ],
    );
    let title = if shown.table == Table::None { "asks for" } else { "asks for and is granted" };
    let _ = write!(page, "\n{title}\n{}", grants(shown));
    section(&mut page, "settings, which `config` in its table sets", settings(shown).into_iter());
    section(&mut page, "limits that aren't the usual ones", config.limits.changed().iter().map(limit));
    section(&mut page, "tools", tools.iter().map(tool));
    let about = |uri: &str, name: &str, description: Option<&str>| match description.map(first_line) {
        Some(description) => line(uri, &format!("{}: {description}", first_line(name))),
        None => line(uri, &first_line(name)),
    };
    let resource = |it: &Resource| about(it.uri.as_str(), &it.name, it.description.as_deref());
    let template =
        |it: &ResourceTemplate| about(it.uri_template.as_str(), &it.name, it.description.as_deref());
    section(&mut page, "resources", resources.iter().map(resource));
    section(&mut page, "templates", templates.iter().map(template));
    section(&mut page, "prompts", prompts.iter().map(prompt));
    section(&mut page, "exports", shown.interfaces.exports.iter().map(|name| line(name, "")));
    section(&mut page, "imports", shown.interfaces.imports.iter().map(|name| import(name, shown)));
    page
}

/// What it imports. That it may look for files says little, because some languages' libraries always may; it isn't warned
/// of elsewhere, so whoever wonders where the files are has it told here.
fn import(name: &str, shown: &Shown<'_>) -> String {
    let is_wanted = |found: &Match| found.need == Need::Files && found.asked != Asked::No;
    let files = shown.matches.iter().find(|found| is_wanted(found));
    match (files, &shown.table) {
        (Some(found), Table::Read { .. })
            if name.starts_with("wasi:filesystem/types@") && found.granted.is_empty() =>
        {
            line(name, "may look for files; no directory is granted")
        }
        (Some(_), Table::None) if name.starts_with("wasi:filesystem/types@") => {
            line(name, "may look for files")
        }
        // Libraries import them where anything in them could use them.
        (_, _) if name.starts_with("wasi:sockets/") => line(name, "sockets: never granted"),
        (Some(_) | None, _) => line(name, ""),
    }
}

/// What may be set for it, as its schema has it.
fn settings(shown: &Shown<'_>) -> Vec<String> {
    let schema = shown.manifest.info.config_schema.as_ref();
    schema.and_then(|schema| schema.to_value().ok()).map(|schema| members(&schema, 2)).unwrap_or_default()
}

fn limit((key, value): &(&'static str, String)) -> String {
    format!("  {key} = {value}\n")
}

fn grants(shown: &Shown<'_>) -> String {
    let mut all: Vec<(&str, String)> = match shown.table {
        Table::None => shown.matches.iter().map(asked).collect(),
        Table::Read { .. } => shown.matches.iter().map(|found| granted(found, shown)).collect(),
    };
    let allow = &shown.config.allow;
    all.extend(allow.credentials.iter().map(|credential| ("send credentials", credential_text(credential))));
    all.extend(instructions(shown).map(|said| ("instruct the model", said)));
    if all.is_empty() {
        return "  nothing\n".to_owned();
    }
    let mut said = String::new();
    rows(&mut said, &all);
    said
}

/// What is added to requests, and where the values come from.
fn credential_text(credential: &Credential) -> String {
    let said = credential.described();
    said.strip_prefix("credentials for ").map(str::to_owned).unwrap_or(said)
}

/// What the plugin's own words to the model are to the client.
fn instructions(shown: &Shown<'_>) -> Option<String> {
    let is_granted = shown.config.allow.instructions;
    let would = "`instructions = true` would grant it";
    let said = match (&shown.table, shown.instructs(), is_granted) {
        (_, false, false) => return None,
        (Table::None, true, _) => would.to_owned(),
        (Table::Read { .. }, true, false) => format!("nothing: left out; {would}"),
        (_, true, true) => "yes".to_owned(),
        (_, false, true) => "yes: it has nothing to say".to_owned(),
    };
    Some(said)
}

/// A need of a file that no table mentions, and what would grant it.
fn asked(found: &Match) -> (&'static str, String) {
    let said = match (found.asked, found.need) {
        (Asked::Yes, Need::Settings) => "what stands in its `config` table".to_owned(),
        (Asked::Yes, need) => format!("`{}` would grant it", need.example()),
        (Asked::Maybe, need) => format!(
            "perhaps: its language's library may only bring the import along; `{}` would grant it",
            need.example()
        ),
        (Asked::No, _) => "it has no import that needs this".to_owned(),
    };
    (found.need.verb(), said)
}

/// A need, what is granted of it, and whether that fits.
fn granted(found: &Match, shown: &Shown<'_>) -> (&'static str, String) {
    let mut granted = if found.granted.is_empty() { "nothing".to_owned() } else { found.granted.join(", ") };
    if found.need == Need::State
        && let Some(place) = shown.state_place()
    {
        let _ = write!(granted, ", in {place}");
    }
    let remark = match (found.asked, found.granted.is_empty()) {
        (Asked::Yes, true) if found.need == Need::Settings => ": none are set".to_owned(),
        (Asked::Yes, true) => {
            format!(": refused; `{}` would grant it", found.need.example())
        }
        (Asked::Maybe, true) => ": its language's library may only bring the import along".to_owned(),
        (Asked::No, _) => ": it has no import that needs this".to_owned(),
        (Asked::Yes | Asked::Maybe, false) => String::new(),
    };
    (found.need.verb(), format!("{granted}{remark}"))
}

/// A name in one column, the rest in another.
fn rows(page: &mut String, rows: &[(&str, String)]) {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    for (name, value) in rows {
        let _ = writeln!(page, "  {name:width$}  {}", said(value));
    }
}

fn section(page: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: String = lines.collect();
    if !lines.is_empty() {
        let _ = write!(page, "\n{title}\n{lines}");
    }
}

/// A name, which may be anybody's, and what is said of it in a part of a line.
fn line(name: &str, about: &str) -> String {
    format!("  {}\n", format!("{}  {about}", said(name)).trim_end())
}

/// A tool with its arguments.
fn tool(tool: &Tool) -> String {
    let schema = tool.input_schema.to_value().unwrap_or_default();
    line(tool.name.as_str(), &first_line(&tool.description)) + &members(&schema, 4).concat()
}

/// A prompt with its arguments, which are texts.
fn prompt(prompt: &Prompt) -> String {
    let argument = |argument: &PromptArgument| {
        let PromptArgument { name, title, description, required, .. } = argument;
        let about = description.as_deref().or(title.as_deref());
        format!("    {}\n", fields::line(name, "text", None, *required, about))
    };
    line(prompt.name.as_str(), &first_line(&prompt.description))
        + &prompt.arguments.iter().map(argument).collect::<String>()
}

/// The members of an object, a line each.
fn members(schema: &Value, indent: usize) -> Vec<String> {
    lines(&fields(schema)).iter().map(|line| format!("{:indent$}{line}\n", "")).collect()
}
