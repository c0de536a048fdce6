//! `server.json` for the MCP Registry (schema 2025-12-11): the bundles and the container image of a release.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::checksums::sha256;
use super::{BuiltBinary, Release, Repository, VERSION, bundle};

const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/// At most 100 characters.
const DESCRIPTION: &str = "An MCP gateway that runs tools as sandboxed WebAssembly components";

/// Writes the file.
pub(super) fn write(release: &Release<'_>, binaries: &[BuiltBinary]) -> Result<PathBuf> {
    let repository = release
        .repository
        .as_ref()
        .context("`server.json` needs the address of the source code: add `--repository URL`")?;
    let mut packages = Vec::new();
    for built in binaries {
        let name = bundle::file_name(built.target);
        let path = release.directory.join(&name);
        let bytes = fs::read(&path)
            .with_context(|| format!("can't read `{}`; add the part `bundle`", path.display()))?;
        packages.push(bundle_package(repository, &name, &sha256(&bytes)));
    }
    packages.push(image_package(repository));
    release.finish("server.json", format!("{:#}\n", server(repository, &packages)).as_bytes())
}

fn server(repository: &Repository, packages: &[Value]) -> Value {
    json!({
        "$schema": SCHEMA,
        "name": repository.registry_name(),
        "title": "Moongate",
        "description": DESCRIPTION,
        "version": VERSION,
        "repository": { "url": repository.url(), "source": "github" },
        "packages": packages,
    })
}

/// A bundle, which is a file of the release.
fn bundle_package(repository: &Repository, file: &str, digest: &str) -> Value {
    json!({
        "registryType": "mcpb",
        "identifier": repository.download(VERSION, file),
        "version": VERSION,
        "fileSha256": digest,
        "transport": { "type": "stdio" },
    })
}

/// The image, started by the host with the directory of the user's `gateway.toml`.
fn image_package(repository: &Repository) -> Value {
    json!({
        "registryType": "oci",
        "identifier": repository.image(VERSION),
        "runtimeHint": "docker",
        "runtimeArguments": [{
            "type": "named",
            "name": "--volume",
            "value": "{config}:/etc/moongate:ro",
            "variables": {
                "config": {
                    "description": "The directory with your gateway.toml and its plugins",
                    "format": "filepath",
                    "isRequired": true,
                },
            },
        }],
        "packageArguments": [
            { "type": "positional", "value": "serve" },
            { "type": "positional", "value": "--stdio" },
        ],
        "transport": { "type": "stdio" },
    })
}
