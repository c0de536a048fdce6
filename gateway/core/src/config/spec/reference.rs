//! `docs/config.md`: every key for people to look up, written from the table of keys.

use std::fmt::Write as _;

use bytesize::ByteSize;

use crate::config::spec::keys::{Inside, Key, Kind, LEAST_WITHOUT_UNIT, Number, ROOT};

const TITLE: &str = "\
# Every key of `gateway.toml`

This page is written from the table by which the gateway itself reads the file.
`moongate schema` prints the same as a JSON Schema, for editors; `moongate check` says all that is wrong with a file, and `moongate check --print-resolved` what holds in the end.

The file is TOML, and a key that isn't here is a mistake.
A relative path starts at the directory of the file.
In texts `${NAME}` stands for an environment variable, `${NAME:-text}` gives a text for when it isn't set or empty, and `$${` is a plain `${`.

- A *duration* is a text with units: `\"500ms\"`, `\"30s\"`, `\"5m\"`, `\"1h 30m\"`.
- A *size* is a text with a unit: `\"512B\"`, `\"64KiB\"`, `\"64MiB\"`, `\"1GiB\"`; or a number of bytes, 0 or at least 4096. \
  `KiB`, `MiB` and `GiB` are powers of 1024; `KB`, `MB`, `GB` and `k`, `m`, `g` are taken, too, as powers of 1000: \
  `\"64KB\"` is 62.5 KiB.
- A *secret* isn't in the file: `{ env = \"NAME\" }` names the environment variable that holds it, `{ file = \"path\" }` the file.
";

/// The page as text, as it stands in `docs/config.md`.
#[must_use]
pub fn render() -> String {
    debug_assert!(TITLE.contains(&LEAST_WITHOUT_UNIT.to_string()));
    let mut page = TITLE.to_owned();
    table("", "The top level", "What stands before the first header.", ROOT, &mut page);
    page
}

/// A section for a table, and then one for each table in it.
fn table(path: &str, title: &str, doc: &str, keys: &[Key], page: &mut String) {
    let _ = write!(page, "\n## {title}\n\n{doc}\n\n");
    page.push_str("| key | type | without it | example | what it is |\n|---|---|---|---|---|\n");
    for key in keys {
        let default = match (key.required, key.default) {
            (true, _) => "it must be there".to_owned(),
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
        if let Some((path, keys)) = inside(&key.kind, &below) {
            // The limits of all plugins and those of one are the same keys.
            if path == "plugins.NAME.limits" {
                let _ = write!(
                    page,
                    "\n## `[{path}]`\n\n{} The keys are those of `[defaults.limits]`, and so are the values of those that are left out.\n",
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
    if matches!(key.kind, Kind::Named(Kind::Table(_))) { format!("{name}.NAME") } else { name }
}

/// Is it written as a header, mostly?
fn is_table(kind: &Kind) -> bool {
    matches!(kind, Kind::Table(_) | Kind::Named(_) | Kind::Settings)
}

/// How the heading of a section names what it is about: a header of the file, or a list of such tables.
fn heading(kind: &Kind, path: &str) -> String {
    if is_table(kind) { format!("`[{path}]`") } else { format!("A table in the list `{path}`") }
}

/// The keys of the tables that a value holds, and how to name them.
fn inside(kind: &Kind, path: &str) -> Option<(String, &'static [Key])> {
    match kind.inside() {
        Inside::Keys(keys) | Inside::TextOrKeys(keys) => Some((path.to_owned(), keys)),
        Inside::Named(value) | Inside::Items(value) => inside(value, path),
        Inside::Nothing | Inside::Settings => None,
    }
}

/// A value that says something: the default where it does.
fn example(key: &Key) -> String {
    let telling = key.default.filter(|default| !matches!(*default, "[]" | "\"\"" | "false" | "true"));
    telling.map_or_else(|| key.kind.example(), str::to_owned)
}

/// The type in a word or two, and what it may be.
fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Version => "the number 1".to_owned(),
        Kind::Integer(range) => format!("number, {}", span(*range, &|number| number.to_string())),
        Kind::Duration(range) => format!("duration, {}", span(*range, &seconds)),
        Kind::Size(range) => format!("size, {}", span(*range, &size)),
        Kind::Boolean => "`true` or `false`".to_owned(),
        Kind::NameOrBoolean(_) => "`true`, `false` or a name".to_owned(),
        Kind::Text(_) => "text".to_owned(),
        Kind::Path(_) => "path".to_owned(),
        Kind::TextOrTable(..) => "text or table".to_owned(),
        Kind::Word(words) => {
            words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(" or ")
        }
        Kind::Secret => "secret".to_owned(),
        Kind::List(item) => format!("list: {}", self::kind(item)),
        Kind::Table(_) => "table".to_owned(),
        Kind::Named(value) => format!("table of names: {}", self::kind(value)),
        Kind::Settings => "table".to_owned(),
    }
}

fn span(range: Number, written: &dyn Fn(u64) -> String) -> String {
    let least = if range.zero.is_some() { "more than 0" } else { "0 or more" };
    if range.most == u64::MAX {
        least.to_owned()
    } else {
        format!("{least}, at most {}", written(range.most))
    }
}

fn seconds(seconds: u64) -> String {
    humantime::format_duration(std::time::Duration::from_secs(seconds)).to_string()
}

fn size(bytes: u64) -> String {
    ByteSize::b(bytes).display().iec().to_string().replace(".0 ", "").replace(' ', "")
}

#[cfg(test)]
mod tests;
