//! The keys of `[http.auth]`.

use super::kind::{Key, ValueKind, key, optional, required};

pub(super) static AUTH: &[Key] = &[
    optional(
        "tokens",
        ValueKind::Array(&ValueKind::Table(TOKEN)),
        "[]",
        "Bearer tokens. Without tokens, issuers and client certificates, anyone who can reach the address can call the \
         gateway. Not needed for stdio. Changes take effect without a restart.",
    ),
    key(
        "resource",
        ValueKind::String("an address such as \"https://gateway.example.com/mcp\""),
        "The public address of the endpoint, exactly as clients use it. Required with `issuers`: clients compare it, and \
         request access tokens for it. Its host is accepted in the `Host` header.",
    ),
    optional(
        "scopes",
        ValueKind::Array(&ValueKind::String("a scope such as \"mcp:use\"")),
        "[]",
        "The scopes that every access token needs. Clients request all of them.",
    ),
    optional(
        "issuers",
        ValueKind::Array(&ValueKind::Table(ISSUER)),
        "[]",
        "The OAuth authorization servers whose access tokens are accepted. [network.md](network.md) shows how to set one \
         up.",
    ),
];

/// An OAuth authorization server.
static ISSUER: &[Key] = &[
    required(
        "issuer",
        ValueKind::String("an address such as \"https://auth.example.com\""),
        "Its identifier, exactly as in the `iss` of its tokens and in its metadata.",
    ),
    key(
        "audiences",
        ValueKind::Array(&ValueKind::String("an audience such as \"api://moongate\"")),
        "Tokens must have one of these in `aud`. The default is `resource`. Some authorization servers use identifiers of \
         their own, such as Microsoft Entra ID.",
    ),
    key(
        "jwks_uri",
        ValueKind::String("an address such as \"https://auth.example.com/jwks\""),
        "The address of its JSON Web Key Set. By default, it is read from the issuer's metadata.",
    ),
    key(
        "jwks_file",
        ValueKind::Path("jwks.json"),
        "A file with its JSON Web Key Set, instead of `jwks_uri`. It is read again every ten minutes, and for an unknown \
         key.",
    ),
    key(
        "introspection",
        ValueKind::Table(INTROSPECTION),
        "Token introspection (RFC 7662), for tokens that aren't JWTs. Only one issuer can have it.",
    ),
    key(
        "name_claim",
        ValueKind::String("a claim such as \"email\""),
        "The claim with the caller's name, as plugins see it. The default is `sub`. If plugins decide by name, choose one \
         that users can't change. With several issuers, or with `tokens`, the issuer is part of the name.",
    ),
];

/// Token introspection.
pub(crate) static INTROSPECTION: &[Key] = &[
    key(
        "endpoint",
        ValueKind::String("an address such as \"https://auth.example.com/introspect\""),
        "The address of the introspection endpoint. By default, it is read from the issuer's metadata.",
    ),
    required(
        "client_id",
        ValueKind::String("an identifier such as \"moongate\""),
        "The gateway's client identifier at the issuer.",
    ),
    required(
        "client_secret",
        ValueKind::Secret,
        "The gateway's client secret: `{ env = \"NAME\" }` or `{ file = \"path\" }`.",
    ),
];

/// A bearer token.
static TOKEN: &[Key] = &[
    required("name", ValueKind::String("a name such as \"ci\""), "The caller's name, as plugins see it."),
    required("token", ValueKind::Secret, "The token: `{ env = \"NAME\" }` or `{ file = \"path\" }`."),
];
