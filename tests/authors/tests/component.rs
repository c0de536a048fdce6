//! Crates of authors, compiled for Wasm: a mistake that only a component can have, whose words are held against a file, and
//! a crate that forbids much.
//!
//! `UPDATE_GOLDENS=1 cargo test -p moongate-authors --test component` writes them anew.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// An author's `Cargo.toml`.
const MANIFEST: &str = r#"
[package]
name = "NAME"
version = "0.1.0"
edition = "EDITION"

[lib]
crate-type = ["cdylib"]

[dependencies]
moongate-sdk = { path = "SDK" }
schemars = "1"
serde = { version = "1", features = ["derive"] }

[workspace]
"#;

/// Compiles the file of this name as a component of its own: what cargo says, and whether it succeeds.
fn check(name: &str, edition: &str) -> (String, bool) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("../..").canonicalize().unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let package = name.replace('_', "-");
    let project = target.join("tests").join(format!("{package}-{edition}"));
    fs::create_dir_all(project.join("src")).unwrap();
    let sdk = root.join("plugin-sdk").display().to_string().replace('\\', "/");
    let manifest = MANIFEST.replace("NAME", &package).replace("EDITION", edition).replace("SDK", &sdk);
    fs::write(project.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root.join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    fs::copy(here.join(format!("tests/component/{name}.rs")), project.join("src/lib.rs")).unwrap();

    let cargo = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--quiet", "--color", "never", "--target", "wasm32-wasip2"])
        .current_dir(&project)
        .env("CARGO_TARGET_DIR", target.join("tests/trybuild")) // what runs on this machine is compiled there already
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    (String::from_utf8(cargo.stderr).unwrap(), cargo.status.success())
}

#[test]
fn a_component_holds_one_plugin() {
    let (said, succeeded) = check("two_plugins", "2024");
    assert!(!succeeded);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/component/two_plugins.stderr");
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(&golden, &said).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    assert!(said == expected, "the compiler says something else than {}:\n{said}", golden.display());
}

#[test]
fn a_crate_may_forbid_unsafe_code_and_warnings_in_either_edition() {
    for edition in ["2021", "2024"] {
        let (said, succeeded) = check("strict", edition);
        assert!(succeeded && said.is_empty(), "edition {edition}:\n{said}");
    }
}
