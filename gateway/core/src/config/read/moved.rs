//! A value that stands under another key than the right one, as the right key takes it: so that whoever moves it there
//! isn't told next that it has the wrong form.

use std::net::{IpAddr, SocketAddr};

use toml::de::DeValue;

use crate::config::read::interpolate::is_variable_name;
use crate::config::spec::keys::{Inside, Key, Kind};
use crate::config::model::literal::literal;
use crate::config::report::secrecy::{gives_away, is_variable, names_secret};
use crate::config::read::habits::directory;

/// The key that a path between dots leads to, in tables of these keys.
pub(in crate::config) fn key_at(keys: &'static [Key], path: &str) -> Option<&'static Key> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let key = keys.iter().find(|key| key.name == first)?;
    match (rest, key.kind.inside()) {
        (None, _) => Some(key),
        (Some(rest), Inside::Keys(keys)) => key_at(keys, rest),
        (Some(_), _) => None,
    }
}

/// What to write as the value of this key instead; none: it takes the value as it is.
pub(in crate::config) fn fitted(name: &str, kind: &Kind, value: &DeValue<'_>) -> Option<String> {
    match kind {
        _ if name == "listen" => listening(kind, value),
        Kind::List(item) => {
            let (items, is_list): (Vec<&DeValue<'_>>, _) = match value {
                DeValue::Array(items) => (items.iter().map(|it| it.get_ref()).collect(), true),
                value => (vec![value], false),
            };
            if is_list && items.iter().all(|value| fits(item, value)) {
                return None;
            }
            let members = match value {
                // Names with values, as other programs take them: here they are named only.
                DeValue::Table(names) if name == "env" => {
                    Some(names.keys().map(|name| literal(name.get_ref())).collect::<Vec<_>>())
                }
                // What can be no variable's name is its value.
                DeValue::String(text) if name == "env" && !is_variable_name(text) => None,
                _ => items.into_iter().map(|value| member(item, value)).collect(),
            };
            let members = members.filter(|members| !members.is_empty());
            Some(members.map_or_else(|| kind.example(), |members| format!("[{}]", members.join(", "))))
        }
        _ if fits(kind, value) => None,
        Kind::Duration(_) => match value {
            DeValue::Integer(seconds) => Some(format!("\"{}s\"", seconds.as_str())),
            _ => Some(kind.example()),
        },
        _ => Some(kind.example()),
    }
}

/// Is it a value of this kind, by its type and at first sight?
fn fits(kind: &Kind, value: &DeValue<'_>) -> bool {
    match kind {
        Kind::Version | Kind::Integer(_) => value.is_integer(),
        Kind::Size(_) => value.is_integer() || value.is_str(),
        Kind::Boolean => value.is_bool(),
        Kind::NameOrBoolean(_) => value.is_bool() || value.is_str(),
        Kind::Duration(_) | Kind::Text(_) => value.is_str(),
        // No component is loaded from elsewhere.
        Kind::Path(_) => value.as_str().is_some_and(|path| !path.contains("://")),
        Kind::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        Kind::TextOrTable(..) => value.is_table() || value.as_str().is_some_and(|text| text.contains("://")),
        Kind::List(_) => value.is_array(),
        Kind::Secret | Kind::Table(_) | Kind::Named(_) | Kind::Settings => value.is_table(),
    }
}

/// A value as a member of a list of such; none: it isn't known how.
fn member(item: &Kind, value: &DeValue<'_>) -> Option<String> {
    match (item, value) {
        (item, value) if fits(item, value) && !may_hold_secrets(item, value) => written(value),
        (Kind::TextOrTable(..), DeValue::String(host)) if !gives_away(host) => {
            Some(literal(&format!("https://{}", host.trim_start_matches('/'))))
        }
        (Kind::Table(keys), DeValue::String(host)) if keys.iter().any(|key| key.name == "guest") => {
            Some(directory(host))
        }
        _ => None,
    }
}

/// Is it a table in which more stands than texts of the gateway's own, such as headers with their values?
fn may_hold_secrets(item: &Kind, value: &DeValue<'_>) -> bool {
    let (Inside::Keys(keys) | Inside::TextOrKeys(keys), Some(table)) = (item.inside(), value.as_table())
    else {
        return false;
    };
    let is_own = |name: &str| {
        let key = keys.iter().find(|key| key.name == name);
        key.is_some_and(|key| {
            matches!(key.kind, Kind::Text(_) | Kind::Path(_) | Kind::Word(_) | Kind::List(_))
        })
    };
    !table.keys().all(|name| is_own(name.get_ref()))
}

/// A value on one line; none: something in it can't be shown.
fn written(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => (!gives_away(text)).then(|| literal(text)),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(is_on) => Some(is_on.to_string()),
        DeValue::Array(items) => {
            let items: Option<Vec<_>> = items.iter().map(|it| written(it.get_ref())).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        DeValue::Table(table) => {
            let members: Option<Vec<_>> = table
                .iter()
                .map(|(key, value)| Some(format!("{} = {}", bare(key.get_ref()), written(value.get_ref())?)))
                .collect();
            Some(format!("{{ {} }}", members?.join(", ")))
        }
        DeValue::Float(_) | DeValue::Datetime(_) => None,
    }
}

fn bare(key: &str) -> String {
    let is_bare = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if is_bare && !key.is_empty() { key.to_owned() } else { literal(key) }
}

/// An address to listen on, from a port or a host alone.
fn listening(kind: &Kind, value: &DeValue<'_>) -> Option<String> {
    let text = value.as_str().or_else(|| Some(value.as_integer()?.as_str())).unwrap_or_default();
    if value.is_str() && text.parse::<SocketAddr>().is_ok() {
        return None;
    }
    let usual = kind.example();
    let (_, usual_port) = usual.trim_matches('"').rsplit_once(':')?;
    let behind = text.rsplit(':').next().unwrap_or_default();
    Some(match (text.parse::<IpAddr>(), behind.parse::<u16>()) {
        (Ok(host), _) => format!("\"{}\"", SocketAddr::new(host, usual_port.parse().ok()?)),
        (Err(_), Ok(port)) => format!("\"127.0.0.1:{port}\""),
        (Err(_), Err(_)) => usual,
    })
}

/// The line that makes a token of what stands there as one.
pub(in crate::config) fn token(value: &DeValue<'_>) -> String {
    let one = match value {
        DeValue::Table(table) if names_secret(table) => written(value),
        DeValue::String(text) if is_variable(text) => {
            Some(format!("{{ env = {} }}", literal(text.trim_start_matches("${").trim_end_matches('}'))))
        }
        _ => None,
    };
    format!("{{ name = \"ci\", token = {} }}", one.unwrap_or_else(|| "{ env = \"TOKEN\" }".to_owned()))
}

/// Does it say where a token is, or is it one, and not a list of named ones?
pub(in crate::config) fn is_token(value: &DeValue<'_>) -> bool {
    value.is_str() || value.as_table().is_some_and(names_secret)
}
