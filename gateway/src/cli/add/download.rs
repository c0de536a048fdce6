//! Downloads the component of a plugin from an address, before it is added.

use std::sync::Arc;

use moongate_config::{Config, LockedComponent, PluginConfig};
use moongate_model::names::PluginId;
use moongate_sources::{ComponentStore, SourceFetcher, edit_lock};
use moongate_system::file_edit::FileEdit;

use crate::cli::error::CommandError;
use crate::cli::remote_plugins::{RemotePlugin, settings, source_error};

/// A downloaded component that isn't in the lock file yet.
pub(super) struct Download {
    locked: LockedComponent,
    /// The name of the key whose signature was checked.
    pub(super) signer: Option<String>,
}

impl Download {
    /// Downloads and checks the component of a plugin. `None` if the plugin doesn't come from an address. Also returns
    /// the plugin with the downloaded file.
    ///
    /// # Errors
    /// The component can't be downloaded, or isn't the pinned or signed one.
    pub(super) async fn start(
        config: &Config,
        plugin: Arc<PluginConfig>,
    ) -> Result<(Arc<PluginConfig>, Option<Self>), CommandError> {
        let Some(source) = plugin.remote.clone() else { return Ok((plugin, None)) };
        let store = ComponentStore::open(&config.sources.components).map_err(source_error)?;
        let fetcher = SourceFetcher::start(settings(config), store).await;
        let remote = RemotePlugin { config: Arc::clone(&plugin), source };
        let locked = fetcher.fetch(&remote.request()).await.map_err(source_error)?;
        let signer = remote.signer_name(&locked, config);
        let file = PluginConfig {
            source: fetcher.store().path(&locked.component),
            sha256: Some(locked.component),
            remote: None,
            ..(*plugin).clone()
        };
        Ok((Arc::new(file), Some(Self { locked, signer })))
    }

    /// Writes the component to the lock file, so that the gateway uses exactly what was shown.
    ///
    /// # Errors
    /// The lock file can't be written.
    pub(super) fn lock(self, lock_file: &FileEdit, id: &PluginId) -> Result<(), CommandError> {
        let written = edit_lock(lock_file, |lock| {
            lock.plugins.insert(id.clone(), self.locked);
        });
        written.map(drop).map_err(source_error)
    }
}
