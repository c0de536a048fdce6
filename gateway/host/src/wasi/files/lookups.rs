//! Lookups of paths outside every granted directory.
//!
//! A guest's own library compares a path with the granted directories. If none fits, it asks the host for nothing: the
//! host only sees that the guest listed the granted directories. If the call then looked into none of them and failed,
//! it wanted a path that isn't granted.

use moongate_model::call::GrantFix;

use super::FilesState;
use crate::wasi::grant_audit::MissingGrant;

/// What the current call looked up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lookups {
    /// It listed the granted directories.
    pub(super) listed_preopens: bool,
    /// It looked into one of them.
    pub(super) in_granted: bool,
}

/// How a call ended, as far as lookups are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookupOutcome {
    Succeeded,
    Failed,
}

impl FilesState {
    /// Reports that a call looked up a path that no directory is granted for, as far as that is certain. A call that
    /// succeeded only may have: some languages list the directories whatever they do next.
    pub(crate) fn report_ungranted_lookup(&self, outcome: LookupOutcome) {
        let Lookups { listed_preopens, in_granted } = self.lookups;
        if !listed_preopens || in_granted {
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
