//! The MCP bundle (`.mcpb`, manifest 0.3): the binary, which a host installs with a click and starts with the user's
//! `gateway.toml`. The official tool validates the manifest and packs it.

use std::path::PathBuf;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::archive::read_binary;
use super::file_tree::{FileTree, PLAIN, PROGRAM};
use super::{BuiltBinary, Release, Target, VERSION};
use crate::install::{self, MissingTool};
use crate::run::ProcessRun;

/// The directory with the lock file of the tool.
const TOOL: &str = "xtask/mcpb";

/// The tool's program in its package.
const TOOL_SCRIPT: &str = "@anthropic-ai/mcpb/dist/cli/cli.js";

/// Writes the bundle.
pub(super) fn write(release: &Release<'_>, built: &BuiltBinary) -> Result<PathBuf> {
    match pack(release, built.target, read_binary(built)?)? {
        Ok(path) => Ok(path),
        Err(missing) => bail!("the bundle can't be packed: {missing}"),
    }
}

/// Packs a bundle, which also validates its manifest.
pub(super) fn pack(
    release: &Release<'_>,
    target: &Target,
    binary: Vec<u8>,
) -> Result<Result<PathBuf, MissingTool>> {
    let packages = match install::npm_packages(release.project, "mcpb", TOOL)? {
        Ok(directory) => directory.join("node_modules"),
        Err(missing) => return Ok(Err(missing)),
    };
    let mut tree = FileTree::default();
    tree.file("manifest.json", PLAIN, format!("{:#}\n", manifest(release)));
    tree.file("server/moongate", PROGRAM, binary);
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        tree.file(license, PLAIN, release.source(license)?);
    }
    let directory = release.scratch(target).join("bundle");
    tree.write(&directory)?;
    let path = release.directory.join(file_name(target));
    let node = ProcessRun::new("node").arg(packages.join(TOOL_SCRIPT));
    node.arg("pack").arg(&directory).arg(&path).stdout_to_stderr().run()?;
    Ok(Ok(path))
}

/// The name of the finished file.
pub(super) fn file_name(target: &Target) -> String {
    format!("moongate-{VERSION}-{}.mcpb", target.triple)
}

/// The manifest. The host asks the user for the configuration; its plugins decide which tools there are.
fn manifest(release: &Release<'_>) -> Value {
    let mut manifest = json!({
        "manifest_version": "0.3",
        "name": "moongate",
        "display_name": "Moongate",
        "version": VERSION,
        "description": "An MCP gateway that runs tools as sandboxed WebAssembly components",
        "author": { "name": "The Moongate maintainers" },
        "license": "MIT OR Apache-2.0",
        "server": {
            "type": "binary",
            "entry_point": "server/moongate",
            "mcp_config": {
                "command": "${__dirname}/server/moongate",
                "args": ["serve", "--stdio", "--config", "${user_config.config}"],
            },
        },
        "tools_generated": true,
        "prompts_generated": true,
        "compatibility": { "platforms": ["linux"] },
        "user_config": {
            "config": {
                "type": "file",
                "title": "Configuration",
                "description": "Your gateway.toml, which lists the plugins and what each of them can access",
                "required": true,
            },
        },
    });
    if let Some(repository) = &release.repository {
        manifest["repository"] = json!({ "type": "git", "url": repository.url() });
    }
    manifest
}
