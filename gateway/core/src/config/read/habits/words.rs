//! A table of other programs' words, each with one sentence.

use toml::de::DeValue;

use crate::config::read::habits::{Habit, Stray, shown, shown_value, texts};

/// Words, the keys of the tables in which they are meant so, and what to do.
type Word = (&'static [&'static str], &'static [&'static str], &'static str);

const LOG: &str = "remove this, and start the gateway with `-v`, or with `MOONGATE_LOG=debug` set";
const TLS: &str = "remove this: the gateway serves plain HTTP; put a proxy in front of it that serves TLS";
const TRANSPORT: &str = "remove this: `moongate serve` serves HTTP, and `moongate serve --stdio` stdio";
const COMMENT: &str = "remove this, or begin its line with `#`";
const LOGS: &[&str] =
    &["log_level", "loglevel", "log", "logging", "logs", "verbose", "verbosity", "debug", "log_file"];
const CERTIFICATES: &[&str] = &[
    "tls",
    "cert",
    "key",
    "ssl",
    "https",
    "cert_file",
    "key_file",
    "certificate",
    "tls_cert",
    "tls_key",
    "private_key",
    "certfile",
    "keyfile",
];

const WORDS: &[Word] = &[
    (LOGS, &["plugins"], LOG),
    (LOGS, &["sealing_key"], LOG),
    (LOGS, &["listen"], LOG),
    (LOGS, &["source", "allow"], LOG),
    (CERTIFICATES, &["listen"], TLS),
    (CERTIFICATES, &["sealing_key"], TLS),
    (CERTIFICATES, &["plugins"], TLS),
    (&["transport", "protocol", "stdio"], &["listen"], TRANSPORT),
    (&["transport", "protocol", "stdio"], &["sealing_key"], TRANSPORT),
    (&["transport", "protocol", "stdio"], &["plugins"], TRANSPORT),
    (&["path", "base_path", "mcp_path", "route"], &["listen"], "remove this: the path is `/mcp`"),
    (&["description", "title", "display_name", "comment", "author"], &["source", "allow"], COMMENT),
    (
        &["version", "tag"],
        &["source", "allow"],
        "remove this: `source` names one file; `sha256` pins what it holds",
    ),
    (
        &["readonly", "read_only"],
        &["dirs"],
        "remove this: each directory in `dirs` says so with `mode = \"ro\"`",
    ),
];

/// Keys of another name whose value stays: the words, the keys of the tables, the name, and where it stands.
type Rename = (&'static [&'static str], &'static [&'static str], &'static str, &'static str);

const STATE: &[&str] = &["state_dir", "data_dir", "storage", "database", "db", "data", "state_path"];
const CACHE: &[&str] = &["cache_dir", "cache_path", "cachedir"];
const DIGEST: &[&str] = &["hash", "digest", "checksum", "sha", "integrity", "sha_256", "sha256sum"];

const RENAMES: &[Rename] = &[
    (STATE, &["sealing_key"], "state", ""),
    (STATE, &["plugins"], "state", " in `[gateway]`"),
    (CACHE, &["sealing_key"], "cache", ""),
    (CACHE, &["plugins"], "cache", " in `[gateway]`"),
    (DIGEST, &["source", "allow"], "sha256", ""),
    (&["origin", "host", "uri", "address", "endpoint", "domain"], &["url", "methods"], "url", ""),
];

const ORIGINS: [&str; 5] = ["cors", "cors_origins", "origins", "allow_origins", "cors_allowed_origins"];
const COMPONENTS: [&str; 8] = ["path", "file", "wasm", "module", "component", "src", "binary", "artifact"];

pub(in crate::config) fn habit(stray: &Stray<'_, '_>) -> Option<Habit> {
    let rename = RENAMES.iter().find(|(words, keys, ..)| stray.is(words) && stray.is_where(keys));
    if let Some((_, _, name, place)) = rename {
        let value =
            stray.value.as_str().map(|text| text.trim_start_matches("sha256:").trim_start_matches("sha256-"));
        let value = value.and_then(shown).map(|value| format!(" = {value}")).unwrap_or_default();
        return Some(Habit::new(format!("write `{name}{value}`{place} instead")).explaining(&["url"]));
    }
    if stray.is_where(&["listen", "allowed_origins"]) && stray.is(&ORIGINS) {
        return Some(origins(stray.value));
    }
    if stray.is_where(&["listen", "allowed_hosts"]) && stray.is(&["hosts", "server_name", "domains"]) {
        return Some(Habit::new("did you mean `allowed_hosts`?"));
    }
    if stray.is_in_plugin() && stray.is(&COMPONENTS) {
        if stray.table.has("source") {
            return Some(Habit::new("remove this: `source` names the component"));
        }
        let value = shown_value(stray.value)?;
        return Some(Habit::new(format!("write `source = {value}` instead")).explaining(&["source"]));
    }
    let (.., sentence) = WORDS.iter().find(|(words, keys, _)| stray.is(words) && stray.is_where(keys))?;
    Some(Habit::new(*sentence))
}

/// The pages that may call.
fn origins(value: &DeValue<'_>) -> Habit {
    let named = texts(value).filter(|texts| !texts.contains(&"*"));
    let named: Option<Vec<_>> = named.and_then(|texts| texts.into_iter().map(shown).collect());
    Habit::new(match named {
        Some(named) if !named.is_empty() => {
            format!("write `allowed_origins = [{}]` instead", named.join(", "))
        }
        _ => "name the pages that may call, such as `allowed_origins = [\"https://example.com\"]`".to_owned(),
    })
}
