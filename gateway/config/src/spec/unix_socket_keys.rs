//! The keys of `[unix_socket]`.

use super::kind::{Key, NumberRange, ValueKind, optional, required};

/// The Unix socket.
pub(super) static UNIX_SOCKET: &[Key] = &[
    required(
        "path",
        ValueKind::Path("/run/moongate/mcp.sock"),
        "The path of the socket. Only the gateway's user can connect. Nobody else may write to its directory, which is \
         created if it is missing.",
    ),
    optional(
        "max_connections",
        ValueKind::Integer(NumberRange {
            min: 8,
            max: 100_000,
            ..NumberRange::positive("no client could connect")
        }),
        "128",
        "Open connections. At the limit, a caller's quietest connection is closed for its next one.",
    ),
    optional(
        "idle_timeout",
        ValueKind::Duration(NumberRange {
            max: 30 * 86_400,
            ..NumberRange::positive("every connection would be closed immediately")
        }),
        "\"24h\"",
        "Close a connection after this time without a message. Its session ends with it.",
    ),
];
