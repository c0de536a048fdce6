//! The key table: every key of `gateway.toml` with its name, type, range, default and description.
//!
//! The reader checks files against it (unknown keys, types, ranges) and takes suggestions from it. The JSON Schema and
//! `docs/config.md` are generated from it. The code has the defaults as values; a test compares them.

pub use super::audit_keys::AUDIT;
pub(crate) use super::auth_keys::INTROSPECTION;
pub use super::kind::{Content, Key, MIN_SIZE_WITHOUT_UNIT, NumberRange, ValueKind};
pub use super::limit_keys::LIMITS;
pub(crate) use super::rate_keys::{EVERY_TOOL, RATE, TOOL_RATE, is_rate, is_tool_rate};
pub use super::role_keys::ROLE;

use super::admin_keys::ADMIN;
use super::auth_keys::AUTH;
use super::kind::{key, optional, required};
use super::rate_keys::CALLER_LIMITS;
use super::source_keys::SOURCES;
use super::store_keys::STORE;
use super::telemetry_keys::TELEMETRY;
use super::tls_keys::HTTP_TLS;
use super::unix_socket_keys::UNIX_SOCKET;

/// The top level.
pub static ROOT: &[Key] = &[
    required("version", ValueKind::Version, "The version of the configuration format."),
    key("gateway", ValueKind::Table(GATEWAY), "The gateway itself."),
    key(
        "http",
        ValueKind::Table(HTTP),
        "The HTTP endpoint, used by `serve` without `--stdio`, or with `--http`.",
    ),
    key(
        "unix_socket",
        ValueKind::Table(UNIX_SOCKET),
        "The Unix socket for clients on this machine, used by `serve` without `--stdio`, or with `--listen`. Without this \
         table, it is off. See [network.md](network.md#unix-socket).",
    ),
    key(
        "admin",
        ValueKind::Table(ADMIN),
        "The admin listener: health, metrics, status and reloads. Without this table, it is off.",
    ),
    key(
        "store",
        ValueKind::Table(STORE),
        "The store that several gateways share. Without this table, there is none. See \
         [scaling.md](scaling.md).",
    ),
    key(
        "audit",
        ValueKind::Table(AUDIT),
        "The audit log: a record of every call and every change. Without this table, it is off.",
    ),
    key(
        "telemetry",
        ValueKind::Table(TELEMETRY),
        "The export of traces and metrics over OTLP. Without this table, only the `OTEL_…` variables turn it on. See \
         [telemetry.md](telemetry.md).",
    ),
    key(
        "callers",
        ValueKind::Table(CALLER_LIMITS),
        "Limits of each caller. [limits.md](limits.md#several-callers) defines what a caller is.",
    ),
    key(
        "sources",
        ValueKind::Table(SOURCES),
        "Plugins from addresses: signatures and plain HTTP. See [sources.md](sources.md).",
    ),
    key("defaults", ValueKind::Table(DEFAULTS), "Defaults for all plugins."),
    key(
        "plugins",
        ValueKind::Named(&ValueKind::Table(PLUGIN)),
        "The plugins, by name. Tool names start with the plugin's name. If two plugins conflict, the first in the \
         file wins.",
    ),
    key(
        "roles",
        ValueKind::Named(&ValueKind::Table(ROLE)),
        "Roles, which decide what callers see. Without this table, all callers see everything; with it, callers without \
         a role see nothing. See [access.md](access.md).",
    ),
];

/// The gateway itself.
pub static GATEWAY: &[Key] = &[
    optional(
        "concurrency",
        ValueKind::Integer(NumberRange { max: 10_000, ..NumberRange::positive("no call could run") }),
        "64",
        "Concurrent calls to all plugins together.",
    ),
    key(
        "memory",
        // With less, hardly any plugin could be called.
        ValueKind::Size(NumberRange { min: 64 << 20, ..NumberRange::positive("no call could run") }),
        "The memory for the whole process: plugins' instances get half of it, requests and unread responses an eighth \
         each. The default is three quarters of the limit of the gateway's cgroup, or of the machine's memory.",
    ),
    key(
        "page_size",
        ValueKind::Integer(NumberRange { max: 100_000, ..NumberRange::positive("pages would be empty") }),
        "Tools, resources, templates or prompts on a page of a list, in alphabetical order. By default, a list has one \
         page, because many clients never request a second.",
    ),
    key(
        "sealing_key",
        ValueKind::Secret,
        "Seals the state that clients send back, such as the cursor of a list: `{ env = \"NAME\" }` or \
         `{ file = \"path\" }`. Gateways with the same clients need the same key. By default, each gateway generates \
         one at startup.",
    ),
    key(
        "cache",
        ValueKind::Path("/var/cache/moongate"),
        "The directory for compiled code, private to the gateway. `MOONGATE_CACHE_DIR` overrides it. The default is \
         `moongate` in `$XDG_CACHE_HOME` or `$HOME/.cache`.",
    ),
    key(
        "state",
        ValueKind::Path("state"),
        "The directory for plugins' state, private to the gateway and on a local disk. Gateways with the same directory \
         share it. `MOONGATE_STATE_DIR` overrides it. By default, state is kept in memory and lost when the gateway stops. \
         Stores of removed plugins stay in it.",
    ),
    key(
        "ca_file",
        ValueKind::Path("certificates.pem"),
        "A PEM CA bundle that plugins' HTTPS requests and requests to OAuth issuers trust, in addition to the system trust \
         store.",
    ),
    optional(
        "watch",
        ValueKind::Boolean,
        "true",
        "Watch this file, components and secret files, and apply changes automatically. If `false`, changes take effect \
         on SIGHUP or a reload request at the admin listener.",
    ),
    optional(
        "poll",
        ValueKind::Duration(NumberRange {
            max: 3_600,
            ..NumberRange::positive("the gateway would do nothing else")
        }),
        "\"5s\"",
        "The interval at which every file is polled while `watch` is on, from 100ms to an hour. Most changes are \
         noticed immediately; polling is for file systems that don't report changes.",
    ),
    key(
        "wider_grants",
        ValueKind::OneOf(&["live", "wait"]),
        "When wider grants in this file take effect. `live`: immediately. `wait`: on SIGHUP, a reload request at the \
         admin listener, a build of `moongate dev`, or the next start. The default is `wait` for `serve --stdio`, whose \
         host may have a model that edits files, and `live` otherwise. Changing `wait` back to `live` needs a reload request too.",
    ),
    optional(
        "require_all",
        ValueKind::Boolean,
        "false",
        "Refuse to start if a plugin can't be loaded. By default, the gateway starts without that plugin.",
    ),
    optional(
        "startup_wait",
        ValueKind::Duration(NumberRange { max: 3_600, ..NumberRange::any() }),
        "\"2s\"",
        "The time that a list, or a call to an unknown name, waits for plugins that are still being loaded after a \
         start. Later ones are announced with `list_changed`. With `require_all`, requests wait for all plugins.",
    ),
    optional(
        "stop_grace",
        ValueKind::Duration(NumberRange { max: 3_600, ..NumberRange::any() }),
        "\"30s\"",
        "The time that running calls get to finish on shutdown. With `serve --stdio`, it is at most 2s after the host \
         closes stdin.",
    ),
];

static HTTP: &[Key] = &[
    optional(
        "listen",
        ValueKind::String("an address such as \"127.0.0.1:8931\""),
        "\"127.0.0.1:8931\"",
        "The IP address and port to listen on. `localhost` or an empty host means `127.0.0.1`. Port 0 selects a free \
         port. A non-loopback address needs `auth.tokens`, `auth.issuers` or `tls.client_ca`.",
    ),
    optional(
        "allowed_hosts",
        ValueKind::Array(&ValueKind::String("a host name such as \"gateway.example.com\"")),
        "[]",
        "Host names and addresses to accept in the `Host` header, without a port, in addition to loopback names and \
         the listening address. Case, a trailing dot, non-ASCII letters and the spelling of an address make no \
         difference.",
    ),
    optional(
        "allowed_origins",
        ValueKind::Array(&ValueKind::String("an origin such as \"https://example.com\"")),
        "[]",
        "Origins of web pages that may call the gateway: scheme, host and port. Pages from loopback addresses and \
         `localhost` names are always allowed.",
    ),
    optional(
        "max_body",
        ValueKind::Size(NumberRange { max: 1 << 30, ..NumberRange::positive("no request would fit") }),
        "\"4MiB\"",
        "The largest request body.",
    ),
    optional(
        "max_sessions",
        ValueKind::Integer(NumberRange {
            max: 1_000_000,
            ..NumberRange::positive("no client could connect")
        }),
        "1000",
        "Concurrent sessions of the handshake revisions. At the limit, the caller with the most sessions loses one.",
    ),
    optional(
        "session_idle",
        ValueKind::Duration(NumberRange {
            max: 30 * 86_400,
            ..NumberRange::positive("every session would end immediately")
        }),
        "\"30m\"",
        "An idle session ends after this time. A client with an open stream isn't idle.",
    ),
    optional(
        "keep_alive",
        ValueKind::Duration(NumberRange {
            max: 3_600,
            ..NumberRange::positive("the gateway would send nothing else")
        }),
        "\"15s\"",
        "The interval of keep-alive comments on silent event streams. Proxies close silent connections.",
    ),
    optional(
        "idle_timeout",
        ValueKind::Duration(NumberRange {
            max: 86_400,
            ..NumberRange::positive("every connection would be closed immediately")
        }),
        "\"620s\"",
        "Close a connection after this time without a request. Keep it longer than the idle timeout of your load \
         balancer or reverse proxy, which could otherwise reuse a connection while it is being closed. The default is \
         longer than those of nginx (75s), AWS (60s), Azure (4m) and Google Cloud (10m).",
    ),
    key(
        "close_streams_after",
        ValueKind::Duration(NumberRange {
            max: 86_400,
            ..NumberRange::positive("every stream would be closed immediately")
        }),
        "Close the connection of an event stream after this time, so that the client reconnects and resumes. Use this \
         for proxies that don't allow long connections. Only clients of 2025-11-25 support it. By default, connections \
         stay open.",
    ),
    optional(
        "legacy_sse",
        ValueKind::Boolean,
        "false",
        "Also support the HTTP+SSE transport of 2024-11-05: clients connect to `/sse` and post to `/messages`.",
    ),
    optional(
        "websocket",
        ValueKind::Boolean,
        "false",
        "Also support WebSockets at the endpoint's path, with one JSON-RPC message per text message. \
         [network.md](network.md#websocket) describes them.",
    ),
    key(
        "max_connections",
        // Callers and new peers need some each.
        ValueKind::Integer(NumberRange {
            min: 16,
            max: 1_000_000,
            ..NumberRange::positive("no client could connect")
        }),
        "Open connections. By default, as many as the limit on open files allows (`ulimit -Hn`): 1,952 if it is 4,096 \
         or more; and at most one for each 256 KiB of `[gateway] memory`. [limits.md](limits.md#connections) \
         describes how callers share them.",
    ),
    optional(
        "trusted_proxies",
        ValueKind::Array(&ValueKind::String("an address or network such as \"10.0.0.0/8\"")),
        "[]",
        "Addresses and networks of reverse proxies. Their `X-Forwarded-For` names the client: the last address in it \
         that isn't one of these. Clients without a token share limits per address, and guessed tokens are slowed down \
         per address. The header of other peers is ignored.",
    ),
    optional(
        "health",
        ValueKind::Boolean,
        "false",
        "Also answer the health probes `/livez` and `/readyz` on this port, without authentication. The responses contain \
         no reasons. With the probes, the gateway accepts connections for 3s more on shutdown, so that load \
         balancers can notice.",
    ),
    key("auth", ValueKind::Table(AUTH), "Authentication of callers."),
    key(
        "tls",
        ValueKind::Table(HTTP_TLS),
        "TLS for the endpoint. Without this table, the endpoint uses plain HTTP.",
    ),
];

static DEFAULTS: &[Key] = &[
    optional(
        "portable_schemas",
        ValueKind::Boolean,
        "false",
        "The default of `portable_schemas` for all plugins.",
    ),
    key("limits", ValueKind::Table(LIMITS), "Default limits for all plugins."),
];

/// A plugin's table.
static PLUGIN: &[Key] = &[
    required(
        "source",
        ValueKind::Path("plugins/dist/fetch.wasm"),
        "The component: a path relative to this file, `builtin:` and the name of a plugin that is part of the gateway, such \
         as `builtin:filesystem`, an address such as `https://example.com/time.wasm`, or an OCI artifact such as \
         `oci://ghcr.io/acme/time:1.2`. `moongate list builtin` lists the plugins that are part of the gateway. An address \
         is resolved only by `moongate fetch` and `moongate update`. See [sources.md](sources.md).",
    ),
    key(
        "sha256",
        ValueKind::String("64 hexadecimal digits"),
        "The SHA-256 digest that the component must have.",
    ),
    key(
        "signed_by",
        ValueKind::Array(&ValueKind::String("the name of a signer such as \"acme\"")),
        "Names from `[sources.signers]`. One of them must have signed the component. Only for addresses.",
    ),
    optional(
        "reload",
        ValueKind::OneOf(&["live", "pinned"]),
        "\"live\"",
        "When to load a changed component. `live`: as soon as the change is noticed. `pinned`: on SIGHUP or a reload \
         request at the admin listener.",
    ),
    optional(
        "instances",
        ValueKind::OneOf(&["fresh", "reused"]),
        "\"fresh\"",
        "How calls use instances of the component. `fresh`: each call has a new instance. `reused`: an instance \
         waits for the next call from the same caller and keeps its memory, for plugins that are slow to start. Callers \
         without a name (HTTP without tokens) never share instances.",
    ),
    key(
        "prefix",
        ValueKind::String("a name such as \"files\""),
        "The prefix of public names, before `_`. The default is the plugin's name; \"\" means no prefix.",
    ),
    key("tools", ValueKind::Table(TOOLS), "The offered tools, their public names and their descriptions."),
    key("prompts", ValueKind::Table(PROMPTS), "The offered prompts and their public names."),
    key("resources", ValueKind::Table(RESOURCES), "The offered resources and resource templates."),
    optional(
        "uris",
        ValueKind::Array(&ValueKind::String("a URI such as \"notes://\"")),
        "[]",
        "URIs or URI prefixes that this plugin owns even if another plugin claims them.",
    ),
    optional(
        "portable_schemas",
        ValueKind::Boolean,
        "false",
        "Simplify the schemas of the plugin's tools, for clients and model APIs that refuse parts of JSON Schema. \
         Argument schemas then use only what all APIs accept: no references, lists of types, `oneOf`, `const` and the \
         like, and `nullable` for `null`. Result schemas have no references, and no `anyOf` and the like at the top \
         level. Arguments and results are still checked against the plugin's own schemas.",
    ),
    key("allow", ValueKind::Table(ALLOW), "The plugin's grants. By default, it can access nothing."),
    key("limits", ValueKind::Table(LIMITS), "Limits of the plugin."),
    key(
        "rates",
        ValueKind::Named(&ValueKind::Table(TOOL_RATE)),
        "The rates of the plugin's tools, by the plugin's own names. `\"*\"` applies to each tool, for the keys that \
         the tool's own table doesn't set.",
    ),
    key(
        "config",
        ValueKind::Settings,
        "The plugin's own settings, which it reads through `wasi:config/store`: strings unchanged, other values as \
         compact JSON, and `{ env = \"NAME\" }` or `{ file = \"path\" }` as secrets.",
    ),
];

static TOOLS: &[Key] = &[
    key(
        "allow",
        ValueKind::Array(&ValueKind::String("a tool's name such as \"delete\"")),
        "Offer only these tools, by the plugin's own names. By default, all are offered.",
    ),
    optional(
        "deny",
        ValueKind::Array(&ValueKind::String("a tool's name such as \"delete\"")),
        "[]",
        "Don't offer these tools, by the plugin's own names.",
    ),
    key(
        "rename",
        ValueKind::Named(&ValueKind::String("a public name such as \"now\"")),
        "Maps the plugin's own names to public names, which get no prefix.",
    ),
    key(
        "describe",
        ValueKind::Named(&ValueKind::String("a description such as \"Adds two numbers\"")),
        "Maps the plugin's own names to descriptions, in place of the plugin's own descriptions. Functions of \
         [components without the contract](components.md) usually have none.",
    ),
];

static PROMPTS: &[Key] = &[
    key(
        "allow",
        ValueKind::Array(&ValueKind::String("a prompt's name such as \"review\"")),
        "Offer only these prompts, by the plugin's own names. By default, all are offered.",
    ),
    optional(
        "deny",
        ValueKind::Array(&ValueKind::String("a prompt's name such as \"review\"")),
        "[]",
        "Don't offer these prompts, by the plugin's own names.",
    ),
    key(
        "rename",
        ValueKind::Named(&ValueKind::String("a public name such as \"review\"")),
        "Maps the plugin's own names to public names, which get no prefix.",
    ),
];

static RESOURCES: &[Key] = &[
    key(
        "allow",
        ValueKind::Array(&ValueKind::String("a URI or a template such as \"notes://{name}\"")),
        "Offer only these resources and resource templates. Write whole URIs, and templates exactly as the plugin does. \
         By default, all are offered.",
    ),
    optional(
        "deny",
        ValueKind::Array(&ValueKind::String("a URI or a template such as \"notes://diary\"")),
        "[]",
        "Don't offer these resources and resource templates. A denied URI can't be read through a template either.",
    ),
];

static ALLOW: &[Key] = &[
    optional(
        "http",
        ValueKind::Array(&ValueKind::StringOrTable("an address such as \"https://example.com\"", HTTP_GRANT)),
        "[]",
        "Destinations of HTTP requests: scheme, host, port if it isn't the default, and the first part of the path, up to \
         a `/`. `*.example.org` matches every subdomain of `example.org` but not `example.org` itself; `*` matches every \
         host name. Non-public addresses are denied, whatever name resolves to them, unless `networks` grants them.",
    ),
    optional(
        "credentials",
        ValueKind::Array(&ValueKind::Table(CREDENTIAL)),
        "[]",
        "Headers that the gateway adds to the plugin's requests to one origin, replacing the plugin's own. The plugin \
         can't read them. `http` must grant the origin too.",
    ),
    optional(
        "dirs",
        ValueKind::Array(&ValueKind::Table(DIR)),
        "[]",
        "Directories that the plugin may read or change.",
    ),
    optional(
        "env",
        ValueKind::Array(&ValueKind::String("the name of a variable such as \"LANG\"")),
        "[]",
        "Names of environment variables that the plugin may read.",
    ),
    optional(
        "client",
        ValueKind::Array(&ValueKind::OneOf(CLIENT_FEATURES)),
        "[]",
        "Questions that the plugin may ask the client: for input from the user, an answer from the model, or its \
         directories.",
    ),
    optional(
        "state",
        ValueKind::NameOrBoolean("a name such as \"notes\""),
        "false",
        "Let the plugin keep state between calls, through `wasi:keyvalue`. `true`: a store of its own, named like its \
         table. A name: the store with this name. Plugins that set the same name share it, and a renamed plugin keeps \
         it. State outlives the gateway only if `state` in `[gateway]` or the table `[store]` is set.",
    ),
    optional(
        "state_scope",
        ValueKind::OneOf(&["plugin", "caller"]),
        "\"plugin\"",
        "Who shares a store. `plugin`: all callers. `caller`: each caller has its own store, with its own `limits.state`: \
         each token, client certificate, local user and subject of an issuer, and the client over stdio. Callers without \
         authentication share one. `caller` needs `state` in `[gateway]` or the table `[store]`.",
    ),
    optional(
        "instructions",
        ValueKind::Boolean,
        "false",
        "Let the plugin add to the server's instructions, labelled as its own.",
    ),
];

/// The client features that can be granted.
pub static CLIENT_FEATURES: &[&str] = &["elicitation", "sampling", "roots"];

/// A grant of HTTP requests as a table.
static HTTP_GRANT: &[Key] = &[
    required(
        "url",
        ValueKind::String("an address such as \"https://example.com\""),
        "The destination of requests.",
    ),
    key(
        "methods",
        ValueKind::Array(&ValueKind::String("a method such as \"GET\"")),
        "Methods to allow. By default, all are allowed.",
    ),
    optional(
        "networks",
        ValueKind::Array(&ValueKind::String("a network such as \"10.1.0.0/16\"")),
        "[]",
        "Non-public networks to allow for the host. If `url` contains a non-public address, list its network here.",
    ),
    optional(
        "trace_context",
        ValueKind::Boolean,
        "false",
        "Send `traceparent` with these requests, so that the server's spans become part of the trace. See \
         [telemetry.md](telemetry.md#trace-context-for-servers).",
    ),
];

/// A credential.
static CREDENTIAL: &[Key] = &[
    required(
        "origin",
        ValueKind::String("an origin such as \"https://api.example.com\""),
        "The only origin that gets the headers: `https`, one host, no path.",
    ),
    required(
        "headers",
        ValueKind::Named(&ValueKind::Table(HEADER)),
        "The headers by name, except reserved ones such as `host`.",
    ),
];

/// The variable of a secret.
const SECRET_ENV_KEY: Key = key(
    "env",
    ValueKind::String("the name of a variable such as \"API_TOKEN\""),
    "The environment variable with the secret.",
);

/// The file of a secret.
const SECRET_FILE_KEY: Key = key(
    "file",
    ValueKind::Path("secrets/token"),
    "The file with the secret. One trailing line break is removed.",
);

/// The value of an added header.
pub static HEADER: &[Key] = &[
    SECRET_ENV_KEY,
    SECRET_FILE_KEY,
    optional(
        "prefix",
        ValueKind::String("a string such as \"Bearer \""),
        "\"\"",
        "The text before the secret in the header.",
    ),
];

/// A granted directory.
static DIR: &[Key] = &[
    required("host", ValueKind::Path("./notes"), "The directory on this machine, relative to this file."),
    key(
        "guest",
        ValueKind::String("an absolute path such as \"/notes\""),
        "Its path inside the sandbox. The default is its path on this machine: absolute, with all symlinks resolved.",
    ),
    optional("mode", ValueKind::OneOf(&["ro", "rw"]), "\"ro\"", "`ro`: read-only. `rw`: read and write."),
    optional(
        "system",
        ValueKind::Boolean,
        "false",
        "Allow `mode = \"rw\"` for a system directory, such as `/etc`, `/usr` or a certificate store.",
    ),
];

/// A reference to a secret.
pub static SECRET: &[Key] = &[SECRET_ENV_KEY, SECRET_FILE_KEY];
