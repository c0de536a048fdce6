//! What a call used of its plugin's grants, and what it would have needed: for whoever asks for an explanation.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// More different entries than this aren't kept: a guest can ask for something else each time.
const MOST: usize = 256;

/// Notes of one call. Shared by everything that serves it, and read when it has ended.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    all: BTreeSet<Entry>,
    dropped: u64,
}

/// One thing that a call reached for. They sort with what was used before what was lacking.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry {
    /// It is granted; the grant as `gateway.toml` has it, such as `http https://example.com`.
    Used(String),
    /// It isn't granted.
    Lacked {
        /// What the call wanted, such as `GET https://example.com/a`; it begins with "perhaps" where that isn't certain.
        wanted: String,
        /// What would grant it; nothing where nothing can, or no line that is short enough to be read.
        cure: Option<Cure>,
    },
    /// It is granted, but a limit kept the call from it.
    HeldBack {
        /// The limit's key in the plugin's `limits` table; none: it is a share that follows from something else.
        key: Option<&'static str>,
        /// What happened, to stand after "it".
        what: String,
    },
}

/// What to add to the plugin's `allow` table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cure {
    /// This line.
    Line(String),
    /// A directory of this machine, for reading.
    ReadDirectory {
        /// The plugin's name for it; none: it isn't known.
        guest: Option<String>,
    },
    /// The right to change what is in a directory that is granted for reading.
    ChangeDirectory {
        /// Its path on this machine, as the configuration names it.
        host: String,
        /// The plugin's name for it.
        guest: String,
    },
}

impl Ledger {
    /// Notes something; the same thing again changes nothing.
    pub fn note(&self, entry: Entry) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.all.len() >= MOST && !entries.all.contains(&entry) {
            entries.dropped += 1;
            return;
        }
        entries.all.insert(entry);
    }

    /// All that was noted.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all.iter().cloned().collect()
    }

    /// How many entries there was no room for.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).dropped
    }
}
