//! The container image: the static binary, CA certificates and empty directories, as an OCI image layout in a tar file.
//!
//! It is an index with one image for each target, so that container engines pick theirs. `skopeo copy oci-archive:FILE`
//! and `podman load` read it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::archive::read_binary;
use super::checksums::sha256;
use super::file_tree::{FileTree, PLAIN, PROGRAM};
use super::{BuiltBinary, Release, VERSION, gzip};

/// The number of the user and the group, which no account of a machine has.
const USER: u64 = 65_532;

/// The media types of the OCI image specification.
const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// The content-addressed part of a layout.
#[derive(Debug, Default)]
struct LayoutBlobs(FileTree);

impl LayoutBlobs {
    /// Adds a blob and returns its descriptor.
    fn add(&mut self, media_type: &str, bytes: Vec<u8>) -> Value {
        let digest = sha256(&bytes);
        let size = bytes.len();
        self.0.file(&format!("blobs/sha256/{digest}"), PLAIN, bytes);
        json!({ "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": size })
    }
}

/// Writes the image.
pub(super) fn write(release: &Release<'_>, binaries: &[BuiltBinary], ca_bundle: &Path) -> Result<PathBuf> {
    let certificates = fs::read(ca_bundle).with_context(|| {
        format!("can't read the CA certificates in `{}`; add `--ca-bundle FILE`", ca_bundle.display())
    })?;
    let mut blobs = LayoutBlobs::default();
    let mut manifests = Vec::new();
    for built in binaries {
        manifests.push(image(release, built, &certificates, &mut blobs)?);
    }
    let labels = labels(release);
    let index = json!({
        "schemaVersion": 2,
        "mediaType": INDEX_TYPE,
        "manifests": manifests,
        "annotations": labels,
    });
    let mut entry = blobs.add(INDEX_TYPE, index.to_string().into_bytes());
    entry["annotations"] = json!({ "org.opencontainers.image.ref.name": VERSION });
    let LayoutBlobs(mut layout) = blobs;
    let top = json!({ "schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [entry] });
    layout.file("index.json", PLAIN, top.to_string());
    layout.file("oci-layout", PLAIN, json!({ "imageLayoutVersion": "1.0.0" }).to_string());
    release.finish(&format!("moongate-{VERSION}-image.tar"), &layout.tar(release.time)?)
}

/// Adds the image of one target and returns the descriptor of its manifest.
fn image(
    release: &Release<'_>,
    built: &BuiltBinary,
    certificates: &[u8],
    blobs: &mut LayoutBlobs,
) -> Result<Value> {
    let layer = root_tree(read_binary(built)?, certificates).tar(release.time)?;
    let uncompressed = sha256(&layer);
    let scratch = release.scratch(built.target);
    fs::create_dir_all(&scratch).with_context(|| format!("can't create `{}`", scratch.display()))?;
    let file = scratch.join("layer.tar");
    fs::write(&file, layer).with_context(|| format!("can't write `{}`", file.display()))?;
    let layer = blobs.add(LAYER_TYPE, fs::read(gzip(&file)?)?);
    let config = json!({
        "architecture": built.target.oci,
        "os": "linux",
        "config": run_config(release),
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{uncompressed}")] },
    });
    let config = blobs.add(CONFIG_TYPE, config.to_string().into_bytes());
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": config,
        "layers": [layer],
        "annotations": labels(release),
    });
    let mut entry = blobs.add(MANIFEST_TYPE, manifest.to_string().into_bytes());
    entry["platform"] = json!({ "os": "linux", "architecture": built.target.oci });
    Ok(entry)
}

/// The root file system.
fn root_tree(binary: Vec<u8>, certificates: &[u8]) -> FileTree {
    let mut tree = FileTree::default();
    tree.file("usr/bin/moongate", PROGRAM, binary);
    tree.file("etc/ssl/certs/ca-certificates.crt", PLAIN, certificates);
    tree.directory("etc/moongate", PROGRAM, 0);
    tree.directory("tmp", 0o1777, 0);
    // Volumes take over the owner and the mode of these directories.
    for path in ["var/cache/moongate", "var/lib/moongate"] {
        tree.directory(path, 0o700, USER);
    }
    tree
}

/// How the image is run. The configuration and its plugins are mounted at `/etc/moongate`.
fn run_config(release: &Release<'_>) -> Value {
    json!({
        "User": format!("{USER}:{USER}"),
        "Env": [
            "PATH=/usr/bin",
            "MOONGATE_CONFIG=/etc/moongate/gateway.toml",
            "MOONGATE_CACHE_DIR=/var/cache/moongate",
            "MOONGATE_STATE_DIR=/var/lib/moongate",
        ],
        "Entrypoint": ["/usr/bin/moongate"],
        "Cmd": ["serve"],
        "WorkingDir": "/etc/moongate",
        "ExposedPorts": { "8931/tcp": {} },
        "Volumes": { "/var/cache/moongate": {}, "/var/lib/moongate": {} },
        "StopSignal": "SIGTERM",
        "Labels": labels(release),
    })
}

/// The labels of the image. The MCP Registry finds the owner of an image by the last one.
fn labels(release: &Release<'_>) -> Value {
    let mut labels = json!({
        "org.opencontainers.image.title": "Moongate",
        "org.opencontainers.image.description": "An MCP gateway that runs tools as sandboxed WebAssembly components",
        "org.opencontainers.image.version": VERSION,
        "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
    });
    if let Some(repository) = &release.repository {
        labels["org.opencontainers.image.source"] = json!(repository.url());
        labels["io.modelcontextprotocol.server.name"] = json!(repository.registry_name());
    }
    labels
}
