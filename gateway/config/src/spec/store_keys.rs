//! The keys of `[store]`.

use super::kind::{Key, NumberRange, ValueKind, key, optional, required};

/// The shared store.
pub(super) static STORE: &[Key] = &[
    required(
        "url",
        ValueKind::String("an address such as \"rediss://store.example.com:6379/0\""),
        "The address of a Valkey or Redis server, version 6.2 or later: `redis://HOST:PORT/DATABASE`, with TLS \
         `rediss://`, or `unix:///path/to/socket?db=DATABASE`. The default port is 6379, the default database 0. A user \
         name can precede the host: `rediss://moongate@store.example.com`.",
    ),
    key(
        "password",
        ValueKind::Secret,
        "The password of the store: `{ env = \"NAME\" }` or `{ file = \"path\" }`.",
    ),
    optional(
        "prefix",
        ValueKind::String("a prefix such as \"moongate:\""),
        "\"moongate:\"",
        "The start of every key in the store. Gateways with the same prefix share everything; other programs must use \
         other keys.",
    ),
    optional(
        "connect_timeout",
        ValueKind::Duration(NumberRange {
            max: 60,
            ..NumberRange::positive("no connection could be opened")
        }),
        "\"2s\"",
        "The time limit for a connection, including TLS and authentication.",
    ),
    optional(
        "response_timeout",
        ValueKind::Duration(NumberRange { max: 60, ..NumberRange::positive("no response could arrive") }),
        "\"1s\"",
        "The time limit for the response to an operation. A store that takes longer counts as unreachable.",
    ),
    optional(
        "rates_when_down",
        ValueKind::OneOf(&["local", "refuse"]),
        "\"local\"",
        "The effect on calls with a rate while the store is unreachable. `local`: each gateway counts them by itself. \
         `refuse`: they are refused, and clients can retry.",
    ),
];
