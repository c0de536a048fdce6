//! Keys of other programs, with hints.

use super::reader::TomlTable;

/// A key of other programs.
pub(crate) struct KeyAlias {
    /// Its names.
    names: &'static [&'static str],
    /// A key that identifies each table in which the alias has this meaning.
    tables: &'static [&'static str],
    /// The hint. `NAME` is replaced by the name of the plugin.
    pub(crate) hint: &'static str,
    /// The missing key that it explains.
    pub(crate) key: Option<&'static str>,
}

/// A key of the top level, of `[gateway]`, `[http]`, `[http.auth]`, of a plugin, and of its `allow`.
const TOP_LEVEL_KEY: &str = "plugins";
const GATEWAY_KEY: &str = "sealing_key";
const HTTP_KEY: &str = "listen";
const AUTH_KEY: &str = "tokens";
const PLUGIN_KEY: &str = "source";
const ALLOW_KEY: &str = "dirs";
/// A key of the tables that select items. `rename` is unknown only in the one for resources.
const SELECTION_KEY: &str = "deny";

const ALIASES: [KeyAlias; 10] = [
    KeyAlias {
        names: &["mcpServers", "mcp_servers", "servers"],
        tables: &[TOP_LEVEL_KEY],
        hint: "plugins are WebAssembly components, not commands or remote servers: add a table \
               `[plugins.NAME]` with `source = \"NAME.wasm\"` for each",
        key: None,
    },
    KeyAlias {
        names: &["command"],
        tables: &[PLUGIN_KEY],
        hint: "plugins are WebAssembly components, not commands: set `source` to a `.wasm` file",
        key: Some("source"),
    },
    KeyAlias {
        names: &["url"],
        tables: &[PLUGIN_KEY],
        hint: "plugins are WebAssembly components, not remote servers: set `source` to a `.wasm` file",
        key: Some("source"),
    },
    KeyAlias {
        names: &["hosts", "allowed_hosts"],
        tables: &[PLUGIN_KEY, ALLOW_KEY],
        hint: "list them in `http` in `[plugins.NAME.allow]`, such as `http = [\"https://example.com\"]`",
        key: None,
    },
    KeyAlias {
        names: &["env"],
        tables: &[PLUGIN_KEY],
        hint: "list the names of variables in `env` in `[plugins.NAME.allow]`; set values in `[plugins.NAME.config]`",
        key: None,
    },
    KeyAlias {
        names: &["port", "host"],
        tables: &[TOP_LEVEL_KEY, GATEWAY_KEY, HTTP_KEY],
        hint: "set the address and port with `listen`, such as `listen = \"127.0.0.1:8931\"` in `[http]`",
        key: None,
    },
    KeyAlias {
        names: &["token"],
        tables: &[TOP_LEVEL_KEY, GATEWAY_KEY, HTTP_KEY, AUTH_KEY],
        hint: "add it to `tokens` in `[http.auth]`: `{ name = \"ci\", token = { env = \"MOONGATE_TOKEN\" } }`",
        key: None,
    },
    KeyAlias {
        names: &["password"],
        tables: &[TOP_LEVEL_KEY, GATEWAY_KEY, HTTP_KEY, AUTH_KEY],
        hint: "give callers tokens instead: `tokens = [{ name = \"ci\", token = { env = \"MOONGATE_TOKEN\" } }]` in `[http.auth]`",
        key: None,
    },
    KeyAlias {
        names: &["rename"],
        tables: &[SELECTION_KEY],
        hint: "remove it: resources keep their URIs, because results contain them",
        key: None,
    },
    KeyAlias {
        names: &["timeout"],
        tables: &[TOP_LEVEL_KEY, GATEWAY_KEY, PLUGIN_KEY],
        hint: "set it in `[plugins.NAME.limits]` or `[defaults.limits]`, with a unit: `timeout = \"30s\"`",
        key: None,
    },
];

/// The meaning of a key in a table that doesn't have it.
pub(crate) fn find(table: &TomlTable<'_>, name: &str) -> Option<&'static KeyAlias> {
    let is_here = |alias: &&KeyAlias| {
        alias.names.iter().any(|its| its.eq_ignore_ascii_case(name))
            && alias.tables.iter().any(|key| table.is_valid_key(key))
    };
    ALIASES.iter().find(is_here)
}
