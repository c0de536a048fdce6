//! The software bill of materials of the gateway, for each target (CycloneDX).

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::{Release, Target, VERSION, binary};
use crate::run::ProcessRun;

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
        // The tool writes a file next to every manifest of the workspace.
        let written = release.project.root().join("gateway").join(format!("{name}.json"));
        let text =
            fs::read_to_string(&written).with_context(|| format!("can't read `{}`", written.display()));
        remove_written(release, &format!("{name}.json"))?;
        let text = text?;
        // References contain the directory of the checkout.
        let root = format!("{}/", release.project.root().display());
        files.push(release.finish(&format!("{name}.json"), text.replace(&root, "").as_bytes())?);
    }
    Ok(files)
}

/// Removes the files with this name next to all manifests.
fn remove_written(release: &Release<'_>, name: &str) -> Result<()> {
    let root = release.project.root();
    let listed = ProcessRun::new("git").args(["ls-files", "-z", "--", "*Cargo.toml"]).current_dir(root);
    for manifest in listed.read_stdout()?.split_terminator('\0') {
        let written = root.join(manifest).with_file_name(name);
        match fs::remove_file(&written) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("can't remove `{}`", written.display()));
            }
            _ => {}
        }
    }
    Ok(())
}
