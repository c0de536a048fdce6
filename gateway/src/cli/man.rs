//! `man`: man pages of all commands, for packages.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, CommandFactory as _};

use crate::cli::{Cli, ExitKind};

/// Write man pages of all commands
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate man ~/.local/share/man/man1")]
pub(super) struct Man {
    /// Directory to write to; it is created if it is missing
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

impl Man {
    pub(super) fn run(&self) -> Result<ExitKind> {
        let shown = self.directory.display();
        fs::create_dir_all(&self.directory).with_context(|| format!("can't create `{shown}`"))?;
        clap_mangen::generate_to(Cli::command(), &self.directory)
            .with_context(|| format!("can't write man pages to `{shown}`"))?;
        Ok(ExitKind::Success)
    }
}
