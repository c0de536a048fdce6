//! `[gateway]`: how long lists are, and what seals the things that clients carry.

use std::num::NonZeroU32;

use super::Secret;
use super::problem::Problem;
use super::reading::{Reading, Table};

/// Shorter keys can be guessed, in characters: whoever has one sealed text can try as many as they like.
const SHORT_KEY: usize = 32;

impl Reading<'_> {
    /// How many items a page of a list holds.
    pub(super) fn page_size(&mut self, gateway: &Table<'_>) -> Option<NonZeroU32> {
        gateway.get("page_size")?;
        NonZeroU32::new(self.integer(gateway, "page_size", 0))
    }

    /// What texts are sealed with that clients carry from one request to the next.
    pub(super) fn sealing_key(&mut self, gateway: &Table<'_>) -> Option<Secret> {
        let value = gateway.get("sealing_key")?;
        let key = self.secret(&value)?;
        if key.expose().chars().count() < SHORT_KEY {
            let message = format!("this key has fewer than {SHORT_KEY} characters and can be guessed");
            let problem = Problem::error(message).at(value.place);
            self.note(problem.hint("`openssl rand -hex 32` prints a good one"));
            return None;
        }
        Some(key)
    }
}
