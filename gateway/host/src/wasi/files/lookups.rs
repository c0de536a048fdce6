//! Lookups of paths outside every granted directory.
//!
//! A guest's own library compares a path with the granted directories. If none matches, the host gets no request; it
//! only sees that the guest listed the granted directories. If the call then looked into none of them and failed, it
//! needed a path that isn't granted.

use moongate_model::call::GrantFix;

use super::FilesState;
use crate::wasi::grant_audit::MissingGrant;

/// The lookups of the current call.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lookups {
    /// The call listed the granted directories.
    pub(super) listed_preopens: bool,
    /// The call looked into one of them.
    pub(super) in_granted: bool,
}

/// The end of a call, as far as lookups are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookupOutcome {
    Succeeded,
    Failed,
}

impl FilesState {
    /// Reports that a call looked up a path outside the granted directories, if that is certain. For a call that
    /// succeeded, it is only possible: some languages always list the directories.
    pub(crate) fn report_ungranted_lookup(&self, outcome: LookupOutcome) {
        let Lookups { listed_preopens, in_granted } = self.lookups;
        if !listed_preopens || in_granted {
            return;
        }
        // The path is probably in a granted directory that can't be opened.
        if outcome == LookupOutcome::Failed && self.audit.note_unavailable_directories() {
            return;
        }
        let granted = &self.config.allow.dirs;
        match outcome {
            LookupOutcome::Failed => {
                let names: Vec<_> = granted.iter().map(|grant| format!("`{}`", grant.guest_path)).collect();
                let wanted = match &names[..] {
                    [] => "access to a file or directory".to_owned(),
                    names => format!("access to a file or directory outside {}", names.join(", ")),
                };
                self.audit.report_missing(&missing(wanted));
            }
            LookupOutcome::Succeeded if granted.is_empty() => self
                .audit
                .note_possibly_missing(|| missing("perhaps access to a file or directory".to_owned())),
            LookupOutcome::Succeeded => {}
        }
    }
}

fn missing(wanted: String) -> MissingGrant {
    MissingGrant { wanted, fix: Some(GrantFix::ReadDirectory { guest: None }) }
}
