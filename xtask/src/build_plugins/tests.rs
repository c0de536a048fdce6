//! Copying a component to its place.

use std::fs;

use super::place;

#[test]
fn replaces_a_file_only_if_its_content_changed() {
    let directory = std::env::temp_dir().join(format!("xtask-place-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let from = directory.join("built.wasm");
    let to = directory.join("placed.wasm");
    fs::write(&from, b"one").unwrap();
    assert!(place(&from, &to).unwrap());
    assert!(!place(&from, &to).unwrap());
    fs::write(&from, b"two").unwrap();
    assert!(place(&from, &to).unwrap());
    assert_eq!(fs::read(&to).unwrap(), b"two");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 2, "a temporary file is left");
    fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn names_a_component_that_was_not_built() {
    let missing = std::env::temp_dir().join("xtask-was-not-built.wasm");
    let error = place(&missing, &missing).unwrap_err();
    assert!(error.to_string().contains("xtask-was-not-built.wasm"), "{error}");
}
