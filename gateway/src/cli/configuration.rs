//! Which configuration is meant, and reading it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use moongate_core::config::{
    self, ClientFeature, Config, Environment, Loaded, PluginConfig, Problem, ProcessEnvironment, Source,
};
use moongate_model::names::PluginId;

use crate::cli::failure::Failure;
use crate::cli::{Common, Exit, print};
use crate::supervisor::{Options, Supervisor};

/// The name of the file.
const NAME: &str = "gateway.toml";

/// Reads the named configuration, or else the first one at the usual places.
pub(super) fn read(named: Option<&Path>) -> Loaded {
    read_with(named, &ProcessEnvironment)
}

/// The same, with variables from elsewhere.
pub(super) fn read_with(named: Option<&Path>, variables: &dyn Environment) -> Loaded {
    let home = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = home("XDG_CONFIG_HOME").or_else(|| Some(home("HOME")?.join(".config")));
    let usual = usual(folder);
    match named.or_else(|| usual.iter().map(PathBuf::as_path).find(|path| path.exists())) {
        Some(file) => config::load(file, variables),
        None => missing(&usual),
    }
}

/// Where a configuration is looked for.
fn usual(folder: Option<PathBuf>) -> Vec<PathBuf> {
    let mut usual = vec![PathBuf::from(NAME)];
    usual.extend(folder.map(|folder| folder.join("moongate").join(NAME)));
    usual
}

fn missing(usual: &[PathBuf]) -> Loaded {
    let places: Vec<String> = usual.iter().map(|path| format!("`{}`", path.display())).collect();
    let problem = Problem::error(format!("there is no configuration at {}", places.join(" or ")))
        .hint("name one with `--config`, or with the variable MOONGATE_CONFIG");
    let source = Source { path: PathBuf::from(NAME), text: String::new() };
    let files = usual.iter().filter_map(|path| std::path::absolute(path).ok()).collect();
    Loaded { source, config: None, problems: vec![problem], of_http: Vec::new(), files }
}

/// Reads the configuration and loads the plugins, and says what is wrong with those that can't be used.
///
/// # Errors
/// The configuration can't be used.
pub(super) async fn load(common: &Common, options: Options) -> Result<Supervisor, Failure> {
    let Loaded { source, config, mut problems, .. } = read(common.config.as_deref());
    let Some(config) = config else {
        return Err(Failure::new(Exit::Configuration).problems(&problems, &source));
    };
    let supervisor = Supervisor::start(config, options).await?;
    problems.extend_from_slice(supervisor.problems());
    print::problems(&problems, &source);
    Ok(supervisor)
}

/// The configuration that holds one component and nothing else: nothing is granted to it.
///
/// # Errors
/// `file` is no path.
pub(super) fn bare(file: &Path) -> Result<Config> {
    let nothing = "version = 1\n".to_owned();
    let Loaded { config, problems, .. } =
        config::from_text(Path::new("gateway.toml"), nothing, &ProcessEnvironment);
    let mut config = config.with_context(|| problems.first().map(ToString::to_string).unwrap_or_default())?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let id = PluginId::new(&stem)
        .unwrap_or_else(|_| PluginId::new("plugin").expect("it is letters, as plugins' names are"));
    let path = std::path::absolute(file).with_context(|| format!("`{}` has no place", file.display()))?;
    config.plugins = vec![Arc::new(PluginConfig::bare(id, path))];
    Ok(config)
}

/// Loads a component that no configuration mentions, which may ask its client for `asked` and nothing else.
///
/// # Errors
/// It can't be used.
pub(super) async fn load_bare(file: &Path, asked: &[ClientFeature]) -> Result<Supervisor, Failure> {
    let mut config = bare(file)?;
    for plugin in &mut config.plugins {
        Arc::make_mut(plugin).allow.client.extend(asked);
    }
    let supervisor = Supervisor::start(config, Options::once()).await?;
    let said = supervisor
        .problems()
        .iter()
        .map(|problem| (format!("`{}`: {}", file.display(), problem.message), problem.hint.as_deref()));
    if supervisor.catalog().borrow().members().is_empty() {
        let failure = Failure::new(Exit::Configuration);
        return Err(said.fold(failure, |failure, (message, hint)| failure.says(&message, hint)));
    }
    for (message, hint) in said {
        print::error(&message, hint);
    }
    Ok(supervisor)
}
