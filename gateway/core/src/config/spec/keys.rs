//! Every key of `gateway.toml`: what it is called, which type, limits and default it has, and what it is for.
//!
//! The one table that the reader checks against (unknown keys, types, ranges), that suggestions come from, and that
//! the JSON Schema is written from. The values that defaults become stand in code, where they are used; a test
//! compares them with what is said here.

mod kind;
mod limits;

pub use kind::{Inside, Key, Kind, LEAST_WITHOUT_UNIT, Number};
pub use limits::LIMITS;

use kind::{key, optional, required};

/// The top level.
pub static ROOT: &[Key] = &[
    required("version", Kind::Version, "The version of this format: 1."),
    key("gateway", Kind::Table(GATEWAY), "The gateway itself."),
    key("http", Kind::Table(HTTP), "The HTTP endpoint, used by `serve` without `--stdio`, or with `--http`."),
    key(
        "admin",
        Kind::Table(ADMIN),
        "The listener for operators: health, metrics, status and reloads. Without this table there is none.",
    ),
    key("defaults", Kind::Table(DEFAULTS), "What holds for every plugin that doesn't say otherwise."),
    key(
        "plugins",
        Kind::Named(&Kind::Table(PLUGIN)),
        "The plugins, each under the name that its tools carry in front. Where two are in conflict, the first \
         in the file wins.",
    ),
];

/// The gateway itself.
pub static GATEWAY: &[Key] = &[
    optional(
        "concurrency",
        Kind::Integer(Number { most: 10_000, ..Number::positive("nothing could ever run") }),
        "64",
        "How many calls run at once, of all plugins together.",
    ),
    key(
        "page_size",
        Kind::Integer(Number { most: 100_000, ..Number::positive("no page could hold anything") }),
        "How many tools, resources, templates or prompts are listed at once. A list that is longer comes in pages, \
         in alphabetical order. Without it every list is one page: many clients never ask for a second.",
    ),
    key(
        "sealing_key",
        Kind::Secret,
        "Seals what clients carry from one request to the next, such as the place where a list goes on: \
         `{ env = \"NAME\" }` or `{ file = \"path\" }`. Gateways that share clients need the same. Without it each \
         gateway makes its own when it starts.",
    ),
    key(
        "cache",
        Kind::Path("/var/cache/moongate"),
        "The directory for compiled code, private to the gateway. `MOONGATE_CACHE_DIR` goes before it; without \
         either it is `moongate` in `$XDG_CACHE_HOME` or `$HOME/.cache`.",
    ),
    key(
        "state",
        Kind::Path("state"),
        "The directory for what plugins keep from one call to the next, private to the gateway and on a disk of this \
         machine. Gateways that name the same directory share it. `MOONGATE_STATE_DIR` goes before it; without either \
         state is kept in memory and is lost when the gateway ends. Stores of plugins that are no longer there stay in it.",
    ),
    key(
        "ca_file",
        Kind::Path("certificates.pem"),
        "A file with certificates of authorities, in PEM: plugins' requests by `https` trust them beside those that \
         the machine trusts.",
    ),
    optional(
        "watch",
        Kind::Boolean,
        "true",
        "Whether changes of this file, of components and of secrets' files come into force by themselves. Without \
         it the gateway looks at them when it gets SIGHUP or is asked to at the admin listener.",
    ),
    optional(
        "poll",
        Kind::Duration(Number { most: 3_600, ..Number::positive("nothing else would be done") }),
        "\"5s\"",
        "How often every file is looked at while `watch` is on, from 100ms to an hour. Most changes are noticed at \
         once; this is for file systems that don't tell of changes.",
    ),
    optional(
        "wider_grants",
        Kind::Word(&["live", "wait"]),
        "\"live\"",
        "When a change of this file that grants a plugin more comes into force. `live`: at once; `wait`: when the \
         gateway gets SIGHUP or is asked to reload at the admin listener. That it is no longer `wait` waits for the \
         same.",
    ),
    optional(
        "require_all",
        Kind::Boolean,
        "false",
        "Whether a plugin that can't be used keeps the gateway from starting. Without it the others serve.",
    ),
    optional(
        "stop_grace",
        Kind::Duration(Number { most: 3_600, ..Number::any() }),
        "\"30s\"",
        "How long calls that run may go on when the gateway stops. When the host of `serve --stdio` ends its side, \
         2s at most.",
    ),
];

static ADMIN: &[Key] = &[optional(
    "listen",
    Kind::Text("an address such as \"127.0.0.1:8932\""),
    "\"127.0.0.1:8932\"",
    "The IP address and port to listen on: a loopback address, because nobody is asked for a token. Port 0 takes a \
     free one.",
)];

static HTTP: &[Key] = &[
    optional(
        "listen",
        Kind::Text("an address such as \"127.0.0.1:8931\""),
        "\"127.0.0.1:8931\"",
        "The IP address and port to listen on; `localhost` or nothing before the `:` is `127.0.0.1`, and port 0 takes a free one. \
         An address that others can reach needs \
         `auth.tokens`.",
    ),
    optional(
        "allowed_hosts",
        Kind::List(&Kind::Text("a host name such as \"gateway.example.com\"")),
        "[]",
        "Host names that a request may be addressed to, without a port, beside loopback names and the listening \
         address.",
    ),
    optional(
        "allowed_origins",
        Kind::List(&Kind::Text("an origin such as \"https://example.com\"")),
        "[]",
        "Origins of web pages that may call: scheme, host and port. Pages from loopback addresses always may.",
    ),
    optional(
        "max_body",
        Kind::Size(Number { most: 1 << 30, ..Number::positive("no request would fit") }),
        "\"4MiB\"",
        "The largest request body.",
    ),
    optional(
        "max_sessions",
        Kind::Integer(Number { most: 1_000_000, ..Number::positive("nobody could connect") }),
        "1000",
        "How many sessions of the handshake revisions may be open at once.",
    ),
    optional(
        "session_idle",
        Kind::Duration(Number { most: 30 * 86_400, ..Number::positive("every session would end at once") }),
        "\"30m\"",
        "A session that was silent for so long is ended. A client that listens isn't silent.",
    ),
    optional(
        "keep_alive",
        Kind::Duration(Number { most: 3_600, ..Number::positive("nothing else would be sent") }),
        "\"15s\"",
        "How often a stream of events on which nothing is said shows that it is alive. Proxies cut silent ones.",
    ),
    key(
        "close_streams_after",
        Kind::Duration(Number { most: 86_400, ..Number::positive("every stream would be closed at once") }),
        "When the connection of a stream of events is closed though the stream goes on: its client comes back for \
         the rest. For proxies that allow no long connections; only clients of 2025-11-25 know how. Without it no \
         connection is closed early.",
    ),
    optional(
        "legacy_sse",
        Kind::Boolean,
        "false",
        "Whether clients that know only the HTTP transport of 2024-11-05 are served too: they connect to `/sse` and \
         post to `/messages`.",
    ),
    key("auth", Kind::Table(AUTH), "Who may call."),
];

static AUTH: &[Key] = &[optional(
    "tokens",
    Kind::List(&Kind::Table(TOKEN)),
    "[]",
    "Bearer tokens. Without any, everybody who reaches the address may call. Whoever serves stdio only needs none of them.",
)];

/// A bearer token.
static TOKEN: &[Key] = &[
    required(
        "name",
        Kind::Text("a name such as \"ci\""),
        "Whom the token stands for; plugins and logs see this name.",
    ),
    required("token", Kind::Secret, "The token: `{ env = \"NAME\" }` or `{ file = \"path\" }`."),
];

static DEFAULTS: &[Key] = &[
    optional(
        "portable_schemas",
        Kind::Boolean,
        "false",
        "Whether tools' schemas are shown in a simpler form, for every plugin that doesn't say otherwise.",
    ),
    key("limits", Kind::Table(LIMITS), "Limits of every plugin that has no own."),
];

/// A plugin's table.
static PLUGIN: &[Key] = &[
    required(
        "source",
        Kind::Path("plugins/dist/fetch.wasm"),
        "The component: a path, relative to this file.",
    ),
    key(
        "sha256",
        Kind::Text("64 hexadecimal digits"),
        "The SHA-256 digest of the only content that is accepted.",
    ),
    optional(
        "reload",
        Kind::Word(&["live", "pinned"]),
        "\"live\"",
        "When a changed component is taken. `live`: as soon as it is noticed; `pinned`: when the gateway gets SIGHUP \
         or is asked to reload at the admin listener.",
    ),
    optional(
        "instances",
        Kind::Word(&["fresh", "reused"]),
        "\"fresh\"",
        "Whether calls share instances of the component. `fresh`: each call has one of its own, which nobody had before. \
         `reused`: an instance that has served a call waits for the next one of the same caller, with all that it has in \
         memory; for plugins that take long to start. Callers without a name (HTTP without tokens) never share.",
    ),
    key(
        "prefix",
        Kind::Text("a name such as \"files\""),
        "What stands before `_` in public names, instead of the plugin's name; \"\" for nothing.",
    ),
    key("tools", Kind::Table(TOOLS), "Which tools are offered, and under which name."),
    optional(
        "uris",
        Kind::List(&Kind::Text("a URI such as \"notes://\"")),
        "[]",
        "URIs, or how URIs begin, that are this plugin's even where another claims them.",
    ),
    optional(
        "portable_schemas",
        Kind::Boolean,
        "false",
        "Whether the schemas of the plugin's tools are shown without references and without `anyOf`, `oneOf`, \
         `allOf` and the like at the top, for clients that can't read those. Arguments and results are checked against \
         the schemas as the plugin has them.",
    ),
    key("allow", Kind::Table(ALLOW), "What the plugin may reach. Nothing is allowed by default."),
    key("limits", Kind::Table(LIMITS), "How much the plugin may use."),
    key(
        "config",
        Kind::Settings,
        "The plugin's own settings, read through `wasi:config/store`: strings as they are, everything else as \
         compact JSON, `{ env = \"NAME\" }` and `{ file = \"path\" }` as secrets.",
    ),
];

static TOOLS: &[Key] = &[
    key(
        "allow",
        Kind::List(&Kind::Text("a tool's name such as \"delete\"")),
        "Only these, by the plugin's own names. Without it: all.",
    ),
    optional(
        "deny",
        Kind::List(&Kind::Text("a tool's name such as \"delete\"")),
        "[]",
        "All but these, by the plugin's own names.",
    ),
    key(
        "rename",
        Kind::Named(&Kind::Text("a public name such as \"now\"")),
        "Public names, by the plugin's own names; no prefix is put before them.",
    ),
];

static ALLOW: &[Key] = &[
    optional(
        "http",
        Kind::List(&Kind::TextOrTable("an address such as \"https://example.com\"", HTTP_GRANT)),
        "[]",
        "Where requests may go: scheme, host, port where it isn't the usual one, and what the path begins with, up to a \
         `/`. `*.example.org` stands for every name below `example.org`, but not for that name itself; `*` alone stands \
         for every name. Addresses that aren't public are \
         refused, whatever name leads to them, unless `networks` grants them.",
    ),
    optional(
        "credentials",
        Kind::List(&Kind::Table(CREDENTIAL)),
        "[]",
        "Headers that the gateway adds to the plugin's requests to one origin, in place of what the plugin says there \
         itself. The plugin doesn't see them; `http` must grant the origin, too.",
    ),
    optional("dirs", Kind::List(&Kind::Table(DIR)), "[]", "Directories that may be read or changed."),
    optional(
        "env",
        Kind::List(&Kind::Text("the name of a variable such as \"LANG\"")),
        "[]",
        "Environment variables that may be read, by name.",
    ),
    optional(
        "client",
        Kind::List(&Kind::Word(CLIENT_FEATURES)),
        "[]",
        "What may be asked of the person or the model at the other end.",
    ),
    optional(
        "state",
        Kind::NameOrBoolean("a name such as \"notes\""),
        "false",
        "Whether the plugin may keep state from one call to the next, through `wasi:keyvalue`. `true`: a store of \
         its own, under the name of its table. A name: the store of that name, which plugins with the same name here \
         share, and which stays when the plugin's table gets another name. It outlives the gateway only where `state` in \
         `[gateway]` names a directory for it.",
    ),
    optional(
        "instructions",
        Kind::Boolean,
        "false",
        "Whether the plugin may add to the server's instructions, labelled as its own.",
    ),
];

/// What may be asked of the client.
pub static CLIENT_FEATURES: &[&str] = &["elicitation", "sampling", "roots"];

/// Where requests may go, said in more words.
static HTTP_GRANT: &[Key] = &[
    required("url", Kind::Text("an address such as \"https://example.com\""), "Where requests may go."),
    key(
        "methods",
        Kind::List(&Kind::Text("a method such as \"GET\"")),
        "Only by these methods. Without it: by all.",
    ),
    optional(
        "networks",
        Kind::List(&Kind::Text("a network such as \"10.1.0.0/16\"")),
        "[]",
        "Networks that aren't public, but that the host may be in all the same. An address in `url` that isn't public \
         needs its own.",
    ),
];

/// What is added to requests.
static CREDENTIAL: &[Key] = &[
    required(
        "origin",
        Kind::Text("an origin such as \"https://api.example.com\""),
        "Where the headers are sent, and nowhere else: `https`, one host, no path.",
    ),
    required(
        "headers",
        Kind::Named(&Kind::Table(HEADER)),
        "The headers, by name; none that says how a message is sent, such as `host`.",
    ),
];

/// Where a secret is, if in a variable.
const ENV: Key = key(
    "env",
    Kind::Text("the name of a variable such as \"API_TOKEN\""),
    "The environment variable that holds it.",
);

/// Where a secret is, if in a file.
const FILE: Key = key(
    "file",
    Kind::Path("secrets/token"),
    "The file that holds it; one line break at its end is left away.",
);

/// The value of a header that is added.
pub static HEADER: &[Key] = &[
    ENV,
    FILE,
    optional(
        "prefix",
        Kind::Text("a text such as \"Bearer \""),
        "\"\"",
        "What stands before it in the header.",
    ),
];

/// A granted directory.
static DIR: &[Key] = &[
    required("host", Kind::Path("./notes"), "The directory on this machine, relative to this file."),
    required("guest", Kind::Text("an absolute path such as \"/notes\""), "Its path inside the sandbox."),
    optional(
        "mode",
        Kind::Word(&["ro", "rw"]),
        "\"ro\"",
        "`ro`: it may be read; `rw`: it may be changed too.",
    ),
];

/// A text that isn't written into the file.
pub static SECRET: &[Key] = &[ENV, FILE];
