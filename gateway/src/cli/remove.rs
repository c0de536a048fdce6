//! `remove`: removes a plugin from the configuration.

use clap::Args;
use moongate_config::{LoadedConfig, StateGrant, TextEditError, remove_table};
use moongate_model::text::nearest_name;
use moongate_sources::edit_lock;

use crate::cli::error::{CommandError, CommandResult};
use crate::cli::remote_plugins::source_error;
use crate::cli::{CommonOptions, ExitKind, add, configuration, print};

/// Remove a plugin from the configuration
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate remove filesystem

The command removes the plugin's tables and the comments directly above them, and nothing else. The plugin's state is \
kept. Running gateways apply the change.")]
pub(super) struct Remove {
    /// Name of the plugin
    #[arg(value_name = "NAME")]
    name: String,
}

impl Remove {
    pub(super) fn run(&self, common: &CommonOptions) -> CommandResult {
        let Self { name } = self;
        let before = configuration::read_for_edit(common)?;
        if before.is_new {
            let LoadedConfig { source, problems, .. } = configuration::read(common.config.as_deref());
            return Err(CommandError::new(ExitKind::Configuration).diagnostics(&problems, &source));
        }
        let file = before.file.display().to_string();
        let failed =
            |message: &str, hint: Option<&str>| CommandError::new(ExitKind::Failure).message(message, hint);
        let edited =
            remove_table(&before.text, &["plugins", name.as_str()]).map_err(|error| match error {
                TextEditError::InvalidToml => {
                    failed(&format!("`{file}`: {error}"), Some("run `moongate check`"))
                }
                TextEditError::InlineTable => {
                    failed(&format!("can't remove `{name}`: {error}"), Some("remove it with an editor"))
                }
            })?;
        let Some(after) = edited else {
            let loaded = configuration::read(common.config.as_deref());
            let names: Vec<&str> = loaded
                .config
                .iter()
                .flat_map(|config| &config.plugins)
                .map(|plugin| plugin.id.as_str())
                .collect();
            let hint = match nearest_name(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if names.is_empty() => "the file has no plugins".to_owned(),
                None => format!("the plugins are {}", names.join(", ")),
            };
            return Err(failed(&format!("no plugin `{}` in `{file}`", print::inline(name)), Some(&hint)));
        };
        let earlier = configuration::read(common.config.as_deref()).config;
        let config = add::validated(&before, &after)?;
        let plugin =
            earlier.iter().flat_map(|config| &config.plugins).find(|plugin| plugin.id.as_str() == name);
        let edit = add::start_edit(&before)?;
        let can_be_locked = plugin.is_none_or(|plugin| plugin.remote.is_some());
        let lock = Some(&config.sources.lock_file).filter(|lock| can_be_locked && lock.exists());
        let lock = lock.map(|lock| add::also(&edit, lock)).transpose()?;
        if let Some(lock) = &lock {
            // An unusable lock file is reported before anything changes.
            edit_lock(lock, |_| {}).map_err(source_error)?;
        }
        add::write(&edit, &before, &after)?;
        if let Some(lock) = &lock {
            edit_lock(lock, |lock| lock.plugins.retain(|id, _| id.as_str() != name)).map_err(source_error)?;
        }
        print::stdout(&format!("removed `{name}` from `{file}`\n"))?;
        let keeps_state = plugin.is_some_and(|plugin| plugin.allow.state != StateGrant::NotGranted);
        let state = earlier.iter().find_map(|config| config.state.as_deref()).filter(|state| state.exists());
        if let Some(state) = state.filter(|_| keeps_state && !common.quiet) {
            let state = print::inline(&state.to_string_lossy());
            print::note(&format!("anything that the plugin has stored is still in `{state}`"));
        }
        Ok(ExitKind::Success)
    }
}
