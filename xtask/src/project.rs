//! Paths of the checkout: the target directory, the guests and the built gateway.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::run::ProcessRun;

/// The checkout that this xtask was built from, and its target directory.
#[derive(Debug)]
pub(crate) struct Project {
    /// The workspace's root.
    root: PathBuf,
    /// Cargo's target directory, absolute.
    target: PathBuf,
}

/// A crate that is built as a component.
#[derive(Debug)]
pub(crate) struct Guest {
    /// The package's name.
    pub(crate) package: String,
    /// The component's name in `plugins/dist`, without `.wasm`.
    pub(crate) name: String,
}

impl Project {
    /// Finds the checkout, and the target directory from this program's path, `<target>/debug/xtask`.
    pub(crate) fn find() -> Result<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let root = manifest.as_deref().and_then(Path::parent).map(Path::to_path_buf);
        let root = root.context("xtask wasn't started by cargo; run `cargo xtask`")?;
        let program = env::current_exe().context("the path of this program is unknown")?;
        let target = program.parent().and_then(Path::parent).map(Path::to_path_buf);
        let target = target.context("xtask isn't in a target directory; run `cargo xtask`")?;
        Ok(Self { root, target })
    }

    /// A test's checkout with its own target directory.
    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), target: root.join("target") }
    }

    /// The workspace's root.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Cargo's target directory.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// The gateway built with the dev profile.
    pub(crate) fn gateway(&self) -> PathBuf {
        self.target.join("debug").join(format!("moongate{}", env::consts::EXE_SUFFIX))
    }

    /// The built documentation site.
    pub(crate) fn site(&self) -> PathBuf {
        self.target.join("site")
    }

    /// The cache of compiled code of the gateways of tests and interop tests, separate from the user's own.
    pub(crate) fn code_cache(&self) -> PathBuf {
        self.target.join("debug/moongate-test-cache")
    }

    /// The directory in which packages of other languages are installed.
    pub(crate) fn tools(&self) -> PathBuf {
        env::var_os("MOONGATE_TOOLS_DIR").map_or_else(|| self.target.join("tools"), PathBuf::from)
    }

    /// The directory to which components are copied.
    pub(crate) fn dist(&self) -> PathBuf {
        self.root.join("plugins/dist")
    }

    /// All guests: every plugin in `plugins/` (package `<name>-plugin`) and the guests of `tests/guests`.
    pub(crate) fn guests(&self) -> Result<Vec<Guest>> {
        let directory = self.root.join("plugins");
        let mut guests = Vec::new();
        for entry in
            fs::read_dir(&directory).with_context(|| format!("can't read `{}`", directory.display()))?
        {
            let entry = entry?;
            if entry.path().join("Cargo.toml").is_file() {
                let name = entry.file_name().to_string_lossy().into_owned();
                guests.push(Guest { package: format!("{name}-plugin"), name });
            }
        }
        for name in ["echo", "functions", "malformed", "misuse", "stateful", "zoo"] {
            guests.push(Guest { package: format!("{name}-guest"), name: name.to_owned() });
        }
        guests.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(guests)
    }

    /// Runs cargo in the workspace's root, with the target directory of this xtask.
    pub(crate) fn cargo(&self, words: &[&str]) -> ProcessRun {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        ProcessRun::new(cargo).args(words).env("CARGO_TARGET_DIR", &self.target).current_dir(&self.root)
    }
}
