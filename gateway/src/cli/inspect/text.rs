//! A plugin on one page, for people.

use std::fmt::Write as _;

use bytesize::ByteSize;
use moongate_core::config::{Asked, Credential, Match};
use moongate_core::manifest::{Manifest, Need, Prompt, PromptArgument, Resource, ResourceTemplate, Tool};
use serde_json::Value;

use super::{Shown, Table};

/// The whole page.
pub(super) fn page(shown: &Shown<'_>) -> String {
    let config = shown.member.config();
    let Manifest { info, tools, resources, templates, prompts, completes: _ } = shown.manifest;
    let mut page = format!("{}\n", config.source.display());
    let said = info.description.as_deref().and_then(|text| text.lines().next()).unwrap_or_default();
    let name = format!("{} {}", info.name, info.version);
    rows(
        &mut page,
        &[
            ("name", if said.is_empty() { name } else { format!("{name}: {said}") }),
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
    let about = |uri: &str, name: &str, description: Option<&str>| match description {
        Some(description) => line(uri, &format!("{name}: {description}")),
        None => line(uri, name),
    };
    let resource = |it: &Resource| about(it.uri.as_str(), &it.name, it.description.as_deref());
    let template =
        |it: &ResourceTemplate| about(it.uri_template.as_str(), &it.name, it.description.as_deref());
    section(&mut page, "resources", resources.iter().map(resource));
    section(&mut page, "templates", templates.iter().map(template));
    section(&mut page, "prompts", prompts.iter().map(prompt));
    section(&mut page, "exports", shown.interfaces.exports.iter().map(|name| format!("  {name}\n")));
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
            format!("  {name}  may look for files; no directory is granted\n")
        }
        (Some(_), Table::None) if name.starts_with("wasi:filesystem/types@") => {
            format!("  {name}  may look for files\n")
        }
        // Libraries import them where anything in them could use them.
        (_, _) if name.starts_with("wasi:sockets/") => format!("  {name}  sockets: never granted\n"),
        (Some(_) | None, _) => format!("  {name}\n"),
    }
}

/// What may be set for it, as its schema has it.
fn settings(shown: &Shown<'_>) -> Vec<String> {
    let schema = shown.manifest.info.config_schema.as_ref();
    schema.and_then(|schema| schema.to_value().ok()).map(|schema| members(&schema, "  ")).unwrap_or_default()
}

fn limit((key, value): &(&'static str, String)) -> String {
    format!("  {key} = {value}\n")
}

fn grants(shown: &Shown<'_>) -> String {
    let mut all: Vec<(&str, String)> = match shown.table {
        Table::None => shown.matches.iter().map(asked).collect(),
        Table::Read { .. } => shown.matches.iter().map(|found| granted(found, shown)).collect(),
    };
    let allow = &shown.member.config().allow;
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
    let is_granted = shown.member.config().allow.instructions;
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
    for (name, said) in rows {
        let _ = writeln!(page, "  {name:width$}  {said}");
    }
}

fn section(page: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: String = lines.collect();
    if !lines.is_empty() {
        let _ = write!(page, "\n{title}\n{lines}");
    }
}

/// The longest line that is said of something, in characters.
const LINE: usize = 160;

fn line(name: &str, said: &str) -> String {
    format!("  {}\n", format!("{name}  {}", first_line(said)).trim_end())
}

/// As much of a text as is read at a glance.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(LINE) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// A tool with its arguments.
fn tool(tool: &Tool) -> String {
    let schema = tool.input_schema.to_value().unwrap_or_default();
    line(tool.name.as_str(), &tool.description) + &members(&schema, "    ").concat()
}

/// A prompt with its arguments.
fn prompt(prompt: &Prompt) -> String {
    let argument = |argument: &PromptArgument| {
        let optional = if argument.required { "" } else { "?" };
        let what = argument.description.as_deref().map(first_line).unwrap_or_default();
        format!("    {}\n", format!("{}{optional}  {what}", argument.name).trim_end())
    };
    line(prompt.name.as_str(), &prompt.description)
        + &prompt.arguments.iter().map(argument).collect::<String>()
}

/// The members of an object, each with its type; those that may be left out have a `?`.
fn members(schema: &Value, indent: &str) -> Vec<String> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let member = |(name, about): (&String, &Value)| {
        let optional = if required.contains(&Value::from(name.as_str())) { "" } else { "?" };
        let what = about["description"].as_str().map(first_line).unwrap_or_default();
        format!("{indent}{}\n", format!("{name}{optional}: {}  {what}", kind(about, schema)).trim_end())
    };
    schema["properties"].as_object().into_iter().flatten().map(member).collect()
}

/// The type of a member in a word or two; `root` is the schema that it stands in.
fn kind(schema: &Value, root: &Value) -> String {
    // Once: a reference may lead to itself.
    let named = schema["$ref"].as_str().and_then(|name| root.pointer(name.strip_prefix('#')?));
    let schema = named.unwrap_or(schema);
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ");
    }
    match &schema["type"] {
        Value::String(one) if one == "array" && named.is_none() => {
            format!("{}[]", kind(&schema["items"], root))
        }
        Value::String(one) => one.clone(),
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "value".to_owned(),
    }
}
