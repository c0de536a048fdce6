//! `SHA256SUMS`, which `sha256sum --check` verifies.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use ring::digest::{SHA256, digest};

use super::Release;

/// The name of the file.
const FILE: &str = "SHA256SUMS";

/// Writes the checksums of all finished files of this version.
pub(super) fn write(release: &Release<'_>) -> Result<PathBuf> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(&release.directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() && name != FILE {
            lines.push(format!("{}  {name}\n", sha256(&fs::read(entry.path())?)));
        }
    }
    lines.sort_by(|a, b| a[64..].cmp(&b[64..]));
    release.finish(FILE, lines.concat().as_bytes())
}

/// The SHA-256 digest in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
