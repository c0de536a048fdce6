//! Putting a component in place.

use std::fs;

use super::place;

#[test]
fn a_file_is_replaced_only_when_its_bytes_changed() {
    let folder = std::env::temp_dir().join(format!("xtask-place-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (from, to) = (folder.join("built.wasm"), folder.join("placed.wasm"));
    fs::write(&from, b"one").unwrap();
    assert!(place(&from, &to).unwrap());
    assert!(!place(&from, &to).unwrap());
    fs::write(&from, b"two").unwrap();
    assert!(place(&from, &to).unwrap());
    assert_eq!(fs::read(&to).unwrap(), b"two");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing is left beside the two files");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_component_that_was_not_built_is_named() {
    let missing = std::env::temp_dir().join("xtask-was-not-built.wasm");
    let error = place(&missing, &missing).unwrap_err();
    assert!(error.to_string().contains("xtask-was-not-built.wasm"), "{error}");
}
