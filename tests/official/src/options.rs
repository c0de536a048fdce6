//! The command line: where everything is.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::subjects;

/// What is run, and where it lies.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The gateway's binary.
    pub(crate) gateway: PathBuf,
    /// The folder of the plugins' components.
    pub(crate) plugins: PathBuf,
    /// The program `node`.
    pub(crate) node: PathBuf,
    /// The folder `node_modules` of the official servers.
    pub(crate) modules: PathBuf,
    /// The Python of the environment that holds the official servers.
    pub(crate) python: PathBuf,
    /// The page to keep.
    pub(crate) page: Option<PathBuf>,
    /// Which plugins; none: all.
    names: Vec<String>,
}

impl Options {
    /// Reads the words of the command line: `--gateway PATH --plugins FOLDER --node PATH --modules FOLDER
    /// --python PATH [--page PATH] [plugin…]`.
    ///
    /// # Errors
    /// A word isn't known, or a path is missing.
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words;
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                if !subjects::ALL.iter().any(|subject| subject.plugin == word) {
                    bail!("no official server is compared with `{word}`");
                }
                options.names.push(word);
                continue;
            }
            let value = words.next().map(PathBuf::from);
            let value = value.with_context(|| format!("`{word}` needs a path after it"))?;
            match word.as_str() {
                "--gateway" => options.gateway = value,
                "--plugins" => options.plugins = value,
                "--node" => options.node = value,
                "--modules" => options.modules = value,
                "--python" => options.python = value,
                "--page" => options.page = Some(value),
                _ => bail!("there is no option `{word}`"),
            }
        }
        Ok(options)
    }

    /// Is this plugin to be compared?
    pub(crate) fn wants(&self, plugin: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| name == plugin)
    }
}
