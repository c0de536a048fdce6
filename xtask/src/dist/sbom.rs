//! The software bill of materials of the gateway, for each target (CycloneDX).

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::{Release, Target, VERSION, binary};

/// Writes one file for each target.
pub(super) fn write(release: &Release<'_>, targets: &[&Target]) -> Result<Vec<PathBuf>> {
    binary::require_tool(
        &["cargo", "cyclonedx", "--version"],
        "run `cargo install --locked cargo-cyclonedx`",
    )?;
    let mut files = Vec::new();
    for target in targets {
        let name = format!("moongate-{VERSION}-{}.cdx", target.triple);
        release
            .project
            .cargo(&["cyclonedx", "--manifest-path", "gateway/Cargo.toml", "--format", "json"])
            .args(["--spec-version", "1.5", "--target", target.triple, "--override-filename", &name])
            .env("SOURCE_DATE_EPOCH", release.time.to_string())
            .run()?;
        // The tool writes next to the manifest, and names the directory of the checkout in references.
        let written = release.project.root().join("gateway").join(format!("{name}.json"));
        let text =
            fs::read_to_string(&written).with_context(|| format!("can't read `{}`", written.display()))?;
        fs::remove_file(&written).with_context(|| format!("can't remove `{}`", written.display()))?;
        let root = format!("{}/", release.project.root().display());
        files.push(release.finish(&format!("{name}.json"), text.replace(&root, "").as_bytes())?);
    }
    Ok(files)
}
