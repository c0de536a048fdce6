//! Crates of plugin authors, compiled to Wasm: a mistake that only components can have, whose error is compared with
//! a golden file, and a crate with strict lints.
//!
//! To update the golden file, run `UPDATE_GOLDENS=1 cargo test -p moongate-authors --test component`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// The `Cargo.toml` of the crates.
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

/// Compiles the file with this name as a component. Returns cargo's output and whether it succeeded.
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
        .env("CARGO_TARGET_DIR", target.join("tests/trybuild")) // the native dependencies are already compiled there
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    (String::from_utf8(cargo.stderr).unwrap(), cargo.status.success())
}

#[test]
fn refuses_two_plugins_in_a_component() {
    let (output, succeeded) = check("two_plugins", "2024");
    assert!(!succeeded);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/component/two_plugins.stderr");
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(&golden, &output).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    assert!(output == expected, "the compiler's output differs from {}:\n{output}", golden.display());
}

#[test]
fn generated_code_passes_strict_lints() {
    for edition in ["2021", "2024"] {
        let (output, succeeded) = check("strict", edition);
        assert!(succeeded && output.is_empty(), "edition {edition}:\n{output}");
    }
}
