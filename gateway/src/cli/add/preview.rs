//! A plugin as it is shown before the user has agreed.

use std::sync::Arc;

use moongate_config::{Config, Grants, PluginConfig};
use moongate_model::manifest::{Interfaces, Manifest};
use moongate_model::names::Digest;
use moongate_protocol::catalog::Catalog;
use moongate_sources::read_interfaces;

use crate::cli::ExitKind;
use crate::cli::error::CommandError;
use crate::supervisor::{Supervisor, SupervisorOptions};

/// What is known of a plugin before the user has agreed. A component that isn't part of the gateway has run without any
/// grants, or not at all.
pub(super) struct PluginPreview {
    pub(super) digest: Digest,
    pub(super) interfaces: Interfaces,
    /// Its description of itself, or the reason why it can't describe itself without grants.
    pub(super) manifest: Result<Manifest, String>,
}

impl PluginPreview {
    /// Describes a plugin of a configuration.
    ///
    /// # Errors
    /// It can't be loaded. With grants, that is only known after the user has agreed.
    pub(super) async fn of(config: &Config, plugin: &Arc<PluginConfig>) -> Result<Self, CommandError> {
        let failed = match load_alone(config.clone(), &ungranted(plugin)).await {
            Ok(catalog) => {
                let loaded = catalog.plugins().first();
                let loaded = loaded.ok_or_else(|| anyhow::anyhow!("`{}` wasn't loaded", plugin.id))?.plugin();
                return Ok(Self {
                    digest: *loaded.digest(),
                    interfaces: loaded.interfaces().cloned().unwrap_or_default(),
                    manifest: Ok(loaded.manifest().clone()),
                });
            }
            Err(failed) => failed,
        };
        let has_grants = plugin.builtin.is_none() && !plugin.allow.is_empty();
        let Some(bytes) = has_grants.then(|| std::fs::read(&plugin.source).ok()).flatten() else {
            return Err(failed);
        };
        let Ok(interfaces) = read_interfaces(&bytes) else { return Err(failed) };
        Ok(Self { digest: Digest::of(&bytes), interfaces, manifest: Err(failed.first_message()) })
    }
}

/// The plugin without its grants, unless it is part of the gateway.
pub(super) fn ungranted(plugin: &Arc<PluginConfig>) -> Arc<PluginConfig> {
    match plugin.builtin {
        Some(_) => Arc::clone(plugin),
        None => Arc::new(PluginConfig { allow: Grants::default(), ..(**plugin).clone() }),
    }
}

/// Loads only this plugin.
///
/// # Errors
/// It can't be loaded.
pub(super) async fn load_alone(
    mut config: Config,
    plugin: &Arc<PluginConfig>,
) -> Result<Arc<Catalog>, CommandError> {
    config.plugins = vec![Arc::clone(plugin)];
    let supervisor = Supervisor::start(config, SupervisorOptions::inspecting()).await?;
    let catalog = Arc::clone(&supervisor.catalog().borrow());
    if catalog.plugins().is_empty() {
        let failure = CommandError::new(ExitKind::Configuration);
        return Err(supervisor
            .problems()
            .iter()
            .fold(failure, |failure, problem| failure.message(&problem.message, problem.hint.as_deref())));
    }
    Ok(catalog)
}
