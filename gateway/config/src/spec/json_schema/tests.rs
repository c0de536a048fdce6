//! Tests that the committed schema is up to date and agrees with the reader.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The errors that an editor would report for a file.
fn complaints(file: &Path) -> Vec<String> {
    let schema: Value = serde_json::from_str(&render()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let text = fs::read_to_string(file).unwrap();
    let file: toml::Table = text.parse().unwrap();
    let file = serde_json::to_value(file).unwrap();
    validator.iter_errors(&file).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn the_committed_schema_is_up_to_date() {
    let file = root().join("schema/gateway.schema.json");
    if crate::tests::updates_goldens() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, render()).unwrap();
    }
    let committed = fs::read_to_string(file).unwrap_or_default();
    assert!(committed == render(), "run `UPDATE_GOLDENS=1 cargo test -p moongate-config schema`");
}

#[test]
fn accepts_valid_files() {
    for file in ["gateway.toml", "tests/everything.toml", "tests/ui/config/good.toml"] {
        assert_eq!(complaints(&root().join(file)), [""; 0], "{file}");
    }
}

#[test]
fn rejects_invalid_files() {
    let wrong =
        ["unknown-keys", "wrong-types", "version-missing", "version-other", "several-at-once", "tokens"];
    for file in wrong {
        let file = root().join(format!("tests/ui/config/{file}.toml"));
        assert_ne!(complaints(&file), [""; 0], "{}", file.display());
    }
    let limits = complaints(&root().join("tests/ui/config/limits.toml")).join("\n");
    for key in ["timeout", "memory", "table_elements", "transfer", "concurrency", "items", "schema"] {
        assert!(limits.contains(&format!("/defaults/limits/{key}")), "{key}: {limits}");
    }
    assert!(!limits.contains("queue"), "{limits}");
}
