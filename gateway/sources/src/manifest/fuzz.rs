//! Properties of any manifest, as a plain function for the seeded loop in the tests and for fuzzers.

use moongate_model::text::is_hidden;

use super::{ArtifactManifest, COMPONENT_TYPE, OTHER_COMPONENT_TYPES};
use crate::error::SourceError;

/// The longest message with its hint, in bytes.
const MAX_MESSAGE_BYTES: usize = 8192;

/// Parses a manifest. An accepted one has a single layer with a component, and messages are short and visible.
///
/// # Panics
/// A property is violated.
pub fn fuzz_artifact(bytes: &[u8]) {
    let manifest = match ArtifactManifest::parse(bytes) {
        Ok(manifest) => manifest,
        Err(error) => return check_message(&error),
    };
    match manifest.component() {
        Ok(layer) => {
            let media_type = layer.media_type.as_str();
            assert!(
                media_type == COMPONENT_TYPE || OTHER_COMPONENT_TYPES.contains(&media_type),
                "{media_type}"
            );
            assert!(manifest.layers.iter().flatten().count() == 1 && manifest.manifests.is_none());
            if let Err(error) = layer.digest() {
                check_message(&error);
            }
        }
        Err(error) => check_message(&error),
    }
}

fn check_message(error: &SourceError) {
    let text = format!("{error} {}", error.hint().unwrap_or_default());
    assert!(!text.contains(is_hidden), "hidden characters in {text:?}");
    assert!(text.len() <= MAX_MESSAGE_BYTES, "too long: {text:?}");
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_artifacts_with_one_component_are_accepted() {
        moongate_model::seeded::seeded("artifact", super::fuzz_artifact);
    }
}
