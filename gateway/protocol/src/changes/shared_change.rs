//! Changes that replicas tell each other, as entries of the journal that they share.

use crate::catalog::ListKind;
use crate::names::{Digest, PluginId, ResourceUri};

/// The scheme of entries about lists. Clients can't subscribe to such a resource, because no plugin has it.
const LISTS_SCHEME: &str = "moongate-lists:";

/// A change that all replicas must know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SharedChange {
    /// The resource has new content.
    Resource(ResourceUri),
    /// The plugin has reported changed lists.
    PluginLists(PluginId),
    /// The replica serves other lists of this kind than before, with this digest.
    Lists(ListKind, Digest),
}

impl SharedChange {
    /// The entry about this change at a replica.
    pub(crate) fn to_entry(&self, replica: &str) -> Option<ResourceUri> {
        let entry = match self {
            // A plugin's own resource of this scheme would be read as an entry about lists.
            Self::Resource(uri) if uri.as_str().starts_with(LISTS_SCHEME) => return None,
            Self::Resource(uri) => return Some(uri.clone()),
            Self::PluginLists(plugin) => format!("{LISTS_SCHEME}{replica}/plugin/{plugin}"),
            Self::Lists(kind, digest) => format!("{LISTS_SCHEME}{replica}/{}/{digest}", kind_name(*kind)),
        };
        ResourceUri::new(&entry).ok()
    }

    /// Reads an entry. `None` if it is about lists of this replica, or in the format of a newer version.
    pub(crate) fn from_entry(entry: &ResourceUri, own_replica: &str) -> Option<Self> {
        let Some(lists) = entry.as_str().strip_prefix(LISTS_SCHEME) else {
            return Some(Self::Resource(entry.clone()));
        };
        let (replica, change) = lists.split_once('/')?;
        let (kind, value) = change.split_once('/')?;
        if replica == own_replica {
            return None;
        }
        if kind == "plugin" {
            return PluginId::new(value).ok().map(Self::PluginLists);
        }
        let kind = ListKind::ALL.into_iter().find(|known| kind_name(*known) == kind)?;
        Some(Self::Lists(kind, value.parse().ok()?))
    }
}

fn kind_name(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools => "tools",
        ListKind::Prompts => "prompts",
        ListKind::Resources => "resources",
    }
}

#[cfg(test)]
mod tests {
    use super::SharedChange;
    use crate::catalog::{Catalog, ListKind};
    use crate::names::{PluginId, ResourceUri};

    #[test]
    fn entries_of_other_replicas_are_read() {
        let digest = Catalog::empty().digest(ListKind::Tools);
        for change in [
            SharedChange::Resource(ResourceUri::new("file:///a").unwrap()),
            SharedChange::PluginLists(PluginId::new("notes").unwrap()),
            SharedChange::Lists(ListKind::Prompts, digest),
        ] {
            let entry = change.to_entry("0123456789abcdef").unwrap();
            assert_eq!(SharedChange::from_entry(&entry, "fedcba9876543210"), Some(change));
        }
        let own = SharedChange::Lists(ListKind::Tools, digest).to_entry("0123456789abcdef").unwrap();
        assert_eq!(SharedChange::from_entry(&own, "0123456789abcdef"), None);
        let newer = ResourceUri::new("moongate-lists:0/roots/1").unwrap();
        assert_eq!(SharedChange::from_entry(&newer, "0123456789abcdef"), None);
    }
}
