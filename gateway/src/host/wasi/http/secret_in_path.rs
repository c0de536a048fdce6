//! Whether a path tells what a plugin was given in confidence: settings and variables may be tokens, and some servers want
//! those in paths. Who reads a refusal isn't always the operator.

use std::borrow::Cow;

use moongate_core::config::PluginConfig;
use serde_json::Value;

/// Shorter values, in bytes, are hardly secrets, and stand in many paths by chance.
const SHORTEST: usize = 8;

/// Does a path hold one of the plugin's settings or variables, escaped or not?
pub(super) fn tells(path: &str, config: &PluginConfig) -> bool {
    let plain = unescaped(path);
    let is_told = |held: &str| {
        let held = held.trim();
        held.len() >= SHORTEST
            && (path.contains(held) || plain.contains(held) || plain.contains(&*unescaped(held)))
    };
    let of_settings = config.config.values().any(|setting| {
        let held = setting.expose();
        is_told(held) || serde_json::from_str(held).is_ok_and(|held| any_text(&held, &is_told))
    });
    of_settings || config.allow.env.iter().any(|(_, held)| is_told(held))
}

/// Settings may be lists and tables. Recursion is as deep as the parser allows.
fn any_text(value: &Value, is_told: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_told(text),
        Value::Array(items) => items.iter().any(|item| any_text(item, is_told)),
        Value::Object(members) => members.values().any(|member| any_text(member, is_told)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The text without its `%` escapes (RFC 3986, 2.1).
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (mut plain, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        let escaped = match (first, after) {
            (b'%', [high, low, after @ ..]) => digit(*high).zip(digit(*low)).zip(Some(after)),
            _ => None,
        };
        match escaped {
            Some(((high, low), after)) => {
                plain.push(high << 4 | low);
                rest = after;
            }
            None => {
                plain.push(first);
                rest = after;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&plain).into_owned())
}

#[cfg(test)]
mod tests;
