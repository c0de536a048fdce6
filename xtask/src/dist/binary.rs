//! The static binary: with musl, stripped, and with the list of its dependencies (cargo-auditable).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use super::{Release, Target, memory_functions, profile};
use crate::run::ProcessRun;

/// The ELF section in which cargo-auditable writes the dependencies.
const DEPENDENCIES_SECTION: &str = ".dep-v0";

/// Builds the binary, with a profile if there is one, and returns its path.
pub(super) fn build(release: &Release<'_>, target: &Target, profile: Option<&Path>) -> Result<PathBuf> {
    let mut cargo = cargo(release, target)?;
    if let Some(profile) = profile {
        cargo = cargo.env(profile::FLAGS_VARIABLE, profile::use_flag(profile));
    }
    cargo.run()?;
    let path = existing(release, target);
    check(&path)?;
    Ok(path)
}

/// The command that builds the binary.
pub(super) fn cargo(release: &Release<'_>, target: &Target) -> Result<ProcessRun> {
    let project = release.project;
    require_tool(&["cargo", "auditable", "--version"], "run `cargo install --locked cargo-auditable`")?;
    ProcessRun::new("rustup").args(["target", "add", target.triple]).current_dir(project.root()).run()?;
    let subcommand = if target.is_native() {
        require_tool(&["musl-gcc", "--version"], "install the package `musl-tools`")?;
        "build"
    } else {
        // Zig has a C compiler and a C library for every target.
        require_tool(
            &["cargo-zigbuild", "--version"], // `cargo zigbuild` has no such flag
            "run `pip install cargo-zigbuild`, which installs Zig too",
        )?;
        "zigbuild"
    };
    let mut cargo = project
        .cargo(&["auditable", subcommand, "--release", "--locked", "-p", "moongate", "--bin", "moongate"])
        .args(["--target", target.triple])
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        // Too slow for other builds; the binary is a tenth faster and a fifth smaller.
        .env("CARGO_PROFILE_RELEASE_LTO", "fat")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1");
    if target.is_native() && cfg!(target_arch = "x86_64") {
        cargo = cargo.env(memory_functions::DIRECTORY_VARIABLE, memory_functions::build(project)?);
    }
    if let Some(exponent) = target.largest_page {
        // A cross build can't find it out, and jemalloc refuses pages that are larger than it was built for.
        cargo = cargo.env("JEMALLOC_SYS_WITH_LG_PAGE", exponent);
    }
    // `moongate new` uses the SDK of this revision, until the release also sets MOONGATE_SDK_VERSION.
    if let Some(repository) = &release.repository {
        let git = ProcessRun::new("git").args(["rev-parse", "HEAD"]).current_dir(project.root());
        cargo = cargo
            .env("MOONGATE_REPOSITORY", repository.url())
            .env("MOONGATE_REVISION", git.read_stdout()?.trim());
    }
    Ok(cargo)
}

/// The path of the built binary.
pub(super) fn existing(release: &Release<'_>, target: &Target) -> PathBuf {
    release.project.target().join(target.triple).join("release/moongate")
}

/// Checks that the binary is static and contains its dependencies.
fn check(path: &Path) -> Result<()> {
    let bytes = fs::read(path).with_context(|| format!("can't read `{}`", path.display()))?;
    ensure!(bytes.starts_with(b"\x7fELF"), "`{}` isn't an ELF file", path.display());
    let sections = ProcessRun::new("readelf").args(["--wide", "--sections"]).arg(path).read_stdout()?;
    ensure!(
        sections.contains(DEPENDENCIES_SECTION),
        "`{}` doesn't contain the list of its dependencies",
        path.display()
    );
    let segments =
        ProcessRun::new("readelf").args(["--wide", "--program-headers"]).arg(path).read_stdout()?;
    ensure!(!segments.contains("INTERP"), "`{}` isn't static", path.display());
    Ok(())
}

/// Fails with a hint if a tool isn't installed.
pub(super) fn require_tool(command: &[&str], hint: &str) -> Result<()> {
    let (program, arguments) = command.split_first().context("an empty command")?;
    if ProcessRun::new(*program).args(arguments.iter().copied()).read_stdout().is_err() {
        bail!("`{}` isn't installed: {hint}", command[..command.len() - 1].join(" "));
    }
    Ok(())
}
