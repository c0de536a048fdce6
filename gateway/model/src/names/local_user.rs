//! A user of this machine.

use std::fmt;
use std::sync::Arc;

/// The start of a local user's name. No static token has a colon in its name, and a subject with such a name is shown
/// with its issuer.
pub const LOCAL_USER_PREFIX: &str = "uid:";

/// A user of this machine, as the system reports it for the peer of a Unix socket.
///
/// It has the number only. Names of users come from services that can be slow or change, and the number is what the
/// system checks.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalUser {
    uid: u32,
    /// The name that plugins see.
    name: Arc<str>,
}

impl LocalUser {
    /// The user with this number.
    #[must_use]
    pub fn new(uid: u32) -> Self {
        Self { uid, name: format!("{LOCAL_USER_PREFIX}{uid}").into() }
    }

    /// The user whose name this is, such as `uid:1000`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        name.strip_prefix(LOCAL_USER_PREFIX)?.parse().ok().map(Self::new)
    }

    /// The user's number.
    #[must_use]
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// The name that plugins see: `uid:1000`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for LocalUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
