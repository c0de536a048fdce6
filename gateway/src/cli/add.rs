//! `add`: adds a plugin to the configuration, after it has shown the plugin's permissions and got consent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use moongate_config::{Config, LoadedConfig, ProcessEnvironment, append_block, contains_table, parse_config};
use moongate_model::names::PluginId;
use moongate_system::file_edit::FileEdit;

use self::download::Download;
use self::plugin_table::PluginTable;
use self::preview::PluginPreview;
use self::requested_plugin::RequestedPlugin;
use crate::cli::configuration::{self, ConfigText};
use crate::cli::error::{CommandError, CommandResult};
use crate::cli::{CommonOptions, ExitKind, print, prompt};

mod download;
mod fit;
mod permission_sheet;
mod plugin_table;
mod preview;
mod requested_plugin;
pub(super) mod suggested_grants;

/// Add a plugin to the configuration
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate add filesystem ~/notes
  moongate add filesystem ~/notes:rw /srv/reference --yes
  moongate add fetch --grant 'http = [\"https://*.example.org\"]'
  moongate add ./hello.wasm --name hello
  moongate add oci://ghcr.io/acme/hello:1.2 --setting 'unit = \"celsius\"'

The command shows what the plugin may do, and asks before it changes the file. If there is no terminal, pass `--yes` to \
agree. A directory is read-only unless `:rw` follows it. `moongate list builtin` lists the plugins that are part of the \
gateway and the grants that each gets unless `--grant` sets the same key. Other components get only your grants. A \
component at an address is downloaded first, and locked in moongate.lock.

If there is no configuration yet, the command creates `moongate/gateway.toml` in $XDG_CONFIG_HOME or ~/.config. \
`moongate serve` applies the change while it runs. A gateway that a host has started does so when the host restarts it.")]
pub(super) struct Add {
    /// Built-in plugin, address, or component file (a path that contains `/` or ends in `.wasm`)
    #[arg(value_name = "NAME|FILE|ADDRESS")]
    plugin: String,
    /// Directory to grant, with `:ro` (read-only, the default) or `:rw`
    #[arg(value_name = "DIR")]
    directories: Vec<String>,
    /// Name of the plugin's table [default: the built-in plugin's or the file's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Grant to add, as a line of the plugin's `allow` table
    #[arg(long = "grant", value_name = "KEY = VALUE")]
    grants: Vec<String>,
    /// Setting to add, as a line of the plugin's `config` table
    #[arg(long = "setting", value_name = "KEY = VALUE")]
    settings: Vec<String>,
    /// Agree to the permissions without being asked
    #[arg(short, long)]
    yes: bool,
}

impl Add {
    pub(super) async fn run(self, common: &CommonOptions) -> CommandResult {
        let requested = RequestedPlugin::parse(&self.plugin)?;
        let id = requested.id(self.name.as_deref())?;
        let before = configuration::read_for_edit(common)?;
        if contains_table(&before.text, &["plugins", id.as_str()]).unwrap_or(false) {
            return Err(already_added(&id, &before.file, common));
        }
        let mut table = PluginTable::new(&id, &requested, &self.directories, &self.grants, &before.file)?
            .with_settings(&self.settings)?;
        let mut after = append_block(&before.text, &table.to_string());
        let config = validated(&before, &after)?;
        let plugin = config.plugins.iter().find(|plugin| plugin.id == id).cloned();
        let plugin = plugin.ok_or_else(|| anyhow::anyhow!("the edited file has no plugin `{id}`"))?;
        let (state, lock_file) = (config.state.clone(), config.sources.lock_file.clone());
        let address = plugin.remote.as_ref().map(|remote| remote.reference.shown());
        let (plugin, download) = Download::start(&config, plugin).await?;
        let source = match (address, &download) {
            (Some(address), Some(Download { signer: Some(signer), .. })) => {
                format!("{address}, signed by {signer}")
            }
            (Some(address), _) => format!("{address}, not signed by a known key"),
            (None, _) => plugin.source.display().to_string(),
        };
        let preview = PluginPreview::of(&config, &plugin).await?;
        fit::require_usable_grants(&preview.interfaces, &plugin, &self.granted_keys())?;
        let is_described = preview.manifest.is_ok();
        if !is_described {
            // Only with its grants can the plugin say what it offers.
            print::stderr_lines(&permission_sheet::page(&preview, &plugin, &source, state.as_deref()));
            self.require_consent(&id, &before.file)?;
        }
        let tried = if is_described { preview::ungranted(&plugin) } else { Arc::clone(&plugin) };
        let mut conflicts = fit::conflicts(config.clone(), &tried).await;
        if !conflicts.is_empty() && table.omit_shared_resources() {
            after = append_block(&before.text, &table.to_string());
            let config = validated(&before, &after)?;
            let narrowed = config.plugins.iter().find(|plugin| plugin.id == id).cloned();
            conflicts = fit::conflicts(config, &narrowed.unwrap_or(tried)).await;
            if conflicts.is_empty() && !common.quiet {
                print::note(&format!(
                    "another plugin offers the same resources, so `{id}` gets only its tools"
                ));
            }
        }
        if !conflicts.is_empty() {
            return Err(fit::conflict_error(&id, &conflicts));
        }
        if is_described {
            print::stderr_lines(&permission_sheet::page(&preview, &plugin, &source, state.as_deref()));
            self.require_consent(&id, &before.file)?;
        }
        let catalog = preview::load_alone(config, &plugin).await?;
        let Some(loaded) = catalog.plugins().first() else {
            return Err(anyhow::anyhow!("the plugin `{id}` wasn't loaded").into());
        };
        let edit = start_edit(&before)?;
        if let Some(download) = download {
            download.lock(&also(&edit, &lock_file)?, &id)?;
        }
        write(&edit, &before, &after)?;
        let tools = print::count(loaded.plugin().manifest().tools.len(), "tool");
        print::stdout(&format!("added `{id}` with {tools} to `{}`\n", before.file.display()))?;
        let missing = fit::missing_settings(loaded.plugin().manifest(), &plugin);
        if !missing.is_empty() {
            let table = format!("[plugins.{id}.config]");
            print::warning(&format!("required settings of `{id}` are missing; add {missing} to `{table}`"));
        }
        if !common.quiet {
            let option = configuration::config_option(common);
            print::note(&format!(
                "to connect a host, run `moongate client HOST --write{option}`; restart hosts that are connected"
            ));
        }
        Ok(ExitKind::Success)
    }

    /// The keys of `allow` that the command line sets.
    fn granted_keys(&self) -> Vec<&str> {
        let typed = self.grants.iter().filter_map(|grant| Some(grant.split_once('=')?.0.trim()));
        typed.chain((!self.directories.is_empty()).then_some("dirs")).collect()
    }

    /// Asks for consent, unless the command line gives it.
    fn require_consent(&self, id: &PluginId, file: &Path) -> Result<(), CommandError> {
        if self.yes {
            return Ok(());
        }
        let nothing_changed = format!("`{id}` wasn't added");
        if !prompt::can_ask() {
            let hint = "check the permissions above, and pass `--yes` to agree";
            return Err(CommandError::new(ExitKind::Usage).message(&nothing_changed, Some(hint)));
        }
        if prompt::confirm(&format!("Add `{id}` to `{}`?", print::inline(&file.to_string_lossy())))? {
            return Ok(());
        }
        let hint = "to choose other permissions, use `--grant`; see `moongate add --help`";
        Err(CommandError::new(ExitKind::Failure).message(&nothing_changed, Some(hint)))
    }
}

fn already_added(id: &PluginId, file: &Path, common: &CommonOptions) -> CommandError {
    let message = format!("`{}` already has a plugin `{id}`", file.display());
    let option = configuration::config_option(common);
    let hint = format!(
        "add to `allow` of `[plugins.{id}]` in the file, or remove the plugin first: `moongate remove {id}{option}`"
    );
    CommandError::new(ExitKind::Failure).message(&message, Some(&hint))
}

/// The configuration after the edit.
///
/// # Errors
/// It is invalid, before the edit or because of it.
pub(super) fn validated(before: &ConfigText, after: &str) -> Result<Config, CommandError> {
    let parse = |text: &str| parse_config(&before.file, text.to_owned(), &ProcessEnvironment);
    let LoadedConfig { source, config, mut problems, .. } = parse(after);
    if let Some(config) = config {
        return Ok(config);
    }
    let failure = CommandError::new(ExitKind::Configuration);
    let LoadedConfig { source: earlier, config, problems: mut present, .. } = parse(&before.text);
    configuration::leave_out_unlocked(&mut present);
    configuration::leave_out_unlocked(&mut problems);
    if config.is_none() {
        return Err(failure.diagnostics(&present, &earlier));
    }
    let message = "nothing was changed, because the configuration would be invalid";
    Err(failure.diagnostics(&problems, &source).message(message, None))
}

/// Starts the edit of a configuration, so that no other command changes it until it is written.
///
/// # Errors
/// The file has changed since it was read.
pub(super) fn start_edit(before: &ConfigText) -> Result<FileEdit, CommandError> {
    let ConfigText { file, text, is_new } = before;
    let mut edit = FileEdit::start(file).map_err(|error| unwritable(file, &error))?;
    if edit.read().ok().flatten().as_ref() != (!is_new).then_some(text) {
        let message = format!("`{}` was changed by another program", file.display());
        return Err(CommandError::new(ExitKind::Failure).message(&message, Some("run the command again")));
    }
    Ok(edit)
}

/// Starts the edit of another file together with that of the configuration.
///
/// # Errors
/// The file's directory can't be used.
pub(super) fn also(edit: &FileEdit, file: &Path) -> Result<FileEdit, CommandError> {
    edit.also(file).map_err(|error| unwritable(file, &error))
}

/// Writes the edited text of a configuration.
///
/// # Errors
/// The file can't be written.
pub(super) fn write(edit: &FileEdit, before: &ConfigText, after: &str) -> Result<(), CommandError> {
    edit.replace(after).map_err(|error| unwritable(&before.file, &error))
}

fn unwritable(file: &Path, error: &std::io::Error) -> CommandError {
    let message = format!("can't write `{}`: {error}", file.display());
    CommandError::new(ExitKind::Failure).message(&message, None)
}

/// A path that the user typed, made absolute.
fn absolute(path: &Path) -> Result<PathBuf, CommandError> {
    std::path::absolute(path).map_err(|error| {
        let message = format!("can't resolve the path `{}`: {error}", path.display());
        CommandError::new(ExitKind::Failure).message(&message, None)
    })
}
