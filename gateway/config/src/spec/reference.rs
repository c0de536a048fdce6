//! `docs/config.md`: the reference of every key, generated from the key table.

use std::fmt::Write as _;

use bytesize::ByteSize;

use super::keys::{Content, Key, MIN_SIZE_WITHOUT_UNIT, NumberRange, ROOT, ValueKind, is_rate};

const INTRODUCTION: &str = "\
# Configuration reference

Every key of `gateway.toml`. This page is generated from the gateway's key table.
Run `moongate schema` to print it as a JSON Schema for editors, `moongate check` to find all problems in a file, and `moongate check --print-resolved` to see the effective configuration.

The file is TOML. Unknown keys are errors.
Relative paths are relative to the directory of the file.
In strings, `${NAME}` is replaced by an environment variable, `${NAME:-text}` uses a default if the variable is unset or empty, and `$${` is a literal `${`. `${TZ}` is the name of a time zone, even if `TZ` is `:Europe/Oslo` or a file such as `/usr/share/zoneinfo/Europe/Oslo`. If `TZ` is unset, `${TZ}` is the machine's time zone.

- A *duration* is a string with a unit: `\"500ms\"`, `\"30s\"`, `\"5m\"`, `\"1h 30m\"`.
- A *size* is a string with a unit: `\"512B\"`, `\"64KiB\"`, `\"64MiB\"`, `\"1GiB\"`; or a number of bytes, 0 or at least 4096. \
  `KiB`, `MiB` and `GiB` are powers of 1024; `KB`, `MB`, `GB` and `k`, `m`, `g` are powers of 1000: \
  `\"64KB\"` is 62.5 KiB.
- A *rate* is a string such as `\"60/min\"`, or a table such as `{ rate = \"60/min\", burst = 10 }`. The period is a second \
  (`s`), a minute (`min`), an hour (`h`) or a day (`d`). `burst` is the most calls that can be made in quick \
  succession after a pause; by default, it is the number of calls in the period.
- A *secret* isn't stored in the file: use `{ env = \"NAME\" }` for an environment variable, or `{ file = \"path\" }` for a file.
";

/// The content of `docs/config.md`.
#[must_use]
pub fn render() -> String {
    debug_assert!(INTRODUCTION.contains(&MIN_SIZE_WITHOUT_UNIT.to_string()));
    let mut page = INTRODUCTION.to_owned();
    table("", "Top level", "The keys before the first table header.", ROOT, &mut page);
    page
}

/// A section for a table, and then one for each table in it.
fn table(path: &str, title: &str, doc: &str, keys: &[Key], page: &mut String) {
    let _ = write!(page, "\n## {title}\n\n{doc}\n\n");
    page.push_str("| key | type | default | example | description |\n|---|---|---|---|---|\n");
    for key in keys {
        let default = match (key.required, key.default) {
            (true, _) => "required".to_owned(),
            (false, Some(default)) => format!("`{default}`"),
            (false, None) => "–".to_owned(),
        };
        let example = if is_table(&key.kind) {
            format!("`[{}]`", below(path, key))
        } else {
            format!("`{} = {}`", key.name, example(key))
        };
        let cells = [format!("`{}`", key.name), kind(&key.kind), default, example, key.doc.to_owned()];
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
    for key in keys {
        let below = below(path, key);
        if let Some((path, keys)) = inside(&key.kind, &below).filter(|(_, keys)| !is_rate(keys)) {
            // The limits of all plugins and of one have the same keys.
            if path == "plugins.NAME.limits" {
                let _ = write!(
                    page,
                    "\n## `[{path}]`\n\n{} It has the same keys as `[defaults.limits]`, which sets their defaults.\n",
                    key.doc
                );
                continue;
            }
            table(&path, &heading(&key.kind, &path), key.doc, keys, page);
        }
    }
}

fn below(path: &str, key: &Key) -> String {
    let name = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
    if matches!(key.kind, ValueKind::Named(ValueKind::Table(_))) { format!("{name}.NAME") } else { name }
}

/// Reports whether it is usually written as a table header.
fn is_table(kind: &ValueKind) -> bool {
    matches!(kind, ValueKind::Table(_) | ValueKind::Named(_) | ValueKind::Settings)
}

/// The heading of a section: a table header, or an array of tables.
fn heading(kind: &ValueKind, path: &str) -> String {
    if is_table(kind) { format!("`[{path}]`") } else { format!("A table in the array `{path}`") }
}

/// The keys of the tables in a value, and their path.
fn inside(kind: &ValueKind, path: &str) -> Option<(String, &'static [Key])> {
    match kind.content() {
        Content::Keys(keys) | Content::StringOrKeys(keys) => Some((path.to_owned(), keys)),
        Content::Named(value) | Content::Items(value) => inside(value, path),
        Content::Nothing | Content::Settings => None,
    }
}

/// An example: the default if it makes a useful one.
fn example(key: &Key) -> String {
    let instructive = key.default.filter(|default| !matches!(*default, "[]" | "\"\"" | "false" | "true"));
    instructive.map_or_else(|| key.kind.example(), str::to_owned)
}

/// The type in a few words, with its range.
fn kind(kind: &ValueKind) -> String {
    match kind {
        ValueKind::Version => "the number 1".to_owned(),
        ValueKind::Integer(range) => format!("integer, {}", range_text(*range, &|number| number.to_string())),
        ValueKind::Duration(range) => format!("duration, {}", range_text(*range, &seconds)),
        ValueKind::Size(range) => format!("size, {}", range_text(*range, &size)),
        ValueKind::Boolean => "boolean".to_owned(),
        ValueKind::NameOrBoolean(_) => "boolean or name".to_owned(),
        ValueKind::String(_) => "string".to_owned(),
        ValueKind::Path(_) => "path".to_owned(),
        ValueKind::StringOrTable(_, keys) if is_rate(keys) => "rate".to_owned(),
        ValueKind::StringOrTable(..) => "string or table".to_owned(),
        ValueKind::OneOf(words) => {
            words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(" or ")
        }
        ValueKind::Secret => "secret".to_owned(),
        ValueKind::Array(item) => format!("array of: {}", self::kind(item)),
        ValueKind::Table(_) => "table".to_owned(),
        ValueKind::Named(value) => format!("table by name: {}", self::kind(value)),
        ValueKind::Settings => "table".to_owned(),
    }
}

fn range_text(range: NumberRange, written: &dyn Fn(u64) -> String) -> String {
    let least = match range.min {
        0 => "0 or more".to_owned(),
        1 => "more than 0".to_owned(),
        min => format!("at least {}", written(min)),
    };
    if range.max == u64::MAX { least } else { format!("{least}, at most {}", written(range.max)) }
}

fn seconds(seconds: u64) -> String {
    humantime::format_duration(std::time::Duration::from_secs(seconds)).to_string()
}

fn size(bytes: u64) -> String {
    ByteSize::b(bytes).display().iec().to_string().replace(".0 ", "").replace(' ', "")
}

#[cfg(test)]
mod tests;
