//! `completions`: shell completions for the command line.

use anyhow::Result;
use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use crate::cli::{Cli, ExitKind, print};

/// Print shell completions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate completions bash > ~/.local/share/bash-completion/completions/moongate
  moongate completions zsh > ~/.zfunc/_moongate            with ~/.zfunc in fpath
  moongate completions fish > ~/.config/fish/completions/moongate.fish")]
pub(super) struct Completions {
    /// Shell to print completions for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self) -> Result<ExitKind> {
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "moongate", &mut script);
        print::stdout(&String::from_utf8_lossy(&script))?;
        Ok(ExitKind::Success)
    }
}
