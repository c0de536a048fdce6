//! The plugins that come from addresses, for the commands that download them.

use std::sync::Arc;

use moongate_config::{
    Config, LoadedConfig, LockFile, LockFileError, LockedComponent, PluginConfig, RemoteSource,
};
use moongate_model::names::{Digest, PluginId};
use moongate_sources::{ComponentStore, FetchRequest, SourceError, SourceFetcher, SourceSettings};
use serde_json::{Value, json};

use crate::cli::error::CommandError;
use crate::cli::{CommonOptions, ExitKind, configuration};

/// The configuration with the plugins that a command is about.
pub(super) struct RemotePlugins {
    pub(super) config: Config,
    /// The selected plugins, in the order of the file.
    pub(super) selected: Vec<RemotePlugin>,
    pub(super) lock: LockFile,
}

/// A plugin that comes from an address.
pub(super) struct RemotePlugin {
    pub(super) config: Arc<PluginConfig>,
    pub(super) source: Arc<RemoteSource>,
}

impl RemotePlugins {
    /// Reads the configuration and the lock file. Without names, all plugins from addresses are selected.
    ///
    /// # Errors
    /// One of the files is invalid, or there is no such plugin.
    pub(super) fn read(common: &CommonOptions, names: &[String]) -> Result<Self, CommandError> {
        let LoadedConfig { source, config, mut problems, .. } = configuration::read(common.config.as_deref());
        configuration::leave_out_unlocked(&mut problems);
        let Some(config) = config else {
            return Err(CommandError::new(ExitKind::Configuration).diagnostics(&problems, &source));
        };
        let lock = LockFile::read(&config.sources.lock_file).map_err(|error| lock_error(&error))?;
        let usage =
            |message: &str, hint: &str| CommandError::new(ExitKind::Usage).message(message, Some(hint));
        let remote = config.plugins.iter().filter_map(|plugin| {
            Some(RemotePlugin { source: Arc::clone(plugin.remote.as_ref()?), config: Arc::clone(plugin) })
        });
        let mut selected: Vec<RemotePlugin> = remote.collect();
        for name in names {
            if selected.iter().any(|plugin| plugin.id().as_str() == name) {
                continue;
            }
            let shown = source.path.display();
            return Err(match config.plugins.iter().any(|plugin| plugin.id.as_str() == name) {
                true => usage(
                    &format!("the plugin `{name}` isn't from an address"),
                    "only plugins whose `source` is an address are downloaded",
                ),
                false => usage(
                    &format!("no plugin `{name}` in `{shown}`"),
                    &format!("the plugins from addresses are {}", listed(&selected)),
                ),
            });
        }
        if !names.is_empty() {
            selected.retain(|plugin| names.iter().any(|name| name == plugin.id().as_str()));
        }
        Ok(Self { config, selected, lock })
    }

    /// The fetcher for this configuration.
    ///
    /// # Errors
    /// The component store can't be used.
    pub(super) async fn fetcher(&self) -> Result<SourceFetcher, CommandError> {
        let store = ComponentStore::open(&self.config.sources.components).map_err(source_error)?;
        Ok(SourceFetcher::start(settings(&self.config), store).await)
    }
}

fn listed(plugins: &[RemotePlugin]) -> String {
    let names = plugins.iter().map(|plugin| format!("`{}`", plugin.id())).collect::<Vec<_>>().join(", ");
    if names.is_empty() { "none".to_owned() } else { names }
}

/// The settings of downloads.
pub(super) fn settings(config: &Config) -> SourceSettings {
    SourceSettings { ca_file: config.ca_file.clone(), plain_http: config.sources.plain_http.clone() }
}

impl RemotePlugin {
    /// The plugin's name.
    pub(super) fn id(&self) -> &PluginId {
        &self.config.id
    }

    /// The component to download.
    pub(super) fn request(&self) -> FetchRequest<'_> {
        let RemoteSource { text, reference, pinned, signatures, locked: _ } = &*self.source;
        FetchRequest {
            source: text,
            reference,
            pinned: *pinned,
            signatures,
            max_size: self.config.limits.component,
        }
    }

    /// The entry of the lock file, if it is for this address and the configured digest.
    pub(super) fn entry<'l>(&self, lock: &'l LockFile) -> Option<&'l LockedComponent> {
        let is_pinned = |component: Digest| self.source.pinned.is_none_or(|pinned| pinned == component);
        lock.plugins
            .get(self.id())
            .filter(|locked| locked.source == self.source.text && is_pinned(locked.component))
    }

    /// An error about the plugin.
    pub(super) fn failed(&self, failure: CommandError, error: &SourceError) -> CommandError {
        failure.message(&format!("plugin `{}`: {error}", self.id()), error.hint())
    }

    /// The name of the key whose signature was checked.
    pub(super) fn signer_name(&self, locked: &LockedComponent, config: &Config) -> Option<String> {
        let signer = locked.signer.as_ref()?;
        let key = config.sources.signers.iter().find(|key| key.id() == *signer);
        Some(key.map_or_else(|| signer.to_string(), |key| key.name.clone()))
    }

    /// The plugin in a JSON document.
    pub(super) fn document(&self, locked: &LockedComponent, config: &Config, action: &str) -> Value {
        json!({
            "id": self.id().as_str(),
            "action": action,
            "source": locked.source,
            "resolved": locked.resolved,
            "digest": locked.component.to_string(),
            "size": locked.size,
            "signer": self.signer_name(locked, config),
            "fetched": locked.fetched,
        })
    }
}

/// The error of a command that can't download or write something.
#[expect(clippy::needless_pass_by_value, reason = "passed to `map_err`")]
pub(super) fn source_error(error: SourceError) -> CommandError {
    CommandError::new(ExitKind::Failure).message(&error.to_string(), error.hint())
}

fn lock_error(error: &LockFileError) -> CommandError {
    CommandError::new(ExitKind::Configuration).message(&error.to_string(), Some(&error.hint()))
}
