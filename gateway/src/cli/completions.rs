//! `completions`: what a shell needs to complete this command line.

use anyhow::Result;
use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use crate::cli::{Cli, Exit, print};

/// Print a script that lets a shell complete moongate's commands and options
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate completions bash > ~/.local/share/bash-completion/completions/moongate
  moongate completions zsh > ~/.zfunc/_moongate            with ~/.zfunc in fpath
  moongate completions fish > ~/.config/fish/completions/moongate.fish")]
pub(super) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self) -> Result<Exit> {
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "moongate", &mut script);
        print::data(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Success)
    }
}
