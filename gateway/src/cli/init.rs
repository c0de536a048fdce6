//! `init`: creates a configuration.

use std::path::{Path, PathBuf};

use clap::Args;
use moongate_system::file_edit::create_file;

use crate::cli::configuration::{self, CONFIG_FILE_NAME};
use crate::cli::error::{CommandError, CommandResult};
use crate::cli::{CommonOptions, ExitKind, print};

/// The text of a new configuration.
pub(super) const CONFIG_TEMPLATE: &str = include_str!("init/gateway.toml.in");

/// Create a configuration with comments that explain it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate init
  moongate init --config ~/.config/moongate/gateway.toml

The file is `gateway.toml` in the current directory, unless `--config` or MOONGATE_CONFIG names another. An existing file \
is never overwritten. If no configuration exists, `moongate add` creates one in ~/.config/moongate.")]
pub(super) struct Init {}

impl Init {
    pub(super) fn run(&self, common: &CommonOptions) -> CommandResult {
        let Self {} = self;
        let file = common.config.clone().unwrap_or_else(|| PathBuf::from(CONFIG_FILE_NAME));
        create(&file)?;
        print::stdout(&format!("created `{}`\n", file.display()))?;
        if !common.quiet {
            let option = configuration::config_option(common);
            print::note(&format!(
                "add a plugin, such as `moongate add filesystem DIR{option}`; `moongate list builtin` lists others"
            ));
            let user_file = configuration::user_config_file().filter(|user_file| user_file.exists());
            if common.config.is_none()
                && let Some(user_file) = user_file
            {
                let user_file = print::inline(&user_file.to_string_lossy());
                print::note(&format!(
                    "in this directory, commands now use this file instead of `{user_file}`; to use that one, pass `--config`"
                ));
            }
        }
        Ok(ExitKind::Success)
    }
}

/// Writes a new configuration.
fn create(file: &Path) -> Result<(), CommandError> {
    create_file(file, CONFIG_TEMPLATE).map_err(|error| {
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            let message = format!("`{}` already exists", file.display());
            let hint = "to add a plugin to it, run `moongate add`; to create another, pass `--config FILE`";
            return CommandError::new(ExitKind::Failure).message(&message, Some(hint));
        }
        let message = format!("can't create `{}`: {error}", file.display());
        CommandError::new(ExitKind::Failure).message(&message, None)
    })
}
