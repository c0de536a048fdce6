//! The keys of `[sources]`.

use super::kind::{Key, ValueKind, key, optional};

/// The sources of plugins from addresses.
pub(super) static SOURCES: &[Key] = &[
    key(
        "signers",
        ValueKind::Named(&ValueKind::Table(SIGNER)),
        "The public keys that components can be signed with, by name: `{ minisign = \"RW…\" }` or \
         `{ file = \"acme.pub\" }`.",
    ),
    optional(
        "require_signature",
        ValueKind::Boolean,
        "false",
        "Refuse components from addresses that none of `signers` has signed. A plugin's `signed_by` selects the \
         signers for one plugin.",
    ),
    optional(
        "plain_http",
        ValueKind::Array(&ValueKind::String("a host such as \"registry.internal:5000\"")),
        "[]",
        "Hosts, with a port unless it is 80, that are contacted over plain HTTP. Loopback addresses are always \
         allowed. Downloads are checked against `moongate.lock` either way, except for the first one.",
    ),
];

/// A public key.
pub(super) static SIGNER: &[Key] = &[
    key(
        "minisign",
        ValueKind::String("a minisign public key such as \"RW…\""),
        "A minisign public key, the second line of `minisign.pub`.",
    ),
    key(
        "file",
        ValueKind::Path("acme.pub"),
        "The file of a minisign public key (`minisign.pub`) or a cosign one (`cosign.pub`, ECDSA P-256 in PEM).",
    ),
];
