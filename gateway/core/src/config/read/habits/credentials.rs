//! Secrets of the gateway's own endpoint and of plugins' requests, as others write them. No hint holds one.

use toml::de::DeValue;

use crate::config::read::habits::{Habit, Stray, bare, keys, shown};
use crate::config::read::interpolate::is_variable_name;
use crate::config::report::secrecy::is_scheme;

/// What one server is called.
const ORIGINS: [&str; 11] =
    ["url", "uri", "host", "server", "endpoint", "base_url", "domain", "site", "address", "api", "target"];
/// What is sent as `authorization: Bearer …`.
const BEARERS: [&str; 8] =
    ["token", "bearer", "bearer_token", "access_token", "auth_token", "auth", "secret", "api_token"];
/// What is sent as `x-api-key: …`.
const KEYS: [&str; 5] = ["api_key", "apikey", "api-key", "key", "x-api-key"];
/// What a token of this endpoint is called.
const TOKENS: [&str; 10] = [
    "token",
    "bearer",
    "bearer_token",
    "auth_token",
    "access_token",
    "api_key",
    "apikey",
    "key",
    "password",
    "secret",
];

pub(in crate::config) fn habit(stray: &Stray<'_, '_>) -> Option<Habit> {
    if stray.is_where(&["origin", "headers"]) {
        return origin(stray).or_else(|| headers(stray));
    }
    let is_here = stray.is_where(&["tokens"]);
    let auth = stray.table.get("auth");
    if stray.table.has("tokens") || auth.is_some_and(|auth| auth.inner.get("tokens").is_some()) {
        return None; // there is a list that it is added to
    }
    if (is_here || stray.is_where(&["listen", "auth"])) && stray.is(&TOKENS) {
        let line =
            token_lines(stray.value).unwrap_or_else(|| token_line("ci", stray.value, "MOONGATE_TOKEN"));
        let place = if is_here { "" } else { " in `[http.auth]`" };
        let set = if names_source(stray.value) { "" } else { ", and set that variable to the token" };
        return Some(Habit::new(format!("write `tokens = [{line}]`{place}{set}")));
    }
    None
}

/// One token in the list of them.
pub(in crate::config) fn token_line(name: &str, value: &DeValue<'_>, variable: &str) -> String {
    format!("{{ name = {name:?}, token = {{ {} }} }}", source(value, variable))
}

/// The tokens of a table that stands where the list of them should: under their names, or one with `name` and `token`.
/// None: it is nothing like that.
pub(in crate::config) fn token_lines(value: &DeValue<'_>) -> Option<String> {
    let table = value.as_table()?;
    let shown_name = |name: &str| shown(name).map(|name| name.trim_matches('"').to_owned());
    if let Some(token) = table.get("token") {
        let name = table.get("name").and_then(|name| shown_name(name.get_ref().as_str()?));
        return Some(token_line(name.as_deref().unwrap_or("ci"), token.get_ref(), "MOONGATE_TOKEN"));
    }
    if names_source(value) {
        return None;
    }
    let names = keys(table);
    let variable = |name: &str| match names.len() {
        1 => "MOONGATE_TOKEN".to_owned(),
        _ => format!("MOONGATE_TOKEN_{}", variable(name)),
    };
    let line =
        |name: &&str| Some(token_line(&shown_name(name)?, table.get(*name)?.get_ref(), &variable(name)));
    let lines: Option<Vec<_>> = names.iter().map(line).collect();
    lines.filter(|lines| !lines.is_empty()).map(|lines| lines.join(", "))
}

/// A name as variables are called.
pub(in crate::config) fn variable(name: &str) -> String {
    name.to_ascii_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

/// Does it say where the secret is?
fn names_source(value: &DeValue<'_>) -> bool {
    value.get("env").or_else(|| value.get("file")).is_some()
        || value.as_str().is_some_and(|text| named_variable(text).is_some())
}

/// Where a secret is: as the value says, or in a variable of this name.
pub(in crate::config) fn source(value: &DeValue<'_>, variable: &str) -> String {
    let named = |key: &str| Some(format!("{key} = {}", shown(value.get(key)?.get_ref().as_str()?)?));
    let in_text = || Some(format!("env = \"{}\"", named_variable(value.as_str()?)?));
    named("env").or_else(|| named("file")).or_else(in_text).unwrap_or_else(|| format!("env = \"{variable}\""))
}

/// The variable that a text is a use of, as shells or this file write it.
fn named_variable(text: &str) -> Option<&str> {
    let text = ["Bearer ", "bearer "].iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text);
    let name = text.strip_prefix('$')?;
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    is_variable_name(name).then_some(name)
}

/// The one server that a secret is for.
fn origin(stray: &Stray<'_, '_>) -> Option<Habit> {
    if !stray.is(&ORIGINS) || stray.table.has("origin") {
        return None;
    }
    let hint = match stray.value.as_str().map(as_origin).and_then(|text| shown(&text)) {
        Some(origin) => format!("write `origin = {origin}` instead"),
        None => "did you mean `origin`?".to_owned(),
    };
    Some(Habit::new(hint).explaining(&["origin"]))
}

/// An address without what a secret's origin can't have.
fn as_origin(text: &str) -> String {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    format!("https://{}", host.to_ascii_lowercase())
}

/// Headers that stand beside `headers` instead of in it; what is said of the first holds for all.
fn headers(stray: &Stray<'_, '_>) -> Option<Habit> {
    let entries = stray.table.entries();
    let is_such = |name: &str, value: &DeValue<'_>| {
        let is = |words: &[&str]| words.iter().any(|word| name.eq_ignore_ascii_case(word));
        let is_header = name.eq_ignore_ascii_case("authorization") || name.contains('-');
        is(&BEARERS) || is(&KEYS) || is_header || value.get("env").or_else(|| value.get("file")).is_some()
    };
    if !is_such(stray.name, stray.value) {
        return None;
    }
    let all: Vec<_> = entries
        .iter()
        .filter(|(name, value)| !stray.table.has_key(name) && is_such(name, value.inner))
        .filter(|(name, _)| !ORIGINS.contains(name) || stray.table.has("origin"))
        .collect();
    if all.first().is_some_and(|(name, _)| *name != stray.name) {
        return Some(Habit { hint: None, explains: &["headers"] });
    }
    let lines: Vec<_> = all.iter().map(|(name, value)| header(name, value.inner)).collect();
    let unset = all.iter().any(|(_, value)| !names_source(value.inner));
    let set = if unset { ", and set that variable to the secret" } else { "" };
    let hint = if stray.table.has("headers") {
        format!("put it into `headers`: `{}`{set}", lines.join(", "))
    } else {
        format!("write `headers = {{ {} }}` instead{set}", lines.join(", "))
    };
    Some(Habit::new(hint).explaining(&["headers"]))
}

/// One header with its value.
fn header(name: &str, value: &DeValue<'_>) -> String {
    let is = |words: &[&str]| words.iter().any(|word| name.eq_ignore_ascii_case(word));
    let header = if is(&BEARERS) {
        "authorization".to_owned()
    } else if is(&KEYS) {
        "x-api-key".to_owned()
    } else {
        bare(name)
    };
    // Others may be the secret itself.
    let given = value.get("prefix").and_then(|prefix| prefix.get_ref().as_str());
    let given = given.filter(|prefix| is_scheme(prefix)).and_then(shown);
    let begins =
        value.as_str().is_some_and(|text| text.get(..7).is_some_and(|it| it.eq_ignore_ascii_case("bearer ")));
    let prefix = given.or_else(|| (is(&BEARERS) || begins).then(|| "\"Bearer \"".to_owned()));
    let prefix = prefix.map(|prefix| format!(", prefix = {prefix}")).unwrap_or_default();
    format!("{header} = {{ {}{prefix} }}", source(value, "TOKEN"))
}
