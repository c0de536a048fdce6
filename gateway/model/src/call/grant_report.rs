//! The grant report of a call: the grants that it used and those that were missing, for `--explain`.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The maximum number of distinct entries. A guest can request something new each time.
const MAX_GRANT_EVENTS: usize = 256;

/// The end of each message to a caller about a missing grant. The line that grants it is for the log, `check` and
/// `--explain` only: a model that reads it, and can edit files, could add it.
pub const OPERATOR_CAN_ALLOW: &str = "an operator can allow it";

/// The grant report of one call. Everything that serves the call shares it, and it is read after the call.
#[derive(Debug, Default)]
pub struct GrantReport(Mutex<GrantReportEntries>);

#[derive(Debug, Default)]
struct GrantReportEntries {
    all: BTreeSet<GrantEvent>,
    dropped: u64,
}

/// One access that a call attempted. Used grants sort before missing ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GrantEvent {
    /// A grant that was used, as written in `gateway.toml`, such as `http https://example.com`.
    Used(String),
    /// A grant that was missing.
    Missing {
        /// The attempt, such as `GET https://example.com/a`. It starts with "perhaps" if it isn't certain.
        wanted: String,
        /// The configuration change that grants it. `None` if nothing can grant it, or only a line that is too long to
        /// read.
        fix: Option<GrantFix>,
    },
    /// A grant that the call couldn't use because of a limit.
    Limited {
        /// The limit's key in the plugin's `limits` table. `None` means a limit that is derived from another one.
        key: Option<&'static str>,
        /// A verb phrase that follows "it".
        what: String,
    },
}

/// A change to the plugin's `allow` table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GrantFix {
    /// Add this line.
    Line(String),
    /// Add a directory on this machine, read-only.
    ReadDirectory {
        /// Its path inside the sandbox. `None` if it isn't known.
        guest: Option<String>,
    },
    /// Make a read-only directory writable.
    ChangeDirectory {
        /// Its path on this machine, as written in the configuration.
        host: String,
        /// Its path inside the sandbox.
        guest: String,
    },
}

impl GrantReport {
    /// Records an entry. Duplicates are ignored.
    pub fn record(&self, entry: GrantEvent) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.all.len() >= MAX_GRANT_EVENTS && !entries.all.contains(&entry) {
            entries.dropped += 1;
            return;
        }
        entries.all.insert(entry);
    }

    /// All recorded entries.
    #[must_use]
    pub fn events(&self) -> Vec<GrantEvent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all.iter().cloned().collect()
    }

    /// The number of entries that were dropped.
    #[must_use]
    pub fn dropped_events(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).dropped
    }
}
