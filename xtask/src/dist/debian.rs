//! The Debian package: the binary, the systemd units (disabled until you enable them), completions and man pages.

use std::path::PathBuf;

use anyhow::Result;

use super::archive::{UNITS, read_binary};
use super::binary::require_tool;
use super::file_tree::{FileTree, PLAIN, PROGRAM};
use super::pages::GeneratedPages;
use super::{BuiltBinary, Release, VERSION, gzip};
use crate::run::ProcessRun;

/// The program's path in `contrib/systemd`, which is for installations by hand.
const MANUAL_PATH: &str = "/usr/local/bin/moongate";
const PACKAGE_PATH: &str = "/usr/bin/moongate";

/// Tells systemd of new units, and restarts the service after an upgrade if it runs.
const POSTINST: &str = "\
#!/bin/sh
set -e
if [ \"$1\" = configure ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    if [ -n \"$2\" ]; then
        systemctl try-restart moongate.service
    fi
fi
";

/// Stops the service before its files are removed.
const PRERM: &str = "\
#!/bin/sh
set -e
if [ \"$1\" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now moongate.socket moongate.service || true
fi
";

/// Removes the code cache of a purged package. The configuration and the state of plugins belong to you.
const POSTRM: &str = "\
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
if [ \"$1\" = purge ]; then
    rm -rf /var/cache/private/moongate /var/cache/moongate
fi
";

/// Writes the package.
pub(super) fn write(release: &Release<'_>, built: &BuiltBinary) -> Result<PathBuf> {
    require_tool(&["dpkg-deb", "--version"], "build the package on Debian or Ubuntu")?;
    let mut tree = files(release, built)?;
    let size = tree.size().div_ceil(1024);
    let control = control(release, built.target.debian, size);
    tree.file("DEBIAN/control", PLAIN, control);
    for (script, text) in [("postinst", POSTINST), ("prerm", PRERM), ("postrm", POSTRM)] {
        tree.file(&format!("DEBIAN/{script}"), PROGRAM, text);
    }
    let directory = release.scratch(built.target).join("deb");
    tree.write(&directory)?;
    let path = release.directory.join(format!("moongate_{}_{}.deb", version(), built.target.debian));
    ProcessRun::new("dpkg-deb")
        .args(["--root-owner-group", "-Zxz", "--build"])
        .arg(&directory)
        .arg(&path)
        .env("SOURCE_DATE_EPOCH", release.time.to_string())
        .stdout_to_stderr()
        .run()?;
    Ok(path)
}

/// The version as Debian orders it: `1.0.0~rc.1` is older than `1.0.0`.
fn version() -> String {
    VERSION.replacen('-', "~", 1)
}

/// The package's files.
fn files(release: &Release<'_>, built: &BuiltBinary) -> Result<FileTree> {
    let mut tree = FileTree::default();
    tree.file(&PACKAGE_PATH[1..], PROGRAM, read_binary(built)?);
    tree.directory("etc/moongate", PROGRAM, 0);
    for unit in UNITS {
        let text = String::from_utf8(release.source(&format!("contrib/systemd/{unit}"))?)?;
        let text = text.replace(MANUAL_PATH, PACKAGE_PATH);
        // The drop-in works only with newer versions of systemd, so it is an example.
        let directory =
            if unit.contains('/') { "usr/share/doc/moongate/examples" } else { "usr/lib/systemd/system" };
        tree.file(&format!("{directory}/{unit}"), PLAIN, text);
    }
    let GeneratedPages { bash, zsh, fish, man } = GeneratedPages::generate(release, built)?;
    tree.file("usr/share/bash-completion/completions/moongate", PLAIN, bash);
    tree.file("usr/share/zsh/vendor-completions/_moongate", PLAIN, zsh);
    tree.file("usr/share/fish/vendor_completions.d/moongate.fish", PLAIN, fish);
    let scratch = release.scratch(built.target);
    for (name, text) in man {
        let path = scratch.join(&name);
        std::fs::write(&path, text)?;
        tree.file(&format!("usr/share/man/man1/{name}.gz"), PLAIN, std::fs::read(gzip(&path)?)?);
    }
    let changes = scratch.join("changelog");
    std::fs::write(&changes, release.source("CHANGELOG.md")?)?;
    tree.file("usr/share/doc/moongate/changelog.gz", PLAIN, std::fs::read(gzip(&changes)?)?);
    tree.file("usr/share/doc/moongate/README.md", PLAIN, release.source("README.md")?);
    tree.file("usr/share/doc/moongate/copyright", PLAIN, copyright(release)?);
    Ok(tree)
}

/// The licences, in Debian's format.
fn copyright(release: &Release<'_>) -> Result<String> {
    let license = String::from_utf8(release.source("LICENSE-MIT")?)?;
    let mut text = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: The Moongate maintainers
License: Expat or Apache-2.0

License: Apache-2.0
 On Debian systems, the full text is in /usr/share/common-licenses/Apache-2.0.

License: Expat
"
    .to_owned();
    for line in license.lines() {
        text.push_str(if line.is_empty() { " ." } else { " " });
        text.push_str(line);
        text.push('\n');
    }
    Ok(text)
}

/// The description of the package.
fn control(release: &Release<'_>, architecture: &str, kib: usize) -> String {
    let homepage = release.repository.as_ref().map(|repository| format!("Homepage: {}\n", repository.url()));
    format!(
        "\
Package: moongate
Version: {}
Architecture: {architecture}
Maintainer: The Moongate maintainers <moongate@users.noreply.github.com>
Installed-Size: {kib}
Recommends: ca-certificates
Section: net
Priority: optional
{}Description: MCP gateway whose tools are WebAssembly components
 Moongate is a server for the Model Context Protocol (MCP). Hosts connect to
 one endpoint, and each plugin runs in its own sandbox, with only the access
 that gateway.toml grants it.
 .
 The systemd service is disabled until you write /etc/moongate/gateway.toml
 and enable it.
",
        version(),
        homepage.unwrap_or_default()
    )
}
