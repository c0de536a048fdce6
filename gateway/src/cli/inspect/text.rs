//! A plugin on one page, for people.

use std::fmt::Write as _;

use bytesize::ByteSize;
use moongate_core::config::{Asked, Credential, Match};
use moongate_core::manifest::{Manifest, Need, Tool};
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
    section(&mut page, "limits that aren't the usual ones", config.limits.changed().iter().map(limit));
    section(&mut page, "tools", tools.iter().map(tool));
    section(&mut page, "resources", resources.iter().map(|it| line(it.uri.as_str(), &it.name)));
    section(&mut page, "templates", templates.iter().map(|it| line(it.uri_template.as_str(), &it.name)));
    section(&mut page, "prompts", prompts.iter().map(|it| line(it.name.as_str(), &it.description)));
    section(&mut page, "exports", shown.interfaces.exports.iter().map(|name| format!("  {name}\n")));
    section(&mut page, "imports", shown.interfaces.imports.iter().map(|name| format!("  {name}\n")));
    page
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

fn line(name: &str, said: &str) -> String {
    format!("  {}\n", format!("{name}  {}", said.lines().next().unwrap_or_default()).trim_end())
}

/// A tool with its arguments, each with its type; those that may be left out have a `?`.
fn tool(tool: &Tool) -> String {
    let mut said = line(tool.name.as_str(), &tool.description);
    let schema = tool.input_schema.to_value().unwrap_or_default();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, about) in schema["properties"].as_object().into_iter().flatten() {
        let optional = if required.contains(&Value::from(name.as_str())) { "" } else { "?" };
        let what = about["description"].as_str().and_then(|text| text.lines().next()).unwrap_or_default();
        let _ = writeln!(said, "    {}", format!("{name}{optional}: {}  {what}", kind(about)).trim_end());
    }
    said
}

/// The type of an argument in a word or two.
fn kind(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ");
    }
    match &schema["type"] {
        Value::String(one) if one == "array" => format!("{}[]", kind(&schema["items"])),
        Value::String(one) => one.clone(),
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "value".to_owned(),
    }
}
