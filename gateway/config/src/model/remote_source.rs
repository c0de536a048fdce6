//! The source of a plugin that comes from an address, as far as starting the gateway needs it.

use moongate_model::names::Digest;

use super::{SignatureRule, SourceReference};
use crate::lock_file::LockedComponent;

/// The source of a plugin that comes from an address.
#[derive(Debug, Clone)]
pub struct RemoteSource {
    /// The address as configured, with variables filled in.
    pub text: String,
    /// The parsed address.
    pub reference: SourceReference,
    /// The digest in the plugin's table.
    pub pinned: Option<Digest>,
    /// The signatures that the component needs.
    pub signatures: SignatureRule,
    /// The component in the lock file, or the reason why there is none.
    pub locked: Result<LockedComponent, SourceProblem>,
}

/// The reason why a plugin from an address can't be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SourceProblem {
    /// The problem.
    pub message: String,
    /// The fix.
    pub hint: String,
}

impl RemoteSource {
    /// Reports whether `other` leads to the same component. The time of its download makes no difference.
    pub(crate) fn is_equivalent_to(&self, other: &Self) -> bool {
        let Self { text, reference: _, pinned, signatures, locked } = self;
        let is_same = match (locked, &other.locked) {
            (Ok(locked), Ok(other)) => locked.component == other.component,
            (Err(problem), Err(other)) => problem == other,
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
        };
        is_same && *text == other.text && *pinned == other.pinned && *signatures == other.signatures
    }
}
