//! Finds and loads the configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use moongate_config::{
    ClientFeature, Config, ConfigSource, Diagnostic, Environment, LoadedConfig, PluginConfig,
    ProcessEnvironment,
};
use moongate_model::names::PluginId;

use crate::cli::error::CommandError;
use crate::cli::{CommonOptions, ExitKind, print};
use crate::supervisor::{Supervisor, SupervisorOptions};

/// The default name of the file.
const CONFIG_FILE_NAME: &str = "gateway.toml";

/// Reads the named configuration, or otherwise the first one at the default locations.
pub(super) fn read(named: Option<&Path>) -> LoadedConfig {
    read_with(named, &ProcessEnvironment)
}

/// Like [`read`], with a given environment.
pub(super) fn read_with(named: Option<&Path>, variables: &dyn Environment) -> LoadedConfig {
    let home = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let directory = home("XDG_CONFIG_HOME").or_else(|| Some(home("HOME")?.join(".config")));
    let usual = default_locations(directory);
    match named.or_else(|| usual.iter().map(PathBuf::as_path).find(|path| path.exists())) {
        Some(file) => moongate_config::load_config(file, variables),
        None => missing(&usual),
    }
}

/// The default locations of the configuration.
fn default_locations(directory: Option<PathBuf>) -> Vec<PathBuf> {
    let mut usual = vec![PathBuf::from(CONFIG_FILE_NAME)];
    usual.extend(directory.map(|directory| directory.join("moongate").join(CONFIG_FILE_NAME)));
    usual
}

fn missing(usual: &[PathBuf]) -> LoadedConfig {
    let places: Vec<String> = usual.iter().map(|path| format!("`{}`", path.display())).collect();
    let problem = Diagnostic::error(format!("no configuration at {}", places.join(" or ")))
        .with_hint("pass one with `--config`, or set MOONGATE_CONFIG");
    let source = ConfigSource { path: PathBuf::from(CONFIG_FILE_NAME), text: String::new() };
    let files = usual.iter().filter_map(|path| std::path::absolute(path).ok()).collect();
    LoadedConfig { source, config: None, problems: vec![problem], http_problems: Vec::new(), files }
}

/// Reads the configuration, loads the plugins, and prints their problems.
///
/// # Errors
/// The configuration is invalid.
pub(super) async fn load(
    common: &CommonOptions,
    options: SupervisorOptions,
) -> Result<Supervisor, CommandError> {
    let LoadedConfig { source, config, mut problems, .. } = read(common.config.as_deref());
    let Some(config) = config else {
        return Err(CommandError::new(ExitKind::Configuration).diagnostics(&problems, &source));
    };
    let supervisor = Supervisor::start(config, options).await?;
    problems.extend_from_slice(supervisor.problems());
    print::diagnostics(&problems, &source);
    Ok(supervisor)
}

/// A configuration with one component as its only plugin, without grants.
///
/// # Errors
/// `file` can't be made absolute.
pub(super) fn bare(file: &Path) -> Result<Config> {
    let nothing = "version = 1\n".to_owned();
    let LoadedConfig { config, problems, .. } =
        moongate_config::parse_config(Path::new("gateway.toml"), nothing, &ProcessEnvironment);
    let mut config = config.with_context(|| problems.first().map(ToString::to_string).unwrap_or_default())?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let id = PluginId::new(&stem)
        .unwrap_or_else(|_| PluginId::new("plugin").expect("`plugin` is a valid plugin name"));
    let path =
        std::path::absolute(file).with_context(|| format!("can't resolve the path `{}`", file.display()))?;
    config.plugins = vec![Arc::new(PluginConfig::ungranted(id, path))];
    Ok(config)
}

/// Loads a component without a configuration. The client features `asked` are its only grants.
///
/// # Errors
/// The component can't be loaded.
pub(super) async fn load_bare(file: &Path, asked: &[ClientFeature]) -> Result<Supervisor, CommandError> {
    let mut config = bare(file)?;
    for plugin in &mut config.plugins {
        Arc::make_mut(plugin).allow.client.extend(asked);
    }
    let supervisor = Supervisor::start(config, SupervisorOptions::once()).await?;
    let messages = supervisor
        .problems()
        .iter()
        .map(|problem| (format!("`{}`: {}", file.display(), problem.message), problem.hint.as_deref()));
    if supervisor.catalog().borrow().plugins().is_empty() {
        let failure = CommandError::new(ExitKind::Configuration);
        return Err(messages.fold(failure, |failure, (message, hint)| failure.message(&message, hint)));
    }
    for (message, hint) in messages {
        print::error(&message, hint);
    }
    Ok(supervisor)
}
