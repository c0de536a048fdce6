//! Which configuration is meant, and reading it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use moongate_core::config::{self, Loaded, Problem, ProcessEnvironment, Source};

use crate::cli::{Common, print};
use crate::supervisor::{Options, Supervisor};

/// The name of the file.
const NAME: &str = "gateway.toml";

/// Reads the named configuration, or else the first one at the usual places.
pub(super) fn read(named: Option<&Path>) -> Loaded {
    let home = |variable| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = home("XDG_CONFIG_HOME").or_else(|| Some(home("HOME")?.join(".config")));
    let usual = usual(folder);
    match named.or_else(|| usual.iter().map(PathBuf::as_path).find(|path| path.exists())) {
        Some(file) => config::load(file, &ProcessEnvironment),
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
    Loaded { source, config: None, problems: vec![problem], files }
}

/// Reads the configuration and loads the plugins, says what is wrong, and gives what can be used: nothing, if the
/// configuration can't.
pub(super) async fn load(common: &Common, options: Options) -> Result<Option<Supervisor>> {
    let Loaded { source, config, mut problems, .. } = read(common.config.as_deref());
    let supervisor = match config {
        Some(config) => Some(Supervisor::start(config, options).await?),
        None => None,
    };
    problems.extend(supervisor.iter().flat_map(Supervisor::problems).cloned());
    print::problems(&problems, &source);
    Ok(supervisor)
}
