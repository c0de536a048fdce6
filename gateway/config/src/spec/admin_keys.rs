//! The keys of `[admin]`.

use super::kind::{Key, ValueKind, key, optional, required};

/// The admin listener.
pub(super) static ADMIN: &[Key] = &[
    optional(
        "listen",
        ValueKind::String("an address such as \"127.0.0.1:8932\""),
        "\"127.0.0.1:8932\"",
        "The IP address and port to listen on. A non-loopback address needs `token`, or `client_ca` in `[admin.tls]`. \
         Port 0 selects a free port.",
    ),
    key(
        "token",
        ValueKind::Secret,
        "The token of operators and monitors: `{ env = \"NAME\" }` or `{ file = \"path\" }`. Requests then need it \
         or a client certificate, except health probes, which get no details without either. It must differ from those \
         of callers. A changed token is used without a restart.",
    ),
    optional(
        "allowed_hosts",
        ValueKind::Array(&ValueKind::String("a host such as \"gateway.example.com\"")),
        "[]",
        "Accepted host names in the `Host` header, in addition to `localhost` and the address in `listen`.",
    ),
    optional(
        "try_tools",
        ValueKind::OneOf(&["off", "local", "all"]),
        "\"local\"",
        "The operators who may call tools on the status page. `local`: those on this machine, if the admin listener \
         needs credentials, or if the HTTP endpoint needs none and there are no roles. `all`: everyone who may use the \
         admin listener. `off`: nobody.",
    ),
    key(
        "tls",
        ValueKind::Table(ADMIN_TLS),
        "The certificate of the admin listener, which then accepts only TLS.",
    ),
];

/// The certificate of the admin listener.
static ADMIN_TLS: &[Key] = &[
    required(
        "certificate",
        ValueKind::Path("certificate.pem"),
        "A PEM file with the certificate, followed by those of intermediate authorities. It can be that of the \
         endpoint.",
    ),
    required(
        "key",
        ValueKind::Path("key.pem"),
        "A PEM file with the private key of the certificate, not encrypted. Plugins can't reach it.",
    ),
    key(
        "client_ca",
        ValueKind::Path("operators-ca.pem"),
        "A PEM file with the authority that issues the certificates of operators and monitors. Everyone with a \
         certificate from it can use the admin listener.",
    ),
    key(
        "client_certificates",
        ValueKind::OneOf(&["required", "optional"]),
        "With `client_ca`. `required` (the default): clients without a certificate can't connect. `optional`: they \
         need `token`.",
    ),
];
