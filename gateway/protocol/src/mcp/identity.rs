//! The gateway's name and version in results (2025-11-25, basic/lifecycle; 2026-07-28, basic).

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::manifest::JsonMembers;

use super::revision::{Feature, Revision};

/// The gateway's name and version, as clients see them.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The name for programs.
    pub name: String,
    /// The display name.
    pub title: String,
    /// The version.
    pub version: String,
}

impl Default for Identity {
    fn default() -> Self {
        Self {
            name: "moongate".to_owned(),
            title: "Moongate".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

impl Identity {
    /// Writes a result's `_meta`: the plugin's members and, in stateless revisions, the server's identity.
    pub(super) fn write_meta<M: SerializeMap>(
        &self,
        map: &mut M,
        revision: Revision,
        meta: &JsonMembers,
    ) -> Result<(), M::Error> {
        let server = revision.has(Feature::ResultTypes).then_some(self);
        if server.is_none() && meta.is_empty() {
            return Ok(());
        }
        map.serialize_entry("_meta", &ResultMeta { meta, server, revision })
    }

    /// The `serverInfo` object of `revision`.
    pub(super) fn info(&self, revision: Revision) -> impl Serialize {
        ServerInfo { identity: self, revision }
    }
}

struct ResultMeta<'a> {
    meta: &'a JsonMembers,
    server: Option<&'a Identity>,
    revision: Revision,
}

impl Serialize for ResultMeta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.meta {
            map.serialize_entry(key, value)?;
        }
        if let Some(server) = self.server {
            map.serialize_entry("io.modelcontextprotocol/serverInfo", &server.info(self.revision))?;
        }
        map.end()
    }
}

struct ServerInfo<'a> {
    identity: &'a Identity,
    revision: Revision,
}

impl Serialize for ServerInfo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Identity { name, title, version } = self.identity;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", name)?;
        if self.revision.has(Feature::Titles) {
            map.serialize_entry("title", title)?;
        }
        map.serialize_entry("version", version)?;
        map.end()
    }
}
