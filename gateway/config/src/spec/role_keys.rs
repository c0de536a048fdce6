//! The keys of `[roles.NAME]`.

use super::kind::{Key, NumberRange, ValueKind, key, optional, required};
use super::rate_keys::CALLER_LIMITS;

/// A role.
pub static ROLE: &[Key] = &[
    required(
        "members",
        ValueKind::Array(&ValueKind::Table(MEMBER)),
        "The callers that have this role. A caller has it if it matches one member.",
    ),
    key(
        "allow",
        ValueKind::Table(ITEMS),
        "What its callers see. A caller with several roles sees what any of them allows.",
    ),
    key(
        "deny",
        ValueKind::Table(ITEMS),
        "What its callers don't see, even if this or another of their roles allows it.",
    ),
    key(
        "limits",
        ValueKind::Table(CALLER_LIMITS),
        "Limits of each of its callers, in place of those in `[callers]`. For a caller with several roles, the highest \
         limits apply.",
    ),
];

/// A condition on callers.
static MEMBER: &[Key] = &[
    key(
        "token",
        ValueKind::String("the name of a token such as \"ci\""),
        "The caller with this static token: its `name` in `http.auth.tokens`.",
    ),
    key(
        "certificate",
        ValueKind::String("a name such as \"dns:ci.example.com\""),
        "The caller with this client certificate: its first alternative name, with its type (`dns:`, `email:` or `uri:`).",
    ),
    key(
        "uid",
        ValueKind::Integer(NumberRange { max: 0xffff_ffff, ..NumberRange::any() }),
        "The user of this machine with this number, connected to the [Unix socket](network.md#unix-socket).",
    ),
    key(
        "caller",
        ValueKind::OneOf(&["any", "stdio", "anonymous"]),
        "`any`: every caller. `stdio`: the client that started the gateway with `serve --stdio`. `anonymous`: callers of \
         an HTTP endpoint without authentication.",
    ),
    key(
        "issuer",
        ValueKind::String("an address such as \"https://auth.example.com\""),
        "Subjects of this issuer: its `issuer` in `http.auth.issuers`. All conditions of one member must match. With one \
         issuer, it is the default for the conditions below; with several, it is required.",
    ),
    key(
        "subject",
        ValueKind::String("a subject such as \"248289761001\""),
        "The subject (`sub`) of the access token.",
    ),
    key("scope", ValueKind::String("a scope such as \"notes:write\""), "A scope of the access token."),
    key(
        "claim",
        ValueKind::String("a claim such as \"groups\""),
        "A claim of the access token. Write `.` between the names of nested claims, as in `realm_access.roles`. Needs \
         `value`.",
    ),
    key(
        "value",
        ValueKind::String("a value such as \"engineering\""),
        "The value that the claim must have, or contain if it is a list. Numbers and `true` are compared as text.",
    ),
];

/// Patterns of items.
pub(crate) static ITEMS: &[Key] = &[
    optional(
        "plugins",
        ValueKind::Array(&ValueKind::String("a pattern such as \"github-*\"")),
        "[]",
        "Everything that these plugins offer, by the names of their tables. `*` matches any text, here and in the other \
         patterns.",
    ),
    optional(
        "tools",
        ValueKind::Array(&ValueKind::String("a pattern such as \"github_search*\"")),
        "[]",
        "Tools, by the public names that clients see, with prefix and after `rename`.",
    ),
    optional(
        "prompts",
        ValueKind::Array(&ValueKind::String("a pattern such as \"github_review\"")),
        "[]",
        "Prompts, by public name.",
    ),
    optional(
        "resources",
        ValueKind::Array(&ValueKind::String("a pattern such as \"notes://public/*\"")),
        "[]",
        "Resources by URI, and resource templates by their text. `{…}` also matches any text, so a template is a pattern \
         for its URIs. A URI that is only another spelling of a denied one is denied too.",
    ),
];
