//! Putting a plugin under another table.

use std::sync::Arc;

use moongate_core::config::PluginConfig;
use tokio::time::Instant;

use crate::supervisor::attend::Look;
use crate::supervisor::code::Loaded;

use super::{Missing, Slot};

/// What became of a plugin that was put under another table.
#[derive(Debug)]
pub(in crate::supervisor) enum Put {
    /// The table says the same.
    Same,
    /// It says something else, and nothing serves.
    Changed,
    /// What serves does so under the new table from now on.
    Sandboxed {
        /// As it was.
        earlier: Loaded,
        /// It may less than before.
        narrower: bool,
    },
}

impl Slot {
    /// Puts it under another table. What serves does so from now on with what the table grants, limits and sets;
    /// under which names it serves is found out by a look.
    pub(in crate::supervisor) fn put_under(&mut self, table: &Arc<PluginConfig>, now: Instant) -> Put {
        let before = std::mem::replace(&mut self.table, Arc::clone(table));
        if before.says_the_same_as(table) {
            let serving = self.serving.as_mut().map(|serving| &mut serving.loaded);
            let fresh = self.fresh.as_mut().map(|fresh| &mut fresh.loaded);
            for loaded in serving.into_iter().chain(fresh).chain(self.relisted.as_mut()) {
                if let Some(moved) = loaded.moved_to(table).or_else(|| loaded.regranted(table)) {
                    *loaded = moved;
                }
            }
            return Put::Same;
        }
        let other_code = before.source != table.source || before.sha256 != table.sha256;
        let unresolved = self.serving.is_none()
            || self.fresh.is_some()
            || self.of_file.is_some()
            || self.waits.is_some()
            || self.missing != Missing::Not;
        (self.fresh, self.conflict, self.relisted) = (None, None, None);
        (self.judged, self.missing) = (None, Missing::Not);
        let look = Look { file: other_code || unresolved, table: true, ..Look::at_file(now) };
        self.look(look);
        let Some(serving) = &mut self.serving else { return Put::Changed };
        // Always there: it is the same plugin with the same lists.
        let Some(now) = serving.loaded.under(table) else { return Put::Changed };
        let earlier = std::mem::replace(&mut serving.loaded, now);
        Put::Sandboxed { earlier, narrower: !before.wider_than(Some(&self.table)).is_empty() }
    }
}
