//! Values in the shape that other programs' files have: the same again in ours.

use toml::de::{DeTable, DeValue};

use crate::config::read::habits::addresses::{Asked, asked_for};
use crate::config::read::habits::credentials::{token_line, token_lines};
use crate::config::read::habits::grants::{directory, names_of};
use crate::config::read::habits::{bare, keys, shown};
use crate::config::spec::keys::{Key, Kind};
use crate::config::read::reader::Value;
use crate::names::{PluginId, ToolName};

/// The pairs of keys by which a list of tables says what becomes what.
const FROM: [&str; 8] = ["from", "old", "tool", "name", "source", "original", "src", "old_name"];

/// What to write instead of a value of the wrong type; none: nothing of it says more than an example.
pub(in crate::config) fn own_shape(value: &Value<'_>, kind: &Kind) -> Option<String> {
    match (kind, value.inner) {
        (Kind::Text(_), DeValue::Integer(number)) if value.path.ends_with(".listen") => {
            let usual = if value.path.starts_with("admin") { "8932" } else { "8931" };
            Some(match asked_for(&number.as_str().replace('_', ""), usual) {
                Asked::Address(address) => format!("write \"{address}\""),
                Asked::NoPort => {
                    format!("a port is at most 65535: write another, such as \"127.0.0.1:{usual}\"")
                }
            })
        }
        (Kind::Table(its), DeValue::Array(items)) if has(its, "tokens") && items.is_empty() => None,
        (Kind::Table(its), DeValue::String(_) | DeValue::Array(_)) if has(its, "tokens") => {
            Some(format!("write `tokens = [{}]` in `[http.auth]`{SET}", token(value.inner, 0)))
        }
        (Kind::List(Kind::Table(its)), DeValue::String(_)) if has(its, "token") => {
            Some(format!("write `tokens = [{}]`{SET}", token(value.inner, 0)))
        }
        (Kind::List(Kind::Table(its)), DeValue::Table(_)) if has(its, "token") => {
            // The header of a table of its own would stay where the line is written.
            let line = token_lines(value.inner)?;
            Some(format!("write `tokens = [{line}]` in `[http.auth]` instead{SET}"))
        }
        (Kind::Table(its), DeValue::String(_)) if has(its, "token") => {
            let at = value.path.rsplit_once('[').and_then(|(_, at)| at.trim_end_matches(']').parse().ok());
            Some(format!("write `{}`{SET}", token(value.inner, at.unwrap_or(0))))
        }
        (Kind::List(Kind::Table(its)), DeValue::String(text)) if has(its, "guest") => {
            shown(text).map(|_| format!("write `[{}]`", directory(text)))
        }
        (Kind::Table(its), DeValue::String(text)) if has(its, "guest") => {
            shown(text).map(|_| format!("write `{}`", directory(text)))
        }
        (Kind::List(Kind::Text(_)), DeValue::Table(_)) => {
            let key = value.path.rsplit('.').next().unwrap_or_default();
            let set = if key == "env" { ", and set what it names where the gateway starts" } else { "" };
            Some(format!("write `{key} = [{}]`{set}", names_of(value.inner)?))
        }
        (Kind::Named(Kind::Text(_)), DeValue::Array(items)) => {
            let pairs: Option<Vec<_>> =
                items.iter().map(|item| renamed(item.get_ref().as_table()?)).collect();
            let pairs = pairs.filter(|pairs| !pairs.is_empty())?;
            let key = value.path.rsplit('.').next().unwrap_or_default();
            Some(format!(
                "write `{key} = {{ {} }}`: the old name stands before the new one",
                pairs.join(", ")
            ))
        }
        (Kind::Named(Kind::Table(its)), DeValue::Array(items)) if has(its, "source") => {
            plugins(items.iter().filter_map(|item| item.get_ref().as_table()))
        }
        _ => None,
    }
}

/// What is left to do where a hint names a variable for a secret.
const SET: &str = ", with the tokens in the variables";

fn has(keys: &[Key], name: &str) -> bool {
    keys.iter().any(|key| key.name == name)
}

/// The token that a text stands for, as the one of this number.
fn token(value: &DeValue<'_>, at: usize) -> String {
    match at {
        0 => token_line("ci", value, "MOONGATE_TOKEN"),
        at => token_line(&format!("ci-{}", at + 1), value, &format!("MOONGATE_TOKEN_{}", at + 1)),
    }
}

/// One tool's old name and its new one.
fn renamed(table: &DeTable<'_>) -> Option<String> {
    let text = |key: &str| table.get(key)?.get_ref().as_str();
    let (old, new) = match keys(table).as_slice() {
        [one] => (*one, text(one)?),
        [a, b] if FROM.contains(a) || !FROM.contains(b) => (text(a)?, text(b)?),
        [a, b] => (text(b)?, text(a)?),
        _ => return None,
    };
    ToolName::new(old).ok()?;
    Some(format!("{} = {}", bare(old), shown(new)?))
}

/// The headers of plugins' tables, for a list of them.
fn plugins<'t>(tables: impl Iterator<Item = &'t DeTable<'t>>) -> Option<String> {
    let name = |table: &DeTable<'_>| {
        let name = table.get("name").or_else(|| table.get("id"))?.get_ref().as_str()?;
        Some(format!("`[plugins.{}]`", PluginId::new(name).ok()?))
    };
    let mut is_deep = false;
    let names: Option<Vec<_>> = tables
        .map(|table| {
            is_deep |= table.values().any(|value| value.get_ref().is_table());
            name(table)
        })
        .collect();
    let names = names.unwrap_or_default();
    Some(match names.as_slice() {
        [] => "give each plugin a table under its name, such as `[plugins.time]`, instead of `[[plugins]]`"
            .to_owned(),
        names => {
            let below = if is_deep { ", also in the headers of its tables" } else { "" };
            let which = if names.len() > 1 { "in this order " } else { "" };
            format!("write {} {which}instead of `[[plugins]]`{below}, and remove `name`", names.join(" and "))
        }
    })
}
