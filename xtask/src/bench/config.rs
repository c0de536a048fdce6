//! The gateway's configurations for the measurements, in a temporary directory.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::binaries::Binaries;
use crate::project::Project;

/// The variable that overrides the cache of a configuration.
pub(super) const CACHE_VARIABLE: &str = "MOONGATE_CACHE_DIR";

/// A temporary directory for one run; removed when dropped.
#[derive(Debug)]
pub(super) struct ScratchDirectory {
    directory: PathBuf,
}

impl ScratchDirectory {
    /// Creates the directory in cargo's target directory.
    pub(super) fn new(project: &Project) -> Result<Self> {
        let directory = project.target().join(format!("bench-{}", std::process::id()));
        fs::create_dir_all(&directory).with_context(|| format!("can't create `{}`", directory.display()))?;
        Ok(Self { directory })
    }

    /// The cache of compiled code.
    pub(super) fn cache(&self) -> PathBuf {
        self.directory.join("cache")
    }

    /// Clears the cache of compiled code.
    pub(super) fn clear_cache(&self) -> Result<()> {
        match fs::remove_dir_all(self.cache()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("can't remove `{}`", self.cache().display()))
            }
            _ => Ok(()),
        }
    }

    /// A configuration with the zoo, whose tool `echo` has no prefix.
    pub(super) fn echo(&self, binaries: &Binaries) -> Result<PathBuf> {
        let source = binaries.dist.join("zoo.wasm");
        let plugin = format!("[plugins.zoo]\nsource = {}\nprefix = \"\"\n", quoted(&source));
        self.write("echo.toml", &plugin)
    }

    /// A configuration with several copies of the plugin `time`.
    pub(super) fn times(&self, binaries: &Binaries, copies: usize) -> Result<PathBuf> {
        let source = quoted(&binaries.dist.join("time.wasm"));
        let mut plugins = String::new();
        for copy in 0..copies {
            write!(plugins, "[plugins.time{copy}]\nsource = {source}\n\n")?;
        }
        self.write(&format!("time-{copies}.toml"), &plugins)
    }

    /// A configuration with the plugin in a file, which has the tool `version`, and the zoo, both without a prefix.
    pub(super) fn replaced(&self, binaries: &Binaries, name: &str, file: &Path) -> Result<PathBuf> {
        let file = quoted(file);
        let zoo = quoted(&binaries.dist.join("zoo.wasm"));
        let plugins = format!(
            "[plugins.replaced]\nsource = {file}\nprefix = \"\"\n\n[plugins.zoo]\nsource = {zoo}\nprefix = \"\"\n"
        );
        self.write(&format!("{name}.toml"), &plugins)
    }

    /// A configuration with a plugin that has only the tool `echo`, and the zoo with a high time limit, so that calls can
    /// loop.
    pub(super) fn fairness(&self, binaries: &Binaries) -> Result<PathBuf> {
        let zoo = quoted(&binaries.dist.join("zoo.wasm"));
        let plugins = format!(
            "[plugins.honest]\nsource = {zoo}\nprefix = \"\"\ntools.allow = [\"echo\"]\n\n\
             [plugins.zoo]\nsource = {zoo}\nuris = [\"zoo://\"]\n\n\
             [plugins.zoo.limits]\ntimeout = \"1h\"\ncpu_time = \"1h\"\nconcurrency = 8\ncancel_grace = \"0s\"\n"
        );
        self.write("fairness.toml", &plugins)
    }

    /// The path of a file in the directory.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn write(&self, name: &str, plugins: &str) -> Result<PathBuf> {
        let cache = quoted(&self.cache());
        let text = format!(
            "version = 1\n\n[gateway]\ncache = {cache}\n\n[http]\nlisten = \"127.0.0.1:0\"\n\n{plugins}"
        );
        let path = self.directory.join(name);
        fs::write(&path, text).with_context(|| format!("can't write `{}`", path.display()))?;
        Ok(path)
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.directory)); // a failure leaves files in cargo's target directory only
    }
}

/// A path as a TOML string.
fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}
