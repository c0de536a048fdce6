//! The configurations that the gateway is measured with, in a scratch folder that goes with the run.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::binaries::Binaries;
use crate::project::Project;

/// A variable that would go before the configuration's own cache.
pub(super) const CACHE_VARIABLE: &str = "MOONGATE_CACHE_DIR";

/// A folder for the run; removed at its end.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// Makes the folder, inside cargo's target folder.
    pub(super) fn new(project: &Project) -> Result<Self> {
        let folder = project.target().join(format!("bench-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("`{}` can't be made", folder.display()))?;
        Ok(Self { folder })
    }

    /// Where compiled code is kept during the run.
    pub(super) fn cache(&self) -> PathBuf {
        self.folder.join("cache")
    }

    /// Forgets all compiled code.
    pub(super) fn forget_code(&self) -> Result<()> {
        match fs::remove_dir_all(self.cache()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("`{}` can't be removed", self.cache().display()))
            }
            _ => Ok(()),
        }
    }

    /// The tool `echo` of the zoo, under its own name.
    pub(super) fn echo(&self, binaries: &Binaries) -> Result<PathBuf> {
        let source = binaries.dist.join("zoo.wasm");
        let plugin = format!("[plugins.zoo]\nsource = {}\nprefix = \"\"\n", quoted(&source));
        self.write("echo.toml", &plugin)
    }

    /// The plugin `time`, so many times.
    pub(super) fn times(&self, binaries: &Binaries, copies: usize) -> Result<PathBuf> {
        let source = quoted(&binaries.dist.join("time.wasm"));
        let mut plugins = String::new();
        for copy in 0..copies {
            write!(plugins, "[plugins.time{copy}]\nsource = {source}\n\n")?;
        }
        self.write(&format!("time-{copies}.toml"), &plugins)
    }

    /// The plugin of that file, which has the tool `version`, and the tool `echo` of the zoo, under their own names.
    pub(super) fn replaced(&self, binaries: &Binaries, name: &str, file: &Path) -> Result<PathBuf> {
        let (file, zoo) = (quoted(file), quoted(&binaries.dist.join("zoo.wasm")));
        let plugins = format!(
            "[plugins.replaced]\nsource = {file}\nprefix = \"\"\n\n[plugins.zoo]\nsource = {zoo}\nprefix = \"\"\n"
        );
        self.write(&format!("{name}.toml"), &plugins)
    }

    /// The tool `echo` under its own name, and beside it the zoo, whose calls may loop for as long as they like.
    pub(super) fn fairness(&self, binaries: &Binaries) -> Result<PathBuf> {
        let zoo = quoted(&binaries.dist.join("zoo.wasm"));
        let plugins = format!(
            "[plugins.honest]\nsource = {zoo}\nprefix = \"\"\ntools.allow = [\"echo\"]\n\n\
             [plugins.zoo]\nsource = {zoo}\nuris = [\"zoo://\"]\n\n\
             [plugins.zoo.limits]\ntimeout = \"1h\"\ncpu_time = \"1h\"\nconcurrency = 8\ncancel_grace = \"0s\"\n"
        );
        self.write("fairness.toml", &plugins)
    }

    /// A file in the folder.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn write(&self, name: &str, plugins: &str) -> Result<PathBuf> {
        let cache = quoted(&self.cache());
        let text = format!(
            "version = 1\n\n[gateway]\ncache = {cache}\n\n[http]\nlisten = \"127.0.0.1:0\"\n\n{plugins}"
        );
        let path = self.folder.join(name);
        fs::write(&path, text).with_context(|| format!("`{}` can't be written", path.display()))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder)); // what stays lies in cargo's target folder
    }
}

/// A path as a TOML string.
fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}
