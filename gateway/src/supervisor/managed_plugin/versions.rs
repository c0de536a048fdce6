//! The versions of one plugin, and the effect of publishing a catalog on them.

use std::sync::{Arc, Weak};
use std::time::SystemTime;

use moongate_config::Diagnostic;
use tokio::time::Instant;

use crate::supervisor::plugin_host::{LoadFailure, LoadedCode, LoadedPlugin};

use super::{ActiveVersion, FileState, ManagedPlugin};

/// The version that should serve calls.
#[derive(Debug, Clone)]
pub(super) enum Candidate {
    /// The active one, if there is any.
    None,
    /// A new version that waits to be published.
    Ready(CandidateVersion),
    /// A new version that can't be published next to other plugins, for this reason.
    Blocked(CandidateVersion, LoadFailure),
}

#[derive(Debug, Clone)]
pub(super) struct CandidateVersion {
    pub(super) loaded: LoadedPlugin,
    /// The time when the change was detected.
    pub(super) detected: Instant,
}

/// A version of a plugin that can be part of the next catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::supervisor) enum VersionChoice {
    Candidate,
    /// The active code, with changed lists.
    NewLists,
    Active,
}

/// The effect of a new catalog.
#[derive(Debug)]
pub(in crate::supervisor) enum PublishEffect {
    None,
    /// Another version is active.
    Activated {
        before: Option<LoadedPlugin>,
        detected: Instant,
    },
    /// The active code has new lists.
    ListsReplaced {
        before: LoadedPlugin,
    },
    /// The new lists were rejected.
    ListsRejected(Vec<Diagnostic>),
}

impl Candidate {
    pub(super) fn version(&self) -> Option<&CandidateVersion> {
        match self {
            Self::None => None,
            Self::Ready(version) | Self::Blocked(version, _) => Some(version),
        }
    }

    pub(super) fn loaded_mut(&mut self) -> Option<&mut LoadedPlugin> {
        match self {
            Self::None => None,
            Self::Ready(version) | Self::Blocked(version, _) => Some(&mut version.loaded),
        }
    }

    pub(super) fn take(&mut self) -> Option<CandidateVersion> {
        match std::mem::replace(self, Self::None) {
            Self::None => None,
            Self::Ready(version) | Self::Blocked(version, _) => Some(version),
        }
    }

    /// The candidate wasn't published, because of this `conflict`.
    pub(super) fn set_conflict(&mut self, conflict: Option<LoadFailure>) {
        if let Some(version) = self.take() {
            *self = match conflict {
                Some(conflict) => Self::Blocked(version, conflict),
                None => Self::Ready(version),
            };
        }
    }
}

impl ManagedPlugin {
    /// The versions that can be published, best first.
    pub(in crate::supervisor) fn versions(&self) -> Vec<(VersionChoice, &LoadedPlugin)> {
        let candidate = self.candidate.version().map(|version| (VersionChoice::Candidate, &version.loaded));
        let active = self.active.as_ref();
        let new_lists = active.and_then(|active| Some((VersionChoice::NewLists, active.new_lists.as_ref()?)));
        let active = active.map(|active| (VersionChoice::Active, &active.loaded));
        candidate.into_iter().chain(new_lists).chain(active).collect()
    }

    /// Follows a catalog that contains the version of `choice`. `conflict` is the reason for leaving out a better
    /// version.
    pub(in crate::supervisor) fn apply_choice(
        &mut self,
        choice: Option<VersionChoice>,
        conflict: Option<Vec<Diagnostic>>,
    ) -> PublishEffect {
        let failure = conflict.clone().map(LoadFailure::new);
        match choice {
            Some(VersionChoice::Candidate) => self.activate_candidate(),
            Some(VersionChoice::NewLists) => {
                self.candidate.set_conflict(failure);
                let active = self.active.as_mut();
                match active.and_then(|active| Some((&mut active.loaded, active.new_lists.take()?))) {
                    Some((loaded, new_lists)) => {
                        PublishEffect::ListsReplaced { before: std::mem::replace(loaded, new_lists) }
                    }
                    None => PublishEffect::None,
                }
            }
            Some(VersionChoice::Active) | None => {
                let new_lists = self.active.as_mut().and_then(|active| active.new_lists.take());
                if choice.is_none()
                    && !self.has_candidate()
                    && let Some(ActiveVersion { loaded, .. }) = self.active.take()
                {
                    self.candidate = Candidate::Ready(CandidateVersion { loaded, detected: Instant::now() });
                }
                self.candidate.set_conflict(failure);
                match (new_lists, conflict) {
                    (Some(_), Some(conflict)) => PublishEffect::ListsRejected(conflict),
                    (Some(_), None) | (None, _) => PublishEffect::None,
                }
            }
        }
    }

    fn activate_candidate(&mut self) -> PublishEffect {
        let Some(CandidateVersion { loaded, detected }) = self.candidate.take() else {
            return PublishEffect::None;
        };
        let since = match &self.active {
            Some(before) if before.loaded.digest() == loaded.digest() => before.since,
            Some(_) | None => SystemTime::now(),
        };
        let before = self.active.replace(ActiveVersion { loaded, since, new_lists: None });
        PublishEffect::Activated { before: before.map(|before| before.loaded), detected }
    }

    /// Drops every version that isn't active, after building a catalog with them failed. True if there was one.
    pub(in crate::supervisor) fn drop_unpublished(&mut self, now: Instant) -> bool {
        let new_lists = self.active.as_mut().and_then(|active| active.new_lists.take());
        let candidate = self.candidate.take();
        if candidate.is_some() {
            let failure = LoadFailure::internal(&self.config, &"building the catalog panicked");
            self.file = FileState::Failed(self.failed_check(failure, now));
        }
        new_lists.is_some() || candidate.is_some()
    }

    /// Sets new lists of the active code.
    pub(in crate::supervisor) fn set_new_lists(&mut self, new_lists: LoadedPlugin) {
        if let Some(active) = &mut self.active {
            active.new_lists = Some(new_lists);
        }
    }

    /// Notes that the plugin reported new lists.
    pub(in crate::supervisor) fn note_changed_lists(&mut self) {
        // A version in preparation may have returned its lists before this change.
        self.lists_changed_meanwhile |= self.checks.running().is_some() || self.has_candidate();
    }

    /// True if the version that just became active must be asked for its lists again.
    pub(in crate::supervisor) fn take_lists_changed_meanwhile(&mut self) -> bool {
        std::mem::take(&mut self.lists_changed_meanwhile)
    }

    /// Keeps track of code that is no longer active.
    pub(in crate::supervisor) fn add_earlier_code(&mut self, code: &Arc<dyn LoadedCode>) {
        self.earlier_code.retain(|earlier| earlier.strong_count() > 0);
        self.earlier_code.push(Arc::downgrade(code));
    }

    /// Previously active code that is still referenced.
    pub(in crate::supervisor) fn earlier_code(&self) -> impl Iterator<Item = Arc<dyn LoadedCode>> {
        self.earlier_code.iter().filter_map(Weak::upgrade)
    }
}
