//! A plugin on one page, for people.

use std::fmt::Write as _;

use bytesize::ByteSize;
use moongate_core::config::{Asked, Match};
use moongate_core::manifest::{Manifest, Need, Tool};
use serde_json::Value;

use super::Shown;

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
    let _ = write!(page, "\nasks for and is granted\n{}", grants(&shown.matches));
    section(&mut page, "tools", tools.iter().map(tool));
    section(&mut page, "resources", resources.iter().map(|it| line(it.uri.as_str(), &it.name)));
    section(&mut page, "templates", templates.iter().map(|it| line(it.uri_template.as_str(), &it.name)));
    section(&mut page, "prompts", prompts.iter().map(|it| line(it.name.as_str(), &it.description)));
    section(&mut page, "exports", shown.interfaces.exports.iter().map(|name| format!("  {name}\n")));
    section(&mut page, "imports", shown.interfaces.imports.iter().map(|name| format!("  {name}\n")));
    page
}

fn grants(matches: &[Match]) -> String {
    if matches.is_empty() {
        return "  nothing\n".to_owned();
    }
    let mut said = String::new();
    let rows_of = |found: &Match| {
        let granted = if found.granted.is_empty() { "nothing".to_owned() } else { found.granted.join(", ") };
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
    };
    rows(&mut said, &matches.iter().map(rows_of).collect::<Vec<_>>());
    said
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
