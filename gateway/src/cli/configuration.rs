//! Finds and loads the configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use moongate_config::{
    ClientFeature, Config, ConfigSource, Diagnostic, Environment, LoadedConfig, PluginConfig,
    ProcessEnvironment,
};
use moongate_model::builtin_plugin::{BUILTIN_PREFIX, BuiltinPlugin};
use moongate_model::names::PluginId;
use moongate_system::file_edit::read_text;

use crate::cli::error::CommandError;
use crate::cli::init::CONFIG_TEMPLATE;
use crate::cli::{CommonOptions, ExitKind, print};
use crate::supervisor::{Supervisor, SupervisorOptions};

/// The default name of the file.
pub(super) const CONFIG_FILE_NAME: &str = "gateway.toml";

/// Reads the named configuration, or otherwise the first one at the default locations.
pub(super) fn read(named: Option<&Path>) -> LoadedConfig {
    read_with(named, &ProcessEnvironment)
}

/// Like [`read`], with a given environment.
pub(super) fn read_with(named: Option<&Path>, variables: &dyn Environment) -> LoadedConfig {
    let usual = default_locations();
    match named.or_else(|| usual.iter().map(PathBuf::as_path).find(|path| path.exists())) {
        Some(file) => moongate_config::load_config(file, variables),
        None => missing(&usual),
    }
}

/// The directory for configurations of this user.
pub(super) fn user_config_directory() -> Option<PathBuf> {
    let home = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    home("XDG_CONFIG_HOME").or_else(|| Some(home("HOME")?.join(".config")))
}

/// The configuration of this user, which commands use if the current directory has none.
pub(super) fn user_config_file() -> Option<PathBuf> {
    user_config_directory().map(|directory| directory.join("moongate").join(CONFIG_FILE_NAME))
}

/// The text of a configuration that a command edits.
pub(super) struct ConfigText {
    pub(super) file: PathBuf,
    pub(super) text: String,
    /// True if the file doesn't exist yet. The text is then that of a new configuration.
    pub(super) is_new: bool,
}

/// Reads the configuration that other commands would use. If there is none, it is the named one, or the user's own.
///
/// # Errors
/// The file can't be read.
pub(super) fn read_for_edit(common: &CommonOptions) -> Result<ConfigText, CommandError> {
    let mut usual = default_locations();
    let existing = usual.iter().find(|path| path.exists()).cloned();
    let file = common.config.clone().or(existing).or_else(|| usual.pop());
    let file = file.unwrap_or_else(|| PathBuf::from(CONFIG_FILE_NAME));
    match read_text(&file) {
        Ok(Some(text)) => Ok(ConfigText { file, text, is_new: false }),
        Ok(None) => Ok(ConfigText { file, text: CONFIG_TEMPLATE.to_owned(), is_new: true }),
        Err(error) => {
            let message = format!("can't read `{}`: {error}", file.display());
            Err(CommandError::new(ExitKind::Failure).message(&message, None))
        }
    }
}

/// The default locations of the configuration.
fn default_locations() -> Vec<PathBuf> {
    let mut usual = vec![PathBuf::from(CONFIG_FILE_NAME)];
    usual.extend(user_config_file());
    usual
}

fn missing(usual: &[PathBuf]) -> LoadedConfig {
    let places: Vec<String> = usual.iter().map(|path| format!("`{}`", path.display())).collect();
    let problem = Diagnostic::error(format!("no configuration at {}", places.join(" or ")))
        .with_hint("create one with `moongate init`, or pass one with `--config`");
    let source = ConfigSource { path: PathBuf::from(CONFIG_FILE_NAME), text: String::new() };
    let files = usual.iter().filter_map(|path| std::path::absolute(path).ok()).collect();
    LoadedConfig::invalid(source, vec![problem], files)
}

/// A configuration and its loaded plugins.
pub(super) struct LoadedGateway {
    pub(super) supervisor: Supervisor,
    source: ConfigSource,
    problems: Vec<Diagnostic>,
}

/// Reads the configuration and loads the plugins.
///
/// # Errors
/// The configuration is invalid.
pub(super) async fn load(
    common: &CommonOptions,
    options: SupervisorOptions,
) -> Result<LoadedGateway, CommandError> {
    let LoadedConfig { source, config, mut problems, .. } = read(common.config.as_deref());
    let Some(config) = config else {
        return Err(CommandError::new(ExitKind::Configuration).diagnostics(&problems, &source));
    };
    let supervisor = Supervisor::start(config, options).await?;
    problems.extend_from_slice(supervisor.problems());
    Ok(LoadedGateway { supervisor, source, problems })
}

impl LoadedGateway {
    /// Prints the errors, which are the reason if something is missing, and that there are warnings.
    pub(super) fn report_errors(&self, common: &CommonOptions) {
        let (errors, warnings): (Vec<_>, Vec<_>) =
            self.problems.iter().cloned().partition(Diagnostic::is_error);
        print::diagnostics(&errors, &self.source);
        report_kinds(&warnings, &self.source, common);
    }

    /// The absolute path of the configuration, for messages.
    pub(super) fn shown_file(&self) -> String {
        let path = std::path::absolute(&self.source.path).unwrap_or_else(|_| self.source.path.clone());
        print::inline(&path.to_string_lossy())
    }

    /// Prints the kinds of problems.
    pub(super) fn report_kinds(&self, common: &CommonOptions) {
        report_kinds(&self.problems, &self.source, common);
    }
}

/// Prints that there are problems and the command that shows them, except with `--quiet`. Only `check` and `serve` show
/// problems that the command isn't about; `check` also finds more.
pub(super) fn report_kinds(problems: &[Diagnostic], source: &ConfigSource, common: &CommonOptions) {
    if problems.is_empty() || common.quiet {
        return;
    }
    let has_errors = problems.iter().any(Diagnostic::is_error);
    let has_warnings = problems.iter().any(|problem| !problem.is_error());
    let kinds = [(has_errors, "errors"), (has_warnings, "warnings")];
    let kinds = kinds.iter().filter(|(is_there, _)| *is_there).map(|(_, kind)| *kind);
    let file = source.path.to_string_lossy();
    let option = config_option(common);
    print::note(&format!(
        "`{file}` has {}; for details, run `moongate check{option}`",
        kinds.collect::<Vec<_>>().join(" and ")
    ));
}

/// The option that names the same configuration, for commands in hints. Empty if the command line doesn't name one.
pub(super) fn config_option(common: &CommonOptions) -> String {
    match common.config.as_ref().filter(|_| common.is_config_typed) {
        Some(file) => format!(" --config {}", print::shell_word(&file.to_string_lossy())),
        None => String::new(),
    }
}

/// The character before and after a command in a hint.
const QUOTE: char = '`';

/// Adds the option that names the configuration to the commands in hints.
pub(super) fn complete_commands(problems: &mut [Diagnostic], common: &CommonOptions) {
    let option = config_option(common);
    for hint in problems.iter_mut().filter_map(|problem| problem.hint.as_mut()) {
        for verb in ["fetch", "update", "add"] {
            let start = format!("{QUOTE}moongate {verb} ");
            let Some((before, rest)) = hint.split_once(&start) else { continue };
            let Some((arguments, after)) = rest.split_once(QUOTE) else { continue };
            *hint = format!("{before}{start}{arguments}{option}{QUOTE}{after}");
        }
    }
}

/// Removes the problems of plugins that aren't locked, for commands that lock them: the hint would name the command.
pub(super) fn leave_out_unlocked(problems: &mut Vec<Diagnostic>) {
    problems.retain(|problem| !problem.hint.as_ref().is_some_and(|hint| hint.contains("`moongate fetch ")));
}

/// A configuration with one component as its only plugin, without grants: a file, or `builtin:NAME`.
///
/// # Errors
/// `file` can't be made absolute, or there is no such built-in plugin.
pub(super) fn bare(file: &Path) -> Result<Config> {
    let nothing = "version = 1\n".to_owned();
    let LoadedConfig { config, problems, .. } =
        moongate_config::parse_config(Path::new("gateway.toml"), nothing, &ProcessEnvironment);
    let mut config = config.with_context(|| problems.first().map(ToString::to_string).unwrap_or_default())?;
    if let Some(name) = file.to_str().and_then(|text| text.strip_prefix(BUILTIN_PREFIX)) {
        let plugin = BuiltinPlugin::named(name);
        let plugin = plugin.with_context(|| {
            format!("unknown built-in plugin `{name}`; to see their names, run `moongate list builtin`")
        })?;
        config.plugins = vec![Arc::new(PluginConfig::ungranted_builtin(PluginId::new(name)?, plugin))];
        return Ok(config);
    }
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
    let message = |problem: &Diagnostic| format!("`{}`: {}", file.display(), problem.message);
    if supervisor.catalog().borrow().plugins().is_empty() {
        let failure = CommandError::new(ExitKind::Configuration);
        return Err(supervisor
            .problems()
            .iter()
            .fold(failure, |failure, problem| failure.message(&message(problem), problem.hint.as_deref())));
    }
    for problem in supervisor.problems() {
        if problem.is_error() {
            print::error(&message(problem), problem.hint.as_deref());
        } else {
            // The hints of warnings change a configuration, which this plugin doesn't have.
            print::warning(&message(problem));
        }
    }
    Ok(supervisor)
}
