//! Manifests of Wasm artifacts (OCI image specification 1.1; Wasm OCI artifact layout of the CNCF).

use std::collections::BTreeMap;

use moongate_config::parse_sha256;
use moongate_model::names::Digest;
use serde::Deserialize;

use crate::error::{SourceError, foreign};

#[cfg(any(test, feature = "fuzz"))]
mod fuzz;

#[cfg(any(test, feature = "fuzz"))]
pub use fuzz::fuzz_artifact;

/// The media type of a manifest.
pub(crate) const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";

/// The media type of an index, a list of manifests.
pub(crate) const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";

/// The media types of manifests and indexes in requests.
pub(crate) const ACCEPTED_TYPES: &str = "application/vnd.oci.image.manifest.v1+json, \
     application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json, \
     application/vnd.docker.distribution.manifest.list.v2+json";

/// The media type of a component.
pub(crate) const COMPONENT_TYPE: &str = "application/wasm";

/// The media types of components that other tools write.
const OTHER_COMPONENT_TYPES: [&str; 4] = [
    "application/vnd.wasm.content.layer.v1+wasm",
    "application/vnd.module.wasm.content.layer.v1+wasm",
    "application/vnd.bytecodealliance.component.layer.v0+wasm",
    "application/vnd.bytecodealliance.wasm.component.layer.v0+wasm",
];

/// The largest number of layers that a message lists.
const MAX_LISTED: usize = 4;

/// The annotation with a minisign signature of the component.
pub(crate) const MINISIGN_ANNOTATION: &str = "dev.moongate.minisign";

/// A manifest or an index.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ArtifactManifest {
    schema_version: u32,
    pub(crate) layers: Option<Vec<BlobDescriptor>>,
    /// The manifests of an index.
    pub(crate) manifests: Option<Vec<BlobDescriptor>>,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
}

/// A reference to content by its digest.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BlobDescriptor {
    pub(crate) media_type: String,
    digest: String,
    pub(crate) size: u64,
    pub(crate) artifact_type: Option<String>,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
}

impl BlobDescriptor {
    /// The digest.
    ///
    /// # Errors
    /// It isn't a SHA-256 digest.
    pub(crate) fn digest(&self) -> Result<Digest, SourceError> {
        parse_sha256(&self.digest)
            .map_err(|_| SourceError::new(format!("unsupported digest `{}`", foreign(&self.digest))))
    }
}

impl ArtifactManifest {
    /// Parses a manifest or an index.
    ///
    /// # Errors
    /// It is neither.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, SourceError> {
        let invalid = |reason: String| SourceError::new(format!("invalid manifest: {reason}"));
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| invalid(foreign(&error)))?;
        if manifest.schema_version != 2 {
            return Err(invalid(format!("schema version {} instead of 2", manifest.schema_version)));
        }
        Ok(manifest)
    }

    /// The only layer, which is the component.
    ///
    /// # Errors
    /// It isn't the manifest of a Wasm artifact.
    pub(crate) fn component(&self) -> Result<&BlobDescriptor, SourceError> {
        if let Some(manifests) = &self.manifests {
            let digests = manifests.iter().take(MAX_LISTED).map(|it| format!("`@{}`", foreign(&it.digest)));
            let hint = match digests.collect::<Vec<_>>().join(", ") {
                none if none.is_empty() => "name the manifest of a Wasm artifact".to_owned(),
                digests => format!("name one of its manifests by digest: {digests}"),
            };
            return Err(SourceError::new("it is an index of several manifests").with_hint(hint));
        }
        let layers = self.layers.as_deref().unwrap_or_default();
        match layers {
            [layer] if layer.media_type == COMPONENT_TYPE => Ok(layer),
            [layer] if OTHER_COMPONENT_TYPES.contains(&layer.media_type.as_str()) => Ok(layer),
            _ => {
                let types =
                    layers.iter().take(MAX_LISTED).map(|layer| format!("`{}`", foreign(&layer.media_type)));
                let types = types.collect::<Vec<_>>().join(", ");
                let found = match layers.len() {
                    0 => "no layer".to_owned(),
                    1 => format!("a layer of type {types}"),
                    count => format!("{count} layers: {types}"),
                };
                let message = format!(
                    "it isn't a Wasm artifact: it needs exactly one layer of type `{COMPONENT_TYPE}`, and has {found}"
                );
                Err(SourceError::new(message)
                    .with_hint("publish the component with `moongate push` or `wkg oci push`"))
            }
        }
    }
}

#[cfg(test)]
mod tests;
