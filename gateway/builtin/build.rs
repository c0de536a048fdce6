//! Builds the plugins that are part of the gateway, and compresses their components.
//!
//! A nested cargo builds them with the same packages and profile as `cargo xtask build-plugins`, in the same target
//! directory, so that neither builds what the other has built. Cargo locks that directory per profile, so the nested
//! build doesn't wait for the one that runs this script.

use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

/// The plugins, by the names of their directories.
const PLUGINS: [&str; 7] =
    ["everything", "fetch", "filesystem", "git", "memory", "sequential-thinking", "time"];

/// The compilation target of components.
const TARGET: &str = "wasm32-wasip2";

/// The profile of components.
const PROFILE: &str = "guest";

/// Names a directory with built components, relative to the workspace, which are then used instead of building them.
const PREBUILT_VARIABLE: &str = "MOONGATE_BUILTIN_PLUGINS";

/// Variables that the outer cargo, clippy or the user sets for the gateway, which would change the components.
const OUTER_VARIABLES: [&str; 7] = [
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
];

fn main() -> ExitCode {
    match embed_plugins() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            for line in message.lines() {
                println!("cargo::error={line}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Writes the compressed components and the list of them to `OUT_DIR`.
fn embed_plugins() -> Result<(), String> {
    println!("cargo::rerun-if-env-changed={PREBUILT_VARIABLE}");
    let out = PathBuf::from(variable("OUT_DIR")?);
    let components = match env::var_os(PREBUILT_VARIABLE).filter(|directory| !directory.is_empty()) {
        Some(directory) => prebuilt_components(&workspace_root()?.join(directory)),
        None => build_components(&out)?,
    };
    let mut list = "[\n".to_owned();
    for (name, path) in &components {
        let bytes = fs::read(path).map_err(|error| format!("can't read `{}`: {error}", path.display()))?;
        let file = format!("{name}.wasm.gz");
        let compressed = compress(&bytes).map_err(|error| format!("can't compress `{name}`: {error}"))?;
        fs::write(out.join(&file), compressed).map_err(|error| format!("can't write `{file}`: {error}"))?;
        let digest = Sha256::digest(&bytes).iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:#04x}, ");
            text
        });
        let _ = writeln!(
            list,
            "EmbeddedComponent {{ name: {name:?}, digest: [{digest}], size: {}, \
             gzip: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}\")) }},",
            bytes.len()
        );
    }
    list.push_str("]\n");
    fs::write(out.join("components.rs"), list)
        .map_err(|error| format!("can't write the list of components: {error}"))
}

/// The components in a directory that the variable names.
fn prebuilt_components(directory: &Path) -> Vec<(&'static str, PathBuf)> {
    let components = PLUGINS.map(|name| (name, directory.join(format!("{name}.wasm"))));
    for (_, path) in &components {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    components.to_vec()
}

/// Builds the components.
fn build_components(out: &Path) -> Result<Vec<(&'static str, PathBuf)>, String> {
    let root = workspace_root()?;
    watch_sources(&root);
    check_target()?;
    let target_dir = target_dir(out);
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(&root).args(["build", "--locked", "--profile", PROFILE, "--target", TARGET]);
    for name in PLUGINS {
        cargo.args(["-p", &format!("{name}-plugin")]);
    }
    for name in OUTER_VARIABLES {
        cargo.env_remove(name);
    }
    cargo.arg("--target-dir").arg(&target_dir);
    let status = cargo.status().map_err(|error| format!("can't start cargo: {error}"))?;
    if !status.success() {
        return Err(format!(
            "building the built-in plugins for `{TARGET}` failed ({status}); cargo's own messages are above\n\
             hint: run `rustup target add {TARGET}`, or set {PREBUILT_VARIABLE} to a directory with built components"
        ));
    }
    let built = target_dir.join(TARGET).join(PROFILE);
    Ok(PLUGINS.map(|name| (name, built.join(format!("{}_plugin.wasm", name.replace('-', "_"))))).to_vec())
}

/// The directory of the workspace.
fn workspace_root() -> Result<PathBuf, String> {
    let manifest_dir = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let root = manifest_dir.ancestors().nth(2).ok_or("this crate isn't in its workspace")?;
    Ok(root.to_owned())
}

/// Makes cargo run this script again if a source of the plugins changes.
fn watch_sources(root: &Path) {
    let mut sources = ["Cargo.lock", "Cargo.toml", ".cargo/config.toml", "rust-toolchain.toml", "wit"]
        .map(|file| root.join(file))
        .to_vec();
    let packages = PLUGINS.iter().map(|name| root.join("plugins").join(name));
    for package in packages.chain([root.join("plugin-sdk"), root.join("plugin-sdk/macros")]) {
        sources.extend(["Cargo.toml", "assets", "src", "wit"].map(|file| package.join(file)));
    }
    // A missing file would make cargo run this script at every build.
    for source in sources.iter().filter(|source| source.exists()) {
        println!("cargo::rerun-if-changed={}", source.display());
    }
}

/// Checks that the toolchain has the standard library of the target.
fn check_target() -> Result<(), String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let printed = Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output();
    let printed = printed.map_err(|error| format!("can't start rustc: {error}"))?;
    let directory = String::from_utf8_lossy(&printed.stdout).trim().to_owned();
    if printed.status.success() && Path::new(&directory).is_dir() {
        return Ok(());
    }
    Err(format!(
        "the toolchain can't build the built-in plugins, because the target `{TARGET}` is missing\n\
         hint: run `rustup target add {TARGET}`; without rustup, install Rust's standard library for `{TARGET}`"
    ))
}

/// The target directory of the outer build, or a directory of this script's own if that can't be told from `out`.
fn target_dir(out: &Path) -> PathBuf {
    // <target>/[<triple>/]<profile>/build/<package>/out
    let own = || out.join("target");
    let mut parents = out.ancestors().skip(2);
    let (Some(build), Some(profile), Some(target)) = (parents.next(), parents.next(), parents.next()) else {
        return own();
    };
    // With the profile of guests, the outer build has locked the directory.
    if !build.ends_with("build") || profile.ends_with(PROFILE) {
        return own();
    }
    let triple: OsString = env::var_os("TARGET").unwrap_or_default();
    match target.parent() {
        Some(parent) if target.file_name() == Some(&triple) => parent.to_owned(),
        Some(_) | None => target.to_owned(),
    }
}

fn compress(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn variable(name: &str) -> Result<OsString, String> {
    env::var_os(name).ok_or_else(|| format!("cargo didn't set {name}"))
}
