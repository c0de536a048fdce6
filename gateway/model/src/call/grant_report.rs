//! The grants that a call used and those that were missing, for `--explain`.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The number of distinct entries that are kept. A guest can ask for something else each time.
const MAX_GRANT_EVENTS: usize = 256;

/// The record of one call. Everything that serves the call shares it; it is read when the call has ended.
#[derive(Debug, Default)]
pub struct GrantReport(Mutex<LedgerEntries>);

#[derive(Debug, Default)]
struct LedgerEntries {
    all: BTreeSet<GrantEvent>,
    dropped: u64,
}

/// One thing that a call reached for. Used grants sort before missing ones.
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
        cure: Option<GrantFix>,
    },
    /// A grant that a limit kept the call from using.
    Limited {
        /// The limit's key in the plugin's `limits` table. `None` means a share that is derived from something else.
        key: Option<&'static str>,
        /// A verb phrase that completes "it".
        what: String,
    },
}

/// A change to the plugin's `allow` table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GrantFix {
    /// Add this line.
    Line(String),
    /// Add a directory of this machine, for reading.
    ReadDirectory {
        /// The plugin's path for it. `None` if it isn't known.
        guest: Option<String>,
    },
    /// Make a directory writable that is granted for reading.
    ChangeDirectory {
        /// Its path on this machine, as written in the configuration.
        host: String,
        /// The plugin's path for it.
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
