//! How a plugin used its grants: for operators, who decide about grants.

use std::time::SystemTime;

/// The grants of a plugin with their last uses, and what it was refused since the gateway started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessHistory {
    /// All grants of its current configuration, in its order.
    pub grants: Vec<GrantUse>,
    /// The last refused accesses, newest first.
    pub refused: Vec<RefusedAccess>,
    /// The limits of calls that were reached without ending the call.
    pub limited: Vec<ReachedLimit>,
}

/// A grant and its last use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantUse {
    /// The kind of access, such as `files`.
    pub kind: &'static str,
    /// The grant, such as `/notes = /home/ann/notes (rw)`.
    pub grant: String,
    /// The last use.
    pub last_used: LastUse,
}

/// The last use of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastUse {
    /// No call has used it since the gateway started.
    Never,
    /// A call used it at this time.
    At(SystemTime),
    /// Its use can't be observed: the gateway itself uses it.
    Unknown,
}

/// An access that wasn't granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedAccess {
    /// The access, such as `GET https://example.com/a`.
    pub wanted: String,
    /// The change of `gateway.toml` that grants it: an imperative. `None` if none is suggested.
    pub fix: Option<String>,
    /// The number of times that it was refused.
    pub count: u64,
    /// The last time.
    pub at: SystemTime,
}

/// A limit that calls reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachedLimit {
    /// The key in the plugin's `limits` table, or the name of a limit that is derived from another one.
    pub name: &'static str,
    /// The number of times.
    pub count: u64,
    /// The last time.
    pub at: SystemTime,
}
