//! Errors of the shared store, with hints for operators.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use moongate_model::text::escaped_line;
use redis::{ErrorKind, RedisError, ServerErrorKind};

/// The longest part of a server's message in an error, in characters.
const MAX_MESSAGE_CHARS: usize = 200;

/// An error when using the store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is no connection. The reason is in the status and in the log.
    #[error("the store isn't reachable")]
    Unreachable,
    /// No connection can be opened.
    #[error("can't connect: {0}")]
    Connect(Arc<str>),
    /// The TLS handshake failed.
    #[error("can't connect with TLS: {0}")]
    Tls(Arc<str>),
    /// The server closed the connection, or its data isn't that of the protocol.
    #[error("the connection was lost: {0}")]
    Lost(Arc<str>),
    /// The server doesn't respond in time.
    #[error("no response in time")]
    Timeout,
    /// The server requires a password.
    #[error("the server requires a password")]
    PasswordRequired,
    /// The server refused the password.
    #[error("the server refused the user or the password")]
    PasswordRefused,
    /// A password is configured, but the server has none.
    #[error("the server has no password, but `password` is set")]
    PasswordUnknown,
    /// The user may not run a command.
    #[error("the user is missing a permission: {0}")]
    NoPermission(Arc<str>),
    /// The server is too old.
    #[error("the server's version is {0}, and version 6.2 or later is required")]
    OldServer(Arc<str>),
    /// The server is a node of a cluster.
    #[error("the server is part of a cluster")]
    Cluster,
    /// The server is a read-only replica.
    #[error("the server is a read-only replica")]
    ReadOnly,
    /// The server has reached its memory limit.
    #[error("the server has no memory left")]
    OutOfMemory,
    /// The server refuses writes because it can't save its data.
    #[error("the server can't save its data: {0}")]
    CannotSave(Arc<str>),
    /// The server is reading its data.
    #[error("the server is still loading its data")]
    Loading,
    /// A key with the prefix was written by another program.
    #[error("the key `{0}` was written by another program")]
    Foreign(Arc<str>),
    /// The keys were written by a newer version.
    #[error("the keys were written by a newer version of Moongate (version {0} of the format)")]
    Newer(Arc<str>),
    /// The server reported another error.
    #[error("the server reports: {0}")]
    Server(Arc<str>),
}

impl StoreError {
    /// The hint for the operator.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreachable => "the gateway's log and its status show the reason",
            Self::Connect(_) => "start the server, or correct `url` in `[store]`",
            Self::Tls(_) => {
                "if the server doesn't use TLS, write `redis://` instead of `rediss://`; if its certificate is from a \
                 private authority, set `ca_file` in `[gateway]`"
            }
            Self::Lost(_) => "if the server uses TLS, write `rediss://` in `url`; otherwise, see its log",
            Self::Timeout => {
                "check the server and the network; `url` starts with `rediss://` for a server with TLS, and with \
                 `redis://` for one without; `response_timeout` and `connect_timeout` in `[store]` are the limits"
            }
            Self::PasswordRequired => "set `password` in `[store]`",
            Self::PasswordRefused => "correct `password` in `[store]`, or the user in `url`",
            Self::PasswordUnknown => {
                "remove `password` from `[store]`, or set one on the server (`requirepass`)"
            }
            Self::NoPermission(_) => {
                "grant the user the commands for strings, bitmaps, hashes, lists, sets, sorted sets, streams, keys, \
                 scripts and Pub/Sub, and SELECT, TIME and INFO, for the keys and channels with the prefix"
            }
            Self::OldServer(_) => "update the server",
            Self::Cluster => "use a server without cluster mode; one with replicas is fine",
            Self::ReadOnly => "use the address of the primary server in `url`",
            Self::OutOfMemory => "raise the server's `maxmemory`, or remove keys; existing data is kept",
            Self::CannotSave(_) => "free disk space on the server; its log shows the reason",
            Self::Loading => "wait; the gateway tries again every second",
            Self::Foreign(_) => "use another `prefix` or another database in `[store]`; nothing was changed",
            Self::Newer(_) => "update this gateway, or use another `prefix` in `[store]`",
            Self::Server(_) => "see the server's log",
        }
    }

    /// True if the operation might have been executed nevertheless.
    #[must_use]
    pub fn is_uncertain(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Timeout)
    }

    /// True if the connection can't be used for further operations.
    pub(crate) fn ends_connection(&self) -> bool {
        match self {
            Self::Unreachable
            | Self::Connect(_)
            | Self::Tls(_)
            | Self::Lost(_)
            | Self::Timeout
            | Self::PasswordRequired
            | Self::PasswordRefused
            | Self::PasswordUnknown
            | Self::OldServer(_)
            | Self::Cluster
            | Self::ReadOnly
            | Self::Loading
            | Self::Newer(_) => true,
            Self::NoPermission(_)
            | Self::OutOfMemory
            | Self::CannotSave(_)
            | Self::Foreign(_)
            | Self::Server(_) => false,
        }
    }
}

/// Text of the server or the system, on one line.
pub(crate) fn message(text: &str) -> Arc<str> {
    escaped_line(text, MAX_MESSAGE_CHARS).into()
}

impl From<RedisError> for StoreError {
    fn from(error: RedisError) -> Self {
        if error.is_timeout() {
            return Self::Timeout;
        }
        let detail = message(error.detail().unwrap_or_default());
        match error.kind() {
            ErrorKind::AuthenticationFailed => Self::PasswordRefused,
            ErrorKind::Io | ErrorKind::Parse => Self::Lost(message(&error.to_string())),
            ErrorKind::Server(kind) => match kind {
                ServerErrorKind::BusyLoading | ServerErrorKind::MasterDown => Self::Loading,
                ServerErrorKind::ReadOnly => Self::ReadOnly,
                ServerErrorKind::NoPerm => Self::NoPermission(detail),
                ServerErrorKind::Moved
                | ServerErrorKind::Ask
                | ServerErrorKind::CrossSlot
                | ServerErrorKind::ClusterDown => Self::Cluster,
                _ => Self::server_message(error.code().unwrap_or_default(), &detail),
            },
            _ => Self::server_message(error.code().unwrap_or_default(), &detail),
        }
    }
}

impl StoreError {
    /// The meaning of an error reply.
    fn server_message(code: &str, detail: &str) -> Self {
        // An error in a script has its code in the text in some versions.
        let has_code = |wanted: &str| code == wanted || detail.starts_with(&format!("{wanted} "));
        if has_code("NOAUTH") {
            Self::PasswordRequired
        } else if has_code("WRONGPASS") {
            Self::PasswordRefused
        } else if detail.contains("without any password configured") {
            Self::PasswordUnknown
        } else if detail.contains("user executing the script can't")
            || detail.contains("ACL failure in script")
        {
            Self::NoPermission(detail.into())
        } else if has_code("OOM") {
            Self::OutOfMemory
        } else if has_code("MISCONF") || has_code("NOREPLICAS") {
            Self::CannotSave(detail.into())
        } else if has_code("FOREIGN") {
            Self::Foreign(detail.trim_start_matches("FOREIGN ").into())
        } else if has_code("WRONGTYPE") {
            Self::Foreign("one of the keys of the operation".into())
        } else if has_code("NOPERM") {
            Self::NoPermission(detail.into())
        } else if has_code("READONLY") {
            Self::ReadOnly
        } else {
            let mut text = code.to_owned();
            let _ = write!(text, " {detail}");
            Self::Server(text.trim().into())
        }
    }

    /// An error of the operating system when connecting.
    pub(crate) fn connecting(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Connect("the socket doesn't exist".into()),
            io::ErrorKind::ConnectionRefused => Self::Connect("connection refused".into()),
            _ => Self::Connect(message(&error.to_string())),
        }
    }
}
