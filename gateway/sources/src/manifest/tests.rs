//! Unit tests of manifests.

use serde_json::{Value, json};

use super::*;

fn manifest(layers: &[&str]) -> Value {
    let digest = format!("sha256:{}", Digest::of(b"component"));
    let layer = |media_type: &&str| json!({ "mediaType": media_type, "digest": digest, "size": 9 });
    json!({ "schemaVersion": 2, "layers": layers.iter().map(layer).collect::<Vec<_>>() })
}

#[test]
fn accepts_the_media_types_of_the_ecosystem() {
    for media_type in OTHER_COMPONENT_TYPES.iter().chain([&COMPONENT_TYPE]) {
        let manifest = ArtifactManifest::parse(manifest(&[media_type]).to_string().as_bytes()).unwrap();
        assert_eq!(manifest.component().unwrap().digest().unwrap(), Digest::of(b"component"));
    }
}

#[test]
fn rejects_manifests_that_arent_one_component() {
    let index = json!({
        "schemaVersion": 2, "manifests": [{ "mediaType": MANIFEST_TYPE, "digest": "sha256:0", "size": 1 }],
    });
    let layer = "application/vnd.oci.image.layer.v1.tar+gzip";
    let wrong = [
        (manifest(&[]), "no layer"),
        (manifest(&[layer]), layer),
        (manifest(&[COMPONENT_TYPE, COMPONENT_TYPE]), "2 layers"),
        (manifest(&[layer, COMPONENT_TYPE]), "2 layers"),
        (index, "several manifests"),
        (json!({ "schemaVersion": 2 }), "no layer"),
    ];
    for (manifest, expected) in wrong {
        let error =
            ArtifactManifest::parse(manifest.to_string().as_bytes()).unwrap().component().unwrap_err();
        assert!(error.to_string().contains(expected) && error.hint().is_some(), "{error}");
    }
    for text in ["", "{}", "[]", "{\"schemaVersion\":1}", "{\"schemaVersion\":2,\"layers\":[{}]}", "<html>"] {
        assert!(ArtifactManifest::parse(text.as_bytes()).is_err(), "{text}");
    }
}
