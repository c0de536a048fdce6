//! The archive for any Linux: `moongate-VERSION-TARGET.tar.gz`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::file_tree::{FileTree, PLAIN, PROGRAM};
use super::pages::GeneratedPages;
use super::{BuiltBinary, Release, VERSION, gzip};

/// The files of the checkout that the archive contains.
const SOURCES: [&str; 4] = ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// The systemd units, by their path in the archive.
pub(super) const UNITS: [&str; 3] =
    ["moongate.service", "moongate.socket", "moongate.service.d/notify-reload.conf"];

/// Writes the archive.
pub(super) fn write(release: &Release<'_>, built: &BuiltBinary) -> Result<PathBuf> {
    let name = format!("moongate-{VERSION}-{}", built.target.triple);
    let tree = tree(release, built, &name)?;
    gzip(&release.finish(&format!("{name}.tar"), &tree.tar(release.time)?)?)
}

/// The files of the archive.
fn tree(release: &Release<'_>, built: &BuiltBinary, name: &str) -> Result<FileTree> {
    let mut tree = FileTree::default();
    tree.file(&format!("{name}/moongate"), PROGRAM, read_binary(built)?);
    for path in SOURCES {
        tree.file(&format!("{name}/{path}"), PLAIN, release.source(path)?);
    }
    for unit in UNITS {
        let text = release.source(&format!("contrib/systemd/{unit}"))?;
        tree.file(&format!("{name}/systemd/{unit}"), PLAIN, text);
    }
    let GeneratedPages { bash, zsh, fish, man } = GeneratedPages::generate(release, built)?;
    for (file, text) in [("moongate.bash", bash), ("_moongate", zsh), ("moongate.fish", fish)] {
        tree.file(&format!("{name}/completions/{file}"), PLAIN, text);
    }
    for (file, text) in man {
        tree.file(&format!("{name}/man/man1/{file}"), PLAIN, text);
    }
    Ok(tree)
}

/// The content of the binary.
pub(super) fn read_binary(built: &BuiltBinary) -> Result<Vec<u8>> {
    fs::read(&built.path)
        .with_context(|| format!("can't read `{}`; run `cargo xtask dist binary`", built.path.display()))
}
