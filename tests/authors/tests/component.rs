//! A mistake that only a component can have: the compiler's words when it compiles for Wasm, held against a file.
//!
//! `UPDATE_GOLDENS=1 cargo test -p moongate-authors --test component` writes them anew.

use std::fs;
use std::path::Path;
use std::process::Command;

/// An author's `Cargo.toml`.
const MANIFEST: &str = r#"
[package]
name = "two-plugins"
version = "0.1.0"
edition = "2024"

[lib]
crate-type = ["cdylib"]

[dependencies]
moongate-sdk = { path = "SDK" }

[workspace]
"#;

#[test]
fn a_component_holds_one_plugin() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("../..").canonicalize().unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let project = target.join("tests/two-plugins");
    fs::create_dir_all(project.join("src")).unwrap();
    let sdk = root.join("plugin-sdk").display().to_string().replace('\\', "/");
    fs::write(project.join("Cargo.toml"), MANIFEST.replace("SDK", &sdk)).unwrap();
    fs::copy(root.join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    fs::copy(here.join("tests/component/two_plugins.rs"), project.join("src/lib.rs")).unwrap();

    let cargo = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--quiet", "--color", "never", "--target", "wasm32-wasip2"])
        .current_dir(&project)
        .env("CARGO_TARGET_DIR", target.join("tests/trybuild")) // what runs on this machine is compiled there already
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    assert!(!cargo.status.success());
    let said = String::from_utf8(cargo.stderr).unwrap();
    let golden = here.join("tests/component/two_plugins.stderr");
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(&golden, &said).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    assert!(said == expected, "the compiler says something else than {}:\n{said}", golden.display());
}
