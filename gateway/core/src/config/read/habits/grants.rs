//! Grants as others write them: directories, variables, addresses, and what the client may be asked.

use toml::de::DeValue;

use crate::config::read::habits::credentials::{source, variable};
use crate::config::read::habits::{Habit, Stray, bare, keys, shown, texts};
use crate::config::read::interpolate::is_variable_name;
use crate::config::spec::keys::CLIENT_FEATURES;
use crate::config::model::literal::literal;

const OUTSIDE: [&str; 12] = [
    "src",
    "source",
    "from",
    "path",
    "host_path",
    "hostpath",
    "dir",
    "directory",
    "folder",
    "local",
    "local_path",
    "root",
];
const INSIDE: [&str; 14] = [
    "dst",
    "dest",
    "destination",
    "target",
    "to",
    "mount",
    "mount_point",
    "mountpoint",
    "mount_path",
    "guest_path",
    "container",
    "container_path",
    "as",
    "path",
];
const READS: [&str; 4] = ["readonly", "read_only", "read-only", "ro"];
const WRITES: [&str; 6] = ["writable", "writeable", "write", "read_write", "rw", "readwrite"];
const MODES: [&str; 5] = ["access", "permissions", "permission", "perms", "options"];
const VARIABLES: [&str; 6] = ["env", "vars", "variables", "environment", "env_vars", "envs"];
const ADDRESSES: [&str; 10] = [
    "hosts",
    "allowed_hosts",
    "urls",
    "domains",
    "network",
    "fetch",
    "allowed_domains",
    "origins",
    "web",
    "net",
];

pub(in crate::config) fn habit(stray: &Stray<'_, '_>) -> Option<Habit> {
    if stray.is_where(&["host", "guest"]) {
        return directories(stray);
    }
    let is_in_allow = stray.is_where(&["http", "dirs"]);
    if stray.is_where(&["limits", "portable_schemas"])
        && !stray.is_where(&["source"])
        && stray.is(&["allow", "grants", "permissions"])
    {
        return Some(Habit::new(
            "grants stand in each plugin's own table: write `[plugins.<name>.allow]` for each",
        ));
    }
    if !is_in_allow && !stray.is_in_plugin() {
        return None;
    }
    let place = match stray.plugin() {
        Some(plugin) if !is_in_allow => format!(" in `[plugins.{plugin}.allow]`"),
        _ => String::new(),
    };
    if stray.is(&VARIABLES) && (is_in_allow || !stray.value.is_array()) {
        let names = names_of(stray.value)?;
        return Some(Habit::new(format!(
            "write `env = [{names}]`{place}, and set what it names where the gateway starts"
        )));
    }
    if stray.is(&["secrets", "secret"]) {
        let plugin = stray.plugin()?;
        return Some(Habit::new(format!("{} in `[plugins.{plugin}.config]`", secrets(stray.value))));
    }
    if stray.is(&ADDRESSES) && !stray.table.has("http") {
        let texts = texts(stray.value)?;
        let texts: Option<Vec<_>> = texts.into_iter().map(|text| shown(&with_scheme(text))).collect();
        let hint = format!("write `http = [{}]`{place}", texts?.join(", "));
        return Some(Habit::new(hint));
    }
    features(stray, &place)
}

/// An address with the scheme that requests are usually sent by.
fn with_scheme(text: &str) -> String {
    if text.contains("://") { text.to_owned() } else { format!("https://{text}") }
}

fn directories(stray: &Stray<'_, '_>) -> Option<Habit> {
    let table = stray.table;
    // `path` beside `mount` is the outer one, and beside `host` the inner one.
    let takes_outside = !table.has("host") && stray.is_first(|name| OUTSIDE.contains(&name));
    if stray.is(&OUTSIDE) && takes_outside {
        return Some(Habit::new("did you mean `host`?").explaining(&["host"]));
    }
    if stray.is(&INSIDE) && !table.has("guest") {
        return Some(Habit::new("did you mean `guest`?").explaining(&["guest"]));
    }
    if stray.is(&MODES) && !table.has("mode") {
        return Some(Habit::new("did you mean `mode`?"));
    }
    let is_reading = stray.is(&READS);
    if !is_reading && !stray.is(&WRITES) {
        return None;
    }
    let is_yes = match stray.value {
        DeValue::Boolean(yes) => *yes,
        value => !value.as_str().is_some_and(|text| ["false", "no", "off"].contains(&text)),
    };
    let mode = if is_reading == is_yes { "ro" } else { "rw" };
    Some(Habit::new(if table.has("mode") {
        "remove this: `mode` says it".to_owned()
    } else {
        format!("write `mode = \"{mode}\"` instead")
    }))
}

/// The names of what others write as a table of names and values, or as `NAME=value`, in quotes. None: what stands there
/// can't be the name of a variable, so it may be what one should hold.
pub(in crate::config) fn names_of(value: &DeValue<'_>) -> Option<String> {
    let names: Vec<&str> = match value {
        DeValue::Table(table) => keys(table),
        value => texts(value)?.iter().map(|text| text.split('=').next().unwrap_or_default().trim()).collect(),
    };
    let names: Option<Vec<_>> =
        names.into_iter().map(|name| shown(name).filter(|_| is_variable_name(name))).collect();
    names.filter(|names| !names.is_empty()).map(|names| names.join(", "))
}

/// How secrets become settings.
fn secrets(value: &DeValue<'_>) -> String {
    let lines: Vec<_> = match value {
        DeValue::Table(table) => keys(table)
            .into_iter()
            .filter(|key| shown(key).is_some())
            .filter_map(|key| {
                Some(format!("`{} = {{ {} }}`", bare(key), source(table.get(key)?.get_ref(), &variable(key))))
            })
            .collect(),
        value => texts(value)
            .unwrap_or_default()
            .into_iter()
            .filter(|name| shown(name).is_some() && value.is_array())
            .map(|name| {
                format!("`{} = {{ env = \"{}\" }}`", bare(&name.to_ascii_lowercase()), variable(name))
            })
            .collect(),
    };
    match lines.as_slice() {
        [] => "a secret is a setting: write `name = { env = \"NAME\" }`".to_owned(),
        lines => format!("a secret is a setting: write {}", lines.join(" and ")),
    }
}

/// What the client may be asked; what is said of the first holds for all.
fn features(stray: &Stray<'_, '_>, place: &str) -> Option<Habit> {
    let is_feature = |name: &str| CLIENT_FEATURES.contains(&name);
    if !is_feature(stray.name) {
        return None;
    }
    if !stray.is_first(is_feature) {
        return Some(Habit { hint: None, explains: &[] });
    }
    let entries = stray.table.entries();
    let wanted =
        entries.iter().filter(|(name, value)| is_feature(name) && value.inner.as_bool() != Some(false));
    let wanted: Vec<_> = wanted.map(|(name, _)| format!("{name:?}")).collect();
    let hint = match wanted.as_slice() {
        [] => "remove this: nothing may be asked that isn't granted".to_owned(),
        wanted if stray.table.has("client") => format!("put {} into `client`", wanted.join(", ")),
        wanted => format!("write `client = [{}]`{place} instead", wanted.join(", ")),
    };
    Some(Habit::new(hint))
}

/// The grant of a directory that was written as a text: its path alone, or as programs for containers write it,
/// `outside:inside:mode`.
pub(in crate::config) fn directory(text: &str) -> String {
    let mut parts = text.split(':');
    let host = filled(parts.next().unwrap_or_default());
    let inside = parts.next().filter(|inside| inside.starts_with('/'));
    let Some(guest) = inside else {
        let host = filled(text);
        let name = host.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        let guest = if is_name { name } else { "data" };
        return format!("{{ host = {}, guest = \"/{guest}\" }}", literal(&host));
    };
    let guest = if guest.len() > 1 { guest.trim_end_matches('/') } else { guest };
    let mode = parts.flat_map(|options| options.split(',')).find(|option| matches!(*option, "ro" | "rw"));
    let mode = mode.map(|mode| format!(", mode = {mode:?}")).unwrap_or_default();
    format!("{{ host = {}, guest = {}{mode} }}", literal(&host), literal(guest))
}

/// A path with variables as they are written here.
fn filled(path: &str) -> String {
    if path == "~" || path.starts_with("~/") {
        return format!("${{HOME}}{}", &path[1..]);
    }
    match path.strip_prefix('$').map(|rest| rest.split_at(rest.find('/').unwrap_or(rest.len()))) {
        Some((name, rest)) if crate::config::read::interpolate::is_variable_name(name) => format!("${{{name}}}{rest}"),
        _ => path.to_owned(),
    }
}
