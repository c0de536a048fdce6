//! The command line.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::subjects;

/// The options of the command line.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The gateway's binary.
    pub(crate) gateway: PathBuf,
    /// The directory of the plugins' components.
    pub(crate) plugins: PathBuf,
    /// The program `node`.
    pub(crate) node: PathBuf,
    /// The `node_modules` directory of the official servers.
    pub(crate) modules: PathBuf,
    /// The Python interpreter of the virtual environment with the official servers.
    pub(crate) python: PathBuf,
    /// The page to update.
    pub(crate) page: Option<PathBuf>,
    /// The plugins to compare. Empty means all.
    names: Vec<String>,
}

impl Options {
    /// Parses the arguments: `--gateway PATH --plugins DIRECTORY --node PATH --modules DIRECTORY --python PATH [--page PATH]
    /// [plugin…]`.
    ///
    /// # Errors
    /// An argument is unknown, or a path is missing.
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words;
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                if !subjects::ALL.iter().any(|subject| subject.plugin == word) {
                    bail!("unknown plugin `{word}`: no official server to compare with");
                }
                options.names.push(word);
                continue;
            }
            let value = words.next().map(PathBuf::from);
            let value = value.with_context(|| format!("`{word}` requires a path"))?;
            match word.as_str() {
                "--gateway" => options.gateway = value,
                "--plugins" => options.plugins = value,
                "--node" => options.node = value,
                "--modules" => options.modules = value,
                "--python" => options.python = value,
                "--page" => options.page = Some(value),
                _ => bail!("unknown option `{word}`"),
            }
        }
        Ok(options)
    }

    /// Returns true if this plugin is selected.
    pub(crate) fn includes(&self, plugin: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| name == plugin)
    }
}
