//! The configuration of a project without one. Used by `dev`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use moongate_model::names::PluginId;
use moongate_system::file_edit::create_file;
use serde_json::Value;

use crate::cli::build::{ProjectKind, usage};
use crate::cli::error::CommandError;
use crate::cli::new;

/// Creates the configuration of the project in `root`, the current directory. It serves the component that `moongate build`
/// writes, and grants it nothing.
///
/// # Errors
/// The crate isn't a plugin, or the file can't be written.
pub(super) fn create(kind: ProjectKind, root: &Path, file: &Path) -> Result<(), CommandError> {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let name = PluginId::new(&name).map_or_else(|_| "plugin".to_owned(), |id| id.to_string());
    let component = match kind {
        ProjectKind::Rust => cargo_component(root)?,
        ProjectKind::Python | ProjectKind::C | ProjectKind::Node => {
            Path::new("target").join(format!("{name}.wasm"))
        }
    };
    create_file(file, &new::config_text(&name, &component.to_string_lossy()))
        .with_context(|| format!("can't create `{}`", file.display()))?;
    Ok(())
}

/// The file to which cargo writes the component of the crate in `root`, relative to it if possible.
fn cargo_component(root: &Path) -> Result<PathBuf, CommandError> {
    let mut command = Command::new("cargo");
    command.args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = command.output().context("can't run cargo")?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(usage("cargo can't read the project", "fix `Cargo.toml`").notes(&error));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).context("can't read the output of cargo")?;
    component_of_crate(&metadata, root).ok_or_else(|| {
        let hint = "add `crate-type = [\"cdylib\", \"rlib\"]` to `[lib]` in `Cargo.toml`";
        usage("the crate can't be built as a component", hint)
    })
}

/// The component of the crate in `root`, from the output of `cargo metadata`.
fn component_of_crate(metadata: &Value, root: &Path) -> Option<PathBuf> {
    let manifest = root.join("Cargo.toml");
    let mut packages = metadata["packages"].as_array()?.iter();
    let package = packages
        .find(|package| package["manifest_path"].as_str().map(Path::new) == Some(manifest.as_path()))?;
    let is_component = |target: &&Value| {
        target["crate_types"].as_array().is_some_and(|types| types.iter().any(|kind| kind == "cdylib"))
    };
    let target = package["targets"].as_array()?.iter().find(is_component)?;
    let directory = Path::new(metadata["target_directory"].as_str()?).join("wasm32-wasip2/release");
    let file = directory.join(format!("{}.wasm", target["name"].as_str()?.replace('-', "_")));
    Some(file.strip_prefix(root).map(Path::to_owned).unwrap_or(file))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_the_component_of_the_crate_in_a_workspace() {
        let crate_types = |kind: &str| json!([{ "name": "my-plugin", "crate_types": [kind] }]);
        let metadata = |kind: &str| {
            json!({
                "target_directory": "/w/target",
                "packages": [
                    { "manifest_path": "/w/other/Cargo.toml", "targets": [] },
                    { "manifest_path": "/w/my-plugin/Cargo.toml", "targets": crate_types(kind) },
                ],
            })
        };
        let found = |kind: &str, root: &str| component_of_crate(&metadata(kind), Path::new(root));
        let component = "/w/target/wasm32-wasip2/release/my_plugin.wasm";
        assert_eq!(found("cdylib", "/w/my-plugin"), Some(PathBuf::from(component)));
        assert_eq!(found("lib", "/w/my-plugin"), None);
        assert_eq!(found("cdylib", "/w"), None);
    }
}
